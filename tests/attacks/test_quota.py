"""Attacks on the quota of the workspace and on what the host spends to keep it."""

from __future__ import annotations

import os
import re
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wasm_kernel import NOTEBOOK_POLICY, Limit, Session
from wasm_kernel.host import wasi_names
from wasm_kernel.host.workspace import Workspace

from .conftest import Runner, held
from .guest_code import ATTEMPT

MEGABYTE = 1_000_000


GROW = {
    "truncate": "os.truncate(new(), 1 << 40)",
    "ftruncate": "os.ftruncate(os.open(new(), os.O_RDWR), 1 << 40)",
    "seek and write": "f = open(new(), 'r+b'); f.seek(1 << 40); f.write(b'x'); f.close()",
    "pwrite": "os.pwrite(os.open(new(), os.O_RDWR), b'x', 1 << 40)",
    "seek by number": "f = os.open(new(), os.O_RDWR); os.lseek(f, 1 << 40, 0); os.write(f, b'x')",
    "allocate": "os.posix_fallocate(os.open(new(), os.O_RDWR), 0, 1 << 40)",
    "append": "f = open(new(), 'ab', 0)\nfor _ in range(40): f.write(bytes(100_000))",
    "one write": "os.write(os.open(new(), os.O_RDWR), bytes(20_000_000))",
    "many files": "for _ in range(40): open(new(), 'wb').write(bytes(100_000))",
    "two descriptors": (
        "a, b = [os.open(new('same'), os.O_RDWR) for _ in 'ab']\n"
        "for n in range(40): os.pwrite(a if n % 2 else b, bytes(100_000), n * 100_000)"
    ),
    "empty and grow again": (
        "for n in range(40):\n"
        "    f = open(new('x'), 'wb'); f.write(bytes(100_000)); f.close()\n"
        "    os.truncate('x', 0); os.rename('x', f'y{n}'); os.truncate(f'y{n}', 100_000)"
    ),
    "remove by a name with a slash": (
        "open('big', 'wb').write(bytes(400_000))\n"
        "for _ in range(50): quietly(os.unlink, 'big/')\n"
        "for _ in range(20): open(new(), 'wb').write(bytes(100_000))"
    ),
    "remove by a name through nothing": (
        "open('big', 'wb').write(bytes(400_000))\n"
        "for _ in range(50): quietly(os.unlink, 'missing/../big')\n"
        "for _ in range(20): open(new(), 'wb').write(bytes(100_000))"
    ),
    "rename over a larger file": (
        "for n in range(8):\n"
        "    open('a', 'wb').write(bytes(400_000)); open('b', 'wb').write(b'1')\n"
        "    os.rename('b', 'a'); open('a', 'r+b').write(bytes(400_000)); os.rename('a', f'c{n}')"
    ),
}


def grow(how: str) -> str:
    """Code that tries to make the workspace larger than it may be."""
    return f"""
import itertools, os
names = (f"file-{{n}}" for n in itertools.count())

def new(name=None):
    name = name or next(names)
    open(name, "ab").close()
    return name

def quietly(call, *arguments):
    try:
        call(*arguments)
    except OSError:
        pass

try:
    exec({GROW[how]!r})
except OSError as error:
    print(type(error).__name__, error.errno)
"""


@pytest.mark.parametrize("how", GROW)
def test_the_workspace_never_holds_more_bytes_than_its_quota(
    run: Runner, workspace: Path, how: str
) -> None:
    run(grow(how), workspace_max_bytes=MEGABYTE)
    assert held(workspace) <= MEGABYTE


@pytest.mark.parametrize("how", ["truncate", "seek and write", "many files"])
def test_control_a_larger_quota_lets_the_files_grow(run: Runner, workspace: Path, how: str) -> None:
    run(grow(how), workspace_max_bytes=1 << 42)
    assert held(workspace) > MEGABYTE


OVERWRITE = {
    "write": "os.write(file, data)",
    "pwrite": "os.pwrite(file, data, 0)",
}


@pytest.mark.parametrize("how", OVERWRITE)
def test_a_write_that_is_too_large_changes_nothing(run: Runner, workspace: Path, how: str) -> None:
    """It is refused, not done and cut back: the disk is not filled on the way."""
    result = run(
        f"""
import os
open("full", "wb").write(b"a" * 900_000)
file, data = os.open("full", os.O_RDWR), b"b" * 20_000_000
try:
    {OVERWRITE[how]}
except OSError as error:
    print(error)
""",
        workspace_max_bytes=MEGABYTE,
    )
    assert "quota" in result.stdout.lower()
    assert (workspace / "full").read_bytes() == b"a" * 900_000


@pytest.mark.parametrize("how", OVERWRITE)
def test_a_full_workspace_can_be_overwritten(run: Runner, workspace: Path, how: str) -> None:
    result = run(
        f"""
import os
open("full", "wb").write(b"a" * 900_000)
file, data = os.open("full", os.O_RDWR), b"b" * 900_000
{OVERWRITE[how]}
""",
        workspace_max_bytes=MEGABYTE,
    )
    assert result.success, result.stderr
    assert (workspace / "full").read_bytes() == b"b" * 900_000


WRITE_UNSEEN = {
    "a removed file": "os.unlink('open')",
    "a replaced file": "open('small', 'w').close(); os.rename('small', 'open')",
}


@pytest.mark.parametrize("how", WRITE_UNSEEN)
def test_a_file_without_a_name_counts_too(run: Runner, how: str) -> None:
    result = run(
        f"""
import os
file = os.open("open", os.O_RDWR | os.O_CREAT)
{WRITE_UNSEEN[how]}
try:
    for _ in range(40):
        os.write(file, bytes(100_000))
except OSError as error:
    print(error)
print("size", os.fstat(file).st_size)
""",
        workspace_max_bytes=MEGABYTE,
    )
    found = re.search(r"^size (\d+)$", result.stdout, re.MULTILINE)
    assert found is None or int(found[1]) <= MEGABYTE


HOLD_UNSEEN = {
    "removed": "file = open('f', 'wb', 0); file.write(bytes(400_000)); os.unlink('f')",
    "replaced": (
        "file = open('f', 'wb', 0); file.write(bytes(400_000))\n"
        "open('small', 'w').close(); os.rename('small', 'f')"
    ),
    "removed while it is read": (
        "open('f', 'wb').write(bytes(400_000)); file = open('f', 'rb'); os.unlink('f')"
    ),
    "removed, then filled": (
        "file = open('f', 'wb', 0); os.unlink('f'); file.write(bytes(400_000))"
    ),
    "opened twice and closed once": (
        "file = open('f', 'wb', 0); file.write(bytes(400_000)); again = open('f', 'rb')\n"
        "os.unlink('f'); again.close()"
    ),
}


def held_unseen(workspace: Path) -> int:
    """Bytes of the removed files of a workspace that this process holds open."""
    found: dict[int, int] = {}
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
            there = os.stat(f"/proc/self/fd/{number}")
        except FileNotFoundError:
            continue
        if target.startswith(str(workspace)) and target.endswith("(deleted)"):
            found[there.st_ino] = there.st_size
    return sum(found.values())


def hold(session: Session, how: str) -> int:
    """What cells hold on the disk that try to keep removed files open, one after the other."""
    session.execute("import os\nfiles = []")
    for _ in range(4):
        session.execute(
            f"for n in range(3):\n    {HOLD_UNSEEN[how].replace(chr(10), '; ')}; files.append(file)"
        )
    return held_unseen(session.workspace)


@pytest.mark.parametrize("how", HOLD_UNSEEN)
def test_files_that_are_kept_open_without_a_name_count(workspace: Path, how: str) -> None:
    limits = NOTEBOOK_POLICY.replace(workspace_max_bytes=MEGABYTE)
    with Session(limits, workspace) as session:
        assert 0 < hold(session, how) <= MEGABYTE
        # What is closed gives its room back, and no more than that.
        session.execute("for file in files: file.close()")
        assert held_unseen(workspace) == 0
        result = session.execute("open('a', 'wb').write(bytes(900_000))")
        assert result.success, result.error
        assert session.execute("open('b', 'wb').write(bytes(200_000))").limit is Limit.WORKSPACE


def test_control_a_larger_quota_lets_cells_hold_more(workspace: Path) -> None:
    with Session(NOTEBOOK_POLICY, workspace) as session:
        assert hold(session, "removed") > MEGABYTE


def test_what_a_rolled_back_cell_held_is_free_again(workspace: Path) -> None:
    limits = NOTEBOOK_POLICY.replace(workspace_max_bytes=MEGABYTE)
    with Session(limits, workspace) as session:
        assert session.execute(
            "import os\nfile = open('f', 'wb', 0); file.write(bytes(900_000)); os.unlink('f')\n"
            "os._exit(1)"
        ).rolled_back
        assert session.execute("open('a', 'wb').write(bytes(900_000))").success


def test_a_write_that_fits_the_quota_after_a_rename_keeps_the_file(
    run: Runner, workspace: Path
) -> None:
    result = run(
        """
import os
open("draft", "wb").write(bytes(600_000))
os.rename("draft", "final")
open("final", "ab").write(b"the end")
""",
        workspace_max_bytes=MEGABYTE,
    )
    assert result.success, result.stderr
    assert (workspace / "final").stat().st_size == 600_007


def test_what_the_user_removed_no_longer_counts(run: Runner, workspace: Path) -> None:
    sandbox = run.sandbox(workspace_max_bytes=MEGABYTE)
    write = "open('large', 'wb').write(bytes(600_000))"
    assert sandbox.execute(write).success
    (workspace / "large").unlink()
    assert sandbox.execute(write).success


def test_what_the_user_added_counts(run: Runner, workspace: Path) -> None:
    sandbox = run.sandbox(workspace_max_bytes=MEGABYTE)
    write = "open('{}', 'wb').write(bytes(300_000))"
    assert sandbox.execute(write.format("first")).success
    (workspace / "users").write_bytes(bytes(600_000))
    assert sandbox.execute(write.format("second")).limit is Limit.WORKSPACE


MANY = """
import os
try:
    for number in range(300):
        open(f"file-{number}", "x").close()
        os.mkdir(f"folder-{number}")
except OSError as error:
    print(error)
try:
    for number in range(300):
        open(f"more-{number}/", "x")
except OSError as error:
    print(error)
"""


def test_the_workspace_never_holds_more_files_than_its_quota(run: Runner, workspace: Path) -> None:
    run(MANY, workspace_max_files=50)
    assert len(list(workspace.rglob("*"))) <= 50


def test_removing_nothing_makes_no_room_for_more_files(run: Runner, workspace: Path) -> None:
    run(
        MANY
        + """
for number in range(300):
    for name in ("file-0/", "missing/../file-0"):
        try:
            os.unlink(name)
        except OSError:
            pass
for number in range(300):
    try:
        open(f"later-{number}", "x").close()
    except OSError:
        pass
""",
        workspace_max_files=50,
    )
    assert len(list(workspace.rglob("*"))) <= 50


def test_control_a_larger_quota_lets_the_files_multiply(run: Runner, workspace: Path) -> None:
    run(MANY, workspace_max_files=5000)
    assert len(list(workspace.rglob("*"))) > 50


@pytest.fixture
def few_descriptors() -> Iterator[int]:
    """The host process may open 512 files, as on a careful system."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    yield 512
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


OPEN_ALL = """
import os
opened = []
try:
    while len(opened) < 1000:
        opened.append(os.open("user_code.py", os.O_RDONLY))
except OSError as error:
    pass
print(len(opened))
"""


def test_a_guest_leaves_descriptors_for_the_host(run: Runner, few_descriptors: int) -> None:
    result = run(OPEN_ALL)
    assert 0 < int(result.stdout) <= few_descriptors // 2


def test_a_guest_without_descriptors_does_not_blind_the_quota(
    run: Runner, workspace: Path, few_descriptors: int
) -> None:
    (workspace / "users").write_bytes(bytes(900_000))
    run(
        OPEN_ALL
        + """
os.close(opened.pop())
file = os.open("new", os.O_WRONLY | os.O_CREAT)
os.write(file, bytes(900_000))
""",
        workspace_max_bytes=MEGABYTE,
    )
    assert held(workspace) <= MEGABYTE


NEST = """
import os
folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
for depth in range({depth}):
    os.mkdir("deep-dir", dir_fd=folder)
    below = os.open("deep-dir", os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
    os.close(folder)
    folder = below
"""


def test_folders_are_not_nested_deeper_than_a_path_can_name(run: Runner, workspace: Path) -> None:
    run(NEST.format(depth=480))
    with Workspace(workspace) as opened:
        deepest = max((len(path) for path, _ in opened.walk()), default=0)
    shutil.rmtree(workspace / "deep-dir", ignore_errors=True)
    assert deepest <= 4096


STACK = """
import os
def chain(top):
    os.makedirs(leaf := top + "/d" * 54)
    return leaf
chain("t0")
for number in range(1, 6):
    os.rename(f"t{number - 1}", chain(f"t{number}") + "/d")
"""


@pytest.mark.parametrize("is_bounded", [True, False])
def test_folders_are_not_nested_deeper_by_moving_them(
    run: Runner, workspace: Path, monkeypatch: pytest.MonkeyPatch, is_bounded: bool
) -> None:
    """The host has a folder open for each level; a thousand levels took all its descriptors."""
    if not is_bounded:
        monkeypatch.setattr(wasi_names, "_DEPTH_MAX", 10_000)
    result = run(STACK)
    with Workspace(workspace) as opened:
        levels = max(path.count("/") for path, _ in opened.walk())
    assert (levels < 64) is is_bounded
    assert ("Filename too long" in result.stderr) is is_bounded


def test_a_move_that_would_be_too_deep_leaves_everything_as_it_is(
    run: Runner, workspace: Path
) -> None:
    result = run(
        STACK.replace("range(1, 6)", "()")
        + """
leaf = chain("t1")
open("t0/file", "w").write("kept")
try:
    os.rename("t0", leaf + "/d")
except OSError as error:
    print(error.strerror, open("t0/file").read(), os.listdir(leaf))
os.rename("t0", "other")
open("other/file", "a").write(" and more")
"""
    )
    assert result.stdout == "Filename too long kept []\n"
    assert (workspace / "other" / "file").read_text() == "kept and more"
    assert [change.path for change in result.files] == ["other/file"]


def test_the_hosts_scan_of_nested_folders_does_not_start_anew_at_each_depth(
    run: Runner, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(NEST.format(depth=100))
    depth = sum(1 for _ in workspace.rglob("*"))
    opened = 0
    plain = os.open

    def counting(*arguments: Any, **options: Any) -> int:
        nonlocal opened
        opened += 1
        return plain(*arguments, **options)

    monkeypatch.setattr(os, "open", counting)
    with Workspace(workspace) as folder:
        folder.usage()
    assert opened <= 4 * depth + 10


def test_creates_that_fail_do_not_make_the_host_scan_again_and_again(
    run: Runner, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scans = 0
    plain = Workspace.usage

    def counting(opened: Workspace) -> Any:
        nonlocal scans
        scans += 1
        return plain(opened)

    monkeypatch.setattr(Workspace, "usage", counting)
    run(ATTEMPT + "for n in range(100): attempt(str(n), lambda: open('x' * 300, 'w'))")
    assert scans <= 10
