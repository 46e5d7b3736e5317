"""One request to the guest's driver: its fuel, the frames that cross, and the events they carry.

Everything the guest sends is untrusted and may come at any time, in any order, any number of
times. Nothing it can say here widens what it is allowed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from wasm_kernel.core.data import dataclass, field
from wasm_kernel.host.door import BadFrame, Frame, header_length
from wasm_kernel.host.guest import Guest, Outcome
from wasm_kernel.runtimes.python.image import SERVE

REPLY_MAX_BYTES = 16_000_000
OVERHEAD_FUEL = 10_000_000_000
"""What the shell may use per cell to format results and tracebacks, given once."""
JSON_FUEL = 100
"""What the guest pays for a byte of JSON: about as long as the host reads it, its own code runs."""
BYTES_PER_FUEL = 8
"""What the host copies while the guest's own code takes one step."""
_FREE_BYTES = 4096
"""Shorter messages cost the guest more to send than the host to read."""

Event = dict[str, Any]
Handler = Callable[[Frame], Frame | None]
"""Takes an event of the guest; the answer, if it has one."""


class Refused(Exception):
    """A message of the guest is refused; the text is the answer it gets."""


@dataclass()
class Fuel:
    """Two purses: the user's code and the shell around it; marks of the driver switch between.

    What a cell shows at its end, its value and the figures it left open, is paid from both: first
    by the shell, and then from what is left to the user. A long table is no reason to fail.
    """

    budget: int
    overhead: int = OVERHEAD_FUEL
    user_left: int = field(init=False)
    shell_left: int = field(init=False)
    in_user_code: bool = False
    is_showing: bool = False

    def __post_init__(self) -> None:
        self.user_left = self.budget
        self.shell_left = self.overhead

    def switch(self, guest: Guest, *, to_user: bool) -> None:
        """Put the present purse away and open the other; both only ever get emptier."""
        if to_user == self.in_user_code and not self.is_showing:
            return
        self.settle(guest.fuel)
        self.in_user_code, self.is_showing = to_user, False
        guest.set_fuel(self.user_left if to_user else self.shell_left)

    def open_both(self, guest: Guest) -> None:
        """Let the guest take from both purses: no more than it has by switching between them."""
        self.settle(guest.fuel)
        self.in_user_code, self.is_showing = False, True
        guest.set_fuel(self._shell_spare + self.user_left)

    @property
    def _shell_spare(self) -> int:
        """What the shell can do without: after all is shown it still has to end the cell."""
        return max(0, self.shell_left - self.overhead // 5)

    def charge(self, guest: Guest, *, json_bytes: int, copied: int = 0) -> None:
        """Let the guest pay for what the host does; a loop of long messages ends like any other."""
        cost = JSON_FUEL * json_bytes if json_bytes > _FREE_BYTES else 0
        cost += copied // BYTES_PER_FUEL if copied > _FREE_BYTES else 0
        if cost:
            guest.set_fuel(max(0, guest.fuel - cost))

    def settle(self, left: int) -> None:
        """Note what is left of the present purse."""
        if self.is_showing:
            used = max(0, self._shell_spare + self.user_left - left)
            of_shell = min(used, self._shell_spare)
            self.shell_left -= of_shell
            self.user_left = max(0, self.user_left - (used - of_shell))
        elif self.in_user_code:
            self.user_left = min(left, self.user_left)
        else:
            self.shell_left = min(left, self.shell_left)

    @property
    def user_consumed(self) -> int:
        """Fuel of the user's code."""
        return self.budget - self.user_left

    @property
    def shell_consumed(self) -> int:
        """Fuel of the shell."""
        return self.overhead - self.shell_left


class Conversation:
    """The door of one request."""

    def __init__(
        self,
        guest: Guest,
        request: Frame,
        *,
        fuel: Fuel,
        handlers: dict[str, Handler] | None = None,
        max_bytes: int = 1 << 28,
    ) -> None:
        self._guest = guest
        self._request: Frame | None = request
        self._handlers = handlers or {}
        self.max_bytes = max_bytes
        self.fuel = fuel
        self.reply: Frame | None = None

    def run(self, *, timeout: float | None = None) -> Outcome:
        """Enter the guest with the request and stay until it is done."""
        self._guest.door, self._guest.door_max_bytes = self.answer, self.max_bytes
        try:
            outcome = self._guest.turn(SERVE, fuel=self.fuel.shell_left, timeout=timeout)
            self.fuel.settle(self._guest.fuel)
        finally:
            self._guest.door = None
        return outcome

    def answer(self, data: bytes) -> bytes:
        """Answer one message of the guest."""
        try:
            self.fuel.charge(self._guest, json_bytes=header_length(data), copied=len(data))
            frame = Frame.decode(data, max_bytes=self.max_bytes)
            answer = self._dispatch(frame)
        except (BadFrame, Refused) as error:
            answer = Frame({"refused": str(error)})
        return answer.encode() if answer is not None else b""

    def next_request(self) -> Frame | None:
        """What the guest is to do next, if there is anything."""
        request, self._request = self._request, None
        return request

    def _dispatch(self, frame: Frame) -> Frame | None:
        operation = frame.header.get("op")
        if operation == "next":
            return self.next_request()
        if operation in ("begin", "end"):
            self.fuel.switch(self._guest, to_user=operation == "begin")
            return None
        if operation == "show":
            self.fuel.open_both(self._guest)
            return None
        if operation == "fuel":
            self.fuel.settle(self._guest.fuel)
            return Frame({"left": self.fuel.user_left})
        if operation == "reply":
            if self.reply is None:
                size = len(frame.buffers[0]) if frame.buffers else 0
                self.fuel.charge(self._guest, json_bytes=size)
                self.reply = _reply_of(frame)
            return None
        handler = self._handlers.get(operation) if isinstance(operation, str) else None
        if handler is None:
            raise Refused("there is no such message")
        return handler(frame)


def _reply_of(frame: Frame) -> Frame:
    """The reply of a request: a JSON object in the first buffer, and what goes with it."""
    text, *buffers = frame.buffers or [b""]
    if len(text) > REPLY_MAX_BYTES:
        raise Refused(f"a reply of more than {REPLY_MAX_BYTES:,} bytes is not taken")
    try:
        reply = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Refused("the reply is not JSON") from error
    if not isinstance(reply, dict):
        raise Refused("the reply is not an object")
    return Frame(reply, buffers, frame.size)
