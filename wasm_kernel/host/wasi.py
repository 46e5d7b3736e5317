"""The part of WASI that the host answers itself, in front of Wasmtime's own.

Everything that changes the workspace passes here, so that it can be refused, counted and
reversed. What is allowed goes on to Wasmtime's implementation. The parts, each on top of the one
before: ``wasi_native``, ``wasi_names``, ``wasi_writes``, ``wasi_paths``; and ``wasi_waits``.
"""

from __future__ import annotations

from collections.abc import KeysView
from typing import TYPE_CHECKING

from wasm_kernel.core.data import replace
from wasm_kernel.host.descriptors import Descriptors, OpenFile
from wasm_kernel.host.listings import Entry, Listings, entries_of
from wasm_kernel.host.mounts import Mount
from wasm_kernel.host.wasi_abi import ACCES, BADF, FAULT, NOTSUP, SUCCESS, WasiFailure, unsigned
from wasm_kernel.host.wasi_paths import GuardedPaths
from wasm_kernel.host.wasi_waits import GuardedWaits

if TYPE_CHECKING:
    from wasm_kernel.host.guest import Guest

_COOKIE_MAX = 2**32 - 1


class WasiGuard(GuardedPaths, GuardedWaits):
    """The WASI functions of one guest that the host answers itself."""

    def __init__(self, guest: Guest, *, mounts: dict[int, Mount]) -> None:
        """``mounts`` has the mounts by their descriptors."""
        super().__init__(guest, mounts)
        self.second_names = {
            number: {name.encode(): folder for name, folder in mount.second_names}
            for number, mount in mounts.items()
            if mount.second_names
        }
        """Folders of the workspace, by the mounts and the names that stand for them."""
        self._listings = Listings(self.entries)

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

    # Descriptors.

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

    def fd_renumber(self, *_: int) -> int:
        return NOTSUP

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

    # Sockets.

    def sock_accept(self, *_: int) -> int:
        return NOTSUP

    sock_recv = sock_send = sock_shutdown = sock_accept
