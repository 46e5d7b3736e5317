"""Looking at the interpreters that wait for a script."""

from __future__ import annotations

import time

from wasm_kernel.runtimes.python.ready import Interpreter, Pool

_HANG_GUARD_SECONDS = 60.0


def the_one_that_waits(pool: Pool) -> Interpreter:
    """The only interpreter of a pool, when it would begin with a script at once."""
    [interpreter] = pool.idle
    return ready(interpreter)


def ready(interpreter: Interpreter) -> Interpreter:
    """An interpreter when it would begin with a script at once."""
    deadline = time.monotonic() + _HANG_GUARD_SECONDS
    while not interpreter.is_waiting:
        assert not interpreter.has_ended, "it ended in place of waiting"
        assert time.monotonic() < deadline, "it does not get there"
        time.sleep(0.001)
    return interpreter
