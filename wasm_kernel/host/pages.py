"""The committed state of a session: an image, and the pages that its cells changed since.

A cell commits by adding its pages to that set; a rollback builds a new memory from it; an undo
steps it back by one cell.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import weakref
from collections.abc import Iterator

from wasm_kernel.core.data import dataclass, field
from wasm_kernel.host import differ
from wasm_kernel.host.memory import GuestMemory, Image

PAGE = 4096
CHUNK_PAGES = 256
"""Pages that are looked at together."""


@dataclass()
class UndoRecord:
    """What a commit replaced: enough to step the committed state back by one cell."""

    size: int
    fresh: list[tuple[int, int]] = field(default_factory=list)
    """Runs of pages that the image still had."""
    old: list[tuple[int, bytes]] = field(default_factory=list)
    """First page and bytes of runs that an earlier cell had committed."""
    changes: differ.Changes = field(default_factory=differ.Changes)
    """Single pages that changed, as the differ records them."""

    @property
    def cost(self) -> int:
        """Bytes this record holds on to."""
        return sum(len(content) + 64 for _, content in self.old) + len(self.changes.records)

    @property
    def pages(self) -> int:
        """How many pages the commit changed."""
        runs = sum(b - a for a, b in self.fresh) + sum(len(c) // PAGE for _, c in self.old)
        return runs + self.changes.pages


class CommittedMemory:
    """The committed state as a set of pages over an image; this strategy works everywhere.

    It copies the image into each new memory and finds changes by comparing; ``MappedMemory``
    does both with the help of Linux.
    """

    # What a page's flag says: the image has it, the backing has it and the live memory holds a
    # copy of its own, or the live memory is mapped from the backing.
    _IMAGE, _RESIDENT, _MAPPED = 0, 1, 2

    def __init__(self, image: Image, max_size: int) -> None:
        self.image = image
        self.size = image.size
        self._max_size = max(max_size, image.size)
        self._flags = bytearray(self._max_size // PAGE)
        self._backing, self._descriptor = self._new_backing(self._max_size)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._backing))
        # Nobody may close it: a session that is dropped must not keep its memory for good.
        self._closing = weakref.finalize(self, _close, self._backing, self._descriptor)

    @staticmethod
    def _new_backing(size: int) -> tuple[mmap.mmap, int]:
        return mmap.mmap(-1, size), -1

    def close(self) -> None:
        """Give the pages back; closing twice is fine."""
        self._address = 0
        self._closing()

    @property
    def pages(self) -> int:
        """Pages that differ from the image."""
        return len(self._flags) - self._flags.count(self._IMAGE)

    def load_into(self, memory: GuestMemory) -> None:
        """Give a new instance's memory the committed state."""
        memory.grow_to(self.size)
        self._load_image(memory)
        for first, last in self._runs():
            self._copy(self._address, memory.base, first, last)

    def commit(self, memory: GuestMemory) -> UndoRecord:
        """Take over what changed in the memory since the last commit."""
        record = UndoRecord(self.size)
        self.size = min(memory.size, self._max_size)
        self._take(memory, record)
        return record

    def _take(self, memory: GuestMemory, record: UndoRecord) -> None:
        for page in list(self._differing(memory)):
            if self._flags[page] == self._IMAGE:
                record.fresh.append((page, page + 1))
                self._flags[page] = self._RESIDENT
            else:
                record.old.append((page, self._backing[page * PAGE : (page + 1) * PAGE]))
            self._copy(memory.base, self._address, page, page + 1)

    def reset(self, memory: GuestMemory) -> None:
        """Put a memory that has not grown back to the committed state, in place.

        Pages that were copied once stay in place, so the next run meets no page faults there.
        """
        for page in list(self._differing(memory)):
            self._put_back(memory, page, page + 1)

    def _put_back(self, memory: GuestMemory, first: int, last: int) -> None:
        for target, source, length in self._plan(memory.base, first, last):
            ctypes.memmove(target, source, length)

    def _plan(self, base: int, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Which addresses to copy where to put some pages back."""
        for run in re.finditer(rb"\0+|[\x01\x02]+", self._flags[first:last]):
            start, stop = (first + run.start()) * PAGE, (first + run.end()) * PAGE
            if self._flags[first + run.start()]:
                yield base + start, self._address + start, stop - start
                continue
            inside = min(stop, self.image.size) - start
            if inside > 0:
                yield base + start, self.image.address + start, inside
            # Beyond the image the committed state is zeros, as the untouched backing is.
            beyond = max(start, self.image.size)
            if stop > beyond:
                yield base + beyond, self._address + beyond, stop - beyond

    def revert(self, record: UndoRecord, live: GuestMemory | None = None) -> bool:
        """Step the committed state back by one commit, and a live memory with it.

        Returns whether the live memory, if one was given, could follow.
        """
        size, self.size = self.size, record.size
        fresh = [*record.fresh, *record.changes.fresh_runs()]
        is_moved = live is not None and any(1 in live.moved[first:last] for first, last in fresh)
        for first, last in fresh:
            self._flags[first:last] = bytes(last - first)
            self._discard(first, last)
        for first, content in record.old:
            self._backing[first * PAGE : first * PAGE + len(content)] = content
        for start, content in record.changes.former_lines():
            self._backing[start : start + len(content)] = content
        if live is None or is_moved or size != record.size or live.size != size:
            return False
        for first, last in fresh:
            self._put_back(live, first, last)
        for first, content in record.old:
            ctypes.memmove(live.base + first * PAGE, content, len(content))
        for start, content in record.changes.former_lines():
            ctypes.memmove(live.base + start, content, len(content))
        return True

    @property
    def max_size(self) -> int:
        """How far the memory may grow."""
        return self._max_size

    def fork(self, max_size: int | None = None) -> CommittedMemory:
        """An independent copy of the committed state, with room to grow as far or farther."""
        twin = type(self)(self.image, max(max_size or 0, self._max_size))
        twin.size = self.size
        for first, content in self.runs():
            twin._keep(first, content)
        twin._flags[: len(self._flags)] = self._flags
        return twin

    def runs(self) -> Iterator[tuple[int, memoryview]]:
        """The first page and the bytes of every run that differs from the image."""
        with memoryview(self._backing) as view:
            for first, last in self._runs():
                yield first, view[first * PAGE : last * PAGE]

    def restore_run(self, first: int, content: bytes) -> None:
        """Put back a run of a saved session."""
        last = first + len(content) // PAGE
        if len(content) % PAGE or last * PAGE > self.size:
            raise ValueError("a run of pages lies outside the memory")
        self._keep(first, memoryview(content))
        self._flags[first:last] = bytes([self._RESIDENT]) * (last - first)

    def _runs(self) -> Iterator[tuple[int, int]]:
        """Runs of pages that differ from the image."""
        return spans(self._flags[: self.size // PAGE].translate(ANY))

    @staticmethod
    def _copy(source: int, target: int, first: int, last: int) -> None:
        ctypes.memmove(target + first * PAGE, source + first * PAGE, (last - first) * PAGE)

    # What the Linux strategy does better.

    def _keep(self, first: int, content: memoryview) -> None:
        """Fill backing pages."""
        self._backing[first * PAGE : first * PAGE + len(content)] = content

    def _load_image(self, memory: GuestMemory) -> None:
        ctypes.memmove(memory.base, self.image.bytes_at(0, self.image.size), self.image.size)

    def _differing(self, memory: GuestMemory) -> Iterator[int]:
        for first in range(0, self.size // PAGE, CHUNK_PAGES):
            last = min(first + CHUNK_PAGES, self.size // PAGE)
            live = ctypes.string_at(memory.base + first * PAGE, (last - first) * PAGE)
            if live == self._content(first, last):
                continue
            for page in range(first, last):
                offset = (page - first) * PAGE
                if live[offset : offset + PAGE] != self._content(page, page + 1):
                    yield page

    def _content(self, first: int, last: int) -> bytes:
        """The committed bytes of some pages."""
        start, stop = first * PAGE, last * PAGE
        flags = self._flags[first:last]
        if not any(flags):
            return self.image.bytes_at(start, stop)
        if all(flags):
            return self._backing[start:stop]
        return b"".join(self._content(page, page + 1) for page in range(first, last))

    def _discard(self, first: int, last: int) -> None:
        """Forget backing pages; nothing reads them any more."""
        self._backing[first * PAGE : last * PAGE] = bytes((last - first) * PAGE)


def _close(backing: mmap.mmap, descriptor: int) -> None:
    backing.close()
    if descriptor >= 0:
        os.close(descriptor)


ANY = bytes(1 if state else 0 for state in range(256))
"""By flag or by state: one for all but zero."""


def spans(marked: bytes | bytearray) -> Iterator[tuple[int, int]]:
    """Where runs of ones begin and end; two searches a run, each at the speed of memchr."""
    stop = 0
    while (start := marked.find(1, stop)) >= 0:
        stop = marked.find(0, start)
        if stop < 0:
            stop = len(marked)
        yield start, stop
