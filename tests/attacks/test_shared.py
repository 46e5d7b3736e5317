"""Interpreters that all sandboxes of a process share: a script cannot leave anything for the next.

A hostile script runs in one sandbox; the next script runs in another one, with another policy and
another workspace, mostly in the very same instance.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from interpreters import ready, the_one_that_waits

from wasm_kernel.host.mapped import MappedMemory
from wasm_kernel.host.memory import GuestMemory
from wasm_kernel.runtimes.python.ready import Interpreter, Pool

from .conftest import SECRET, Runner

GIVES_BACK = {
    "names": """
import builtins, sys, wasm_guest.door as door, wasm_guest.driver as driver
builtins.print = builtins.open = builtins.__turn__ = lambda *a, **k: None
door.next_request = lambda: ({"op": "script", "code": "x", "name": "y"}, [])
driver._steps.clear()
door._host = None
for name in ("os", "json", "random"): sys.modules[name] = None
""",
    "more scripts": """
import _host
NEXT = b'\\x0d\\0\\0\\0\\0\\0\\0\\0{"op":"next"}'
print([_host.call(NEXT) for _ in range(5)], __turn__(), __turn__())
""",
    "an early answer": """
import wasm_guest.door as door
door.reply(b'{"exit_code":0,"error":null}')
door.reply(b'{"exit_code":7}')
""",
    "open files": """
import os
kept = [os.open("/app/user_code.py", os.O_RDONLY) for _ in range(100)]
folder = os.open("/app", os.O_RDONLY | os.O_DIRECTORY)
""",
    "closed mounts": """
import os
for number in (*range(3, 40), 2, 1, 0):
    try: os.close(number)
    except OSError: pass
""",
    "mounts at other numbers": """
import os
own = os.open("/app/user_code.py", os.O_RDONLY)
for number in range(9):
    try: os.dup2(own, number)
    except OSError: pass
""",
    "objects that do not end": """
import atexit, gc
class Again:
    def __del__(self):
        kept.append(self)
kept = [Again()]
def suspended():
    try: yield
    finally: open("/app/late", "w").write("late")
waits = suspended()
next(waits)
atexit.register(lambda: atexit.register(lambda: 1 / 0))
gc.disable()
gc.freeze()
""",
    "settings": """
import os, signal, sys
sys.setrecursionlimit(50)
sys.set_int_max_str_digits(0)
sys.settrace(lambda *a: None)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.chdir("/")
os.umask(0)
os.environ["LEFT"] = "x"
""",
    "hooks": """
import sys
sys.excepthook = sys.displayhook = sys.unraisablehook = lambda *a: 1 / 0
sys.path_hooks.clear()
sys.meta_path.clear()
sys.stdout.close()
raise KeyboardInterrupt
""",
    "randomness": """
import os, random, time
random.seed(1)
os.urandom(100_000)
time.sleep(0.01)
""",
    "recursion": "def again(): again()\nagain()",
}
"""After these the instance is used again."""

IS_DONE_FOR = {
    "fuel": "while True: pass",
    "memory": "kept = [bytearray(1 << 20) for _ in range(500)]",
    "exit": "import os; os._exit(0)",
    "code": """
code = (lambda: 0).__code__
run = lambda: 0
run.__code__ = code.replace(co_code=bytes([199, 7, 199, 1]) + code.co_code)
run()
import os; os.abort()
""",
}
"""After these it is not."""

LOOK = """
import gc, os, random, signal, sys, time
print(os.getcwd(), sorted(os.environ), os.listdir("/app"), os.listdir("/data"), os.umask(0))
print(sys.getrecursionlimit(), sys.get_int_max_str_digits(), sys.gettrace(), len(sys.modules))
print(gc.isenabled(), gc.get_freeze_count(), signal.getsignal(signal.SIGTERM))
print(random.random(), os.urandom(8), time.time(), os.open("/app/user_code.py", os.O_RDONLY))
"""


def looked(run: Runner, folder: Path) -> str:
    """What another sandbox finds, and that it can say so."""
    result = run(LOOK, workspace=folder, deterministic=True, fuel_budget=3_000_000_000)
    assert result.success, result.stderr
    return result.stdout


@pytest.fixture
def another(tmp_path: Path) -> Path:
    """The workspace of another sandbox."""
    folder = tmp_path / "another"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("how", GIVES_BACK)
def test_an_instance_is_to_the_next_script_what_it_was(
    run: Runner, pool: Pool, another: Path, how: str
) -> None:
    before = looked(run, another)
    interpreter = the_one_that_waits(pool)
    memory = everything(interpreter)
    hidden = f"hidden = {SECRET[::-1]!r}[::-1]\n"
    run(hidden + GIVES_BACK[how], deterministic=True)
    assert the_one_that_waits(pool) is interpreter
    assert everything(interpreter) == memory
    assert not interpreter.guest.wasi.open_numbers
    assert looked(run, another) == before


@pytest.mark.parametrize("how", IS_DONE_FOR)
def test_an_instance_that_is_done_for_is_no_part_of_the_next_run(
    run: Runner, pool: Pool, another: Path, how: str
) -> None:
    before = looked(run, another)
    interpreter = the_one_that_waits(pool)
    run(IS_DONE_FOR[how], deterministic=True)
    assert interpreter not in pool.idle
    assert looked(run, another) == before


def test_control_what_is_not_put_back_is_found(
    run: Runner, pool: Pool, another: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = looked(run, another)
    interpreter = the_one_that_waits(pool)
    memory = everything(interpreter)

    def keep(_self: MappedMemory, _memory: GuestMemory) -> None:
        return None

    monkeypatch.setattr(type(interpreter.state), "reset", keep)
    run(f"import sys\nsys.hidden = {SECRET!r}\nsys.setrecursionlimit(500)", deterministic=True)
    [left] = pool.idle
    found = everything(ready(left))
    assert found != memory
    assert SECRET.encode() in found
    assert looked(run, another) != before


def test_a_workspace_that_is_gone_is_nobody_elses_trouble(
    run: Runner, pool: Pool, workspace: Path, another: Path
) -> None:
    before = looked(run, another)
    interpreter = the_one_that_waits(pool)
    removing = "import os\nos.remove('user_code.py')\nprint(len(os.listdir('.')))"
    assert run(removing, deterministic=True).success
    workspace.rmdir()
    assert the_one_that_waits(pool) is interpreter
    assert looked(run, another) == before


def everything(interpreter: Interpreter) -> bytes:
    """All that a guest at rest is."""
    memory = interpreter.guest.memory
    world = interpreter.guest.world
    return memory.read(0, memory.size) + repr(world).encode()
