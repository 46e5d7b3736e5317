"""Threads that run guest code.

A guest needs a deep stack, and Python's signal handlers only run on the main thread while it
executes Python. So guests run on threads of their own, and the caller waits where a Ctrl-C
reaches it.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from wasm_kernel.host.engine import WASM_STACK_BYTES

_STACK_BYTES = WASM_STACK_BYTES + 24 * 1024 * 1024
_IDLE_SECONDS = 10.0

T = TypeVar("T")


class Task(Generic[T]):
    """One call handed to a guest thread."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._calls = [call]
        self._value: T | None = None
        self._error: BaseException | None = None
        self.done = threading.Event()

    def run(self) -> bool:
        """Make the call, once; whether it was this time. Its end is for the thread to announce."""
        try:
            call = self._calls.pop()
        except IndexError:
            return False
        try:
            self._value = call()
        except BaseException as error:
            self._error = error
        return True

    def result(self) -> T:
        """What the call returned or raised, when it has ended."""
        self.done.wait()
        if self._error is not None:
            raise self._error
        return cast("T", self._value)


class GuestThreads:
    """A pool that always has a free thread: as many as run at once, idle ones end by themselves."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: in a process that was forked none of these threads is there."""
        self._tasks: queue.SimpleQueue[Task[Any]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._free = 0

    def run(
        self, call: Callable[[], T], *, timeout: float | None, stop: Callable[[str], None]
    ) -> T:
        """Run ``call`` on a guest thread and return what it returns.

        After ``timeout`` seconds ``stop("time")`` is called, on a Ctrl-C ``stop("interrupted")``;
        either way this waits for the call to end, so a guest is never left running behind.
        """
        task = Task(call)
        return self.attend(task, lambda: self._submit(task), timeout=timeout, stop=stop)

    def attend(
        self,
        task: Task[T],
        begin: Callable[[], None],
        *,
        timeout: float | None,
        stop: Callable[[str], None],
    ) -> T:
        """Begin something that ends a task, and wait for its end as ``run`` does.

        After a Ctrl-C in the middle of ``begin`` it is called again.
        """
        limit = None if timeout is None else min(timeout, threading.TIMEOUT_MAX)
        is_begun = False
        cause = ""
        interrupted: BaseException | None = None
        while not task.done.is_set():
            # In here from the first line to the last: an impatient Ctrl-C comes more than once.
            try:
                if not is_begun:
                    # A task that is submitted twice is run once all the same.
                    begin()
                    is_begun = True
                if cause:
                    stop(cause)
                    task.done.wait()
                elif not task.done.wait(limit):
                    cause = "time"
            except BaseException as error:
                interrupted, cause = error, "interrupted"
        if interrupted is not None:
            raise interrupted
        return task.result()

    def start(self, call: Callable[[], T]) -> Task[T]:
        """Begin ``call`` on a guest thread."""
        task = Task(call)
        self._submit(task)
        return task

    def _submit(self, task: Task[Any]) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
            else:
                self._add_thread()
        self._tasks.put(task)

    def _add_thread(self) -> None:
        before = threading.stack_size(_STACK_BYTES)
        try:
            threading.Thread(target=self._work, name="wasm-guest", daemon=True).start()
        finally:
            threading.stack_size(before)

    def _work(self) -> None:
        while True:
            try:
                task = self._tasks.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    # A task may have been promised to this thread while it timed out.
                    if self._free == 0:
                        continue
                    self._free -= 1
                    return
            is_done = task.run()
            with self._lock:
                self._free += 1
            if is_done:
                task.done.set()
            del task


guest_threads = GuestThreads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=guest_threads.forget)
