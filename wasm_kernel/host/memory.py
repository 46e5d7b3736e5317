"""The guest's linear memory as the host sees it, and images of it.

Between turns the guest is at rest, so its linear memory is its whole state.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import wasmtime

from wasm_kernel.core.errors import InvalidRuntimeError
from wasm_kernel.host.libc import map_file, munmap

WASM_PAGE = 65536
SEED_BYTES = 624 * 4
"""The state of a Mersenne Twister, which both random and numpy.random have."""


class GuestMemory:
    """A linear memory as the host sees it; every access is checked against its present size."""

    def __init__(
        self, store: wasmtime.Store, memory: wasmtime.Memory, limit: int | None = None
    ) -> None:
        """``limit`` is what the store allows a memory to have."""
        self.limit = limit
        self.store = store
        self.memory = memory
        # The engine forbids moving memories, so the address holds for the instance's life.
        self.base = ctypes.addressof(memory.data_ptr(store).contents)
        self._seen_size = 0
        self.moved = bytearray()
        """A byte per page: whether it is mapped from a session's committed pages."""

    @property
    def size(self) -> int:
        """Bytes of the memory now."""
        return self.memory.data_len(self.store)

    def grow_to(self, size: int) -> None:
        """Make the memory at least ``size`` bytes long."""
        missing = size - self.size
        if missing > 0:
            self.memory.grow(self.store, -(-missing // WASM_PAGE))

    def holds(self, pointer: int, length: int) -> bool:
        """Whether a range named by the guest lies inside the memory."""
        end = pointer + length
        if end > self._seen_size:
            # A memory never shrinks: what was inside once need not be asked for again.
            self._seen_size = self.size
        return pointer >= 0 and length >= 0 and end <= self._seen_size

    def forget(self) -> None:
        """The instance is about to go: nothing of it is inside from now on."""
        self._seen_size = 0

    def read(self, pointer: int, length: int) -> bytes:
        """A copy of a range; ``IndexError`` if it is not inside."""
        if not self.holds(pointer, length):
            raise IndexError("outside the guest's memory")
        return ctypes.string_at(self.base + pointer, length)

    def write(self, pointer: int, content: bytes) -> None:
        """Write a range; ``IndexError`` if it is not inside."""
        if not self.holds(pointer, len(content)):
            raise IndexError("outside the guest's memory")
        ctypes.memmove(self.base + pointer, content, len(content))

    def read_u32(self, pointer: int) -> int:
        """A little-endian 32-bit number."""
        return int.from_bytes(self.read(pointer, 4), "little")

    def write_u32(self, pointer: int, value: int) -> None:
        """A little-endian 32-bit number."""
        self.write(pointer, (value & 0xFFFFFFFF).to_bytes(4, "little"))


class Image:
    """A file that holds a linear memory at rest. Whoever opens it closes it."""

    def __init__(self, path: Path, key: str, seeds: tuple[int, ...] = ()) -> None:
        """``seeds`` are the places of random generators' states, ``SEED_BYTES`` each."""
        self.path = path
        self.key = key
        self.seeds = seeds
        self.address = 0
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        self.size = os.fstat(self._descriptor).st_size
        if self.size == 0 or self.size % WASM_PAGE:
            self.close()
            raise InvalidRuntimeError(f"{path} is not a memory image; run: wasm-kernel setup")
        self.address = map_file(0, self._descriptor, 0, self.size, writable=False)

    @property
    def descriptor(self) -> int:
        """The open file."""
        return self._descriptor

    def bytes_at(self, start: int, stop: int) -> bytes:
        """A range of the image; zeros beyond its end, as a grown memory has."""
        found = b""
        if start < self.size:
            found = ctypes.string_at(self.address + start, min(stop, self.size) - start)
        return found + bytes(stop - start - len(found))

    def stir(self, memory: GuestMemory) -> None:
        """Give a memory that is as in the image randomness of its own.

        Every instance would draw the same numbers; seeding inside the guest takes a quarter of
        the instructions of a small script.
        """
        for place in self.seeds:
            memory.write(place, os.urandom(SEED_BYTES))

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            if self.address:
                munmap(self.address, self.size)
                self.address = 0
