"""Guest threads: a call is made once and waited for, whenever a Ctrl-C comes."""

from __future__ import annotations

import queue
import threading
from typing import Any

import pytest

from wasm_kernel.host.threads import GuestThreads


class InterruptedQueue:
    """A queue of tasks; somebody presses Ctrl-C while one is put into it."""

    def __init__(self, *, is_put: bool) -> None:
        self._inner: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._is_put = is_put
        self._is_pressed = False

    def put(self, task: Any) -> None:
        if not self._is_pressed:
            self._is_pressed = True
            if self._is_put:
                self._inner.put(task)
            raise KeyboardInterrupt
        self._inner.put(task)

    def get(self, timeout: float) -> Any:
        return self._inner.get(timeout=timeout)


@pytest.mark.parametrize("is_put", [False, True])
def test_a_call_whose_beginning_is_interrupted_is_waited_for(*, is_put: bool) -> None:
    threads = GuestThreads()
    threads._tasks = InterruptedQueue(is_put=is_put)  # type: ignore[assignment]
    calls: list[str] = []
    stopped = threading.Event()

    def call() -> None:
        assert stopped.wait(60)
        calls.append("ended")

    def stop(cause: str) -> None:
        assert cause == "interrupted"
        stopped.set()

    with pytest.raises(KeyboardInterrupt):
        threads.run(call, timeout=None, stop=stop)
    assert calls == ["ended"]


def test_calls_that_follow_are_made_all_the_same() -> None:
    threads = GuestThreads()
    threads._tasks = InterruptedQueue(is_put=True)  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        threads.run(lambda: None, timeout=None, stop=lambda _: None)
    assert [threads.run(lambda n=n: n, timeout=None, stop=lambda _: None) for n in range(5)] == [
        0, 1, 2, 3, 4,
    ]  # fmt: skip
