"""Saved sessions: whole or not there, resumed where they were, and refused for a reason."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wasm_kernel.session as session_module
from wasm_kernel import (
    NOTEBOOK_POLICY,
    Limit,
    SandboxExecutionError,
    SavedSessionError,
    Session,
    WorkspaceError,
)
from wasm_kernel.core.errors import WasmKernelError
from wasm_kernel.host.pages import PAGE, CommittedMemory

from .conftest import HANG_GUARD_SECONDS, Cell, MakeSession, state_digest

RunCell = Callable[..., Cell]
MAGIC = b"wasm-kernel session 1\n"


def write_parked(path: Path, header: Any, runs: list[tuple[int, bytes]] | None = None) -> Path:
    """A file with a right digest and any content: what a forger would make."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = struct.pack("<I", len(text)) + text
    for first, content in runs or []:
        packed = zlib.compress(content, 1)
        body += struct.pack("<III", first, -(-len(content) // PAGE), len(packed)) + packed
    body += struct.pack("<III", 0, 0, 0)
    path.write_bytes(MAGIC + body + hashlib.sha256(body).digest())
    return path


@pytest.fixture(scope="module")
def parked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real saved session with ``x == [1, 'two']`` after one cell."""
    folder = tmp_path_factory.mktemp("parked")
    with Session(workspace=folder / "workspace") as session:
        assert session.execute("x = [1, 'two']\nimport os").success
        session.save(folder / "parked")
    return folder / "parked"


@pytest.fixture(scope="module")
def header(parked: Path) -> dict[str, Any]:
    """The header of that file."""
    data = parked.read_bytes()
    (length,) = struct.unpack_from("<I", data, len(MAGIC))
    found: dict[str, Any] = json.loads(data[len(MAGIC) + 4 : len(MAGIC) + 4 + length])
    return found


def load(path: Path, **options: Any) -> Session:
    """Load beside the file."""
    options.setdefault("workspace", path.parent / "resumed")
    return Session.load(path, **options)


# There and back.


def test_a_session_resumes_where_it_was(
    make_session: MakeSession,
    cell: RunCell,
    strategy: type[CommittedMemory],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = make_session(strategy=strategy)
    cell(
        session,
        "import numpy as np, pandas as pd\n"
        "a = np.arange(200_000, dtype='i8')\nf = open('log', 'w+')",
    )
    cell(session, "f.write('one ')\nf.flush()\nimport os\nos.makedirs('d')\nos.chdir('d')\n'value'")
    size = session.save(tmp_path / "parked")
    assert size == (tmp_path / "parked").stat().st_size
    before = state_digest(session)
    session.close()
    monkeypatch.setattr(session_module, "strategy", lambda: strategy)
    with Session.load(tmp_path / "parked", workspace=tmp_path / "workspace") as resumed:
        assert state_digest(resumed) == before and resumed.execution_count == 2
        ran = cell(resumed, "int(a.sum()), os.getcwd(), Out[2], len(In)")
        assert ran.value == "(19999900000, '/app/d', 'value', 4)"
        assert ran.result.execution_count == 3
        assert cell(resumed, "f.write('two')\nf.close()\npd.Series(a).mean()").result.success
        assert (tmp_path / "workspace" / "log").read_text() == "one two"
        resumed.undo(2)
        assert state_digest(resumed) == before


OTHER_PROCESS = """
import sys
from wasm_kernel import Session

with Session.load(sys.argv[1], workspace=sys.argv[2]) as session:
    result = session.execute("x.append(3)\\nprint(x, os.getcwd())")
    session.save(sys.argv[1])
    sys.stdout.write(result.stdout + str(result.execution_count))
"""


def test_another_process_resumes_it(parked: Path, tmp_path: Path) -> None:
    path = tmp_path / "parked"
    path.write_bytes(parked.read_bytes())
    for count, expected in ((2, "[1, 'two', 3]"), (3, "[1, 'two', 3, 3]")):
        ended = subprocess.run(
            [sys.executable, "-c", OTHER_PROCESS, str(path), str(tmp_path / "w")],
            capture_output=True, timeout=HANG_GUARD_SECONDS, text=True, check=False,
        )  # fmt: skip
        assert ended.stdout == f"{expected} /app\n{count}", ended.stderr
    with load(path) as session:
        assert session.get("x") == [1, "two", 3, 3]


def test_a_small_session_makes_a_small_file(parked: Path) -> None:
    assert parked.stat().st_size < 10_000_000


def test_saving_twice_replaces_the_file(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "parked"
    for n in range(3):
        session.execute(f"n = {n}")
        session.save(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["parked", "workspace"]
    with load(path) as resumed:
        assert resumed.get("n") == 2


def test_a_saved_file_is_private(session: Session, tmp_path: Path) -> None:
    session.execute("secret = 1")
    session.save(tmp_path / "parked")
    assert (tmp_path / "parked").stat().st_mode & 0o077 == 0


def test_a_session_that_never_ran_can_be_saved(session: Session, tmp_path: Path) -> None:
    session.save(tmp_path / "parked")
    with load(tmp_path / "parked") as resumed:
        assert resumed.execute("1").execution_count == 1


def test_resumed_sessions_draw_different_numbers(parked: Path) -> None:
    code = (
        "import random, uuid, tempfile, numpy as np\n"
        "print(random.random(), np.random.rand(), uuid.uuid4(), tempfile.mktemp())"
    )
    found = []
    for _ in range(2):
        with load(parked) as session:
            found.append(session.execute(code).stdout.split())
    assert all(a != b for a, b in zip(*found, strict=True))


def test_the_environment_and_temporary_files_of_a_resumed_session(
    session: Session, cell: RunCell, tmp_path: Path
) -> None:
    cell(session, "import os, tempfile\nos.environ['STAGE'] = 'two'\ntempfile.mkstemp()")
    session.save(tmp_path / "parked")
    with load(tmp_path / "parked") as resumed:
        assert cell(resumed, "tempfile.mkstemp()").result.error is None
        assert cell(resumed, "os.environ.get('STAGE')").value == "'two'"


# Limits are those that were asked for.


def test_the_policy_is_the_callers(parked: Path, cell: RunCell) -> None:
    policy = NOTEBOOK_POLICY.replace(
        fuel_budget=50_000_000, stdout_max_bytes=100, timeout_seconds=20, env={"A": "b"}
    )
    with load(parked, policy=policy) as session:
        assert session.policy == policy
        assert cell(session, "while True: pass").result.limit is Limit.FUEL
        assert cell(session, "print('x' * 500)").result.stdout == "x" * 100
        assert cell(session, "os.environ['A']").value == "'b'"
        assert session.get("x") == [1, "two"]


def test_too_little_memory_is_refused(make_session: MakeSession, tmp_path: Path) -> None:
    session = make_session()
    session.execute("big = bytearray(100_000_000)")
    session.save(tmp_path / "parked")
    for memory in (session.memory_bytes - 65536, 150_000_000):
        with pytest.raises(SavedSessionError, match="memory_bytes"):
            load(tmp_path / "parked", policy=NOTEBOOK_POLICY.replace(memory_bytes=memory))
    policy = NOTEBOOK_POLICY.replace(memory_bytes=session.memory_bytes + 20_000_000)
    with load(tmp_path / "parked", policy=policy) as resumed:
        assert resumed.execute("more = bytearray(60_000_000)").limit is Limit.MEMORY


def test_less_memory_than_any_session_needs_is_refused(parked: Path) -> None:
    with pytest.raises((SavedSessionError, SandboxExecutionError), match="memory"):
        load(parked, policy=NOTEBOOK_POLICY.replace(memory_bytes=80_000_000))


def test_what_the_file_says_about_limits_is_not_believed(
    header: dict[str, Any], tmp_path: Path
) -> None:
    claims = {"policy": {"fuel_budget": 10**18}, "fuel_budget": 10**18, "memory_bytes": 1 << 32}
    path = write_parked(tmp_path / "parked", {**header, **claims})
    policy = NOTEBOOK_POLICY.replace(fuel_budget=10_000_000)
    with load(path, policy=policy) as session:
        assert session.policy == policy
        assert session.execute("while True: pass").limit is Limit.FUEL


# Files that are not what they should be.


def refused(path: Path, match: str | None = None) -> str:
    """The reason for which a file is refused; anything but a refusal is a failure."""
    with pytest.raises(SavedSessionError, match=match) as caught:
        load(path).close()
    return str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    refused(tmp_path / "missing", "there is no saved session")


@pytest.mark.parametrize("content", [b"", b"x", MAGIC, MAGIC[:-1], b"\0" * 10_000, MAGIC * 10])
def test_a_foreign_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "parked").write_bytes(content)
    refused(tmp_path / "parked")


def test_what_is_no_file(tmp_path: Path, parked: Path) -> None:
    (tmp_path / "folder").mkdir()
    refused(tmp_path / "folder")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(parked)
    refused(tmp_path / "link", "cannot be opened")
    refused(Path("/dev/zero"))


def test_a_truncated_file(tmp_path: Path, parked: Path) -> None:
    content = parked.read_bytes()
    for length in (len(content) - 1, len(content) - 33, len(content) // 2, 100, len(MAGIC) + 3):
        (tmp_path / "parked").write_bytes(content[:length])
        refused(tmp_path / "parked", "damaged or was not written to its end")
    (tmp_path / "parked").write_bytes(content + b"x")
    refused(tmp_path / "parked")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file(tmp_path: Path, parked: Path, data: st.DataObject) -> None:
    """Any change of any byte is found by the digest."""
    content = bytearray(parked.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= data.draw(st.integers(1, 255))
    if bytes(content) != parked.read_bytes():
        (tmp_path / "parked").write_bytes(content)
        refused(tmp_path / "parked")


def resealed(body: bytes) -> bytes:
    """Any body with the digest that belongs to it."""
    return MAGIC + body + hashlib.sha256(body).digest()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_crafted_file_is_refused_or_runs_in_the_sandbox(
    tmp_path: Path, parked: Path, data: st.DataObject
) -> None:
    """A forger can seal a file; the pages are the guest's own affair, the frame around is not.

    Only the header and the words before each run are changed here: what they say decides where
    the host writes.
    """
    body = bytearray(parked.read_bytes()[len(MAGIC) : -32])
    (length,) = struct.unpack_from("<I", body)
    places = list(range(min(4 + length, len(body))))
    at = 4 + length
    while at + 12 <= len(body):
        places += range(at, at + 12)
        at += 12 + struct.unpack_from("<III", body, at)[2]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(places))
        body[place] = data.draw(st.integers(0, 255))
    (tmp_path / "parked").write_bytes(resealed(bytes(body)))
    with contextlib.suppress(SavedSessionError):
        load(tmp_path / "parked").close()


HOSTILE_HEADERS: dict[str, Any] = {
    "not JSON": b"{",
    "not UTF-8": b"\xff\xfe",
    "not an object": [],
    "a number": 5,
    "deep": b"[" * 100_000,
    "empty": {},
    "no size": {"size": None},
    "size as text": {"size": "1"},
    "size as a float": {"size": 1e9},
    "size of nothing": {"size": 0},
    "negative size": {"size": -65536},
    "odd size": {"size": 132_251_649},
    "size too large": {"size": 1 << 40},
    "size beyond all numbers": {"size": 10**400},
    "true size": {"size": True},
    "other format": {"format": 2},
    "format as text": {"format": "1"},
    "unknown image": {"image": "../../etc/passwd"},
    "image as a list": {"image": ["notebook"]},
    "other image": {"image": "core"},
    "image of the one-shot runs": {"image": "science"},
    "other key": {"image_key": "notebook-0000"},
    "no key": {"image_key": None},
}


@pytest.mark.parametrize("name", HOSTILE_HEADERS)
def test_a_crafted_header(header: dict[str, Any], tmp_path: Path, name: str) -> None:
    hostile = HOSTILE_HEADERS[name]
    crafted = {**header, **hostile} if isinstance(hostile, dict) and hostile else hostile
    refused(write_parked(tmp_path / "parked", crafted))


def test_another_image_is_refused_for_that_reason(header: dict[str, Any], tmp_path: Path) -> None:
    path = write_parked(
        tmp_path / "parked", {**header, "image_key": header["image_key"][:-1] + "!"}
    )
    refused(path, "saved on another image")


def test_folders_with_other_names_are_refused_for_that_reason(parked: Path) -> None:
    """The names of the mounts are in the memory: the same session cannot live under others."""
    refused_text = refused_with_policy(parked, guest_data_path="/elsewhere")
    assert "another image" in refused_text or "folders" in refused_text


def refused_with_policy(path: Path, **fields: Any) -> str:
    """The reason for which a file is refused under a policy, without an image being built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            session_module, "ensure_image", lambda program, layout, name: _renamed(program, name)
        )
        with pytest.raises(SavedSessionError) as caught:
            load(path, policy=NOTEBOOK_POLICY.replace(**fields)).close()
    return str(caught.value)


def _renamed(program: Any, name: str) -> Any:
    """The image of this runtime under the key of another layout."""
    from wasm_kernel.host.memory import Image
    from wasm_kernel.runtimes.python.image import Layout

    return Image(Layout(program.path).path(name), "the key of another layout")


@pytest.mark.parametrize("count", [-1, "5", None, 1.5, [], 10**30])
def test_a_crafted_count(header: dict[str, Any], tmp_path: Path, count: Any) -> None:
    path = write_parked(tmp_path / "parked", {**header, "execution_count": count})
    try:
        session = load(path)
    except SavedSessionError:
        return
    with session:
        assert isinstance(session.execution_count, int) and session.execution_count >= 0
        assert session.execute("1").success


ROW = {"place": [6, "f"], "lookup": 1, "rights": 0, "inherited": 0, "flags": 0, "offset": 0}
HOSTILE_DESCRIPTORS: dict[str, Any] = {
    "not a list": {"a": 1},
    "rows of nothing": [[], [1], [1, 2, 3], None, 5, "ab"],
    "numbers of no file": [[n, ROW] for n in (-1, 0, 1, 2, 3, 9, 1023, 1024, 2**31, 2**63)],
    "text for a number": [["10", ROW]],
    "outside": [[10, {**ROW, "place": [6, "../../../etc/passwd"]}]],
    "absolute": [[10, {**ROW, "place": [6, "/etc/passwd"]}]],
    "of a mount that is none": [
        [10, {**ROW, "place": [1, "f"]}],
        [11, {**ROW, "place": [99, "f"]}],
    ],
    "writing to a read-only mount": [
        [10, {**ROW, "place": [3, "python315.zip"], "rights": 2**29 - 1, "writes": True}]
    ],
    "with a lone surrogate": [[10, {**ROW, "place": [6, "\ud800"]}]],
    "with NUL": [[10, {**ROW, "place": [6, "a\0b"]}]],
    "with a long name": [[10, {**ROW, "place": [6, "x/" * 100_000]}]],
    "huge numbers": [
        [10, {**ROW, "lookup": 2**62, "rights": 2**62, "inherited": 2**62, "flags": 2**62}]
    ],
    "huge offset": [[10, {**ROW, "offset": 2**62}]],
    "many": [[n, ROW] for n in range(10, 1024)],
    "by a second name": [[10, {**ROW, "place": [8, "../../f"]}], [11, {**ROW, "place": [8, "f"]}]],
    "folders": [[10, {**ROW, "place": [6, ""], "is_folder": True}]],
}


@pytest.mark.parametrize("name", HOSTILE_DESCRIPTORS)
def test_crafted_descriptors(
    header: dict[str, Any], tmp_path: Path, name: str, cell: RunCell
) -> None:
    """Refused, or opened through the guest's own mounts and no farther."""
    (tmp_path / "resumed").mkdir()
    (tmp_path / "resumed" / "f").write_text("harmless")
    path = write_parked(tmp_path / "parked", {**header, "descriptors": HOSTILE_DESCRIPTORS[name]})
    try:
        session = load(path)
    except SavedSessionError:
        return
    code = (
        "import os\nfound = []\n"
        "for n in range(10, 1100):\n"
        "    try: found.append(os.read(n, 100))\n"
        "    except OSError: pass\n"
        "set(found)"
    )
    with session:
        ran = cell(session, code)
        assert ran.result.success
        assert "root:" not in ran.value
        assert set(os.listdir(tmp_path / "resumed")) == {"f"}
        assert (tmp_path / "resumed" / "f").read_text() == "harmless"


LOAD_AND_RUN = """
import sys
import wasm_kernel.session
from wasm_kernel import CheckpointError, NOTEBOOK_POLICY, SavedSessionError, Session

# A guest whose memory is noise may loop until its fuel is gone.
wasm_kernel.session.OVERHEAD_FUEL = 200_000_000
policy = NOTEBOOK_POLICY.replace(fuel_budget=200_000_000)
try:
    with Session.load(sys.argv[1], policy=policy, workspace=sys.argv[2]) as session:
        for _ in range(2):
            session.execute("x = 1")
        session.save(sys.argv[1] + ".again")
        session.fork().close()
        session.undo()
except (CheckpointError, SavedSessionError) as error:
    sys.stdout.write(f"refused {error}")
sys.stdout.write("alive")
"""

RUNS: dict[str, Callable[[int], list[tuple[int, bytes]]]] = {
    "beyond the memory": lambda pages: [(pages + 1000, b"A" * PAGE)],
    "at the end of the memory": lambda pages: [(pages - 1, b"A" * 2 * PAGE)],
    "beyond the policy": lambda _: [((1 << 30) // PAGE, b"A" * PAGE)],
    "at the last number": lambda _: [(2**32 - 1, b"A" * PAGE)],
    "the same twice": lambda _: [(5000, b"A" * PAGE)] * 2,
    "overlapping and backwards": lambda _: [(6000, b"A" * 3 * PAGE), (5999, b"B" * 2 * PAGE)],
    "half a page": lambda _: [(5000, b"A" * 100)],
    "everything": lambda pages: [(first, os.urandom(16 * PAGE)) for first in range(0, pages, 512)],
}


@pytest.mark.parametrize("name", RUNS)
def test_crafted_pages_never_hurt_the_host(
    header: dict[str, Any], tmp_path: Path, name: str
) -> None:
    """In a process of its own: what goes wrong here goes wrong with a signal."""
    path = write_parked(tmp_path / "parked", header, RUNS[name](header["size"] // PAGE))
    ended = subprocess.run(
        [sys.executable, "-c", LOAD_AND_RUN, str(path), str(tmp_path / "w")],
        capture_output=True, timeout=HANG_GUARD_SECONDS, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode >= 0, f"the host was ended by {signal.Signals(-ended.returncode).name}"
    assert ended.stdout.endswith("alive"), ended.stderr


def test_a_run_that_unpacks_to_more_than_it_says(header: dict[str, Any], tmp_path: Path) -> None:
    """A bomb in a page's place: only so much of it is ever unpacked."""
    text = json.dumps(header).encode()
    packed = zlib.compress(bytes(1 << 26), 9)
    body = struct.pack("<I", len(text)) + text + struct.pack("<III", 5000, 1, len(packed)) + packed
    (tmp_path / "parked").write_bytes(resealed(body + struct.pack("<III", 0, 0, 0)))
    refused(tmp_path / "parked", "damaged pages")


def test_pages_are_named_once_and_in_order(header: dict[str, Any], tmp_path: Path) -> None:
    """A file of some megabytes could name the same pages for hours."""
    page = b"A" * PAGE
    in_order = [(5000, page), (5001, page)]
    load(write_parked(tmp_path / "good", header, in_order)).close()
    for crafted in ([*in_order, (5001, page)], in_order[::-1], [(5000, 2 * page), (5001, page)]):
        refused(write_parked(tmp_path / "parked", header, crafted), "out of order")


def test_a_file_of_terabytes_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "parked").open("wb") as file:
        file.write(MAGIC)
        file.truncate(1 << 42)
    refused(tmp_path / "parked", "larger than any saved session")


def test_a_run_without_an_end(header: dict[str, Any], tmp_path: Path) -> None:
    text = json.dumps(header).encode()
    (tmp_path / "parked").write_bytes(resealed(struct.pack("<I", len(text)) + text))
    refused(tmp_path / "parked")


def test_a_refused_file_leaves_nothing_open(header: dict[str, Any], tmp_path: Path) -> None:
    path = write_parked(tmp_path / "parked", {**header, "image_key": "other"})
    refused(path)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        refused(path)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_bad_workspace_is_said_as_such(parked: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkspaceError):
        load(parked, workspace=tmp_path / "file")


# Places that cannot be written.


@pytest.mark.parametrize("where", ["missing/parked", "file/parked", "."])
def test_a_place_that_cannot_be_written(session: Session, tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_text("")
    session.execute("x = 1")
    with pytest.raises(SavedSessionError, match="cannot be written"):
        session.save(tmp_path / where)
    assert session.get("x") == 1
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of five megabytes, where this user may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=5m", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("mounting needs a privilege")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_leaves_the_last_good_file(session: Session, small_disk: Path) -> None:
    session.execute("x = 1")
    session.save(small_disk / "parked")
    session.execute("x = 2\nimport os\nbig = os.urandom(8_000_000)")
    with pytest.raises(SavedSessionError, match="No space left"):
        session.save(small_disk / "parked")
    assert os.listdir(small_disk) == ["parked"]
    assert session.get("x") == 2
    with load(small_disk / "parked", workspace=session.workspace) as resumed:
        assert resumed.get("x") == 1


TOO_LARGE = """
import resource, signal, sys
from wasm_kernel import SavedSessionError, Session

session = Session(workspace=sys.argv[2])
session.execute("x = 1")
session.save(sys.argv[1])
session.execute("x = 2\\nimport os\\nbig = os.urandom(8_000_000)")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000_000, resource.RLIM_INFINITY))
try:
    session.save(sys.argv[1])
except SavedSessionError as error:
    sys.stdout.write(f"refused: {error}")
"""


def test_a_file_that_may_not_grow_leaves_the_last_good_one(tmp_path: Path) -> None:
    path = tmp_path / "parked"
    ended = subprocess.run(
        [sys.executable, "-c", TOO_LARGE, str(path), str(tmp_path / "w")],
        capture_output=True, timeout=HANG_GUARD_SECONDS, text=True, check=False,
    )  # fmt: skip
    assert ended.stdout.startswith("refused"), ended.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["parked", "w"]
    with load(path) as session:
        assert session.get("x") == 1


# kill -9.

KILLER = """
import os, random, select, signal, sys
from wasm_kernel import Session

path, workspace, moments = sys.argv[1], sys.argv[2], random.Random(9)


def save_for_ever(out):
    session = Session(workspace=workspace)
    for n in range(1, 10**6):
        session.execute(f"n = {n}\\nimport os\\nnoise = os.urandom(300_000)")
        os.write(out, f"{n}\\n".encode())
        session.save(path)


for _ in range(25):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        save_for_ever(writer)
    os.close(writer)
    with open(reader) as announced:
        for _ in range(2):
            last = announced.readline()
        # Nothing is waited for here: it is the moment that is drawn.
        select.select([], [], [], moments.uniform(0, 0.06))
        os.kill(child, signal.SIGKILL)
        last = (announced.readlines() or [last])[-1]
    os.waitpid(child, 0)
    sys.stdout.write(last)
    sys.stdout.flush()
    sys.stdin.readline()
"""
"""Forks a child that saves and saves, kills it at a random moment, and says which save was last
begun; then waits for a line. It never starts a guest itself, so it may fork."""


def test_kill_9_at_any_moment_leaves_the_last_good_file(tmp_path: Path) -> None:
    path = tmp_path / "parked"
    killer = subprocess.Popen(
        [sys.executable, "-c", KILLER, str(path), str(tmp_path / "w")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    with killer:
        assert killer.stdin is not None and killer.stdout is not None
        killed = 0
        for line in killer.stdout:
            with load(path) as session:
                assert session.get("n") in (int(line) - 1, int(line))
                assert len(session.get("noise")) == 300_000
            killed += 1
            killer.stdin.write("go on\n")
    assert (killed, killer.returncode) == (25, 0)


KILLED_AT = """
import os, signal, sys
from pathlib import Path
from wasm_kernel import Session

session = Session(workspace=sys.argv[2])
session.execute("n = 1")
session.save(sys.argv[1])
session.execute("n = 2")

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def after(call):
    def wrapped(*arguments, **options):
        call(*arguments, **options)
        die()
    return wrapped

import zlib
point = sys.argv[3]
if point == "before the first byte":
    os.fdopen = die
elif point == "in the pages":
    zlib.compress = die
elif point == "before the file is durable":
    os.fsync = die
elif point == "before the rename":
    Path.replace = die
    os.replace = os.rename = die
elif point == "after the rename":
    Path.replace = after(Path.replace)
session.save(sys.argv[1])
"""


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ("before the first byte", 1),
        ("in the pages", 1),
        ("before the file is durable", 1),
        ("before the rename", 1),
        ("after the rename", 2),
    ],
)
def test_kill_9_at_each_step_of_a_save(tmp_path: Path, point: str, expected: int) -> None:
    path = tmp_path / "parked"
    ended = subprocess.run(
        [sys.executable, "-c", KILLED_AT, str(path), str(tmp_path / "w"), point],
        capture_output=True, timeout=HANG_GUARD_SECONDS, check=False,
    )  # fmt: skip
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    with load(path) as session:
        assert session.get("n") == expected


def test_every_refusal_is_an_error_of_ours() -> None:
    assert issubclass(SavedSessionError, WasmKernelError)
