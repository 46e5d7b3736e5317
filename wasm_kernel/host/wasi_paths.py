"""Changes by name: files and folders that are opened, made, moved and removed.

Each is noted in the journal first, and the note is taken back where Wasmtime then refuses.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from wasm_kernel.core.data import replace
from wasm_kernel.host.descriptors import OpenFile, Place
from wasm_kernel.host.mounts import Mount
from wasm_kernel.host.wasi_abi import (
    DQUOT,
    EXIST,
    FAULT,
    MFILE,
    NAMETOOLONG,
    NOTSUP,
    SUCCESS,
    WasiFailure,
    unsigned,
)
from wasm_kernel.host.wasi_names import is_too_deep
from wasm_kernel.host.wasi_writes import GuardedWrites

if TYPE_CHECKING:
    from wasm_kernel.host.guest import Guest

_OPEN_MAX = 256
_O_CREAT, _O_DIRECTORY, _O_EXCL, _O_TRUNC = 1, 2, 4, 8
_RIGHT_READ = 1 << 1
_RIGHTS_WRITE = (1 << 6) | (1 << 8) | (1 << 22)


class GuardedPaths(GuardedWrites):
    """What a guest does to files and folders by their names."""

    def __init__(self, guest: Guest, mounts: dict[int, Mount]) -> None:
        super().__init__(guest, mounts)
        self._is_reopening = False

    def path_open(
        self,
        folder: int,
        lookup: int,
        pointer: int,
        length: int,
        flags: int,
        rights: int,
        inherited: int,
        descriptor_flags: int,
        opened: int,
    ) -> int:
        place = self._resolve(folder, pointer, length)
        if len(self._open) >= _OPEN_MAX:
            return MFILE
        if not self._memory.holds(unsigned(opened), 4):
            return FAULT
        if self._is_null(place):
            file = OpenFile(place, False, False, lookup, rights, inherited, descriptor_flags)
            return self._open_null(file, folder, pointer, length, flags, opened)
        journal = self._guest.journal
        mark = journal.mark
        is_folder = writes = False
        found: os.stat_result | None = None
        if self._is_workspace(place):
            found = self._look(place.path)
            is_folder = found is not None and stat.S_ISDIR(found.st_mode)
            writes = not is_folder and bool(flags & (_O_CREAT | _O_TRUNC) or rights & _RIGHTS_WRITE)
            if writes:
                self._require_notes()
                self._note_open(place.path, found, flags)
        else:
            self._refuse_devices(place)
        number = self._noted(
            mark,
            self._native(
                "path_open", folder, lookup, pointer, length,
                flags, rights, inherited, descriptor_flags, opened,
            ),
        )  # fmt: skip
        if number == SUCCESS:
            there = found or (journal.workspace.lstat(place.path) if writes else None)
            descriptor = self._memory.read_u32(unsigned(opened))
            self._open[descriptor] = OpenFile(
                place,
                is_folder,
                writes,
                lookup,
                rights,
                inherited,
                descriptor_flags,
                inode=0 if there is None else there.st_ino,
            )
            if writes and flags & _O_TRUNC:
                journal.grown(place.path)
            if writes and (found is None or flags & _O_TRUNC):
                self._written(descriptor)
        return number

    def _open_null(
        self, file: OpenFile, folder: int, pointer: int, length: int, flags: int, opened: int
    ) -> int:
        """Open the file that keeps nothing: for Wasmtime it is read, whatever is asked for."""
        if flags & _O_CREAT and flags & _O_EXCL:
            return EXIST
        number = self._native(
            "path_open", folder, file.lookup, pointer, length,
            flags & _O_DIRECTORY, file.rights & ~_RIGHTS_WRITE | _RIGHT_READ, 0, 0, opened,
        )  # fmt: skip
        if number == SUCCESS:
            discards = bool(file.rights & _RIGHTS_WRITE)
            descriptor = self._memory.read_u32(unsigned(opened))
            self._open[descriptor] = replace(file, discards=discards)
        return number

    def _note_open(self, path: str, found: os.stat_result | None, flags: int) -> None:
        """Note an open that may write."""
        journal = self._guest.journal
        if found is not None:
            self._refuse_shared(found)
            if not self._is_reopening:
                journal.note_write(path, found)
        elif flags & _O_CREAT:
            if not journal.may_create():
                raise WasiFailure(DQUOT)
            journal.note_create(path)

    def path_create_directory(self, folder: int, pointer: int, length: int) -> int:
        place = self._resolve(folder, pointer, length)
        if not place.path:
            return EXIST
        path = self._changing(folder, pointer, length)
        journal = self._guest.journal
        mark = journal.mark
        if self._look(path) is None:
            if not journal.may_create():
                return DQUOT
            journal.note_mkdir(path)
        return self._noted(mark, self._native("path_create_directory", folder, pointer, length))

    def path_remove_directory(self, folder: int, pointer: int, length: int) -> int:
        path = self._changing(folder, pointer, length)
        mark = self._guest.journal.mark
        found = self._look(path)
        if found is not None and stat.S_ISDIR(found.st_mode):
            self._guest.journal.note_rmdir(path, found)
        return self._noted(mark, self._native("path_remove_directory", folder, pointer, length))

    def path_unlink_file(self, folder: int, pointer: int, length: int) -> int:
        path = self._changing(folder, pointer, length)
        mark = self._guest.journal.mark
        found = self._look(path)
        if found is not None and stat.S_ISREG(found.st_mode):
            self._guest.journal.note_unlink(path, found)
        number = self._noted(mark, self._native("path_unlink_file", folder, pointer, length))
        if number == SUCCESS:
            self._guest.journal.note_gone(path)
            self._lost(found)
        return number

    def path_rename(
        self, folder: int, pointer: int, length: int, to: int, to_pointer: int, to_length: int
    ) -> int:
        old = self._changing(folder, pointer, length)
        new = self._changing(to, to_pointer, to_length)
        journal = self._guest.journal
        mark = journal.mark
        found, target = self._look(old), self._look(new)
        moves = found is not None and old != new
        if found is not None and moves:
            if target is not None and stat.S_ISREG(target.st_mode):
                journal.note_unlink(new, target)
            elif target is not None:
                journal.note_rmdir(new, target)
            deepest = journal.note_rename(old, new, found)
            # The host holds a folder open for each level while it looks through the workspace.
            if is_too_deep(deepest):
                return self._noted(mark, NAMETOOLONG)
        number = self._native("path_rename", folder, pointer, length, to, to_pointer, to_length)
        if number == SUCCESS and moves:
            journal.note_moved(old, new)
            self._moved(old, new)
            self._lost(target)
        return self._noted(mark, number)

    def _moved(self, old: str, new: str) -> None:
        """Open descriptors follow what they were opened on."""
        for descriptor, file in self._open.items():
            mount, path = file.place
            if self._is_workspace(file.place) and (path == old or path.startswith(old + "/")):
                moved = Place(mount, new + path[len(old) :])
                self._open[descriptor] = replace(file, place=moved)

    def path_filestat_set_times(
        self,
        folder: int,
        lookup: int,
        pointer: int,
        length: int,
        atime: int,
        mtime: int,
        flags: int,
    ) -> int:
        path = self._changing(folder, pointer, length)
        mark = self._guest.journal.mark
        found = self._look(path)
        if found is not None:
            self._refuse_shared(found)
            self._guest.journal.note_times(path, found)
        return self._noted(
            mark,
            self._native(
                "path_filestat_set_times", folder, lookup, pointer, length, atime, mtime, flags
            ),
        )

    def path_filestat_get(
        self, folder: int, lookup: int, pointer: int, length: int, filled: int
    ) -> int:
        """Asked here for the sake of second names alone."""
        return self._native("path_filestat_get", folder, lookup, pointer, length, filled)

    def path_symlink(self, *_: int) -> int:
        return NOTSUP

    def path_link(self, *_: int) -> int:
        return NOTSUP
