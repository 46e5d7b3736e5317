"""A session that is being made: whoever waits for it can stop waiting, and come back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from wasm_kernel.core.errors import PolicyValidationError, SandboxExecutionError
from wasm_kernel.notebook.starting import Starting
from wasm_kernel.session import Session

GUARD_SECONDS = 120.0


class Slow:
    """Opens a session when it is released, so that a preparation takes as long as needed."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self.is_asked = threading.Event()
        self.is_released = threading.Event()
        self.calls = 0

    def __call__(self, report: Callable[[str], None]) -> Session:
        self.calls += 1
        report("waiting, 50 %")
        self.is_asked.set()
        assert self.is_released.wait(GUARD_SECONDS)
        return Session(workspace=self._workspace)


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Slow]:
    made = Slow(tmp_path / "workspace")
    yield made
    made.is_released.set()


@pytest.fixture
def beside() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as worker:
        yield worker


def test_an_interrupt_ends_the_waiting_at_once(slow: Slow, beside: ThreadPoolExecutor) -> None:
    starting = Starting(slow)
    waiting: Future[Session] = beside.submit(starting.wait, None)
    assert slow.is_asked.wait(GUARD_SECONDS)
    starting.cancel()
    with pytest.raises(SandboxExecutionError, match="run the cell to go on"):
        waiting.result(GUARD_SECONDS)
    assert not slow.is_released.is_set()
    # The next cell waits for the same preparation.
    slow.is_released.set()
    with starting.wait(None) as session:
        assert session.execute("1 + 1").success
    assert slow.calls == 1


def test_an_interrupt_before_anybody_waits_is_not_remembered(slow: Slow) -> None:
    starting = Starting(slow)
    starting.begin()
    assert slow.is_asked.wait(GUARD_SECONDS)
    starting.cancel()
    slow.is_released.set()
    starting.wait(None).close()


def test_an_interrupt_sent_to_whoever_comes_to_wait_is_remembered(slow: Slow) -> None:
    starting = Starting(slow)
    with pytest.raises(SandboxExecutionError, match="interrupted"):
        starting.wait(None, lambda: True)
    slow.is_released.set()
    starting.wait(None).close()


def test_after_the_end_nobody_waits(slow: Slow, beside: ThreadPoolExecutor) -> None:
    starting = Starting(slow)
    waiting: Future[Session] = beside.submit(starting.wait, None)
    assert slow.is_asked.wait(GUARD_SECONDS)
    starting.end()
    with pytest.raises(SandboxExecutionError, match="interrupted"):
        waiting.result(GUARD_SECONDS)
    with pytest.raises(SandboxExecutionError, match="interrupted"):
        starting.wait(None)


def test_whoever_waits_sees_how_far_it_is(slow: Slow, beside: ThreadPoolExecutor) -> None:
    starting = Starting(slow)
    shown: list[str] = []
    is_shown = threading.Event()

    def show(line: str) -> None:
        shown.append(line)
        is_shown.set()

    waiting: Future[Session] = beside.submit(starting.wait, show)
    assert is_shown.wait(GUARD_SECONDS)
    slow.is_released.set()
    waiting.result(GUARD_SECONDS).close()
    assert shown == [
        "preparing the sandbox (once): waiting, 50 %\n",
        "the sandbox is ready\n",
    ]


def test_a_failure_is_told_once_and_the_next_call_tries_again(tmp_path: Path) -> None:
    outcomes = iter([PolicyValidationError.from_message("f", "v", "no"), None])

    def open_it(_: Callable[[str], None]) -> Session:
        problem = next(outcomes)
        if problem is not None:
            raise problem
        return Session(workspace=tmp_path / "workspace")

    starting = Starting(open_it)
    starting.begin()
    with pytest.raises(PolicyValidationError):
        starting.wait(None)
    starting.wait(None).close()


def test_whoever_opens_it_knows_whether_somebody_waits() -> None:
    is_asked, is_shown = threading.Event(), threading.Event()

    def open_it(report: Callable[[str], None]) -> list[bool]:
        known = [starting.is_awaited]
        is_asked.set()
        while not is_shown.wait(0.01):
            report("waiting")
        return [*known, starting.is_awaited]

    starting = Starting(open_it)
    starting.begin()
    assert is_asked.wait(GUARD_SECONDS)
    assert starting.wait(lambda _: is_shown.set()) == [False, True]
