"""Where a name of the guest's leads, and whether it may lead there.

A name is resolved here before Wasmtime sees it: what is refused never reaches the disk, and what
is allowed has one path below one mount, by which it can be noted and counted.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from wasm_kernel.host.descriptors import Descriptors, Place
from wasm_kernel.host.mounts import Mount
from wasm_kernel.host.wasi_abi import (
    ACCES,
    BADF,
    DQUOT,
    INVAL,
    LOOP,
    MLINK,
    NAMETOOLONG,
    NOENT,
    NOTDIR,
    NXIO,
    WasiFailure,
    unsigned,
)
from wasm_kernel.host.wasi_native import NativeCalls

if TYPE_CHECKING:
    from wasm_kernel.host.guest import Guest

_DEPTH_MAX = 64
_PATH_MAX = 1024


def is_too_deep(path: str) -> bool:
    """Whether a path has too many levels: the host may hold a folder open for each of them."""
    return path.count("/") >= _DEPTH_MAX


class GuardedNames(NativeCalls):
    """The mounts of a guest, what it has open, and the names below both."""

    def __init__(self, guest: Guest, mounts: dict[int, Mount]) -> None:
        super().__init__(guest)
        self._mounts = mounts
        self._open: Descriptors = {}

    def place_of(self, descriptor: int) -> Place:
        """Where an open file or folder lies."""
        file = self._open.get(descriptor)
        return Place(descriptor, "") if file is None else file.place

    @property
    def workspace_mount(self) -> int:
        """The number of the workspace, unless the guest has closed it."""
        for number, mount in self._mounts.items():
            if mount.is_workspace:
                return number
        raise WasiFailure(BADF)

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
        if is_too_deep(path) or len(path) > _PATH_MAX:
            raise WasiFailure(NAMETOOLONG)
        return Place(base.mount, path)

    def name_at(self, pointer: int, length: int) -> bytes:
        """The bytes of a name that a call names."""
        if unsigned(length) > _PATH_MAX:
            raise WasiFailure(NAMETOOLONG)
        return self._memory.read(unsigned(pointer), unsigned(length))

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

    def _is_workspace(self, place: Place) -> bool:
        mount = self._mounts.get(place.mount)
        if mount is None:
            raise WasiFailure(BADF)
        return mount.is_workspace

    def _is_null(self, place: Place) -> bool:
        mount = self._mounts.get(place.mount)
        return mount is not None and mount.null is not None and mount.null == place.path

    def _refuse_devices(self, place: Place) -> None:
        """Opening a pipe waits for its other end, where no interrupt reaches the guest."""
        host = self._mounts[place.mount].host
        try:
            kind = (host / place.path).stat().st_mode
        except (OSError, ValueError):
            return
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise WasiFailure(NXIO)

    @staticmethod
    def _refuse_shared(found: os.stat_result) -> None:
        """A file with a second name may be somebody else's: package managers link from a cache."""
        if found.st_nlink > 1 and stat.S_ISREG(found.st_mode):
            raise WasiFailure(MLINK)

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
