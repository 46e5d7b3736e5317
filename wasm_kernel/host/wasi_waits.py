"""Waiting: a guest sleeps on the host, where an interrupt or the end of its time wakes it."""

from __future__ import annotations

import struct

from wasm_kernel.host.wasi_abi import INVAL, SUCCESS, unsigned
from wasm_kernel.host.wasi_native import NativeCalls

_SUBSCRIPTIONS_MAX = 1024


class GuardedWaits(NativeCalls):
    """The one call by which WASI waits, for a clock or for files."""

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
