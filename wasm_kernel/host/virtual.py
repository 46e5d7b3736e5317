"""WASI for a deterministic guest: nothing it can ask tells one run of a notebook from the next.

The clock, randomness, the order of folders, inode numbers and the times of files that the guest
writes come from its own small world. The times of files that it was given stay as they are: they
are part of what it was given.
"""

from __future__ import annotations

import struct

from wasm_kernel.core.digests import blake2b
from wasm_kernel.host.descriptors import Place
from wasm_kernel.host.listings import Entry
from wasm_kernel.host.wasi import WasiGuard
from wasm_kernel.host.wasi_abi import FAULT, SUCCESS, unsigned
from wasm_kernel.host.world import BEGIN_NS

GLANCE_NS = 1000
"""What passes when somebody looks at the clock or writes a file: no two moments are the same."""

_RANDOM_MAX = 1 << 20
_SLEEP_MAX = 1e9
_FOLDER = 3
_FOLDER_BYTES = 4096
_SET_ATIME, _ATIME_NOW, _SET_MTIME, _MTIME_NOW = 1, 2, 4, 8

_FILESTAT = struct.Struct("<QQB7xQQQQQ")
"""Device, inode, kind, links, size, and the times of access, change of content, and change."""


class VirtualGuard(WasiGuard):
    """The WASI functions of a deterministic guest."""

    def clock_time_get(self, _clock: int, _precision: int, pointer: int) -> int:
        """The virtual clock."""
        now = self._guest.world.advance(GLANCE_NS)
        self._memory.write(unsigned(pointer), struct.pack("<Q", now))
        return SUCCESS

    def random_get(self, pointer: int, length: int) -> int:
        """Seeded randomness."""
        size = unsigned(length)
        if not self._memory.holds(unsigned(pointer), size) or size > _RANDOM_MAX:
            return FAULT
        self._memory.write(unsigned(pointer), self._guest.world.random_bytes(size))
        return SUCCESS

    def _now(self, clock: int, scratch: int) -> int | None:
        del clock, scratch
        return self._guest.world.time_ns

    def _sleep(self, seconds: float) -> None:
        self._guest.world.advance(int(min(seconds, _SLEEP_MAX) * 1e9))

    # Files: inode numbers and times.

    def fd_filestat_get(self, descriptor: int, pointer: int) -> int:
        number = self._native("fd_filestat_get", descriptor, pointer)
        return self._retold(number, self.place_of(descriptor), pointer)

    def path_filestat_get(
        self, folder: int, lookup: int, pointer: int, length: int, filled: int
    ) -> int:
        place = self._resolve(folder, pointer, length)
        number = self._native("path_filestat_get", folder, lookup, pointer, length, filled)
        return self._retold(number, place, filled)

    def _retold(self, number: int, place: Place, pointer: int) -> int:
        """What another run of the same notebook finds as well."""
        if number != SUCCESS:
            return number
        found = self._memory.read(unsigned(pointer), _FILESTAT.size)
        _, _, kind, links, size, _, changed, _ = _FILESTAT.unpack(found)
        if kind == _FOLDER:
            size, changed = _FOLDER_BYTES, BEGIN_NS
        told = (place.mount, _inode(place), kind, links, size, changed, changed, changed)
        self._memory.write(unsigned(pointer), _FILESTAT.pack(*told))
        return SUCCESS

    def _written(self, descriptor: int) -> None:
        """A file that was written gets the time of the guest's own clock."""
        now = self._guest.world.advance(GLANCE_NS)
        self._native("fd_filestat_set_times", descriptor, now, now, _SET_ATIME | _SET_MTIME)

    def fd_filestat_set_times(self, descriptor: int, atime: int, mtime: int, flags: int) -> int:
        return super().fd_filestat_set_times(descriptor, *self._times(atime, mtime, flags))

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
        times = self._times(atime, mtime, flags)
        return super().path_filestat_set_times(folder, lookup, pointer, length, *times)

    def _times(self, atime: int, mtime: int, flags: int) -> tuple[int, int, int]:
        """The same times with "now" as the guest's own clock says it."""
        now = self._guest.world.advance(GLANCE_NS)
        if flags & _ATIME_NOW:
            atime, flags = now, flags & ~_ATIME_NOW | _SET_ATIME
        if flags & _MTIME_NOW:
            mtime, flags = now, flags & ~_MTIME_NOW | _SET_MTIME
        return atime, mtime, flags

    # Folders, in the order of their names.

    def entries(self, descriptor: int) -> list[Entry]:
        place = self.place_of(descriptor)

        def told(entry: Entry) -> Entry:
            inode = _inode(Place(place.mount, _joined(place.path, entry.name)))
            return entry._replace(inode=inode)

        return [told(entry) for entry in sorted(super().entries(descriptor))]


def _joined(folder: str, name: bytes) -> str:
    text = name.decode("utf-8", "surrogateescape")
    if text == ".":
        return folder
    if text == "..":
        return folder.rpartition("/")[0]
    return f"{folder}/{text}" if folder else text


def _inode(place: Place) -> int:
    """A number for a place that does not depend on the disk it lies on."""
    name = f"{place.mount}/{place.path}".encode("utf-8", "surrogateescape")
    return int.from_bytes(blake2b(name, digest_size=7).digest()) | 1 << 56
