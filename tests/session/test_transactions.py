"""A cell commits or it never happened: memory, files and folder after every kind of end."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import wasm_kernel.session as session_module
from wasm_kernel import Limit, Session, WorkspaceError
from wasm_kernel.core.events import ErrorEvent, Event, StreamEvent
from wasm_kernel.host.mapped import MappedMemory
from wasm_kernel.host.pages import CommittedMemory

from .conftest import HANG_GUARD_SECONDS, Cell, MakeSession, state_digest

RunCell = Callable[..., Cell]
Strategy = type[CommittedMemory]

# How a cell can end other than by itself: what does it, the limit, the name and words of the error.
ENDS: dict[str, tuple[str, Limit, str, tuple[str, ...]]] = {
    "fuel": ("while True: pass", Limit.FUEL, "OutOfFuel", ("400 M", "fuel_budget")),
    "time": (
        "import time\ntime.sleep(1000)", Limit.TIME, "TimeLimit", ("1.5 s", "timeout_seconds")
    ),
    "interrupt": (
        "print('interrupt me')\nimport time\ntime.sleep(1000)",
        Limit.INTERRUPTED, "KeyboardInterrupt", ("interrupted",),
    ),
    "stack": ("import json\njson.loads('[' * 10**5)", Limit.STACK, "StackOverflow", ("recursed",)),
    "exit": ("import os\nos._exit(7)", Limit.NONE, "ProcessExit", ("code 7",)),
    "exit with zero": ("import os\nos._exit(0)", Limit.NONE, "ProcessExit", ("code 0",)),
    "abort": ("import os\nos.abort()", Limit.NONE, "Aborted", ("aborted",)),
}  # fmt: skip

PREPARE = """
import os
os.makedirs('dir/inner'); os.makedirs('empty')
for name, text in (('kept', 'kept'), ('changed', 'before'), ('deleted', 'gone?'), ('moved', 'move'),
                   ('target', 'over'), ('dir/inner/deep', 'deep'), ('grown', 'g'),
                   ('cut', 'cut me')):
    open(name, 'w').write(text)
os.chdir('dir')
x = 1
history = ['first']
"""

MISCHIEF = """
import os
x = 2
history.append('second')
fresh = 'new name'
os.chdir('/app')
open('created', 'w').write('new')
open('changed', 'w').write('after, and longer')
os.remove('deleted')
os.rename('moved', 'moved away')
os.replace('kept', 'target')
open('grown', 'a').write('rown' * 1000)
os.truncate('cut', 2)
os.rename('dir', 'renamed dir')
open('renamed dir/inner/deep', 'w').write('changed inside')
open('renamed dir/inner/more', 'w').write('more')
os.rmdir('empty')
os.makedirs('new/sub')
open('new/sub/file', 'w').write('x')
os.remove('created'); open('created', 'w').write('again')
os.utime('changed', (1, 1))
os.chdir('new')
"""


def tree(folder: Path) -> dict[str, Any]:
    """Everything in a workspace: content and time of files, names of folders."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = None if path.is_dir() else (path.read_bytes(), path.stat().st_mtime_ns)
    return found


def run_to_its_end(session: Session, code: str) -> Cell:
    """Run a cell; one that asks for it is interrupted from another thread."""
    events: list[Event] = []
    threads: list[threading.Thread] = []

    def on_event(event: Event) -> None:
        events.append(event)
        if isinstance(event, StreamEvent) and "interrupt me" in event.text:
            threads.append(threading.Thread(target=session.interrupt))
            threads[-1].start()

    result = session.execute(code, on_event=on_event)
    for thread in threads:
        thread.join(HANG_GUARD_SECONDS)
    return Cell(result, events)


@pytest.fixture
def limited(make_session: MakeSession) -> Callable[..., Session]:
    """Sessions in which every end is near."""
    return lambda **fields: make_session(
        **{"fuel_budget": 400_000_000, "timeout_seconds": 1.5, **fields}
    )


@pytest.mark.parametrize(
    ("strategy", "end"),
    [
        *((MappedMemory, end) for end in ENDS),
        *((CommittedMemory, end) for end in ("fuel", "interrupt", "abort")),
    ],
)
def test_after_every_end_all_is_as_before(
    limited: Callable[..., Session], cell: RunCell, strategy: Strategy, end: str
) -> None:
    code, limit, name, words = ENDS[end]
    session = limited(strategy=strategy)
    assert cell(session, PREPARE).result.success
    before = tree(session.workspace)
    memory, count = state_digest(session), session.execution_count
    ran = run_to_its_end(session, MISCHIEF + code)
    result = ran.result
    assert result.rolled_back and not result.success and result.limit is limit
    assert result.error is not None and result.error.name == name
    assert all(word in result.error.value for word in (*words, "rolled back"))
    assert isinstance(ran.events[-1], ErrorEvent) and ran.events[-1].value == result.error.value
    assert result.execution_count == session.execution_count == count
    assert result.files == [] and result.pages_committed == 0
    assert tree(session.workspace) == before
    assert state_digest(session) == memory
    ran = cell(session, "x, history, 'fresh' in globals(), os.getcwd(), len(In)")
    assert ran.value == "(1, ['first'], False, '/app/dir', 3)"


@pytest.mark.parametrize("end", ["abort", "fuel"])
def test_what_was_rolled_back_does_not_stand_in_the_way_of_undo(
    limited: Callable[..., Session], cell: RunCell, end: str
) -> None:
    """Files that a rollback put back are still the files that the earlier cell made."""
    session = limited()
    cell(session, PREPARE)
    for _ in range(5):
        # Files made in between take the inode numbers that would otherwise be used again.
        run_to_its_end(session, MISCHIEF + ENDS[end][0])
        (session.workspace / "aside").write_text("x")
    (session.workspace / "aside").unlink()
    assert session.undo() == []
    assert tree(session.workspace) == {}


def test_what_was_undone_does_not_stand_in_the_way_of_undo(session: Session, cell: RunCell) -> None:
    cell(session, "open('file', 'w').write('one')\nopen('other', 'w').write('1')")
    (session.workspace / "mine").write_text("x")
    cell(session, "import os\nos.remove('file')\nopen('other', 'w').write('22')")
    (session.workspace / "mine too").write_text("x")
    assert session.undo() == []
    assert session.undo() == []
    assert tree(session.workspace).keys() == {"mine", "mine too"}


def test_the_mischief_is_real(session: Session, cell: RunCell) -> None:
    """The same cell without a bad end does change everything that is checked above."""
    cell(session, PREPARE)
    before = tree(session.workspace)
    ran = cell(session, MISCHIEF + "os.getcwd(), x")
    after = tree(session.workspace)
    assert ran.value == "('/app/new', 2)"
    assert before.keys() - after.keys() >= {"deleted", "moved", "kept", "dir", "empty"}
    assert after.keys() - before.keys() >= {"created", "new/sub/file", "renamed dir/inner/more"}
    assert all(after[name] != before[name] for name in ("changed", "target", "grown", "cut"))
    assert set(ran.result.files_created) >= {"created", "moved away", "new/sub/file"}
    assert set(ran.result.files_deleted) >= {"deleted", "moved", "kept"}
    assert set(ran.result.files_modified) == {"changed", "target", "grown", "cut"}


@pytest.mark.parametrize("end", ["fuel", "abort"])
def test_the_first_cell_of_a_session_can_end_badly(
    limited: Callable[..., Session], cell: RunCell, strategy: Strategy, end: str
) -> None:
    session = limited(strategy=strategy, env={"COLOUR": "red"})
    assert run_to_its_end(session, "x = 1\n" + ENDS[end][0]).result.rolled_back
    ran = cell(session, "import os\n'x' in globals(), os.environ['COLOUR'], os.getcwd()")
    assert ran.value == "(False, 'red', '/app')" and ran.result.execution_count == 1


def test_memory_beyond_the_limit(
    make_session: MakeSession, cell: RunCell, strategy: Strategy
) -> None:
    """Python turns it into a MemoryError: an exception, which keeps the state."""
    session = make_session(memory_bytes=200_000_000, strategy=strategy)
    cell(session, "x = 1")
    ran = cell(session, "y = 2\nbig = bytearray(300_000_000)")
    assert ran.error.name == "MemoryError" and ran.result.limit is Limit.MEMORY
    ran = cell(session, "keep = []\nwhile True: keep.append(bytearray(1_000_000))")
    assert ran.result.limit is Limit.MEMORY
    assert ran.result.memory_used_bytes <= 200_000_000
    if ran.result.rolled_back:
        assert "memory_bytes" in ran.error.value
    ran = cell(session, "keep = None\nx, len(bytearray(5_000_000))")
    assert ran.value == "(1, 5000000)"


def test_a_full_memory_says_so_and_a_way_out(make_session: MakeSession, cell: RunCell) -> None:
    """So full that a cell cannot be read, which is no fault of that cell."""
    session = make_session(memory_bytes=200_000_000)
    cell(
        session,
        "kept = []\nfor size in (10**6, 10**4, 1000, 100, 10):\n    try:\n"
        "        while True: kept.append(bytearray(size))\n    except MemoryError: pass",
    )
    ran = cell(session, "del kept")
    assert ran.result.limit is Limit.MEMORY and ran.result.rolled_back
    assert ran.error.value == (
        "the memory of the session is full (200 MB), and no cell can run in it; undo the cell that "
        "filled it, or raise memory_bytes; the cell was rolled back: variables and files are as "
        "before it"
    )
    session.change_policy(session.policy.replace(memory_bytes=400_000_000))
    assert cell(session, "del kept").result.success
    session.undo(2)
    assert cell(session, "'kept' in globals()").value == "False"


def test_a_cell_that_fills_the_memory_and_fails_is_told_of_itself(
    make_session: MakeSession, cell: RunCell
) -> None:
    """The shell has no memory left to say how it ended; the session has, once it is rolled back."""
    session = make_session(memory_bytes=200_000_000)
    ran = cell(
        session,
        "kept = []\nfor size in (10**6, 10**4, 1000, 100, 10):\n    try:\n"
        "        while True: kept.append(bytearray(size))\n    except MemoryError: pass\n"
        "raise MemoryError",
    )
    assert ran.result.limit is Limit.MEMORY
    if ran.result.rolled_back:
        assert ran.error.value.startswith("the code needed more than its memory (200 MB); raise")
        assert cell(session, "'kept' in globals()").value == "False"


def test_an_allocator_that_cannot_go_on(make_session: MakeSession, cell: RunCell) -> None:
    """Code of C that meets the limit may abort; then the cell is rolled back."""
    session = make_session(memory_bytes=200_000_000)
    cell(session, "x = 1\nimport numpy as np")
    for code in (
        "np.ones((10_000, 10_000))",
        "'x' * 10**9",
        "import zlib\nzlib.decompress(zlib.compress(bytes(10**7)) + b'', 15, 10**9)",
        "d = {}\nfor i in range(10**8): d[i] = i",
    ):
        ran = cell(session, code)
        assert not ran.result.success
        assert ran.result.limit is Limit.MEMORY or ran.result.rolled_back, code
        if ran.result.rolled_back is False:
            session.undo()
    assert cell(session, "x").value == "1"


def test_memory_that_a_rolled_back_cell_took_is_given_back(
    make_session: MakeSession, cell: RunCell, strategy: Strategy
) -> None:
    session = make_session(strategy=strategy)
    cell(session, "x = 1")
    before = session.memory_bytes
    ran = cell(session, "import os\nbig = bytearray(100_000_000)\nos.abort()")
    assert ran.result.rolled_back and ran.result.memory_peak_bytes >= before + 90_000_000
    assert session.memory_bytes == before == ran.result.memory_used_bytes


def test_large_state_survives(
    limited: Callable[..., Session], cell: RunCell, strategy: Strategy
) -> None:
    session = limited(strategy=strategy)
    cell(
        session,
        "import numpy as np\na = np.arange(2_000_000)\ntext = ['%d' % i for i in range(1000)]",
    )
    cell(session, "a[::2] = -1")
    total = cell(session, "int(a.sum()), hash(tuple(text))").value
    for end in ("abort", "exit"):
        ran = run_to_its_end(session, f"a[:] = 0\ntext.clear()\n{ENDS[end][0]}")
        assert ran.result.rolled_back
        assert cell(session, "int(a.sum()), hash(tuple(text))").value == total


def test_what_a_rolled_back_cell_printed_was_seen(session: Session, cell: RunCell) -> None:
    ran = cell(session, "print('seen')\ndisplay('shown')\nimport os\nos.abort()")
    kinds = [type(event).__name__ for event in ran.events]
    assert kinds == ["StreamEvent", "DisplayEvent", "ErrorEvent"]
    assert ran.result.stdout == "seen\n"


def test_modules_and_classes_survive(limited: Callable[..., Session], cell: RunCell) -> None:
    session = limited()
    cell(
        session,
        "import decimal, dataclasses\n@dataclasses.dataclass\nclass P:\n    n: int\np = P(3)",
    )
    run_to_its_end(session, "p.n = 4\nP.n = 5\ndel decimal\nwhile True: pass")
    assert cell(session, "p, decimal.Decimal('1.5')").value == "(P(n=3), Decimal('1.5'))"


def test_generators_and_coroutines_survive(limited: Callable[..., Session], cell: RunCell) -> None:
    session = limited()
    cell(
        session,
        "def count():\n    n = 0\n    while True:\n        n += 1\n        yield n\n"
        "g = count()\nnext(g)",
    )
    run_to_its_end(session, "[next(g) for _ in range(5)]\nwhile True: pass")
    assert cell(session, "next(g)").value == "2"


def test_a_cell_that_fails_in_its_output_is_rolled_back_and_says_so(
    make_session: MakeSession, cell: RunCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "OVERHEAD_FUEL", 500_000_000)
    session = make_session(fuel_budget=2_000_000_000)
    cell(session, "x = 1")
    ran = cell(session, "x = 2\nclass A:\n    def __repr__(self):\n        while True: pass\nA()")
    assert ran.result.rolled_back and ran.result.limit is Limit.FUEL
    assert "showing the result" in ran.error.value
    assert cell(session, "x").value == "1"


# Open files.


@pytest.mark.parametrize("end", ["abort"])
def test_open_files_stay_open_at_the_same_place(
    limited: Callable[..., Session], cell: RunCell, strategy: Strategy, end: str
) -> None:
    session = limited(strategy=strategy)
    cell(
        session,
        "open('lines', 'w').write(''.join(f'line {n}\\n' for n in range(3000)))\n"
        "reader = open('lines')\nfirst = reader.readline()\n"
        "raw = open('lines', 'rb', buffering=0)\nraw.seek(7)\n"
        "writer = open('log', 'w')\nwriter.write('one\\n')\nwriter.flush()\n"
        "writer.write('two\\n')\n"
        "appender = open('log2', 'a')\nappender.write('a')\nappender.flush()",
    )
    ran = run_to_its_end(
        session,
        "reader.readlines(); raw.read(); writer.write('lost\\n'); writer.flush()\n"
        "appender.write('lost'); appender.flush(); reader.close()\n" + ENDS[end][0],
    )
    assert ran.result.rolled_back
    assert (session.workspace / "log").read_text() == "one\n"
    ran = cell(session, "reader.readline(), raw.read(6), reader.closed")
    assert ran.value == "('line 1\\n', b'line 1', False)"
    assert cell(
        session, "writer.write('three\\n')\nwriter.close()\nappender.write('b')\nappender.close()"
    ).result.success
    assert (session.workspace / "log").read_text() == "one\ntwo\nthree\n"
    assert (session.workspace / "log2").read_text() == "ab"


def test_numbers_of_open_files_with_gaps(session: Session, cell: RunCell) -> None:
    cell(
        session,
        "import os\nfor n in range(6): open(f'f{n}', 'w').write(str(n) * 3)\n"
        "files = [open(f'f{n}') for n in range(6)]\n"
        "files[1].close(); files[3].close()\n[f.read(1) for f in files if not f.closed]",
    )
    assert cell(session, "os.abort()").result.rolled_back
    ran = cell(session, "[f.read() for f in files if not f.closed], [f.closed for f in files]")
    assert ran.value == "(['00', '22', '44', '55'], [False, True, False, True, False, False])"
    ran = cell(session, "new = open('f1')\nnew.read(), files[0].fileno() != new.fileno()")
    assert ran.value == "('111', True)"


def test_a_database_survives(limited: Callable[..., Session], cell: RunCell) -> None:
    session = limited()
    cell(
        session,
        "import sqlite3\ndb = sqlite3.connect('data.db')\ndb.execute('create table t (n)')\n"
        "db.execute('insert into t values (1)')\ndb.commit()",
    )
    run_to_its_end(session, "db.execute('insert into t values (2)')\ndb.commit()\nwhile True: pass")
    assert cell(session, "db.execute('select n from t').fetchall()").value == "[(1,)]"
    cell(session, "db.execute('insert into t values (3)')\ndb.commit()")
    assert cell(session, "db.execute('select n from t').fetchall()").value == "[(1,), (3,)]"


def test_a_file_that_is_gone_is_a_closed_file(session: Session, cell: RunCell) -> None:
    cell(session, "f = open('here', 'w+')\nf.write('x')\nf.flush()\nimport os")
    (session.workspace / "here").unlink()
    assert cell(session, "os.abort()").result.rolled_back
    ran = cell(session, "f.read()")
    assert ran.error.name == "OSError" or ran.error.name == "ValueError"
    assert cell(session, "1").value == "1"


# Files that are not the guest's alone.


def test_files_that_the_user_changes_meanwhile_are_safe(session: Session, cell: RunCell) -> None:
    (session.workspace / "mine").write_text("user 1")
    cell(session, "open('other', 'w').write('guest')")
    (session.workspace / "mine").write_text("user 2")
    assert cell(session, "open('third', 'w').close()\nimport os\nos.abort()").result.rolled_back
    session.undo()
    assert tree(session.workspace).keys() == {"mine"}
    assert (session.workspace / "mine").read_text() == "user 2"


def test_a_file_too_large_to_keep_is_named(
    make_session: MakeSession, cell: RunCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "UNDO_FILE_BYTES", 1000)
    session = make_session()
    (session.workspace / "large").write_bytes(bytes(5000))
    (session.workspace / "small").write_bytes(b"small")
    code = "open('large', 'w').write('!')\nopen('small', 'w').write('!')\n"
    ran = cell(session, code + "import os\nos.abort()")
    assert ran.result.rolled_back and ran.result.metadata["not_restorable"] == ["large"]
    assert "large" in ran.error.value and "small" not in ran.error.value
    assert (session.workspace / "small").read_bytes() == b"small"
    (session.workspace / "large").write_bytes(bytes(5000))
    ran = cell(session, code)
    assert ran.result.success and ran.result.metadata["not_restorable"] == ["large"]
    assert session.undo() == ["large"]
    assert (session.workspace / "small").read_bytes() == b"small"


def test_of_many_files_too_large_to_keep_some_are_named(
    make_session: MakeSession, cell: RunCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "UNDO_FILE_BYTES", 1000)
    session = make_session()
    names = sorted(f"{number:03}\n\x1b[2J" for number in range(300))
    for name in names:
        (session.workspace / name).write_bytes(bytes(5000))
    ran = cell(session, "import os\nfor name in os.listdir(): os.remove(name)\nos.abort()")
    assert ran.result.rolled_back and ran.result.metadata["not_restorable"] == names
    assert "(except 000??[2J, 001??[2J," in ran.error.value
    assert "009??[2J and 290 more: too large to be kept" in ran.error.value


def test_changes_behind_a_link_of_the_user(session: Session, cell: RunCell) -> None:
    """A folder that the user linked inside the workspace is no way around the transaction."""
    real = session.workspace / "real"
    real.mkdir()
    (real / "file").write_text("before")
    (session.workspace / "link").symlink_to("real")
    code = "open('link/file', 'w').write('after')\nopen('link/new', 'w').write('new')\n"
    cell(session, code + "import os\nos.abort()")
    assert {path.name: path.read_text() for path in real.iterdir()} == {"file": "before"}


def test_committing_behind_a_link_of_the_user_is_refused_or_reported(
    session: Session, cell: RunCell
) -> None:
    real = session.workspace / "real"
    real.mkdir()
    (real / "file").write_text("before")
    (session.workspace / "link").symlink_to("real")
    ran = cell(session, "open('link/file', 'w').write('after')")
    if ran.result.success:
        assert ran.result.files_modified in (["link/file"], ["real/file"])
    else:
        assert (real / "file").read_text() == "before"


# Quota.


def test_the_quota_is_an_error_of_the_cell(make_session: MakeSession, cell: RunCell) -> None:
    session = make_session(workspace_max_bytes=100_000, workspace_max_files=10)
    ran = cell(session, "open('big', 'wb').write(bytes(200_000))")
    assert not ran.result.success and ran.result.limit is Limit.WORKSPACE
    assert not ran.result.rolled_back
    ran = cell(session, "for n in range(20): open(f'f{n}', 'w').close()")
    assert ran.result.limit is Limit.WORKSPACE
    assert len(list(session.workspace.iterdir())) <= 10
    session.undo(2)
    assert cell(session, "open('big', 'wb').write(bytes(90_000))").result.success


# Disks that are full.


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte, where this user may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("mounting needs a privilege")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_an_exception_of_the_cell(
    make_session: MakeSession, cell: RunCell, small_disk: Path
) -> None:
    session = make_session(workspace=small_disk / "w")
    cell(session, "x = 1\nopen('small', 'w').write('kept')")
    ran = cell(session, "x = 2\nopen('big', 'wb').write(bytes(3_000_000))")
    assert ran.error.name == "OSError" and not ran.result.rolled_back
    session.undo()
    assert cell(session, "x, open('small').read()").value == "(1, 'kept')"
    ran = cell(session, "import os\nopen('small', 'w').write('lost')\nos.abort()")
    assert ran.result.rolled_back and (small_disk / "w" / "small").read_text() == "kept"


FULL_TEMPORARY_DISK = """
import json, os, resource, sys, tempfile
from wasm_kernel import Session

session = Session(workspace=sys.argv[1])
session.execute("x = 1\\nopen('file', 'wb').write(b'before' * 100_000)")
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
result = session.execute("x = 2\\nimport os\\nopen('file', 'r+b').write(b'after!')\\nos.abort()")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(json.dumps([result.rolled_back, result.metadata["not_restorable"], session.get("x")]))
"""


def test_no_room_for_the_copy_of_a_file_is_said(tmp_path: Path) -> None:
    """RLIMIT_FSIZE stands in for a full temporary disk: the copy of a file cannot be made."""
    ended = subprocess.run(
        [sys.executable, "-c", FULL_TEMPORARY_DISK, str(tmp_path / "w")],
        capture_output=True, timeout=HANG_GUARD_SECONDS, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == [True, ["file"], 1]


def test_no_descriptors_left_is_survived(make_session: MakeSession, cell: RunCell) -> None:
    """A rollback needs new descriptors; without any it is an error now and works later."""
    session = make_session()
    cell(session, "x = 1")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        assert cell(session, "import os\nos.abort()").result.rolled_back
        with pytest.raises(Exception):  # noqa: B017 - whatever the system says
            cell(session, "x")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert cell(session, "x").value == "1"


def test_the_private_folder_may_vanish(session: Session, cell: RunCell) -> None:
    cell(session, "import tempfile\nf = tempfile.mkstemp()[1]")
    shutil.rmtree(session.workspace / ".wasm_kernel")
    ran = cell(session, "tempfile.gettempdir()")
    assert ran.result.success
    with pytest.raises(WorkspaceError):
        shutil.rmtree(session.workspace)
        cell(session, "1")


def test_a_file_that_stays_open_costs_a_rollback_no_copy(session: Session) -> None:
    session.execute("log = open('log', 'w'); log.write('x' * 1_000_000); log.flush()")
    before = session._preimages.used
    for _ in range(3):
        assert session.execute("import os; os._exit(3)").rolled_back
    assert session._preimages.used == before
    # Written to after the rollback: the cell's own copy is kept, and can be put back.
    session.execute("log.write('tail'); log.flush()")
    assert (session.workspace / "log").stat().st_size == 1_000_004
    session.undo()
    assert (session.workspace / "log").stat().st_size == 1_000_000
