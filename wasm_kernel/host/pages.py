"""The committed state of a session: an image, and the pages that its cells changed since.

A cell commits by adding its pages to that set; a rollback builds a new memory from it; an undo
steps it back by one cell.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import re
import sys
import weakref
from collections.abc import Iterator

from wasm_kernel.core.data import dataclass, field
from wasm_kernel.host import differ
from wasm_kernel.host.libc import madvise, map_file, page_faults, pagemap
from wasm_kernel.host.memory import GuestMemory, Image
from wasm_kernel.host.threads import guest_threads

PAGE = 4096
EXTENT_PAGES = 64
"""Runs of new pages at least this long are mapped from the backing file, so that a large array
that no later cell touches costs nothing; shorter ones stay in place and are compared."""

RESIDENT_PAGES_MAX = 4096
"""Pages that are compared at each commit; beyond that they are put away, and faulted in again."""

MAPPINGS_MAX = 30_000
"""Mappings that all sessions of a process may use for single runs of pages."""

CHUNK_PAGES = 256


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
        return _spans(self._flags[: self.size // PAGE].translate(_ANY))

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


class MappedMemory(CommittedMemory):
    """The committed state on Linux: copy-on-write mappings and the kernel's own page flags."""

    _MADV_DONTNEED = 4
    # The top byte of a pagemap entry: bit 63 present, 62 swapped, 61 file-backed or shared.
    # A page that was written through a private mapping is anonymous: present or swapped, not 61.
    _DIRTY = bytes(1 if (b & 0xA0) == 0x80 or (b & 0x60) == 0x40 else 0 for b in range(256))

    _WRITTEN = 4
    _mappings_left = MAPPINGS_MAX

    def __init__(self, image: Image, max_size: int) -> None:
        super().__init__(image, max_size)
        self._own_mappings = 0
        self._differ: tuple[GuestMemory, differ.Differ] | None = None
        self._is_new = True
        self._loaded_at = (0, 0)
        self._scanned: tuple[GuestMemory, tuple[int, int], bytes] | None = None
        self._written: tuple[GuestMemory, bytes] | None = None

    @staticmethod
    def _new_backing(size: int) -> tuple[mmap.mmap, int]:
        descriptor = os.memfd_create("wasm-session", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, size)
        return mmap.mmap(descriptor, size), descriptor

    def _keep(self, first: int, content: memoryview) -> None:
        # Written to the file: that meets no page fault, and takes less than half of the time.
        start = first * PAGE
        while content:
            written = os.pwrite(self._descriptor, content, start)
            start, content = start + written, content[written:]

    def load_into(self, memory: GuestMemory) -> None:
        self._loaded_at = page_faults()
        self._is_new = not self.pages
        memory.grow_to(self.size)
        self._load_image(memory)
        memory.moved = bytearray(len(self._flags))
        for first, last in self._runs():
            # The backing has all of them: where some pages come from there, their neighbours do
            # too, since each run of its own would be a mapping of its own.
            if self._flags.find(self._MAPPED, first, last) >= 0:
                self._map_backing(memory, first, last)
            else:
                self._copy(self._address, memory.base, first, last)

    def _load_image(self, memory: GuestMemory) -> None:
        size = min(self.image.size, self.size)
        self._map(memory, self.image.descriptor, 0, size // PAGE)

    def _map(self, memory: GuestMemory, descriptor: int, first: int, last: int) -> None:
        map_file(
            memory.base + first * PAGE,
            descriptor,
            first * PAGE,
            (last - first) * PAGE,
            writable=True,
        )

    def _dirty(self, memory: GuestMemory) -> bytes:
        """A byte per page: 1 for those that were written since they were mapped."""
        count = self.size // PAGE
        entries = os.pread(pagemap(), count * 8, memory.base // PAGE * 8)
        return entries[7::8].translate(self._DIRTY)

    def reset(self, memory: GuestMemory) -> None:
        self._differ_for(memory).put_back(self._states(self._ever_written(memory)))

    def _ever_written(self, memory: GuestMemory) -> bytes:
        """A byte per page, as ``_dirty`` gives them; not looked up again where nothing is new.

        The first write to a page is a fault, and Linux counts faults: as long as this process had
        none, no page has been written that was not before. A run that does what the last one did
        has none, and the lookup would take a sixth of it. A counter that never moves is not
        believed.
        """
        faults = page_faults()
        known = self._scanned
        if known is None or known[:2] != (memory, faults) or faults == self._loaded_at:
            self._scanned = known = (memory, faults, self._dirty(memory))
        return known[2]

    def _take(self, memory: GuestMemory, record: UndoRecord) -> None:
        self._scanned = None
        compare = self._differ_for(memory).take
        # What was written before is compared in any case: while Linux looks for what is new.
        scan = guest_threads.start(lambda: self._dirty(memory))
        try:
            known = self._known(memory)
            record.changes = compare(known)
        finally:
            dirty = scan.result()
        self._written = (memory, dirty)
        states = self._states(dirty, but=known)
        self._take_mapped(memory, states, record)
        self._take_long(memory, states, record)
        self._take_beyond(memory, states, record)
        record.changes += compare(states)
        for first, last in record.changes.fresh_runs():
            self._flag(first, last, self._RESIDENT)
        if len(states) + len(known) - states.count(0) - known.count(0) > RESIDENT_PAGES_MAX:
            self._settle(memory)
            self._written = None
        if self._is_new:
            self._is_new = False
            self._release(memory, dirty)
            self._written = None

    def _known(self, memory: GuestMemory) -> bytearray:
        """The states of pages that the last commit found written, as far as they are compared."""
        count = min(self.image.size, self.size) // PAGE
        if self._written is None or self._written[0] is not memory:
            return self._flags[:count].translate(_RESIDENTS)
        return self._states(self._written[1][:count]).translate(_COMPARED)

    def _take_mapped(self, memory: GuestMemory, states: bytearray, record: UndoRecord) -> None:
        """Commit long runs of mapped pages that were written; short ones stay to be compared."""
        # A search for what is mostly not there: plain finds are far faster than the expression.
        for run in _MAPPED_RUNS.finditer(states) if self._WRITTEN | self._MAPPED in states else ():
            first, last = run.span()
            if last - first < EXTENT_PAGES:
                self._flag(first, last, self._RESIDENT)
                states[first:last] = bytes([differ.AGAIN]) * (last - first)
                continue
            record.old.append((first, self._backing[first * PAGE : last * PAGE]))
            self._copy(memory.base, self._address, first, last)
            madvise(memory.base + first * PAGE, (last - first) * PAGE, self._MADV_DONTNEED)
            states[first:last] = bytes(last - first)

    def _take_long(self, memory: GuestMemory, states: bytearray, record: UndoRecord) -> None:
        """Commit long runs of new pages: their live copies go, the backing is mapped instead."""
        for run in _LONG_RUNS.finditer(states) if _LONG_RUN in states else ():
            first, last = run.span()
            if MappedMemory._mappings_left <= 0:
                return
            MappedMemory._mappings_left -= 2
            self._own_mappings += 2
            record.fresh.append((first, last))
            self._copy(memory.base, self._address, first, last)
            self._move_to_backing(memory, first, last)
            states[first:last] = bytes(last - first)

    def _take_beyond(self, memory: GuestMemory, states: bytearray, record: UndoRecord) -> None:
        """Commit new pages beyond the image, which has nothing to compare them with."""
        for run in _NEW_RUNS.finditer(states, self.image.size // PAGE):
            first, last = run.span()
            record.fresh.append((first, last))
            self._copy(memory.base, self._address, first, last)
            self._flag(first, last, self._RESIDENT)
            states[first:last] = bytes(last - first)

    def _flag(self, first: int, last: int, flag: int) -> None:
        self._flags[first:last] = bytes([flag]) * (last - first)

    def _states(self, dirty: bytes, but: bytes | bytearray = b"") -> bytearray:
        """The flags of the written pages, with a bit that says so; zeros for the others.

        Pages that have a state in ``but`` are others as well.
        """
        # As large numbers, so that it goes at memory speed.
        written = int.from_bytes(dirty, "little")
        written &= ~int.from_bytes(but.translate(_ANY), "little")
        flags = int.from_bytes(self._flags[: len(dirty)], "little") & (written * 3)
        both = written * self._WRITTEN | flags
        return bytearray(both.to_bytes(len(dirty), "little"))

    def _differ_for(self, memory: GuestMemory) -> differ.Differ:
        """The differ lives in the store of the memory it reads."""
        if self._differ is None or self._differ[0] is not memory:
            # The store's limit holds for the differ's memories as well, and may be lower by now.
            size = self._max_size if memory.limit is None else min(self._max_size, memory.limit)
            made = differ.Differ(memory, self.image, self._descriptor, size)
            self._differ = (memory, made)
        return self._differ[1]

    def _move_to_backing(self, memory: GuestMemory, first: int, last: int) -> None:
        self._map_backing(memory, first, last)
        self._flag(first, last, self._MAPPED)

    def _map_backing(self, memory: GuestMemory, first: int, last: int) -> None:
        self._map(memory, self._descriptor, first, last)
        memory.moved[first:last] = b"\1" * (last - first)

    def _release(self, memory: GuestMemory, dirty: bytes) -> None:
        """Give back the copies of pages that are as in the image again.

        Done once for a session: what its start and its first cell touch is twice what a later
        cell does. From then on the copies stay, because each would be faulted in again, and so
        they do after a rollback and in a fork, which shall not take longer.
        """
        for run in _NEW_RUNS.finditer(self._states(dirty)):
            first, last = run.span()
            if last * PAGE <= self.image.size and 1 not in memory.moved[first:last]:
                madvise(memory.base + first * PAGE, (last - first) * PAGE, self._MADV_DONTNEED)

    def _settle(self, memory: GuestMemory) -> None:
        """Keep the comparing cheap: crowded stretches of written pages are put away whole."""
        for first in range(0, self.size // PAGE - CHUNK_PAGES + 1, CHUNK_PAGES):
            last = first + CHUNK_PAGES
            flags = self._flags[first:last]
            is_crowded = flags.count(self._RESIDENT) >= CHUNK_PAGES // 8
            for clean in re.finditer(b"\0+", flags):
                start, stop = first + clean.start(), first + clean.end()
                if is_crowded:
                    self._copy(memory.base, self._address, start, stop)
                elif stop * PAGE <= self.image.size and 1 not in memory.moved[start:stop]:
                    madvise(memory.base + start * PAGE, (stop - start) * PAGE, self._MADV_DONTNEED)
            if is_crowded:
                self._move_to_backing(memory, first, last)

    def revert(self, record: UndoRecord, live: GuestMemory | None = None) -> bool:
        self._scanned = None
        return super().revert(record, live)

    def close(self) -> None:
        super().close()
        self._scanned = self._written = None
        MappedMemory._mappings_left += self._own_mappings
        self._own_mappings = 0

    def _discard(self, first: int, last: int) -> None:
        self._backing.madvise(mmap.MADV_REMOVE, first * PAGE, (last - first) * PAGE)


# Tables by flag or by state: of resident pages the state, the states that the differ knows, and
# ones for all.
_RESIDENTS = bytes(differ.AGAIN if flag == MappedMemory._RESIDENT else 0 for flag in range(256))
_COMPARED = bytes(state if state in (differ.FRESH, differ.AGAIN) else 0 for state in range(256))
_ANY = bytes(1 if state else 0 for state in range(256))
_NEW_RUNS = re.compile(rb"\x04+")
_LONG_RUN = b"\x04" * EXTENT_PAGES
_LONG_RUNS = re.compile(rb"\x04{%d,}" % EXTENT_PAGES)
_MAPPED_RUNS = re.compile(rb"\x06+")


def _spans(marked: bytes | bytearray) -> Iterator[tuple[int, int]]:
    """Where runs of ones begin and end; two searches a run, each at the speed of memchr."""
    stop = 0
    while (start := marked.find(1, stop)) >= 0:
        stop = marked.find(0, start)
        if stop < 0:
            stop = len(marked)
        yield start, stop


@functools.cache
def strategy() -> type[CommittedMemory]:
    """The best strategy for this machine."""
    if sys.platform == "linux" and os.access("/proc/self/pagemap", os.R_OK):
        return MappedMemory
    return CommittedMemory
