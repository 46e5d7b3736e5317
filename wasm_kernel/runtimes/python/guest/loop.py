"""asyncio without sockets or threads: a loop that sleeps instead of polling."""

import asyncio
import contextlib
import contextvars
import selectors
import sys
import time

from wasm_guest import door
from wasm_guest.refusals import PROCESSES


class SleepSelector(selectors._BaseSelectorImpl):
    """Nothing is ever ready but the clock."""

    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError("every task waits for something that cannot happen in the sandbox")
        if timeout > 0:
            time.sleep(timeout)
        return []


class GuestEventLoop(asyncio.SelectorEventLoop):
    """The selector loop without its self-pipe, which needs a socket pair."""

    def __init__(self, selector=None):
        super().__init__(selector or SleepSelector())

    def _make_self_pipe(self):
        pass

    def _close_self_pipe(self):
        pass

    def _write_to_self(self):
        pass

    def add_signal_handler(self, sig, callback, *args):
        pass

    def remove_signal_handler(self, sig):
        return False

    async def subprocess_exec(self, *_, **__):
        raise OSError(PROCESSES)

    subprocess_shell = subprocess_exec

    def run_in_executor(self, executor, func, *args):
        """No threads here: the function runs now."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future


def install(shell=None):
    """Make it the loop of ``asyncio.run`` and, for a shell, of top-level ``await``."""
    import asyncio.events
    import asyncio.runners

    asyncio.events.new_event_loop = asyncio.new_event_loop = GuestEventLoop
    asyncio.DefaultEventLoop = GuestEventLoop
    asyncio.EventLoop = GuestEventLoop
    policy = asyncio.events._get_event_loop_policy()
    type(policy)._loop_factory = GuestEventLoop
    if shell is None:
        return
    shell.guest_loop = GuestEventLoop()
    shell.guest_context = contextvars.copy_context()
    asyncio.events.set_event_loop(shell.guest_loop)
    shell.loop_runner = _Runner(shell.guest_loop)
    shell.autoawait = True
    _let_asyncio_run_inside(asyncio, shell.guest_loop)


class _Runner:
    """What IPython runs a coroutine with; it shows its name in ``%autoawait``."""

    def __init__(self, loop):
        self._loop = loop

    def __call__(self, coroutine):
        return self._loop.run_until_complete(coroutine)

    def __str__(self):
        return "asyncio"


def run_cell(shell, code, store_history, silent):
    """Run a cell on the shell's loop, as ipykernel does: tasks can be made in every cell.

    All cells share one context: a task of the loop would otherwise get a copy, and with it would go
    what `decimal.getcontext().prec`, `np.set_printoptions` or `np.seterr` had set for the notebook.
    """
    loop = shell.guest_loop

    async def run():
        try:
            transformed = shell.transform_cell(code)
            failure = None
        except Exception:
            transformed, failure = code, sys.exc_info()
        result = await shell.run_cell_async(
            code,
            store_history=store_history,
            silent=silent,
            transformed_cell=transformed,
            preprocessing_exc_tuple=failure,
        )
        # Tasks that the cell started get to their first await.
        await asyncio.sleep(0)
        return result

    result = loop.run_until_complete(loop.create_task(run(), context=shell.guest_context))
    shell.guest_context.run(_trigger_after, shell, result, silent)
    return result


def _trigger_after(shell, result, silent):
    # Inline figures are drawn here; there may be many of them, or one with a million points.
    figures = sys.modules.get("matplotlib._pylab_helpers")
    if figures and figures.Gcf.figs:
        door.showing()
        shell.events.trigger("post_execute")
        door.user_code(False)
    else:
        shell.events.trigger("post_execute")
    if not silent:
        shell.events.trigger("post_run_cell", result)


def _let_asyncio_run_inside(asyncio, outer):
    """``asyncio.run`` works in a cell, although the cell itself runs on a loop."""
    plain = asyncio.run

    def run(main, *, debug=None, loop_factory=None):
        try:
            with outside():
                return plain(main, debug=debug, loop_factory=loop_factory)
        finally:
            asyncio.events.set_event_loop(outer)

    asyncio.run = asyncio.runners.run = run


@contextlib.contextmanager
def outside():
    """What runs in here is not on the loop that it is called from."""
    running = asyncio.events._get_running_loop()
    task = None if running is None else asyncio.tasks._swap_current_task(running, None)
    asyncio.events._set_running_loop(None)
    try:
        yield
    finally:
        asyncio.events._set_running_loop(running)
        if running is not None:
            asyncio.tasks._swap_current_task(running, task)
