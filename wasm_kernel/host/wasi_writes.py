"""Writes to open files: noted before they happen, counted after, and cut back beyond the quota."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wasm_kernel.host.mounts import Mount
from wasm_kernel.host.wasi_abi import BADF, DQUOT, SUCCESS, WasiFailure, unsigned
from wasm_kernel.host.wasi_names import GuardedNames

if TYPE_CHECKING:
    from wasm_kernel.host.guest import Guest

_SMALL_WRITE_BYTES = 65_536
"""What a write may have to be found too large only afterwards."""
_FD_APPEND = 1


class GuardedWrites(GuardedNames):
    """What a guest writes through its descriptors, to files and to its output."""

    def __init__(self, guest: Guest, mounts: dict[int, Mount]) -> None:
        super().__init__(guest, mounts)
        self._nameless: dict[int, int] = {}
        """Bytes of files that lost their name while they were open, by their inodes."""

    def fd_write(self, descriptor: int, vectors: int, count: int, written: int) -> int:
        if descriptor in (1, 2) and descriptor not in self._open:
            stream = self._guest.stdout if descriptor == 1 else self._guest.stderr
            data, total = self._gather(unsigned(vectors), unsigned(count), stream.room)
            stream.write(data, total)
            self._memory.write_u32(unsigned(written), total)
            return SUCCESS
        if self._discards(descriptor):
            return self._discard(vectors, count, written)
        path = self._before_write(descriptor, unsigned(vectors), unsigned(count))
        number = self._native("fd_write", descriptor, vectors, count, written)
        return self._after_write(descriptor, path, number, added_at=written)

    def fd_pwrite(
        self, descriptor: int, vectors: int, count: int, offset: int, written: int
    ) -> int:
        if self._discards(descriptor):
            return self._discard(vectors, count, written)
        path = self._before_write(descriptor, unsigned(vectors), unsigned(count), offset)
        number = self._native("fd_pwrite", descriptor, vectors, count, offset, written)
        return self._after_write(descriptor, path, number, added_at=written)

    def fd_filestat_set_size(self, descriptor: int, size: int) -> int:
        path = self._before_write(descriptor)
        if size < 0 or not self._may_resize(descriptor, path, size):
            return DQUOT
        number = self._native("fd_filestat_set_size", descriptor, size)
        return self._after_write(descriptor, path, number, size=size)

    def fd_allocate(self, descriptor: int, offset: int, length: int) -> int:
        path = self._before_write(descriptor)
        if offset < 0 or length < 0 or not self._may_resize(descriptor, path, offset + length):
            return DQUOT
        number = self._native("fd_allocate", descriptor, offset, length)
        return self._after_write(descriptor, path, number)

    def fd_filestat_set_times(self, descriptor: int, atime: int, mtime: int, flags: int) -> int:
        path = self._written_path(descriptor)
        self._require_notes()
        journal = self._guest.journal
        mark = journal.mark
        found = journal.workspace.lstat(path)
        if found is not None:
            journal.note_times(path, found)
        return self._noted(
            mark, self._native("fd_filestat_set_times", descriptor, atime, mtime, flags)
        )

    def _discards(self, descriptor: int) -> bool:
        file = self._open.get(descriptor)
        return file is not None and file.discards

    def _discard(self, vectors: int, count: int, written: int) -> int:
        """Take what is written, and keep nothing."""
        _, total = self._gather(unsigned(vectors), unsigned(count), 0)
        self._memory.write_u32(unsigned(written), total)
        return SUCCESS

    def _written_path(self, descriptor: int) -> str:
        """Where a descriptor writes to; refused for those that must not."""
        file = self._open.get(descriptor)
        if file is None or not file.writes:
            raise WasiFailure(BADF)
        return file.place.path

    def _before_write(
        self, descriptor: int, vectors: int = 0, count: int = 0, offset: int | None = None
    ) -> str:
        path = self._written_path(descriptor)
        journal = self._guest.journal
        added = self._gather(vectors, count, 0)[1] if count else 0
        if self._has_lost_its_name(descriptor, path):
            if not journal.has_room(added):
                raise WasiFailure(DQUOT)
            return path
        # The file may have been opened by an earlier cell, which kept its own earlier content.
        mark = journal.mark
        found = journal.workspace.lstat(path)
        if found is not None:
            if added > _SMALL_WRITE_BYTES:
                self._require_room(descriptor, found.st_size, added, offset)
            journal.note_write(path, found)
            journal.confirm(mark)
        return path

    def _require_room(self, descriptor: int, size: int, added: int, offset: int | None) -> None:
        """Refuse a write that would be cut back: until then it would be on the disk."""
        if self._open[descriptor].flags & _FD_APPEND:
            offset = size
        elif offset is None:
            offset = self._offset(descriptor)
        if not self._guest.journal.has_room(offset + added - size):
            raise WasiFailure(DQUOT)

    def _after_write(
        self,
        descriptor: int,
        path: str,
        number: int,
        *,
        size: int | None = None,
        added_at: int | None = None,
    ) -> int:
        """Count what a file has by now: ``size`` bytes, or so many more as ``added_at`` says."""
        if number != SUCCESS:
            return number
        if self._has_lost_its_name(descriptor, path):
            inode = self._open[descriptor].inode
            if added_at is not None:
                size = self._nameless.get(inode, 0) + self._memory.read_u32(unsigned(added_at))
            if size is not None:
                self._count_nameless(inode, size)
            return SUCCESS
        allowed = self._guest.journal.grown(path)
        if allowed is None:
            self._written(descriptor)
            return SUCCESS
        self._native("fd_filestat_set_size", descriptor, allowed)
        return DQUOT

    def _written(self, descriptor: int) -> None:
        """A file has other content now; a deterministic guest's has a time of its own too."""

    def _may_resize(self, descriptor: int, path: str, size: int) -> bool:
        if self._has_lost_its_name(descriptor, path):
            return size == 0 or self._guest.journal.has_room(size)
        return self._guest.journal.room(path, size)

    def _noted(self, mark: int, number: int) -> int:
        """Confirm what was noted for a step that succeeded; take it back for one that failed."""
        if number == SUCCESS:
            self._guest.journal.confirm(mark)
        else:
            self._guest.journal.take_back(mark)
        return number

    # Files that lost their name while they were open.

    def _has_lost_its_name(self, descriptor: int, path: str) -> bool:
        found = self._guest.journal.workspace.lstat(path)
        return found is None or found.st_ino != self._open[descriptor].inode

    def _count_nameless(self, inode: int, size: int) -> None:
        """A file that was removed or replaced while open still takes room on the disk."""
        before = self._nameless.pop(inode, 0)
        if size:
            self._nameless[inode] = size
        self._guest.journal.quota.nameless += size - before

    def _lost(self, found: os.stat_result | None) -> None:
        """A file lost its name."""
        if found is not None and any(f.inode == found.st_ino for f in self._open.values()):
            self._count_nameless(found.st_ino, found.st_size)

    def release(self) -> None:
        """The instance ends, and with it whatever it had open."""
        for inode in list(self._nameless):
            self._count_nameless(inode, 0)
