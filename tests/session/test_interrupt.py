"""Interrupts from another thread, wherever the cell is: it is rolled back and life goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from wasm_kernel import Limit, SandboxLogger, Session
from wasm_kernel.core.events import ErrorEvent
from wasm_kernel.host import watch

from .conftest import Cell, MakeSession, Running

RunCell = Callable[..., Cell]
Background = Callable[..., Running]

LONG = {
    "loop": "while True: pass",
    "sleep": "import time\ntime.sleep(10**7)",
    "many short sleeps": "import time\nwhile True: time.sleep(0.001)",
    "await": "import asyncio\nawait asyncio.sleep(10**7)",
    "matrix product": "import numpy as np\na = np.ones((6000, 6000))\n(a @ a).sum()",
    "numpy sort": "import numpy as np\nwhile True: np.sort(np.arange(3_000_000)[::-1])",
    "regex": "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')",
    "big power": "10 ** 10 ** 8",
    "caught": "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "printing": "while True: print('x' * 50)",
    "displaying": "while True: display(1)",
    "writing": "f = open('big', 'wb', buffering=0)\nwhile True: f.write(b'x'); f.seek(0)",
    "finalizer": "class A:\n    def __del__(self):\n        while True: pass\na = A()\ndel a",
}


@pytest.mark.parametrize("code", LONG.values(), ids=LONG.keys())
def test_interrupt(
    make_session: MakeSession, cell: RunCell, background: Background, code: str
) -> None:
    session = make_session(fuel_budget=10**15, memory_bytes=2 * 10**9)
    cell(session, "x = 1")
    running = background(session, f"x = 2\nprint('ready')\n{code}")
    running.until_printed()
    assert not running.is_done
    session.interrupt()
    result = running.result()
    assert result.limit is Limit.INTERRUPTED and result.rolled_back and not result.success
    assert result.exit_code == 130
    last = running.events[-1]
    assert isinstance(last, ErrorEvent) and last.name == "KeyboardInterrupt"
    assert "interrupted" in last.value and "rolled back" in last.value
    assert cell(session, "x").value == "1"
    assert not (session.workspace / "big").exists()


def test_an_interrupt_of_an_idle_session_is_for_nobody(session: Session, cell: RunCell) -> None:
    session.interrupt()
    assert cell(session, "x = 1\nx").value == "1"
    session.interrupt()
    session.interrupt()
    assert cell(session, "x").value == "1"


class _AtTheBeginning(SandboxLogger):
    """Does something when a cell has begun and no guest has been entered for it yet."""

    def __init__(self, then: Callable[[], object]) -> None:
        super().__init__()
        self._then = then

    def log_execution_start(self, *_: Any, **__: Any) -> None:
        self._then()


def test_an_interrupt_in_the_moment_a_cell_begins_is_for_that_cell(
    session: Session, cell: RunCell
) -> None:
    cell(session, "x = 1")
    quiet, session.logger = session.logger, _AtTheBeginning(session.interrupt)
    ran = cell(session, "x = 2\nopen('made', 'w').close()\nwhile True: pass")
    assert ran.result.limit is Limit.INTERRUPTED and ran.result.rolled_back
    assert ran.error.name == "KeyboardInterrupt"
    # Also where there is no instance yet that could be stopped.
    session.change_policy(session.policy.replace(fuel_budget=10**13))
    assert cell(session, "while True: pass").result.limit is Limit.INTERRUPTED
    session.logger = quiet
    assert cell(session, "import os; x, os.path.exists('made')").value == "(1, False)"


def test_a_cell_that_was_cancelled_on_its_way_is_interrupted(
    session: Session, cell: RunCell
) -> None:
    cancelled = threading.Event()
    assert cell(session, "x = 1\nx", is_cancelled=cancelled.is_set).value == "1"
    cancelled.set()
    ran = cell(session, "x = 2\nwhile True: pass", is_cancelled=cancelled.is_set)
    assert ran.result.limit is Limit.INTERRUPTED
    assert cell(session, "x").value == "1"


def test_an_interrupt_only_stops_its_own_session(
    make_session: MakeSession, background: Background, tmp_path: object
) -> None:
    first, second = make_session(), make_session()
    code = "import os\nprint('ready')\nwhile not os.path.exists('stop'): pass\nprint('done')"
    running = background(first, code)
    other = background(second, "print('ready')\nwhile True: pass")
    running.until_printed()
    other.until_printed()
    second.interrupt()
    assert other.result().limit is Limit.INTERRUPTED
    assert not running.is_done
    (first.workspace / "stop").touch()
    result = running.result()
    assert result.success and result.stdout == "ready\ndone\n"


def test_many_interrupts_are_one(session: Session, cell: RunCell, background: Background) -> None:
    running = background(session, "print('ready')\nwhile True: pass")
    running.until_printed()
    threads = [threading.Thread(target=session.interrupt) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert running.result().limit is Limit.INTERRUPTED
    assert cell(session, "1").value == "1"


def test_interrupts_again_and_again(
    session: Session, cell: RunCell, background: Background
) -> None:
    cell(session, "n = 0")
    for _ in range(10):
        running = background(session, "n += 100\nprint('ready')\nwhile True: pass")
        running.until_printed()
        session.interrupt()
        assert running.result().rolled_back
        cell(session, "n += 1")
    assert cell(session, "n").value == "10"


def test_an_interrupted_sleep_never_looks_like_a_good_end(
    session: Session, cell: RunCell, background: Background, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However slowly the stop gets through, a sleep that it cut short is not a sleep that ended."""
    cell(session, "x = 1")
    running = background(session, "x = 2\nprint('ready')\nimport time\ntime.sleep(1000)")
    running.until_printed()
    engine = watch.shared_engine()
    slow = threading.Event()

    class SlowEngine:
        def increment_epoch(self) -> None:
            slow.wait(0.5)
            engine.increment_epoch()

    monkeypatch.setattr(watch, "shared_engine", SlowEngine)
    session.interrupt()
    result = running.result()
    assert not result.success and result.limit is Limit.INTERRUPTED
    assert cell(session, "x").value == "1"


def test_the_clock_stops_what_nobody_interrupts(make_session: MakeSession, cell: RunCell) -> None:
    session = make_session(timeout_seconds=0.4)
    cell(session, "x = 1")
    for code in (
        "while True: pass",
        "import time\ntime.sleep(1000)",
        "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')",
    ):
        ran = cell(session, f"x = 2\n{code}")
        assert ran.result.limit is Limit.TIME and ran.result.rolled_back
        assert "400 ms" in ran.error.value and "timeout_seconds" in ran.error.value
        assert cell(session, "x").value == "1"


def test_the_clock_also_stops_a_prompt(make_session: MakeSession, background: Background) -> None:
    session = make_session(timeout_seconds=0.4)
    running = background(session, "input()", allow_stdin=True)
    assert running.result().limit is Limit.TIME
