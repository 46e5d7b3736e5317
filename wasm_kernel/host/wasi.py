"""The part of WASI that the host answers itself, in front of Wasmtime's own.

Everything that changes the workspace passes here, so that it can be refused, counted and
reversed. What is allowed goes on to Wasmtime's implementation.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Callable, KeysView
from typing import TYPE_CHECKING, TypeVar

from wasm_kernel.core.data import replace
from wasm_kernel.host.descriptors import Descriptors, OpenFile, Place
from wasm_kernel.host.listings import Entry, Listings, entries_of
from wasm_kernel.host.mounts import Mount
from wasm_kernel.host.wasi_abi import (
    ACCES,
    BADF,
    DQUOT,
    EXIST,
    FAULT,
    INVAL,
    LOOP,
    MFILE,
    MLINK,
    NAMETOOLONG,
    NOENT,
    NOTDIR,
    NOTSUP,
    NXIO,
    SUCCESS,
    WasiFailure,
    unsigned,
)

if TYPE_CHECKING:
    from wasm_kernel.host.guest import Guest

T = TypeVar("T")

_PATH_MAX = 1024
_DEPTH_MAX = 64
_OPEN_MAX = 256
_SCRATCH = 4096
_IOVECS_MAX = 1024
_COOKIE_MAX = 2**32 - 1
_SMALL_WRITE_BYTES = 65_536
"""What a write may have to be found too large only afterwards."""
_SUBSCRIPTIONS_MAX = 1024
_O_CREAT, _O_DIRECTORY, _O_EXCL, _O_TRUNC = 1, 2, 4, 8
_FD_APPEND = 1
_RIGHT_READ = 1 << 1
_RIGHTS_WRITE = (1 << 6) | (1 << 8) | (1 << 22)


class WasiGuard:
    """The WASI functions of one guest that the host answers itself."""

    def __init__(self, guest: Guest, *, mounts: dict[int, Mount]) -> None:
        """``mounts`` has the mounts by their descriptors."""
        self._guest = guest
        self._memory = guest.memory
        self._mounts = mounts
        self.second_names = {
            number: {name.encode(): folder for name, folder in mount.second_names}
            for number, mount in mounts.items()
            if mount.second_names
        }
        """Folders of the workspace, by the mounts and the names that stand for them."""
        self._open: Descriptors = {}
        self._is_reopening = False
        self._nameless: dict[int, int] = {}
        self._listings = Listings(self.entries)

    # Output and files.

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

    def _discards(self, descriptor: int) -> bool:
        file = self._open.get(descriptor)
        return file is not None and file.discards

    def _discard(self, vectors: int, count: int, written: int) -> int:
        """Take what is written, and keep nothing."""
        _, total = self._gather(unsigned(vectors), unsigned(count), 0)
        self._memory.write_u32(unsigned(written), total)
        return SUCCESS

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

    # Folders.

    def fd_readdir(self, descriptor: int, buffer: int, size: int, cookie: int, used: int) -> int:
        room = unsigned(size)
        if not self._memory.holds(unsigned(buffer), room):
            return FAULT
        try:
            told = self._listings.tell(descriptor, cookie & _COOKIE_MAX, room)
        except OSError:
            # No folder, or none any more: Wasmtime knows the word for it.
            return self._native("fd_readdir", descriptor, buffer, size, cookie, used)
        self._memory.write(unsigned(buffer), told)
        self._memory.write_u32(unsigned(used), len(told))
        return SUCCESS

    def entries(self, descriptor: int) -> list[Entry]:
        """What is in an open folder; ``OSError`` where that is for Wasmtime to say."""
        place = self.place_of(descriptor)
        mount = self._mounts.get(place.mount)
        if mount is None:
            raise WasiFailure(BADF)
        if mount.is_workspace:
            with self._guest.journal.workspace.folder(place.path) as folder:
                return entries_of(folder)
        # Nothing of a guest's is in there: links are the user's own, and lead no further than in.
        host = mount.host.resolve()
        there = (host / place.path).resolve()
        if not there.is_relative_to(host):
            raise WasiFailure(ACCES)
        return entries_of(str(there))

    def place_of(self, descriptor: int) -> Place:
        """Where an open file or folder lies."""
        file = self._open.get(descriptor)
        return Place(descriptor, "") if file is None else file.place

    def fd_close(self, descriptor: int) -> int:
        self._listings.forget(descriptor)
        file = self._open.pop(descriptor, None)
        if file is None:
            self._mounts.pop(descriptor, None)
            self.second_names.pop(descriptor, None)
        elif all(other.inode != file.inode for other in self._open.values()):
            self._count_nameless(file.inode, 0)
        return self._native("fd_close", descriptor)

    @property
    def open_numbers(self) -> KeysView[int]:
        """The descriptors that the guest opened itself."""
        return self._open.keys()

    # Names.

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

    def _is_null(self, place: Place) -> bool:
        mount = self._mounts.get(place.mount)
        return mount is not None and mount.null is not None and mount.null == place.path

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

    @staticmethod
    def _refuse_shared(found: os.stat_result) -> None:
        """A file with a second name may be somebody else's: package managers link from a cache."""
        if found.st_nlink > 1 and stat.S_ISREG(found.st_mode):
            raise WasiFailure(MLINK)

    def _refuse_devices(self, place: Place) -> None:
        """Opening a pipe waits for its other end, where no interrupt reaches the guest."""
        host = self._mounts[place.mount].host
        try:
            kind = (host / place.path).stat().st_mode
        except (OSError, ValueError):
            return
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise WasiFailure(NXIO)

    def _is_workspace(self, place: Place) -> bool:
        mount = self._mounts.get(place.mount)
        if mount is None:
            raise WasiFailure(BADF)
        return mount.is_workspace

    def _noted(self, mark: int, number: int) -> int:
        """Confirm what was noted for a step that succeeded; take it back for one that failed."""
        if number == SUCCESS:
            self._guest.journal.confirm(mark)
        else:
            self._guest.journal.take_back(mark)
        return number

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
            if deepest.count("/") >= _DEPTH_MAX:
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

    def fd_renumber(self, *_: int) -> int:
        return NOTSUP

    def _changing(self, folder: int, pointer: int, length: int) -> str:
        """The path a change names; read-only mounts and the workspace itself are refused."""
        place = self._resolve(folder, pointer, length)
        if not self._is_workspace(place) or not place.path:
            raise WasiFailure(ACCES)
        self._require_notes()
        return place.path

    def _require_notes(self) -> None:
        if not self._guest.journal.may_note():
            raise WasiFailure(DQUOT)

    def _resolve(self, folder: int, pointer: int, length: int) -> Place:
        """Where a name lies; refused where it would leave its mount."""
        if folder in self._mounts:
            base = Place(folder, "")
        elif folder in self._open:
            base = self._open[folder].place
        else:
            raise WasiFailure(BADF)
        try:
            name = self.name_at(pointer, length).decode("utf-8")
        except UnicodeDecodeError:
            raise WasiFailure(INVAL) from None
        if name.startswith("/") or "\0" in name:
            raise WasiFailure(ACCES)
        parts = base.path.split("/") if base.path else []
        for part in name.split("/"):
            if part == "..":
                if not parts:
                    # As for a name from the root: outside of its mounts a guest finds nothing.
                    raise WasiFailure(NOENT)
                self._refuse_link(base.mount, "/".join(parts))
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        path = "/".join(parts)
        if len(parts) > _DEPTH_MAX or len(path) > _PATH_MAX:
            raise WasiFailure(NAMETOOLONG)
        return Place(base.mount, path)

    def name_at(self, pointer: int, length: int) -> bytes:
        """The bytes of a name that a call names."""
        if unsigned(length) > _PATH_MAX:
            raise WasiFailure(NAMETOOLONG)
        return self._memory.read(unsigned(pointer), unsigned(length))

    @property
    def workspace_mount(self) -> int:
        """The number of the workspace, unless the guest has closed it."""
        for number, mount in self._mounts.items():
            if mount.is_workspace:
                return number
        raise WasiFailure(BADF)

    def _refuse_link(self, mount: int, path: str) -> None:
        """Behind a link, ``..`` is another folder for Wasmtime than for who reads the name."""
        if mount in self._mounts and os.path.islink(self._mounts[mount].host / path):
            raise WasiFailure(LOOP)

    def _look(self, path: str) -> os.stat_result | None:
        """What is there: a file, a folder or nothing. Links, and what lies behind, are refused."""
        try:
            found = self._guest.journal.workspace.look(path)
        except NotADirectoryError:
            raise WasiFailure(NOTDIR) from None
        except OSError:
            raise WasiFailure(LOOP) from None
        if found is None or stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode):
            return found
        raise WasiFailure(LOOP if stat.S_ISLNK(found.st_mode) else NXIO)

    # Time, sockets, randomness.

    def poll_oneoff(self, subscriptions: int, events: int, count: int, stored: int) -> int:
        """Sleep, or say that files are ready: files always are."""
        number = unsigned(count)
        if not 0 < number <= _SUBSCRIPTIONS_MAX:
            return INVAL
        data = self._memory.read(unsigned(subscriptions), 48 * number)
        waits: list[tuple[float, int]] = []
        ready: list[bytes] = []
        for index in range(number):
            user, kind = struct.unpack_from("<QB", data, 48 * index)
            if kind == 0:
                clock, timeout, _, flags = struct.unpack_from("<IxxxxQQH", data, 48 * index + 16)
                waits.append((self._seconds_until(clock, timeout, flags, unsigned(events)), user))
            else:
                ready.append(struct.pack("<QHBxxxxxQHxxxxxx", user, SUCCESS, kind, 1, 0))
        if not ready and waits:
            seconds, _ = min(waits)
            self._sleep(seconds)
            ready = [
                struct.pack("<QHBxxxxxQHxxxxxx", user, SUCCESS, 0, 0, 0)
                for wait, user in waits
                if wait <= seconds
            ]
        self._memory.write(unsigned(events), b"".join(ready))
        self._memory.write_u32(unsigned(stored), len(ready))
        return SUCCESS

    def _seconds_until(self, clock: int, timeout: int, flags: int, scratch: int) -> float:
        if not flags & 1:
            return timeout / 1e9
        # An absolute time is on the guest's own clock, whose zero only Wasmtime knows; the
        # answer lands where the events will be written anyway.
        now = self._now(clock, scratch)
        return 0.0 if now is None else max(0, timeout - now) / 1e9

    def _now(self, clock: int, scratch: int) -> int | None:
        """What one of the guest's clocks says; ``scratch`` is room for eight bytes."""
        if self._native("clock_time_get", clock, 1, scratch) != SUCCESS:
            return None
        return int.from_bytes(self._memory.read(scratch, 8), "little")

    def _sleep(self, seconds: float) -> None:
        self._guest.watch.sleep(seconds)

    def sock_accept(self, *_: int) -> int:
        return NOTSUP

    sock_recv = sock_send = sock_shutdown = sock_accept

    # Descriptors that outlive an instance.

    def descriptors(self) -> Descriptors:
        """The open files with their offsets, to be opened again in another instance."""
        return {
            number: file if file.is_folder else replace(file, offset=self._offset(number))
            for number, file in self._open.items()
        }

    def reopen(self, descriptors: Descriptors) -> None:
        """Open files of an earlier instance at the numbers they had there.

        A number whose file is gone stays closed. Numbers are given out lowest first, so gaps are
        filled while the others are opened. No cell does this: its journal has no part in it, and
        a cell that writes to one of the files notes that by itself.
        """
        self._is_reopening = True
        try:
            self._reopen(descriptors)
        finally:
            self._is_reopening = False

    def _reopen(self, descriptors: Descriptors) -> None:
        fillers = []
        for number, file in sorted(descriptors.items()):
            while (got := self._reopened(file)) is not None and got < number:
                fillers.append(got)
            if got is not None and got != number:
                self.fd_close(got)
            elif got is not None and file.offset:
                self._seek(number, file.offset)
        for filler in fillers:
            self.fd_close(filler)

    def _reopened(self, file: OpenFile) -> int | None:
        name = file.place.path.encode() or b"."

        def open_at(scratch: int) -> int | None:
            number = self.path_open(
                file.place.mount, file.lookup, scratch + 8, len(name),
                0, file.rights, file.inherited, file.flags, scratch,
            )  # fmt: skip
            return self._memory.read_u32(scratch) if number == SUCCESS else None

        try:
            return self._with_scratch(name, open_at)
        except (WasiFailure, KeyError):
            return None

    def _seek(self, number: int, offset: int) -> None:
        self._with_scratch(b"", lambda at: self._native("fd_seek", number, offset, 0, at))

    def _offset(self, number: int) -> int:
        def tell_at(scratch: int) -> int:
            if self._native("fd_tell", number, scratch) != SUCCESS:
                return 0
            (offset,) = struct.unpack("<Q", self._memory.read(scratch, 8))
            return int(offset)

        return self._with_scratch(b"", tell_at)

    def with_names(self, names: bytes, call: Callable[[int], T]) -> T:
        """Make a call with names that the guest does not have: the call learns where they are."""
        return self._with_scratch(names, lambda scratch: call(scratch + 8))

    def _with_scratch(self, name: bytes, call: Callable[[int], T]) -> T:
        """Lend a call eight bytes of the guest's memory and a name after them; put all back.

        The guest waits meanwhile, and expects no answer there: it is the far end of its stack.
        """
        before = self._memory.read(_SCRATCH, 8 + len(name))
        try:
            self._memory.write(_SCRATCH + 8, name)
            return call(_SCRATCH)
        finally:
            self._memory.write(_SCRATCH, before)

    # Plumbing.

    def _gather(self, vectors: int, count: int, limit: int) -> tuple[bytes, int]:
        """The first ``limit`` bytes that some vectors name, and how many they name in all."""
        if count > _IOVECS_MAX:
            raise WasiFailure(INVAL)
        table = self._memory.read(vectors, 8 * count)
        parts = []
        total = 0
        for index in range(count):
            pointer, length = struct.unpack_from("<II", table, 8 * index)
            if not self._memory.holds(pointer, length):
                raise WasiFailure(FAULT)
            wanted = min(length, limit - total)
            if wanted > 0:
                parts.append(self._memory.read(pointer, wanted))
            total += length
        return b"".join(parts), min(total, 0x7FFFFFFF)

    def _native(self, name: str, *arguments: int) -> int:
        """Wasmtime's own implementation."""
        return self._guest.native(name, *arguments)
