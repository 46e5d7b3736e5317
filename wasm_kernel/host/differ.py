"""Finds what a cell changed in the pages it wrote, inside WebAssembly.

Most pages that a cell writes are as they were when it ends: Python counts references up and down
again. So a thousand pages are compared at each commit, and one call of the C library for each
takes longer than the comparing. A small module does the loop instead: it imports the guest's
memory, the image and the committed pages as three memories, copies what differs from the first
into the last, and leaves what was there before in a memory of its own.

A record of a changed page: its number, how many of its lines changed (u32 each), a bit for each
line (u64), and the former bytes of those lines, 64 each. A page that was as in the image before
has no lines: the image has them.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Iterator

import wasmtime

from wasm_kernel.core.data import dataclass
from wasm_kernel.host.calls import Export
from wasm_kernel.host.engine import shared_engine, small_module
from wasm_kernel.host.libc import map_file
from wasm_kernel.host.memory import WASM_PAGE, GuestMemory, Image

PAGE = 4096
LINE = 64
_HEADER = struct.Struct("<IIQ")
_RECORD_MAX = _HEADER.size + PAGE
_OWN_PAGES = 32
_STATES_AT, _STATES_MAX = 16, 1 << 18
_OUT_AT = _STATES_AT + _STATES_MAX
_FUEL = 1 << 40
_VECTORS = range(0, LINE, 16)

FRESH, AGAIN = 4, 5
"""What a page's state says: to be compared with the image, or with what was committed before."""


def _each_vector(form: str) -> str:
    return " ".join(form.format(offset=offset) for offset in _VECTORS)


def _differs_from(memory: str) -> str:
    """Whether a line differs: the differences of its four parts, put together."""
    parts = [
        f"(v128.xor (v128.load $guest offset={offset} (local.get $at))"
        f" (v128.load {memory} offset={offset} (local.get $at)))"
        for offset in _VECTORS
    ]
    return f"(v128.any_true {functools.reduce(lambda a, b: f'(v128.or {a} {b})', parts)})"


_KEEP_LINE = _each_vector(
    "(v128.store $own offset={offset} (local.get $to)"
    " (v128.load $committed offset={offset} (local.get $at)))"
)
_TAKE_LINE = _each_vector(
    "(v128.store $committed offset={offset} (local.get $at)"
    " (v128.load $guest offset={offset} (local.get $at)))"
)

# Looks at the states from $next to $end, a byte each, of the pages from $page on, while a record
# has room before $limit. Returns how far it came. Leaves at address 0 where the records end, at 4
# and 8 how many pages changed, of which how many were as in the image before.
_SOURCE = f"""
(module
  (import "guest" "memory" (memory $guest 0))
  (import "host" "image" (memory $image 0))
  (import "host" "committed" (memory $committed 0))
  (memory $own (export "own") {_OWN_PAGES})
  (func (export "take")
    (param $next i32) (param $end i32) (param $page i32) (param $limit i32) (result i32)
    (local $at i32) (local $stop i32) (local $out i32) (local $to i32) (local $state i32)
    (local $bit i64) (local $bits i64) (local $changed i32) (local $fresh i32)
    (local.set $out (i32.const {_OUT_AT}))
    (block $done
      (loop $pages
        (br_if $done (i32.ge_u (local.get $next) (local.get $end)))
        (br_if $done (i32.gt_u
          (i32.add (local.get $out) (i32.const {_RECORD_MAX})) (local.get $limit)))
        ;; Most pages were not written: skip eight at a time.
        (if (i64.eqz (i64.load $own (local.get $next)))
          (then
            (local.set $next (i32.add (local.get $next) (i32.const 8)))
            (local.set $page (i32.add (local.get $page) (i32.const 8)))
            (br $pages)))
        (local.set $state (i32.load8_u $own (local.get $next)))
        (local.set $at (i32.shl (local.get $page) (i32.const 12)))
        (local.set $stop (i32.add (local.get $at) (i32.const {PAGE})))
        (if (i32.eq (local.get $state) (i32.const {FRESH}))
          (then
            (loop $lines
              (if {_differs_from("$image")}
                (then
                  (local.set $at (i32.sub (local.get $stop) (i32.const {PAGE})))
                  (memory.copy $committed $guest
                    (local.get $at) (local.get $at) (i32.const {PAGE}))
                  (i32.store $own (local.get $out) (local.get $page))
                  (i32.store $own offset=4 (local.get $out) (i32.const 0))
                  (i64.store $own offset=8 (local.get $out) (i64.const 0))
                  (local.set $out (i32.add (local.get $out) (i32.const {_HEADER.size})))
                  (local.set $fresh (i32.add (local.get $fresh) (i32.const 1))))
                (else
                  (local.set $at (i32.add (local.get $at) (i32.const {LINE})))
                  (br_if $lines (i32.ne (local.get $at) (local.get $stop))))))))
        (if (i32.eq (local.get $state) (i32.const {AGAIN}))
          (then
            (local.set $to (i32.add (local.get $out) (i32.const {_HEADER.size})))
            (local.set $bit (i64.const 1))
            (local.set $bits (i64.const 0))
            (loop $lines
              (if {_differs_from("$committed")}
                (then
                  {_KEEP_LINE}
                  {_TAKE_LINE}
                  (local.set $to (i32.add (local.get $to) (i32.const {LINE})))
                  (local.set $bits (i64.or (local.get $bits) (local.get $bit)))))
              (local.set $bit (i64.shl (local.get $bit) (i64.const 1)))
              (local.set $at (i32.add (local.get $at) (i32.const {LINE})))
              (br_if $lines (i32.ne (local.get $at) (local.get $stop))))
            (if (i64.ne (local.get $bits) (i64.const 0))
              (then
                (i32.store $own (local.get $out) (local.get $page))
                (i32.store $own offset=4 (local.get $out)
                  (i32.wrap_i64 (i64.popcnt (local.get $bits))))
                (i64.store $own offset=8 (local.get $out) (local.get $bits))
                (local.set $out (local.get $to))
                (local.set $changed (i32.add (local.get $changed) (i32.const 1)))))))
        (local.set $next (i32.add (local.get $next) (i32.const 1)))
        (local.set $page (i32.add (local.get $page) (i32.const 1)))
        (br $pages)))
    (i32.store $own (i32.const 0) (local.get $out))
    (i32.store $own (i32.const 4) (i32.add (local.get $changed) (local.get $fresh)))
    (i32.store $own (i32.const 8) (local.get $fresh))
    (local.get $next))
  ;; Gives the guest back what its pages were, from $page on, by their states. What lies beyond
  ;; the image, $inside pages, was zeros.
  (func (export "put_back") (param $next i32) (param $end i32) (param $page i32) (param $inside i32)
    (local $at i32) (local $state i32)
    (block $done
      (loop $pages
        (br_if $done (i32.ge_u (local.get $next) (local.get $end)))
        (if (i64.eqz (i64.load $own (local.get $next)))
          (then
            (local.set $next (i32.add (local.get $next) (i32.const 8)))
            (local.set $page (i32.add (local.get $page) (i32.const 8)))
            (br $pages)))
        (local.set $state (i32.load8_u $own (local.get $next)))
        (local.set $at (i32.shl (local.get $page) (i32.const 12)))
        (if (i32.gt_u (local.get $state) (i32.const {FRESH}))
          (then
            (memory.copy $guest $committed
              (local.get $at) (local.get $at) (i32.const {PAGE}))))
        (if (i32.eq (local.get $state) (i32.const {FRESH}))
          (then
            (if (i32.lt_u (local.get $page) (local.get $inside))
              (then
                (memory.copy $guest $image
                  (local.get $at) (local.get $at) (i32.const {PAGE})))
              (else
                (memory.fill $guest (local.get $at) (i32.const 0) (i32.const {PAGE}))))))
        (local.set $next (i32.add (local.get $next) (i32.const 1)))
        (local.set $page (i32.add (local.get $page) (i32.const 1)))
        (br $pages)))))
"""


class Differ:
    """Compares one guest's memory with its image and with the pages committed since."""

    def __init__(self, memory: GuestMemory, image: Image, descriptor: int, size: int) -> None:
        """``descriptor`` holds the committed pages, ``size`` bytes at most."""
        store = memory.store
        linker = wasmtime.Linker(shared_engine())
        linker.define(store, "guest", "memory", memory.memory)
        linker.define(store, "host", "image", _mapped(store, image.descriptor, image.size))
        committed = _mapped(store, descriptor, size, writable=True)
        linker.define(store, "host", "committed", committed)
        exports = linker.instantiate(store, small_module(_SOURCE)).exports(store)
        own, take, put_back = (exports[name] for name in ("own", "take", "put_back"))
        assert isinstance(own, wasmtime.Memory)
        assert isinstance(take, wasmtime.Func) and isinstance(put_back, wasmtime.Func)
        self._store = store
        self._own = GuestMemory(store, own)
        self._take = Export(store, take)
        self._put_back = Export(store, put_back)
        self._inside = image.size // PAGE

    def take(self, states: bytes | bytearray) -> Changes:
        """Commit what changed in the pages that have one of the two states."""
        records = []
        pages = fresh = 0
        for start, end in self._parts(states):
            at = _STATES_AT
            while at < end:
                page = start + at - _STATES_AT
                at = self._take(at, end, page, self._own.size) or end
                out, more_pages, more_fresh = struct.unpack("<III", self._own.read(0, 12))
                records.append(self._own.read(_OUT_AT, out - _OUT_AT))
                pages, fresh = pages + more_pages, fresh + more_fresh
        return Changes(b"".join(records), pages, fresh)

    def put_back(self, states: bytes | bytearray) -> None:
        """Give the guest back what was committed, in all pages whose state is not zero."""
        for start, end in self._parts(states):
            self._put_back(_STATES_AT, end, start, self._inside)

    def _parts(self, states: bytes | bytearray) -> Iterator[tuple[int, int]]:
        """Hand the states over, as many as there is room for: the first page, and their end."""
        self._store.set_fuel(_FUEL)
        for start in range(0, len(states), _STATES_MAX):
            part = states[start : start + _STATES_MAX]
            # The module reads eight states at once, beyond the last one as well.
            self._own.write(_STATES_AT, bytes(part) + bytes(-len(part) % 8))
            yield start, _STATES_AT + len(part)


@dataclass(frozen=True)
class Changes:
    """Records of what some pages were before a commit."""

    records: bytes = b""
    pages: int = 0
    fresh: int = 0
    """How many of them were as in the image."""

    def __add__(self, other: Changes) -> Changes:
        return Changes(
            self.records + other.records, self.pages + other.pages, self.fresh + other.fresh
        )

    def fresh_runs(self) -> Iterator[tuple[int, int]]:
        """Runs of pages that were as in the image."""
        first = last = -1
        for page, _, lines in self._walk() if self.fresh else ():
            if lines:
                continue
            if page != last:
                if last >= 0:
                    yield first, last
                first = page
            last = page + 1
        if last >= 0:
            yield first, last

    def former_lines(self) -> Iterator[tuple[int, bytes]]:
        """Where bytes were replaced, and what was there: neighbouring lines come as one."""
        for page, bits, content in self._walk():
            line = at = 0
            while bits:
                skipped = (bits & -bits).bit_length() - 1
                bits >>= skipped
                count = (~bits & (bits + 1)).bit_length() - 1
                line += skipped
                yield page * PAGE + line * LINE, content[at : at + count * LINE]
                at += count * LINE
                bits >>= count
                line += count

    def _walk(self) -> Iterator[tuple[int, int, bytes]]:
        at = 0
        while at < len(self.records):
            page, lines, bits = _HEADER.unpack_from(self.records, at)
            at += _HEADER.size
            yield page, bits, self.records[at : at + LINE * lines]
            at += LINE * lines


def _mapped(
    store: wasmtime.Store, descriptor: int, size: int, *, writable: bool = False
) -> wasmtime.Memory:
    """A linear memory that shows a file."""
    pages = size // WASM_PAGE
    memory = wasmtime.Memory(store, wasmtime.MemoryType(wasmtime.Limits(pages, pages)))
    address = ctypes.addressof(memory.data_ptr(store).contents)
    map_file(address, descriptor, 0, pages * WASM_PAGE, writable=writable, shared=True)
    return memory
