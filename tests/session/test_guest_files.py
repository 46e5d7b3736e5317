"""What NumPy and others ask of an open file: a second descriptor, a map of its contents."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from wasm_kernel import Session

from .conftest import Cell

RunCell = Callable[..., Cell]


def run(cell: RunCell, session: Session, code: str) -> Cell:
    """Run a cell that ends well."""
    ran = cell(session, "import mmap, os\nimport numpy as np\n" + code)
    assert ran.result.success, ran.result.error
    return ran


def test_arrays_go_to_files_and_back(session: Session, cell: RunCell) -> None:
    code = (
        "with open('a.bin', 'wb') as file:\n"
        "    file.write(b'head')\n    np.arange(3, dtype='int16').tofile(file)\n"
        "    file.write(b'tail')\n"
        "with open('a.bin', 'rb') as file:\n"
        "    parts = file.read(4), np.fromfile(file, 'int16', 3).tolist(), file.read()\n"
        "parts"
    )
    assert run(cell, session, code).value == "(b'head', [0, 1, 2], b'tail')"
    assert (session.workspace / "a.bin").read_bytes() == b"head\0\0\1\0\2\0tail"


def test_a_mapped_array_is_written_when_it_is_flushed_or_gone(
    session: Session, cell: RunCell
) -> None:
    path = session.workspace / "m.dat"
    run(cell, session, "m = np.memmap('m.dat', 'uint8', 'w+', shape=4)\nm[:] = 1\nm.flush()")
    assert path.read_bytes() == b"\1\1\1\1"
    run(cell, session, "m[0] = 2\ndel m")
    assert path.read_bytes() == b"\2\1\1\1"
    run(cell, session, "c = np.memmap('m.dat', 'uint8', 'c')\nc[0] = 9\nc.flush()\ndel c")
    assert path.read_bytes() == b"\2\1\1\1"


def test_a_map_for_reading_cannot_be_changed(session: Session, cell: RunCell) -> None:
    (session.workspace / "l.txt").write_bytes(b"one\ntwo\n")
    begin = (
        "with open('l.txt', 'rb') as file:\n"
        "    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)\n"
    )
    code = begin + "mapped.readline(), mapped[-2:], mapped.find(b'w'), len(mapped), mapped.tell()"
    assert run(cell, session, code).value == r"(b'one\n', b'o\n', 5, 8, 4)"
    ran = cell(session, "mapped[0] = 1")
    assert ran.result.error is not None and ran.result.error.name == "TypeError"
    ran = cell(session, "np.memmap('l.txt', 'uint8', 'r')[0] = 1")
    assert ran.result.error is not None and "read-only" in ran.result.error.value


@pytest.mark.parametrize(
    ("code", "why"),
    [("file = open('e', 'w+b')\nmmap.mmap(file.fileno(), 0)", "empty file"),
     ("file = open('s', 'w+b')\nmmap.mmap(file.fileno(), 9)", "greater than"),
     ("m = mmap.mmap(-1, 4)\nm.close()\nm[0]", "closed")],
    ids=["empty", "too long", "closed"],
)  # fmt: skip
def test_a_map_that_cannot_be_says_why(
    session: Session, cell: RunCell, code: str, why: str
) -> None:
    ran = cell(session, "import mmap\n" + code)
    assert ran.result.error is not None and ran.result.error.name == "ValueError"
    assert why in ran.result.error.value


def test_a_descriptor_without_a_name_cannot_be_duplicated(session: Session, cell: RunCell) -> None:
    ran = cell(session, "import os\nos.dup(os.open('x', os.O_CREAT | os.O_WRONLY))")
    assert ran.result.error is not None and "open the file by its name" in ran.result.error.value


@pytest.mark.parametrize("length", [None, 1, 20, 50])
@pytest.mark.parametrize("password", [b"short", b"long" * 40])
def test_keys_are_derived_as_elsewhere(
    shared: Session, cell: RunCell, password: bytes, length: int | None
) -> None:
    arguments = ("sha256", password, b"salt", 7, length)
    expected = hashlib.pbkdf2_hmac(*arguments)
    found = cell(shared, f"import hashlib\nhashlib.pbkdf2_hmac{arguments!r}").value
    assert found == repr(expected)
