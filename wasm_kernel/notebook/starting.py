"""Making a kernel's session ready beside everything else, and saying how far it is.

The kernel process answers ``kernel_info`` at once; the session is prepared on a thread from the
first moment, with the imports that it needs. Where the runtime is not set up yet, the first cell
shows the set-up's progress.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
Show = Callable[[str], None]


class _Cancelled(Exception):
    """The user interrupted the preparation."""


class Starting(Generic[T]):
    """A session that is being made, or whatever ``open_it`` opens."""

    def __init__(self, open_it: Callable[[Show], T]) -> None:
        self._open = open_it
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()
        self._line = ""
        self._result: T | None = None
        self._error: Exception | None = None
        self._is_cancelled = False
        self.is_ended = False
        """Whether nobody needs it any more."""
        self.is_awaited = False
        """Whether somebody waits for it who would rather have it cold than later."""

    def begin(self) -> None:
        """Start making the session, unless that is under way."""
        with self._changed:
            if self._thread is None:
                self._start()

    def _start(self) -> None:
        self._result = self._error = None
        self._is_cancelled = False
        self._thread = threading.Thread(target=self._make, name="wasm-start", daemon=True)
        self._thread.start()

    def wait(self, show: Show | None, is_cancelled: Callable[[], bool] = lambda: False) -> T:
        """The session when it is there; after a failure the next call tries again.

        ``is_cancelled`` tells of an interrupt that was sent before this call.
        """
        with self._changed:
            self._is_cancelled = False
            self.is_awaited = True
            self.begin()
            shown = ""
            while self._is_under_way(is_cancelled):
                self._changed.wait()
                if show is not None and self._line and self._line != shown:
                    shown = self._line
                    show(f"preparing the sandbox (once): {shown}\n")
            result, error = self._result, self._error
            self._thread = self._result = self._error = None
        if error is not None:
            raise error
        assert result is not None
        if show is not None and shown:
            show("the sandbox is ready\n")
        return result

    def _is_under_way(self, is_cancelled: Callable[[], bool]) -> bool:
        """Whether there is something to wait for; what an earlier interrupt stopped begins anew."""
        if self._is_cancelled or self.is_ended or is_cancelled():
            from wasm_kernel.core.errors import SandboxExecutionError

            raise SandboxExecutionError("the preparation was interrupted; run the cell to go on")
        if isinstance(self._error, _Cancelled):
            self._start()
        return self._result is None and self._error is None

    def cancel(self) -> None:
        """Stop waiting at once, and the preparation at its next step."""
        with self._changed:
            self._is_cancelled = True
            self._changed.notify_all()

    def end(self) -> None:
        """Stop waiting for good: whoever asks from now on is refused."""
        self.is_ended = True
        self.cancel()

    def _make(self) -> None:
        result: T | None = None
        error: Exception | None = None
        try:
            result = self._open(self._report)
        except Exception as problem:
            error = problem
        with self._changed:
            self._result, self._error = result, error
            self._changed.notify_all()

    def _report(self, line: str) -> None:
        if self._is_cancelled or self.is_ended:
            raise _Cancelled
        with self._changed:
            self._line = line
            self._changed.notify_all()
