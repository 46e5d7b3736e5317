"""The committed state of a session as Linux keeps it: mapped files, and the kernel's own flags."""

from __future__ import annotations

import functools
import mmap
import os
import re
import sys
import threading
import weakref

from wasm_kernel.core.patterns import pattern
from wasm_kernel.host import differ
from wasm_kernel.host.libc import madvise, map_file, page_faults, pagemap
from wasm_kernel.host.memory import GuestMemory, Image
from wasm_kernel.host.pages import ANY, CHUNK_PAGES, PAGE, CommittedMemory, UndoRecord
from wasm_kernel.host.threads import guest_threads

EXTENT_PAGES = 64
"""Runs of new pages at least this long are mapped from the backing file, so that a large array
that no later cell touches costs nothing; shorter ones stay in place and are compared."""

RESIDENT_PAGES_MAX = 4096
"""Pages that are compared at each commit; beyond that they are put away, and faulted in again."""

MAPPINGS_MAX = 30_000
"""Mappings that all sessions of a process may use for single runs of pages."""


class _Mappings:
    """What one session uses of the mappings that all sessions of the process may have."""

    left = MAPPINGS_MAX
    _lock = threading.Lock()

    def __init__(self) -> None:
        self._used = 0

    def take(self) -> bool:
        """Use the two that a run of its own costs; whether there were any left."""
        with self._lock:
            if _Mappings.left <= 0:
                return False
            _Mappings.left -= 2
            self._used += 2
        return True

    def give_back(self) -> None:
        """Use none any more."""
        with self._lock:
            _Mappings.left += self._used
            self._used = 0


class MappedMemory(CommittedMemory):
    """The committed state on Linux: copy-on-write mappings and the kernel's own page flags."""

    _MADV_DONTNEED = 4
    # The top byte of a pagemap entry: bit 63 present, 62 swapped, 61 file-backed or shared.
    # A page that was written through a private mapping is anonymous: present or swapped, not 61.
    _DIRTY = bytes(1 if (b & 0xA0) == 0x80 or (b & 0x60) == 0x40 else 0 for b in range(256))

    _WRITTEN = 4

    def __init__(self, image: Image, max_size: int) -> None:
        super().__init__(image, max_size)
        self._mappings = _Mappings()
        self._giving_back = weakref.finalize(self, self._mappings.give_back)
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
        self._mappings.give_back()
        for first, last in self._runs():
            # The backing has all of them: where some pages come from there, their neighbours do
            # too, since each run of its own would be a mapping of its own.
            if self._flags.find(self._MAPPED, first, last) < 0:
                self._copy(self._address, memory.base, first, last)
            elif self._mappings.take():
                self._map_backing(memory, first, last)
            else:
                self._copy(self._address, memory.base, first, last)
                self._flag(first, last, self._RESIDENT)

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
            if not self._mappings.take():
                return
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
        written &= ~int.from_bytes(but.translate(ANY), "little")
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
        self._giving_back()

    def _discard(self, first: int, last: int) -> None:
        self._backing.madvise(mmap.MADV_REMOVE, first * PAGE, (last - first) * PAGE)


# Tables by flag or by state: of resident pages the state, and the states that the differ knows.
_RESIDENTS = bytes(differ.AGAIN if flag == MappedMemory._RESIDENT else 0 for flag in range(256))
_COMPARED = bytes(state if state in (differ.FRESH, differ.AGAIN) else 0 for state in range(256))
_NEW_RUNS = pattern(rb"\x04+")
_LONG_RUN = b"\x04" * EXTENT_PAGES
_LONG_RUNS = pattern(rb"\x04{%d,}" % EXTENT_PAGES)
_MAPPED_RUNS = pattern(rb"\x06+")


@functools.cache
def strategy() -> type[CommittedMemory]:
    """The best strategy for this machine."""
    if sys.platform == "linux" and os.access("/proc/self/pagemap", os.R_OK):
        return MappedMemory
    return CommittedMemory
