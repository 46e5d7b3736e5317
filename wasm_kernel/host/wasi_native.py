"""What every part of the guard stands on: the guest's memory, and Wasmtime's own functions."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from wasm_kernel.host.wasi_abi import FAULT, INVAL, SUCCESS, WasiFailure

if TYPE_CHECKING:
    from wasm_kernel.host.guest import Guest

T = TypeVar("T")

_SCRATCH = 4096
_IOVECS_MAX = 1024


class NativeCalls:
    """Calls of Wasmtime's functions in a guest's name, with what they need in its memory."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self._memory = guest.memory

    def _native(self, name: str, *arguments: int) -> int:
        """Wasmtime's own implementation."""
        return self._guest.native(name, *arguments)

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
