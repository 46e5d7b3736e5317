"""Attacks on time, memory, stack and output: each run ends, and the next one works."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from interpreters import the_one_that_waits

import wasm_kernel.host.journal as journal_module
import wasm_kernel.host.preimages as preimages_module
import wasm_kernel.session as session_module
from wasm_kernel import NOTEBOOK_POLICY, Limit, PythonSandbox, SandboxResult, Session
from wasm_kernel.core.errors import GuestProtocolError
from wasm_kernel.host.mapped import strategy
from wasm_kernel.runtimes.python.one_shot import OVERHEAD_FUEL
from wasm_kernel.runtimes.python.ready import Pool

from .conftest import Canary, Runner
from .guest_code import ATTEMPT, attempts, done

FUEL = 300_000_000
MEGABYTE = 1_000_000


def assert_next_run_works(sandbox: PythonSandbox) -> None:
    """A sandbox is as good as new after whatever happened in it."""
    result = sandbox.execute("import sys\nprint('fresh', sys.getrecursionlimit() > 100)")
    assert result.success, result.stderr
    assert result.stdout == "fresh True\n"


def was_stopped(result: SandboxResult, limit: Limit) -> bool:
    """Whether a run was ended by a limit."""
    return not result.success and result.limit is limit


@contextmanager
def host_memory() -> Iterator[list[int]]:
    """Measures the most that Python allocates on the host inside the block."""
    peak = [0]
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        yield peak
        peak[0] = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


# Time.

ENDLESS = {
    "loop": "while True: pass",
    "loop that catches": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    ),
    "power": "10 ** 10 ** 8",
    "long division": "x = 7 ** 10 ** 6\nwhile True: x % 12345678901",
    "digits": "import sys; sys.set_int_max_str_digits(0); str(1 << (1 << 24))",
    "factorial": "import math; math.factorial(10 ** 7)",
    "regex": "import re; re.match('(a+)+$', 'a' * 64 + 'b')",
    "regex alternatives": "import re; re.match('(a|a|aa)*$', 'a' * 64 + 'b')",
    "nested regex": "import re; re.compile('(' * 20_000 + ')' * 20_000)",
    "sum": "sum(range(10 ** 12))",
    "in": "-1 in iter(int, 1)",
    "sort": "while True: sorted(range(10 ** 5), key=lambda number: -number)",
    "hash collisions": (
        "class A:\n    __hash__ = lambda s: 1\n    __eq__ = lambda s, o: False\n"
        "{A() for _ in range(10 ** 6)}"
    ),
    "generators": "import itertools; any(itertools.repeat(0))",
    "numpy": "import numpy\nwhile True: numpy.linalg.inv(numpy.random.rand(200, 200))",
    "entities": (
        "import xml.etree.ElementTree as E\n"
        "E.fromstring('<!DOCTYPE x [<!ENTITY a0 \"aaaaaaaaaa\">' + ''.join("
        'f\'<!ENTITY a{i} "{("&a" + str(i - 1) + ";") * 10}">\' for i in range(1, 9))'
        " + ']><x>&a8;</x>')"
    ),
    "at exit": "import atexit\n@atexit.register\ndef f():\n    while True: pass",
    "finalizer": "class A:\n    def __del__(self):\n        while True: pass\nA()",
    "excepthook": "import sys\ndef hook(*_):\n    while True: pass\nsys.excepthook = hook\n1 / 0",
    "context manager": (
        "class A:\n    def __enter__(self): pass\n    def __exit__(self, *_):\n"
        "        while True: pass\nwith A(): 1 / 0"
    ),
}


@pytest.mark.parametrize("how", ENDLESS)
def test_what_never_ends_runs_out_of_fuel(run: Runner, how: str) -> None:
    sandbox = run.sandbox(fuel_budget=FUEL)
    result = sandbox.execute(ENDLESS[how])
    assert was_stopped(result, Limit.FUEL), result
    assert result.fuel_consumed is not None
    assert result.fuel_consumed <= FUEL
    assert result.fuel_overhead <= OVERHEAD_FUEL
    assert "OutOfFuel" in result.stderr
    assert_next_run_works(sandbox)


def test_control_enough_fuel_lets_a_long_loop_end(run: Runner) -> None:
    loop = "for _ in range(5_000_000): pass"
    assert was_stopped(run(loop, fuel_budget=FUEL), Limit.FUEL)
    assert not was_stopped(run(loop, fuel_budget=20 * FUEL), Limit.FUEL)


WAITING = {
    "sleep for a year": "import time; time.sleep(31_536_000)",
    "sleep for ever": (
        "import time\nwhile True:\n    try: time.sleep(4e9)\n    except BaseException: pass"
    ),
    "short sleeps": "import time\nwhile True: time.sleep(0.001)",
    "select": "import select; select.select([], [], [], 31_536_000)",
    "clock": "import time\nend = time.monotonic() + 31_536_000\nwhile time.monotonic() < end: pass",
    "loop": "while True: pass",
    "files": "while True: open('user_code.py').close()",
    "output": "while True: print('x' * 1000)",
    "folders": "import os\nwhile True: os.mkdir('a'); os.rename('a', 'b'); os.rmdir('b')",
    "door": "import _host\nwhile True: _host.call(b'garbage')",
    "random": "import os\nwhile True: os.urandom(1 << 20)",
}


@pytest.mark.parametrize("how", WAITING)
def test_what_waits_is_ended_by_the_clock(run: Runner, how: str) -> None:
    sandbox = run.sandbox(fuel_budget=10**15, timeout_seconds=0.3)
    result = sandbox.execute(WAITING[how])
    assert was_stopped(result, Limit.TIME), result
    assert "timed out" in result.stderr
    assert_next_run_works(run.sandbox())


def test_control_enough_time_lets_a_sleep_end(run: Runner) -> None:
    sleep = "import time; time.sleep(0.4)"
    assert was_stopped(run(sleep, timeout_seconds=0.1), Limit.TIME)
    assert not was_stopped(run(sleep), Limit.TIME)


def test_asking_for_input_does_not_wait(run: Runner) -> None:
    sandbox = run.sandbox()
    result = sandbox.execute(
        "for _ in range(3):\n    try: input('?')\n    except EOFError: print('end')"
    )
    assert result.stdout == "?end\n" * 3
    result = sandbox.execute("import sys; print(repr(sys.stdin.read()), repr(open(0).read()))")
    assert result.stdout == "'' ''\n"
    assert_next_run_works(sandbox)


@pytest.mark.parametrize("seconds", [1e9, 1e10, 1e300, float("inf")])
def test_a_very_long_time_limit_is_no_danger_for_the_host(workspace: Path, seconds: float) -> None:
    code = (
        "from wasm_kernel import ExecutionPolicy, PolicyValidationError, create_sandbox\n"
        "try:\n"
        f"    policy = ExecutionPolicy(timeout_seconds=float('{seconds}'))\n"
        "except PolicyValidationError:\n"
        "    print('refused')\n"
        "else:\n"
        f"    result = create_sandbox(policy=policy, workspace={str(workspace)!r})"
        ".execute('while True: pass')\n"
        "    print(result.limit)\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300
    )
    assert finished.returncode == 0, finished.stderr[-300:]
    assert finished.stdout in ("fuel\n", "refused\n")


def test_a_clock_that_overflows_is_no_error_of_the_host(run: Runner) -> None:
    sandbox = run.sandbox(deterministic=True)
    sandbox.execute(
        """
import select, time
for _ in range(10):
    for wait in (lambda: select.select([], [], [], 4e9), time.time, time.monotonic):
        try:
            wait()
        except (OSError, OverflowError):
            pass
"""
    )
    assert_next_run_works(sandbox)


# Memory.

HUNGRY = {
    "list": "x = []\nwhile True: x.append(bytearray(1 << 20))",
    "one block": "bytearray(1 << 31)",
    "doubling": "x = 'x'\nwhile True: x += x",
    "integers": "x = 1\nwhile True: x <<= 1_000_000",
    "small objects": "x = []\nwhile True: x.append([])",
    "repeat": "[0] * (1 << 40)",
    "numpy": "import numpy; x = [numpy.ones(1 << 20) for _ in range(1000)]",
    "numpy shape": "import numpy; numpy.ones((1 << 20, 1 << 20))",
    "format": "'%1000000000d' % 1",
    "itertools": "import itertools; list(itertools.count())",
    "decompress": (
        "import zlib; z = zlib.compress(bytes(10 << 20)); x = [zlib.decompress(z) for _ in z]"
    ),
    "file": "x = open('big', 'w+b'); x.truncate(900_000_000); x.read()",
    "more after an error": (
        "x = []\ntry:\n    while True: x.append(bytearray(1 << 16))\n"
        "except MemoryError: y = bytearray(1 << 22)"
    ),
}


@pytest.mark.parametrize("how", HUNGRY)
def test_memory_ends_at_its_cap_and_the_next_run_works(run: Runner, how: str) -> None:
    sandbox = run.sandbox()
    result = sandbox.execute(HUNGRY[how])
    assert not result.success
    assert result.limit in (Limit.MEMORY, Limit.FUEL) or result.error is not None, result
    assert result.memory_peak_bytes <= sandbox.policy.memory_bytes
    assert_next_run_works(sandbox)


def test_control_a_higher_cap_lets_the_memory_grow(run: Runner) -> None:
    result = run("x = bytearray(200_000_000)", memory_bytes=512_000_000)
    assert result.success
    assert result.memory_peak_bytes > run.sandbox().policy.memory_bytes


# Output.

FLOODS = {
    "a gigabyte of blocks": "import os\nfor _ in range(64): os.write({}, bytes(16 << 20))",
    "a gigabyte of lines": "for _ in range(1024): print('x' * (1 << 20), file={stream})",
    "one long line": "print('x' * 200_000_000, file={stream})",
    "short writes": "import os\nfor _ in range(10_001): os.write({}, b'x')",
    "broken characters": "import os\nfor _ in range(3000): os.write({}, b'\\xff\\xf0\\x9f' * 100)",
}


@pytest.mark.parametrize("how", FLOODS)
@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_output_is_capped_while_it_streams(run: Runner, how: str, name: str) -> None:
    sandbox = run.sandbox(
        stdout_max_bytes=10_000,
        stderr_max_bytes=10_000,
        memory_bytes=800_000_000,
        fuel_budget=10**11,
    )
    code = FLOODS[how].format(1 if name == "stdout" else 2, stream=f"__import__('sys').{name}")
    sandbox.execute("pass")
    with host_memory() as peak:
        result = sandbox.execute(code)
    assert result.success, result.stderr[-300:]
    assert len(getattr(result, name)) <= 10_000
    assert getattr(result, f"{name}_truncated")
    assert getattr(result, f"{name}_bytes") > 10_000
    assert peak[0] < 5 * MEGABYTE
    assert_next_run_works(sandbox)


def test_control_a_higher_cap_keeps_more_output(run: Runner) -> None:
    result = run("print('x' * 100_000)", stdout_max_bytes=1_000_000)
    assert len(result.stdout) > 10_000
    assert not result.stdout_truncated


# Stack.

DEEP = {
    "function": "def f(): f()\nf()",
    "function without a limit": "import sys; sys.setrecursionlimit(10 ** 9)\ndef f(): f()\nf()",
    "repr": "x = []\nfor _ in range(100_000): x = [x]\nrepr(x)",
    "own repr": "class A:\n    def __repr__(self): return repr(self)\nrepr(A())",
    "compare": "x, y = [], []\nfor _ in range(100_000): x, y = [x], [y]\nx == y",
    "hash": "x = ()\nfor _ in range(100_000): x = (x,)\nhash(x)",
    "isinstance": "t = int\nfor _ in range(100_000): t = (t,)\nisinstance('', t)",
    "json read": "import json; json.loads('[' * 200_000)",
    "json write": "import json\nx = []\nfor _ in range(100_000): x = [x]\njson.dumps(x)",
    "pickle": "import pickle\nx = []\nfor _ in range(100_000): x = [x]\npickle.dumps(x)",
    "copy": "import copy\nx = []\nfor _ in range(10_000): x = [x]\ncopy.deepcopy(x)",
    "marshal": "import marshal\nx = []\nfor _ in range(100_000): x = [x]\nmarshal.dumps(x)",
    "attributes": "class A:\n    def __getattr__(self, n): return getattr(self, n + 'x')\nA().x",
    "generator": "def f(): yield from f()\nlist(f())",
    "parentheses": "compile('(' * 10_000 + ')' * 10_000, '', 'eval')",
    "unary": "compile('-' * 100_000 + '1', '', 'eval')",
    "attribute chain": "compile('a' + '.b' * 100_000, '', 'eval')",
    "tree": (
        "import ast\nx = ast.Constant(1, lineno=1, col_offset=0)\n"
        "for _ in range(20_000): x = ast.UnaryOp(ast.USub(), x, lineno=1, col_offset=0)\n"
        "compile(ast.Expression(x), '', 'eval')"
    ),
    "literal": "import ast; ast.literal_eval('[' * 20_000 + ']' * 20_000)",
    "regex": "import re; re.compile('(?:' * 4000 + ')' * 4000)",
    "callbacks": "class A:\n    def __lt__(s, o): return sorted([s, o])\nsorted([A(), A()])",
    "elements": (
        "import xml.etree.ElementTree as E\n"
        "E.tostring(E.fromstring('<a>' * 50_000 + '</a>' * 50_000))"
    ),
}


@pytest.mark.parametrize("how", DEEP)
def test_deep_recursion_ends_the_run_only(run: Runner, how: str) -> None:
    sandbox = run.sandbox()
    result = sandbox.execute(DEEP[how])
    assert not result.success
    assert_next_run_works(sandbox)


def test_control_a_flat_structure_is_no_recursion(run: Runner) -> None:
    assert run("x = []\nfor _ in range(10): x = [x]\nrepr(x)").success


BOMBS = {
    "parentheses": "(" * 100_000,
    "closed parentheses": "(" * 50_000 + ")" * 50_000,
    "brackets": "x = " + "[" * 90_000 + "]" * 90_000,
    "braces": "{" * 90_000,
    "unary": "-" * 500_000 + "1",
    "not": "not " * 100_000 + "x",
    "power": "2" + "**2" * 100_000,
    "sum": "x = 1" + "+1" * 80_000,
    "attribute chain": "a" + ".b" * 80_000,
    "call chain": "a" + "()" * 80_000,
    "subscript chain": "a" + "[0]" * 80_000,
    "lambda": "lambda: " * 50_000 + "0",
    "conditional": "1 if x else " * 30_000 + "2",
    "indentation": "".join(f"{' ' * depth}if x:\n" for depth in range(200)) + " " * 200 + "pass",
    "elif": "if x: pass\n" + "elif x: pass\n" * 50_000,
    "f-strings": "f'" + "{" * 50_000 + "}" * 50_000 + "'",
    "digits": "x = " + "9" * 500_000,
    "hexadecimal": "x = 0x" + "f" * 500_000,
    "decorators": "@x\n" * 30_000 + "def f(): pass",
    "patterns": "match x:\n    case " + "[" * 5_000 + "]" * 5_000 + ": pass",
    "await": "async def f(): " + "await " * 50_000 + "x",
    "names": ";".join(f"x{number}=0" for number in range(20_000)),
    "continued": "x = \\\n" * 100_000 + "1",
    "constant": "x = " + "'a' * 10 ** 3 " * 1 + "* 10 ** 9" * 3,
}


@pytest.mark.parametrize("how", BOMBS)
def test_a_parser_bomb_ends_the_run_only(run: Runner, how: str) -> None:
    sandbox = run.sandbox()
    result = sandbox.execute(BOMBS[how])
    assert result.fuel_overhead <= OVERHEAD_FUEL
    assert_next_run_works(sandbox)


def test_the_host_survives_checking_parser_bombs(workspace: Path, tmp_path: Path) -> None:
    for number, bomb in enumerate(BOMBS.values()):
        (tmp_path / f"{number}.txt").write_text(bomb)
    code = (
        "import pathlib, threading\n"
        "from wasm_kernel import create_sandbox\n"
        f"sandbox = create_sandbox(workspace={str(workspace)!r})\n"
        "def check():\n"
        f"    for number in range({len(BOMBS)}):\n"
        f"        text = pathlib.Path({str(tmp_path)!r}, f'{{number}}.txt').read_text()\n"
        "        assert sandbox.validate_code(text) in (True, False)\n"
        "thread = threading.Thread(target=check)\n"
        "thread.start()\n"
        "thread.join()\n"
        "print('alive')\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300
    )
    assert finished.stdout == "alive\n", (finished.returncode, finished.stderr[-500:])


def test_the_host_does_not_spend_minutes_on_checking_code(workspace: Path) -> None:
    code = (
        "from wasm_kernel import create_sandbox\n"
        f"sandbox = create_sandbox(workspace={str(workspace)!r})\n"
        "print(sandbox.validate_code('x = f\"' + '{x}' * 300_000 + '\"'))\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        printed, _ = child.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        pytest.fail("checking a megabyte of source was not done after many seconds")
    assert printed in ("True\n", "False\n")


# Many runs.


def test_many_small_runs_leave_nothing_open(run: Runner) -> None:
    def opened() -> tuple[int, int, int]:
        maps = Path("/proc/self/maps").read_text().count("\n")
        return len(os.listdir("/proc/self/fd")), threading.active_count(), maps

    codes = ["print(1)", "1 / 0", "open('x', 'w').close()", "import os; os._exit(3)", "while 1: 1"]

    def round_of_runs() -> None:
        sandbox = run.sandbox(fuel_budget=20_000_000)
        for code in codes * 2:
            sandbox.execute(code)
        sandbox.close()

    for _ in range(3):
        round_of_runs()
    before = opened()
    for _ in range(7):
        round_of_runs()
    after = opened()
    assert after[0] <= before[0] + 2
    assert after[1] <= before[1] + 1
    assert after[2] <= before[2] + 40


LEAVE_BEHIND = """
import builtins, os, sys
builtins.left_behind = True
sys.left_behind = True
os.environ["LEFT_BEHIND"] = "yes"
sys.modules["left_behind"] = sys
sys.path.append("/left-behind")
os.chdir("/usr/local/lib")
heap = [("left-behind-%07d" % number).encode() * 50 for number in range(200)]
import numpy, random
numpy.random.seed(1); random.seed(1)
del heap
"""
LOOK_BEHIND = """
import builtins, os, sys, numpy
found = [hasattr(builtins, "left_behind"), hasattr(sys, "left_behind"),
         "LEFT_BEHIND" in os.environ, "left_behind" in sys.modules,
         "/left-behind" in sys.path, os.getcwd() != "/app"]
stale = [numpy.empty(950, dtype="u1") for _ in range(200)]
found.append(any(b"-dniheb-tfel"[::-1] in block.tobytes() for block in stale))
print(any(found), found)
"""


def test_a_run_finds_nothing_of_the_run_before(run: Runner) -> None:
    sandbox = run.sandbox()
    for _ in range(3):
        assert sandbox.execute(LEAVE_BEHIND).success
        assert sandbox.execute(LOOK_BEHIND).stdout.startswith("False ")


def test_control_an_instance_that_is_not_put_back_is_noticed(
    run: Runner, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strategy(), "reset", lambda *_: None)
    sandbox = run.sandbox()
    assert sandbox.execute(LEAVE_BEHIND).success
    the_one_that_waits(pool)
    seen = sandbox.execute(LOOK_BEHIND).stdout
    assert seen.startswith("True [True, True, ")
    assert seen.endswith(", True]\n"), "the freed memory of the run before was not recognized"


def test_no_two_runs_draw_the_same_random_numbers(run: Runner) -> None:
    draw = "import random, numpy, uuid; print(random.random(), numpy.random.rand(), uuid.uuid4())"
    sandbox = run.sandbox()
    drawn = [sandbox.execute(draw).stdout for _ in range(5)]
    drawn += [run(draw).stdout for _ in range(5)]
    assert len(set(drawn)) == 10


# Processes and threads.


def test_no_process_and_no_thread_is_started(run: Runner, canary: Canary) -> None:
    threads = threading.active_count()
    result = run(
        ATTEMPT
        + f"""
import os, subprocess, threading, _thread, multiprocessing
command = "touch {canary.folder}/touched"
for name in ("system", "popen"):
    attempt(name, lambda: getattr(os, name)(command))
for name in ("fork", "forkpty"):
    attempt(name, lambda: getattr(os, name)())
for name in ("execv", "spawnv", "posix_spawn"):
    attempt(name, lambda: getattr(os, name)("/bin/sh", ["sh", "-c", command]))
attempt("run", lambda: subprocess.run(command, shell=True))
attempt("real popen", lambda: subprocess.Popen.__base__(command, shell=True))
attempt("thread", lambda: threading.Thread(target=print).start())
attempt("low thread", lambda: _thread.start_new_thread(print, ()))
attempt("process", lambda: multiprocessing.Process(target=print).start())
attempt("kill", lambda: os.kill(1, 9))
""",
        fuel_budget=20_000_000_000,
    )
    assert result.success, result.stderr
    assert len(attempts(result)) == 13
    assert done(result) == []
    assert canary.changed() == []
    assert threading.active_count() <= threads + 1


# What the host keeps while a guest runs.

REMEMBERED = {
    "times": "for number in range(1500): os.utime('user_code.py', (number, number))",
    "names that fail": (
        "for number in range(400):\n"
        "    try: open(f'missing/{number}' + 'x' * 4000, 'w')\n"
        "    except OSError: pass"
    ),
    "names that come and go": (
        "for number in range(1000):\n"
        "    name = f'{number}' + 'x' * 240\n"
        "    open(name, 'w').close(); os.unlink(name)"
    ),
    "renames": "for _ in range(1200): os.rename('a', 'b'); os.rename('b', 'a')",
}


@pytest.mark.parametrize("how", REMEMBERED)
def test_the_host_does_not_remember_every_step_of_a_guest(run: Runner, how: str) -> None:
    sandbox = run.sandbox(fuel_budget=10**11)
    for _ in range(2):
        sandbox.execute("open('a', 'w').close()")
    with host_memory() as peak:
        result = sandbox.execute("import os\n" + REMEMBERED[how])
    assert result.success, result.stderr
    assert peak[0] < 500_000


def test_control_what_the_host_remembers_is_measured() -> None:
    with host_memory() as peak:
        remembered = [bytes(1000) for _ in range(1000)]
    assert len(remembered) == 1000
    assert peak[0] > 500_000


NOTED = {
    "times": "for number in range(1000): os.utime('kept', (number, number))",
    "folders": "for _ in range(1000): os.mkdir('d'); os.rmdir('d')",
    "files": "for _ in range(600): open('new', 'w').close(); os.unlink('new')",
    "moves of a full folder": (
        "os.rename('full', 'full-0')\n"
        "for number in range(100): os.rename(f'full-{number}', f'full-{number + 1}')"
    ),
}
FILL = "import os\nos.mkdir('full')\nfor n in range(40): open(f'full/{n}', 'w').close()\n"


def notes_of(session: Session, how: str) -> tuple[SandboxResult, int]:
    """How a cell ended that changes things again and again, and what the host noted of it."""
    session.execute(FILL + "open('kept', 'w').close()")
    result = session.execute(NOTED[how])
    assert not result.rolled_back
    journal = session._timeline._steps[-1].journal
    return result, len(journal._steps) + len(journal._before)


@pytest.mark.parametrize("how", NOTED)
def test_the_host_notes_so_many_steps_of_a_cell_and_no_more(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(journal_module, "NOTES_MAX", 500)
    with Session(NOTEBOOK_POLICY, workspace) as session:
        result, notes = notes_of(session, how)
        assert result.limit is Limit.WORKSPACE
        # One step may be a folder with all that is in it.
        assert notes < 500 + 2 * 40 + 2
        assert session.undo() == []
        assert sorted(path.name for path in workspace.glob("f*/*")) == sorted(map(str, range(40)))
        assert (workspace / "full").is_dir()


LONG_NAMES = (
    "import os\nos.mkdir('n' * 250); os.chdir('n' * 250)\n"
    "for _ in range(100): os.mkdir('m' * 250); os.rmdir('m' * 250)"
)


def test_long_names_leave_room_for_fewer_steps(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "NAMES_MAX_BYTES", 20_000)
    with Session(NOTEBOOK_POLICY, workspace) as session:
        assert session.execute("import os\n" + NOTED["folders"].replace("1000", "100")).success
        result = session.execute(LONG_NAMES)
        assert result.limit is Limit.WORKSPACE
        journal = session._timeline._steps[-1].journal
        assert sum(len(step.path) for step in journal._steps) < 20_000 + 502
        assert session.undo() == []
        assert not (workspace / ("n" * 250)).exists()


def test_control_long_names_that_nobody_counts(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "NAMES_MAX_BYTES", 10**12)
    with Session(NOTEBOOK_POLICY, workspace) as session:
        assert session.execute(LONG_NAMES).success
        journal = session._timeline._steps[-1].journal
        assert sum(len(step.path) for step in journal._steps) > 20_000 + 502


def test_control_a_journal_without_an_end(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "NOTES_MAX", 10**9)
    with Session(NOTEBOOK_POLICY, workspace) as session:
        result, notes = notes_of(session, "times")
        assert result.success
        assert notes > 1000


def copies(session: Session) -> int:
    """How many files the host keeps to be able to undo."""
    folder = session._preimages._folder
    return 0 if folder is None else len(list(folder.iterdir()))


def test_files_that_come_and_go_leave_no_copies(workspace: Path) -> None:
    with Session(NOTEBOOK_POLICY, workspace) as session:
        session.execute("import os\nopen('kept', 'w').write('kept')")
        result = session.execute(
            "for _ in range(50):\n"
            "    open('a', 'w').write('a'); os.rename('a', 'b'); os.replace('b', 'c')\n"
            "os.unlink('c'); os.unlink('kept')"
        )
        assert result.success
        assert copies(session) == 1
        assert session.undo() == []
        assert (workspace / "kept").read_text() == "kept"


def test_the_number_of_copies_is_bounded(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preimages_module, "COPIES_MAX", 10)
    with Session(NOTEBOOK_POLICY, workspace) as session:
        session.execute(FILL)
        result = session.execute("for n in range(40): os.unlink(f'full/{n}')")
        assert result.success
        assert copies(session) == 10
        assert len(result.metadata["not_restorable"]) == 30


SLEEPY = """
import time
class Sleepy:
    def __dir__(self):
        return time.sleep(10**6)
    def __repr__(self):
        return str(time.sleep(10**6))
class Awake:
    def __dir__(self):
        return ["at_once"]
sleepy, awake = Sleepy(), Awake()
"""


def test_a_question_does_not_wait_for_an_object_that_sleeps(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asked for it but the page: the next cell must not have to wait for ever."""
    with Session(NOTEBOOK_POLICY, workspace) as session:
        assert session.execute(SLEEPY).success
        monkeypatch.setattr(session_module, "QUESTION_SECONDS", 1.0)
        with pytest.raises(GuestProtocolError, match="used up its limits"):
            session.complete("sleepy.")
        with pytest.raises(GuestProtocolError, match="used up its limits"):
            session.inspect("sleepy")
        monkeypatch.undo()
        assert "at_once" in str(session.complete("awake."))
        assert session.execute("print('next')").stdout == "next\n"


def test_without_its_limit_a_question_waits(workspace: Path) -> None:
    """The control: only an interrupt ends it."""
    with Session(NOTEBOOK_POLICY, workspace) as session:
        assert session.execute(SLEEPY).success
        ended = threading.Event()

        def ask() -> None:
            with pytest.raises(GuestProtocolError):
                session.complete("sleepy.")
            ended.set()

        thread = threading.Thread(target=ask)
        thread.start()
        assert not ended.wait(3)
        session.interrupt()
        thread.join()
        assert ended.is_set()
