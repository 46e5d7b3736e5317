"""Runs work of a session beside the calling thread and hands its events to that thread.

Jupyter knows which cell an output belongs to by the thread that shows it, so events are shown
where ``%%sandbox`` was called, not where the guest runs. That thread is also where Ctrl-C arrives.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from wasm_kernel.core.events import Event, InputEvent, StreamEvent
from wasm_kernel.core.models import Limit, SandboxResult
from wasm_kernel.session import Session

T = TypeVar("T")
Show = Callable[[Event], str | None]

_AGAIN_SECONDS = 0.05
"""How often an interrupt is repeated: one that comes before the session has begun is for nobody."""

_STREAM_CHARACTERS_MAX = 1_000_000


class _Question:
    """An input event on its way to the calling thread, and the answer on its way back."""

    def __init__(self, event: InputEvent) -> None:
        self.event = event
        self.answer: str | None = None
        self.is_answered = threading.Event()


class _Ended:
    """The work is over."""


_Item = Event | _Question | _Ended


def execute_pumped(session: Session, code: str, show: Show, *, allow_stdin: bool) -> SandboxResult:
    """Run a cell; ``show`` is called on this thread. A Ctrl-C here interrupts the cell."""
    events: queue.SimpleQueue[_Item] = queue.SimpleQueue()

    def on_event(event: Event) -> str | None:
        if not isinstance(event, InputEvent):
            events.put(event)
            return None
        question = _Question(event)
        events.put(question)
        while not question.is_answered.wait(0.05):
            if event.is_stopped():
                return None
        return question.answer

    work = _Work(
        session,
        lambda: session.execute(code, on_event=on_event, allow_stdin=allow_stdin),
        events,
        show,
    )
    result = work.run()
    if work.was_interrupted and result.limit is not Limit.INTERRUPTED:
        raise KeyboardInterrupt("the cell had already ended; what it did was kept")
    return result


def run_beside(session: Session, operation: Callable[[], T]) -> T:
    """Do something else with a session's guest; a Ctrl-C here stops it."""
    work = _Work(session, operation, queue.SimpleQueue(), lambda _: None)
    try:
        return work.run()
    except Exception:
        if work.was_interrupted:
            raise KeyboardInterrupt from None
        raise


class _Work(Generic[T]):
    """One operation on a thread of its own, and what it shows on this one."""

    def __init__(
        self,
        session: Session,
        operation: Callable[[], T],
        events: queue.SimpleQueue[_Item],
        show: Show,
    ) -> None:
        self._session = session
        self._operation = operation
        self._events = events
        self._show = show
        self._values: list[T] = []
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._operate, name="wasm-cell", daemon=True)
        self._is_stopping = False
        self.was_interrupted = False

    def run(self) -> T:
        """Do it, to its end: nothing of it runs on when this returns, however it returns."""
        self._thread.start()
        trouble = self._show_all()
        self._thread.join()
        if trouble is not None:
            raise trouble
        if self._failure is not None:
            raise self._failure
        (value,) = self._values
        return value

    def _operate(self) -> None:
        try:
            self._values.append(self._operation())
        except BaseException as error:
            self._failure = error
        finally:
            self._events.put(_Ended())

    def _show_all(self) -> Exception | None:
        """Show what comes until the end; if that fails, the work is stopped."""
        trouble: Exception | None = None
        waiting: _Item | None = None
        while True:
            try:
                item, waiting = waiting or self._next(), None
                if isinstance(item, _Ended):
                    return trouble
                if isinstance(item, StreamEvent):
                    item, waiting = self._joined(item)
                if trouble is None:
                    self._handle(item)
            except KeyboardInterrupt:
                self._interrupt()
            except Exception as error:
                trouble = error
                self._stop()

    def _next(self) -> _Item:
        while self._is_stopping:
            # A Ctrl-C can come between taking an item and looking at it, even at the last one.
            is_over = not self._thread.is_alive()
            try:
                return self._events.get(timeout=0 if is_over else _AGAIN_SECONDS)
            except queue.Empty:
                if is_over:
                    return _Ended()
                self._session.interrupt()
        return self._events.get()

    def _joined(self, first: StreamEvent) -> tuple[StreamEvent, _Item | None]:
        """What has been written to one stream by now, and what comes after it.

        A program that prints a hundred thousand lines is not shown line by line.
        """
        parts, length = [first.text], len(first.text)
        while length < _STREAM_CHARACTERS_MAX and not self._events.empty():
            item = self._events.get()
            if not isinstance(item, StreamEvent) or item.name != first.name:
                return StreamEvent(first.name, "".join(parts)), item
            parts.append(item.text)
            length += len(item.text)
        return StreamEvent(first.name, "".join(parts)), None

    def _handle(self, item: Event | _Question) -> None:
        if not isinstance(item, _Question):
            self._show(item)
            return
        try:
            item.answer = self._show(item.event)
        except KeyboardInterrupt:
            # First of all: the cell must not take the missing answer for an end of input.
            self._interrupt()
        finally:
            item.is_answered.set()

    def _interrupt(self) -> None:
        self.was_interrupted = True
        self._stop()

    def _stop(self) -> None:
        self._is_stopping = True
        self._session.interrupt()
