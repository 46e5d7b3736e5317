"""The journal of a cell: what it reports, what it counts, and how it takes everything back."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wasm_kernel.host.journal import Change, Journal, Quota
from wasm_kernel.host.preimages import Preimages
from wasm_kernel.host.workspace import PRIVATE_FOLDER, Usage, Workspace

LONG_AGO = 1_000_000_000 * 10**9
Tree = dict[str, tuple[bytes, int, int] | None]


class Cell:
    """Changes a workspace as a guest does: each step is noted, done, and counted."""

    def __init__(self, root: Path, *, max_bytes: int = 10**6, max_files: int = 100) -> None:
        self.workspace = Workspace(root)
        self.preimages = Preimages(10**6)
        self.quota = Quota(max_bytes, max_files)
        self.journal = self.next_journal()

    def next_journal(self) -> Journal:
        self.journal = Journal(self.workspace, self.quota, self.preimages)
        return self.journal

    def close(self) -> None:
        self.preimages.close()
        self.workspace.close()

    def found(self, path: str) -> os.stat_result:
        found = self.workspace.lstat(path)
        assert found is not None, path
        return found

    def put(self, path: str, content: bytes) -> None:
        place = self.workspace.root / path
        if place.exists():
            self.journal.note_write(path, self.found(path))
        else:
            assert self.journal.may_create()
            self.journal.note_create(path)
        place.write_bytes(content)
        assert self.journal.grown(path) is None

    def unlink(self, path: str) -> None:
        self.journal.note_unlink(path, self.found(path))
        (self.workspace.root / path).unlink()

    def mkdir(self, path: str) -> None:
        assert self.journal.may_create()
        self.journal.note_mkdir(path)
        (self.workspace.root / path).mkdir()

    def rmdir(self, path: str) -> None:
        self.journal.note_rmdir(path, self.found(path))
        (self.workspace.root / path).rmdir()

    def rename(self, old: str, new: str) -> None:
        target = self.workspace.lstat(new)
        if target is not None and stat.S_ISDIR(target.st_mode):
            self.journal.note_rmdir(new, target)
        elif target is not None:
            self.journal.note_unlink(new, target)
        self.journal.note_rename(old, new, self.found(old))
        (self.workspace.root / old).rename(self.workspace.root / new)
        self.journal.note_moved(old, new)

    def utime(self, path: str, nanoseconds: int) -> None:
        self.journal.note_times(path, self.found(path))
        os.utime(self.workspace.root / path, ns=(nanoseconds, nanoseconds))


def fill(root: Path) -> None:
    """Two files and a folder with one, all of them old."""
    (root / "folder").mkdir(parents=True)
    for name in ("one", "two", "folder/three"):
        (root / name).write_bytes(name.encode() * 3)
        os.utime(root / name, ns=(LONG_AGO, LONG_AGO))


def tree(root: Path) -> Tree:
    """Every entry: content, time and mode of a file, None for a folder."""
    return {
        str(path.relative_to(root)): (
            None
            if path.is_dir()
            else (path.read_bytes(), path.stat().st_mtime_ns, stat.S_IMODE(path.stat().st_mode))
        )
        for path in root.rglob("*")
    }


@pytest.fixture
def cell(workspace: Path) -> Iterator[Cell]:
    fill(workspace)
    made = Cell(workspace)
    yield made
    made.close()


Steps = Callable[[Cell], None]


def write_unlink_write(cell: Cell) -> None:
    cell.put("one", b"changed")
    cell.unlink("one")
    cell.put("one", b"made again")


def rename_over(cell: Cell) -> None:
    cell.put("one", b"changed")
    cell.rename("one", "two")
    cell.put("two", b"changed again")


def swap(cell: Cell) -> None:
    cell.rename("one", "spare")
    cell.rename("two", "one")
    cell.rename("spare", "two")


def move_folder_and_change(cell: Cell) -> None:
    cell.rename("folder", "moved")
    cell.put("moved/three", b"changed")
    cell.put("moved/four", b"new")
    cell.mkdir("folder")
    cell.put("folder/three", b"another")


def empty_and_remove(cell: Cell) -> None:
    cell.unlink("folder/three")
    cell.rmdir("folder")
    cell.put("folder", b"a file now")


CREATED, MODIFIED, DELETED = "created", "modified", "deleted"
CASES: list[tuple[str, Steps, list[tuple[str, str]]]] = [
    ("create", lambda cell: cell.put("new", b"x"), [("new", CREATED)]),
    ("modify", lambda cell: cell.put("one", b"changed"), [("one", MODIFIED)]),
    ("empty", lambda cell: cell.put("one", b""), [("one", MODIFIED)]),
    ("delete", lambda cell: cell.unlink("one"), [("one", DELETED)]),
    ("rename", lambda cell: cell.rename("one", "new"), [("new", CREATED), ("one", DELETED)]),
    ("times", lambda cell: cell.utime("one", LONG_AGO + 5), [("one", MODIFIED)]),
    ("mkdir", lambda cell: cell.mkdir("made"), []),
    ("write, unlink, write", write_unlink_write, [("one", MODIFIED)]),
    ("rename over", rename_over, [("one", DELETED), ("two", MODIFIED)]),
    ("swap", swap, [("one", MODIFIED), ("two", MODIFIED)]),
    (
        "move a folder and change",
        move_folder_and_change,
        [("folder/three", MODIFIED), ("moved/four", CREATED), ("moved/three", CREATED)],
    ),
    ("rmdir", empty_and_remove, [("folder", CREATED), ("folder/three", DELETED)]),
]
IDS = [name for name, _, _ in CASES]


@pytest.mark.parametrize(("steps", "expected"), [case[1:] for case in CASES], ids=IDS)
def test_changes_are_reported(cell: Cell, steps: Steps, expected: list[tuple[str, str]]) -> None:
    steps(cell)
    assert [(change.path, change.kind) for change in cell.journal.changes()] == expected


@pytest.mark.parametrize("steps", [case[1] for case in CASES], ids=IDS)
def test_rollback_restores_content_and_times(cell: Cell, workspace: Path, steps: Steps) -> None:
    before = tree(workspace)
    steps(cell)
    assert cell.journal.rollback() == []
    assert tree(workspace) == before
    assert cell.journal.mark == 0
    assert cell.journal.kept_bytes == 0
    assert cell.preimages.used == 0


@pytest.mark.parametrize("steps", [case[1] for case in CASES], ids=IDS)
def test_quota_counts_what_the_workspace_holds(cell: Cell, workspace: Path, steps: Steps) -> None:
    cell.quota.measured(cell.workspace)
    steps(cell)
    assert cell.quota.used == cell.workspace.usage()


def test_created_file_that_is_deleted_again_is_no_change(cell: Cell) -> None:
    cell.put("new", b"x")
    cell.unlink("new")
    assert cell.journal.changes() == []


def test_size_of_a_change_is_the_size_at_the_end(cell: Cell) -> None:
    cell.put("new", b"x")
    cell.put("new", b"longer")
    assert cell.journal.changes() == [Change("new", CREATED, 6)]


def test_times_of_a_folder_are_no_change_of_a_file(cell: Cell) -> None:
    cell.utime("folder", LONG_AGO)
    cell.mkdir("made")
    cell.utime("made", LONG_AGO)
    assert cell.journal.changes() == []


def test_private_folder_is_left_out_of_the_changes(cell: Cell, workspace: Path) -> None:
    cell.mkdir(PRIVATE_FOLDER)
    cell.put(f"{PRIVATE_FOLDER}/history", b"x")
    assert cell.journal.changes() == []
    cell.journal.rollback()
    assert not (workspace / PRIVATE_FOLDER).exists()


def test_link_that_took_a_files_place_is_not_followed(cell: Cell, workspace: Path) -> None:
    """Somebody swaps a created file for a link while the cell runs."""
    cell.put("new", b"x")
    outside = workspace.parent / "outside"
    outside.write_bytes(b"canary")
    (workspace / "new").unlink()
    (workspace / "new").symlink_to(outside)
    assert cell.journal.changes() == []
    cell.journal.rollback()
    assert outside.read_bytes() == b"canary"


def test_mode_of_a_deleted_file_is_restored_whatever_the_umask(cell: Cell, workspace: Path) -> None:
    (workspace / "one").chmod(0o666)
    cell.unlink("one")
    cell.journal.rollback()
    assert stat.S_IMODE((workspace / "one").stat().st_mode) == 0o666


def test_step_that_did_not_happen_is_taken_back(cell: Cell, workspace: Path) -> None:
    before = tree(workspace)
    cell.journal.note_create("never")
    cell.journal.take_back(cell.journal.mark - 1)
    assert cell.journal.mark == 0
    assert cell.journal.changes() == []
    cell.put("new", b"x")
    cell.journal.note_mkdir("never either")
    cell.journal.take_back(cell.journal.mark - 1)
    assert cell.quota.measured(cell.workspace) == cell.workspace.usage()
    assert cell.journal.rollback() == []
    assert tree(workspace) == before


def test_file_beyond_the_budget_is_named_and_left_as_it_is(cell: Cell, workspace: Path) -> None:
    cell.preimages.budget = 10
    cell.put("folder/three", b"too large to keep")
    cell.put("one", b"kept")
    assert cell.journal.rollback() == ["folder/three"]
    assert (workspace / "folder/three").read_bytes() == b"too large to keep"
    assert (workspace / "one").read_bytes() == b"oneoneone"


def test_copies_go_when_the_possibility_is_given_up(cell: Cell, workspace: Path) -> None:
    cell.put("one", b"changed")
    assert cell.journal.kept_bytes == len(b"oneoneone") == cell.preimages.used
    cell.journal.forget()
    assert cell.preimages.used == 0
    assert cell.journal.rollback() == []
    assert (workspace / "one").read_bytes() == b"changed"


def test_without_copies_changes_are_still_reported(workspace: Path) -> None:
    fill(workspace)
    with Workspace(workspace) as opened:
        journal = Journal(opened, Quota(10**6, 100))
        journal.note_write("one", (workspace / "one").lstat())
        (workspace / "one").write_bytes(b"changed")
        journal.note_unlink("two", (workspace / "two").lstat())
        (workspace / "two").unlink()
        found = [(change.path, change.kind) for change in journal.changes()]
    assert found == [("one", MODIFIED), ("two", DELETED)]


def test_cells_are_undone_in_turn(cell: Cell, workspace: Path) -> None:
    states, journals = [tree(workspace)], []
    for content in (b"first", b"second", b"third"):
        cell.put("one", content)
        cell.put(f"new {content.decode()}", content)
        cell.journal.seal()
        journals.append(cell.journal)
        states.append(tree(workspace))
        cell.next_journal()
    while journals:
        assert tree(workspace) == states.pop()
        assert journals.pop().rollback() == []
    assert tree(workspace) == states.pop()


def test_undo_spares_what_somebody_changed_since(cell: Cell, workspace: Path) -> None:
    cell.put("one", b"by the cell")
    cell.put("two", b"by the cell")
    cell.journal.seal()
    assert cell.journal.touched() == []
    (workspace / "one").write_bytes(b"by a person, later")
    assert cell.journal.touched() == ["one"]
    assert cell.journal.rollback(frozenset({"one"})) == ["one"]
    assert (workspace / "one").read_bytes() == b"by a person, later"
    assert (workspace / "two").read_bytes() == b"twotwotwo"


# Quota.


@pytest.fixture
def small(workspace: Path) -> Iterator[Cell]:
    workspace.mkdir()
    (workspace / "there").write_bytes(bytes(60))
    made = Cell(workspace, max_bytes=100, max_files=3)
    yield made
    made.close()


def test_file_that_grows_beyond_the_quota_is_told_its_old_size(
    small: Cell, workspace: Path
) -> None:
    small.put("new", bytes(40))
    small.journal.note_write("new", small.found("new"))
    (workspace / "new").write_bytes(bytes(41))
    assert small.journal.grown("new") == 40
    assert small.journal.quota_hit


def test_size_beyond_the_quota_is_refused_before_it_is_set(small: Cell) -> None:
    assert small.journal.room("there", 100)
    assert not small.journal.quota_hit
    assert not small.journal.room("there", 101)
    assert small.journal.quota_hit


def test_number_of_entries_is_bounded(small: Cell) -> None:
    small.put("second", b"")
    small.mkdir("third")
    assert not small.journal.may_create()
    assert small.journal.quota_hit
    small.rmdir("third")
    assert small.journal.may_create()


def test_deleting_gives_room_back(small: Cell) -> None:
    assert not small.journal.room("new", 41)
    small.unlink("there")
    assert small.journal.room("new", 100)


def test_file_that_is_renamed_while_it_grows_is_counted_once(small: Cell, workspace: Path) -> None:
    small.put("new", bytes(20))
    small.rename("new", "renamed")
    small.put("renamed", bytes(30))
    assert small.quota.used == small.workspace.usage() == Usage(size=90, entries=2)


def test_usage_is_measured_anew_after_a_rollback(small: Cell) -> None:
    small.put("new", bytes(40))
    small.journal.rollback()
    assert small.quota.measured(small.workspace) == Usage(size=60, entries=1)


# Any sequence of steps.

NAMES = st.sampled_from(["one", "two", "new", "folder", "made", "folder/three", "made/four"])
STEP = st.tuples(
    st.sampled_from(["put", "unlink", "mkdir", "rmdir", "rename", "utime"]),
    NAMES,
    NAMES,
    st.binary(max_size=30),
)


def take(cell: Cell, kind: str, path: str, other: str, content: bytes) -> None:
    """Do a step if a file system would allow it."""
    root = cell.workspace.root
    place, target = root / path, root / other
    if kind in ("put", "mkdir") and not place.parent.is_dir():
        return
    if kind == "put" and not place.is_dir():
        cell.put(path, content)
    elif kind == "unlink" and place.is_file():
        cell.unlink(path)
    elif kind == "mkdir" and not place.exists():
        cell.mkdir(path)
    elif kind == "rmdir" and place.is_dir() and not list(place.iterdir()):
        cell.rmdir(path)
    elif kind == "utime" and place.is_file():
        cell.utime(path, LONG_AGO + len(content))
    elif kind == "rename" and place.exists() and target.parent.is_dir() and path != other:
        if other.startswith(path + "/") or path.startswith(other + "/"):
            return
        if target.exists() and target.is_dir() != place.is_dir():
            return
        if target.is_dir() and list(target.iterdir()):
            return
        cell.rename(path, other)


@given(st.lists(STEP, max_size=12))
def test_any_cell_is_reported_and_taken_back(steps: list[tuple[str, str, str, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "workspace"
        fill(root)
        before = tree(root)
        cell = Cell(root)
        for step in steps:
            take(cell, *step)
        after = tree(root)
        files = {path for path, content in before.items() if content is not None}
        left = {path for path, content in after.items() if content is not None}
        by_kind: dict[str, set[str]] = {CREATED: set(), MODIFIED: set(), DELETED: set()}
        for change in cell.journal.changes():
            by_kind[change.kind].add(change.path)
        assert by_kind[CREATED] == left - files
        assert by_kind[DELETED] == files - left
        assert {path for path in files & left if before[path] != after[path]} <= by_kind[MODIFIED]
        assert by_kind[MODIFIED] <= files & left
        assert cell.journal.rollback() == []
        assert tree(root) == before
        assert cell.preimages.used == 0
        cell.close()


@settings(max_examples=150)
@given(st.lists(STEP, max_size=12))
def test_quota_of_any_cell_is_what_the_workspace_holds(
    steps: list[tuple[str, str, str, bytes]],
) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "workspace"
        fill(root)
        cell = Cell(root)
        cell.quota.measured(cell.workspace)
        for step in steps:
            take(cell, *step)
        assert cell.quota.measured(cell.workspace) == cell.workspace.usage()
        cell.close()


def test_room_of_names_is_given_back(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    journal = Journal(workspace, Quota(10**6, 100))
    for name in ("plain", "\U0001f600wide" * 20):
        for _ in range(3):
            mark = journal.mark
            journal.note_create(name)
            journal.confirm(mark)
            journal.note_gone(name)
            journal.note_mkdir(name)
            journal.take_back(mark)
    assert journal.cost == 0
    journal.note_mkdir("\U0001f600" + "x" * 99)
    assert journal.cost >= sys.getsizeof("\U0001f600" + "x" * 99)
    workspace.close()
