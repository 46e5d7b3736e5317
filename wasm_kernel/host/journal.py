"""What one cell does to the workspace, written down before it happens.

Each mutating WASI call is recorded with what it takes to reverse it. From the same record come
the list of changed files (no scan, however large the workspace is), the quota, the rollback of
a failed cell and the undo of a finished one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from wasm_kernel.core.data import dataclass, field
from wasm_kernel.host import restoring
from wasm_kernel.host.preimages import Preimages
from wasm_kernel.host.workspace import PRIVATE_FOLDER, Usage, Workspace

Signature = tuple[int, int, int, int]

NOTES_MAX = 1_000_000
"""Steps and names that the journal of one cell holds; changes beyond that are refused."""

NOTE_BYTES = 400
"""About what a step or a name takes in the host's memory."""

NAMES_MAX_BYTES = 250_000_000
"""What the names themselves may take: the guest chooses how long they are."""


@dataclass()
class Change:
    """One regular file that differs from what it was when the journal began."""

    path: str
    kind: str
    size: int = 0


@dataclass()
class Quota:
    """What a workspace may hold, and what it holds as far as the journals know."""

    max_bytes: int
    max_files: int
    used: Usage | None = None
    nameless: int = 0
    """Bytes of files that were removed or replaced while a guest has them open."""

    def measured(self, workspace: Workspace) -> Usage:
        """The usage; the workspace is only walked when a guest first writes."""
        if self.used is None:
            self.used = workspace.usage()
        return Usage(self.used.size + self.nameless, self.used.entries)

    def add(self, size: int, entries: int) -> None:
        """Count a change that was allowed."""
        if self.used is not None:
            self.used = Usage(self.used.size + size, self.used.entries + entries)


@dataclass()
class _Step:
    """One step: how to reverse it, the copy that needs, and what it meant for the quota."""

    path: str
    reverse: Callable[[Workspace], None] | None
    slot: Path | None = None
    kept: int = 0
    size: int = 0
    entries: int = 0
    firsts: list[str] = field(default_factory=list)


@dataclass()
class Journal:
    """The record of one cell; ``preimages`` is None where nothing will be rolled back."""

    workspace: Workspace
    quota: Quota
    preimages: Preimages | None = None
    quota_hit: bool = False
    unrestorable: list[str] = field(default_factory=list)
    _steps: list[_Step] = field(default_factory=list)
    _before: dict[str, Signature | None] = field(default_factory=dict)
    _after: dict[str, tuple[int, int] | None] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)
    _kept: set[str] = field(default_factory=set)
    _name_bytes: int = 0
    _made: set[str] = field(default_factory=set)
    """Files that were not there before: what they held is nothing to come back to."""

    # Each of these is called before a step, with paths relative to the workspace. If the step
    # fails it is taken back, if it succeeds it is confirmed.

    def may_create(self) -> bool:
        """Whether one more file or folder fits."""
        used = self.quota.measured(self.workspace)
        if used.entries + 1 > self.quota.max_files or used.size > self.quota.max_bytes:
            self.quota_hit = True
            return False
        return True

    def may_note(self) -> bool:
        """Whether there is room for another step: what the host remembers is bounded as well."""
        if self._notes < NOTES_MAX and self._name_bytes < NAMES_MAX_BYTES:
            return True
        self.quota_hit = True
        return False

    def note_create(self, path: str) -> None:
        """A file that was not there is about to be made."""
        step = self._step(path, lambda w: restoring.unlink(w, path), entries=1)
        self._first(step, path, None)
        self._sizes[path] = 0
        self._kept.add(path)
        self._made.add(path)

    def note_write(self, path: str, found: os.stat_result) -> None:
        """An existing file is about to be opened for writing or written to."""
        if path in self._kept:
            return
        step = self._step(path, None)
        self._first(step, path, found)
        self._sizes[path] = found.st_size
        self._keep(step, path, found)
        self._kept.add(path)

    def note_unlink(self, path: str, found: os.stat_result) -> None:
        """A file is about to be removed or replaced."""
        step = self._step(path, None, size=-found.st_size, entries=-1)
        self._first(step, path, found)
        if path in self._made:
            step.reverse = lambda w: restoring.create(w, path)
        else:
            self._keep(step, path, found)
        # A file made here later is another one.
        self._kept.discard(path)
        self._made.discard(path)
        self._sizes.pop(path, None)

    def note_mkdir(self, path: str) -> None:
        """A folder is about to be made."""
        self._step(path, lambda w: restoring.rmdir(w, path), entries=1)

    def note_rmdir(self, path: str, found: os.stat_result) -> None:
        """An empty folder is about to be removed."""
        mode = stat.S_IMODE(found.st_mode)
        self._step(path, lambda w: restoring.mkdir(w, path, mode), entries=-1)

    def note_rename(self, old: str, new: str, found: os.stat_result) -> str:
        """A file or folder is about to move to a name that is free by now.

        The name of what will lie deepest by then is the answer.
        """
        step = self._step(new, lambda w: restoring.rename(w, new, old))
        deepest = new
        if stat.S_ISDIR(found.st_mode):
            for path, inner in self.workspace.walk(old):
                moved = new + path[len(old) :]
                deepest = max(deepest, moved, key=lambda name: name.count("/"))
                if stat.S_ISREG(inner.st_mode):
                    self._first(step, path, inner)
                    self._first(step, moved, None)
        else:
            self._first(step, old, found)
            self._first(step, new, None)
        return deepest

    def note_moved(self, old: str, new: str) -> None:
        """The move was made: what is known of its files is known by their new names.

        Not before: after a move that failed, files of the same names would pass for kept.
        """
        for names in (self._kept, self._made):
            names -= {path for path in names if _is_below(path, new)}
            for path in [path for path in names if _is_below(path, old)]:
                names.discard(path)
                names.add(new + path[len(old) :])
        for path in [path for path in self._sizes if _is_below(path, old)]:
            self._sizes[new + path[len(old) :]] = self._sizes.pop(path)

    def note_times(self, path: str, found: os.stat_result) -> None:
        """The times of a file or folder are about to be set."""
        times = (found.st_atime_ns, found.st_mtime_ns)
        step = self._step(path, lambda w: restoring.utime(w, path, times))
        if stat.S_ISREG(found.st_mode):
            self._first(step, path, found)

    @property
    def mark(self) -> int:
        """How many steps there are, to come back to."""
        return len(self._steps)

    def take_back(self, mark: int) -> None:
        """The steps noted since did not happen after all."""
        while len(self._steps) > mark:
            step = self._pop()
            self._kept.discard(step.path)
            self._made.discard(step.path)
            self.quota.add(-step.size, -step.entries)
            for path in step.firsts:
                self._forget_first(path)
            self._drop(step)

    def confirm(self, mark: int) -> None:
        """The steps noted since did happen; without rollback nothing needs to be kept of them."""
        if self.preimages is None:
            while len(self._steps) > mark:
                self._pop()

    def note_gone(self, path: str) -> None:
        """A file was removed; one that this run made has come and gone without a trace."""
        if self.preimages is None and self._before.get(path, ()) is None:
            self._forget_first(path)

    def grown(self, path: str) -> int | None:
        """After a write: None if it fits the quota, else the size the file had before."""
        found = self.workspace.lstat(path)
        if found is None:
            return None
        before = self._sizes.setdefault(path, found.st_size)
        if found.st_size == before:
            return None
        if found.st_size > before and not self.has_room(found.st_size - before):
            return before
        self.quota.add(found.st_size - before, 0)
        self._sizes[path] = found.st_size
        return None

    def room(self, path: str, size: int) -> bool:
        """Whether a file may be given this size."""
        found = self.workspace.lstat(path)
        return self.has_room(size - (found.st_size if found is not None else 0))

    def has_room(self, size: int) -> bool:
        """Whether so many bytes more fit."""
        if size > 0 and self.quota.measured(self.workspace).size + size > self.quota.max_bytes:
            self.quota_hit = True
            return False
        return True

    # Asked after the cell.

    def changes(self) -> list[Change]:
        """The regular files that now differ, sorted by path."""
        found: list[Change] = []
        for path, before in sorted(self._before.items()):
            if _is_below(path, PRIVATE_FOLDER):
                continue
            there = self.workspace.lstat(path)
            if there is not None and not stat.S_ISREG(there.st_mode):
                there = None
            now = _signature(there)
            if before is None and there is not None:
                found.append(Change(path, "created", there.st_size))
            elif before is not None and there is None:
                found.append(Change(path, "deleted"))
            elif before is not None and there is not None and before != now:
                found.append(Change(path, "modified", there.st_size))
        return found

    def seal(self) -> None:
        """The cell is committed: remember how it left its files, so that undo can tell."""
        self._after = {path: self._left_as(path) for path in self._before}

    def touched(self) -> list[str]:
        """Files that somebody else changed since the journal was sealed."""
        return [path for path, after in self._after.items() if self._left_as(path) != after]

    def _left_as(self, path: str) -> tuple[int, int] | None:
        """Size and time of a file: a rollback puts both back, but maybe into a new inode."""
        found = self.workspace.lstat(path)
        return None if found is None else (found.st_size, found.st_mtime_ns)

    @property
    def _notes(self) -> int:
        return len(self._steps) + len(self._before)

    @property
    def kept_bytes(self) -> int:
        """What the copies of this journal occupy."""
        return sum(step.kept for step in self._steps)

    @property
    def cost(self) -> int:
        """What it takes to be able to reverse this cell, in memory and on the disk."""
        return self.kept_bytes + NOTE_BYTES * self._notes + self._name_bytes

    def rollback(self, spare: frozenset[str] = frozenset()) -> list[str]:
        """Reverse every step, last first; returns the files that could not be put back."""
        failed = list(self.unrestorable)
        while self._steps:
            step = self._pop()
            if step.reverse is not None and step.path not in spare:
                try:
                    step.reverse(self.workspace)
                except OSError:
                    failed.append(step.path)
            self._drop(step)
        self.quota.used = None
        return sorted(set(failed) | spare)

    def forget(self) -> None:
        """Give up the possibility to reverse this cell."""
        while self._steps:
            self._drop(self._pop())

    def _step(
        self,
        path: str,
        reverse: Callable[[Workspace], None] | None,
        size: int = 0,
        entries: int = 0,
    ) -> _Step:
        self.quota.measured(self.workspace)
        self.quota.add(size, entries)
        step = _Step(path, reverse, size=size, entries=entries)
        self._steps.append(step)
        self._name_bytes += _room_of(path)
        return step

    def _pop(self) -> _Step:
        step = self._steps.pop()
        self._name_bytes -= _room_of(step.path)
        return step

    def _first(self, step: _Step, path: str, found: os.stat_result | None) -> None:
        if path not in self._before:
            self._before[path] = _signature(found)
            step.firsts.append(path)
            self._name_bytes += _room_of(path)

    def _forget_first(self, path: str) -> None:
        del self._before[path]
        self._name_bytes -= _room_of(path)

    def _keep(self, step: _Step, path: str, found: os.stat_result) -> None:
        """Keep the present content of a file for a step, if there is a place for it."""
        if self.preimages is None:
            return
        slot = self.preimages.copy(self.workspace, path, found.st_size)
        if slot is None:
            self.unrestorable.append(path)
            return
        step.slot, step.kept = slot, found.st_size
        step.reverse = lambda w: restoring.restore(w, path, slot, found)

    def _drop(self, step: _Step) -> None:
        if step.slot is not None and self.preimages is not None:
            self.preimages.drop(step.slot, step.kept)


def _room_of(path: str) -> int:
    """What a name takes at most: one letter beyond ASCII may make all of them wide."""
    return len(path) if path.isascii() else 4 * len(path)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def _signature(found: os.stat_result | None) -> Signature | None:
    """What tells a file from an earlier state of it.

    The disk's own time of change is part of it: a deterministic guest writes at the same virtual
    time in each of its runs.
    """
    if found is None:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
