"""Attacks on the door and the other host functions: bad frames, bad pointers, forged messages."""

from __future__ import annotations

import json
import random
import socket
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from interpreters import the_one_that_waits

from wasm_kernel import Limit, SandboxExecutionError, SandboxResult
from wasm_kernel.host import wasi_abi
from wasm_kernel.host.door import Frame
from wasm_kernel.host.guest import Guest, Returned, TrapKind, Trapped
from wasm_kernel.host.mapped import strategy
from wasm_kernel.host.memory import GuestMemory
from wasm_kernel.host.workspace import Workspace
from wasm_kernel.runtimes.python import conversation, one_shot
from wasm_kernel.runtimes.python.ready import Pool

from .conftest import Canary, Runner
from .guest_code import ATTEMPT, SEND, attempts, done
from .probe import DOOR, FUNCTIONS, Probe

# Frames.

GARBAGE = """
import random
chance = random.Random(20)
frames = [b"", b"\\0", bytes(7), bytes(8), b"\\xff" * 8, b"\\xff" * 4096, bytes(100_000)]
frames += [chance.randbytes(chance.randrange(64)) for _ in range(300)]
good = frame({"op": "nothing"}, b"buffer", b"")
frames += [good[:cut] for cut in range(len(good))]
frames += [good + b"x", good * 2, good[::-1]]
for place in range(len(good)):
    for value in (0, 1, 0x7F, 0x80, 0xFF):
        frames.append(good[:place] + bytes([value]) + good[place + 1 :])
for words in ((2**32 - 1, 0), (0, 2**32 - 1), (2**31, 2**31), (5, 4096), (5, 4097), (0, 0)):
    frames.append(_struct.pack("<II", *words) + b"{}" * 20)
frames.append(_struct.pack("<5I", 2, 3, 2**32 - 1, 2**32 - 1, 6) + b"{}" + b"x" * 4)
headers = [b"{", b"[]", b"null", b"1", b'"op"', b"{}", b"NaN", b'{"op": NaN}', b'{"op": Infinity}',
           b'{"op": 1e999}', b'{"op": ' + b"9" * 5000 + b"}", b'{"op": -' + b"9" * 4000 + b"}",
           b'{"op": "\\xff\\xfe"}', b'{"op": "\\\\ud800"}', b'{"op": "\\\\u0000"}',
           b"\\xef\\xbb\\xbf{}", b'{"op": [1]}', b'{"op": {"op": "next"}}', b'{"op": null}',
           b'{"op": true}', b'{"op": ""}',
           b'{"op": "next", "op": "reply"}', b'{"__class__": "x"}', b"[" * 100_000,
           b'{"op":' * 50_000, b'{"op": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"]
frames += [frame(header) for header in headers]
for name in ("next", "Next", "begin ", "execute", "script", "pip", "input", "display", "stream",
             "__init__", "_answer", "\\n", "x" * 100_000):
    frames.append(frame({"op": name}))
answers = [_host.call(one) for one in frames]
print(len(answers), all(isinstance(answer, bytes) for answer in answers))
print(max(map(len, answers)))
for wrong in (None, "text", 5, [], {}, object(), bytearray(4), memoryview(b"x")):
    try:
        _host.call(wrong)
    except (TypeError, BufferError):
        pass
"""


def test_garbage_is_answered_and_harms_nobody(run: Runner) -> None:
    sandbox = run.sandbox()
    result = sandbox.execute(SEND + GARBAGE)
    assert result.success, result.stderr
    count, longest = result.stdout.split("True")
    assert int(count) > 500
    assert int(longest) < 1000
    assert sandbox.execute("print('fresh')").stdout == "fresh\n"


def test_control_a_careless_decoder_is_noticed(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(data: bytes, *, max_bytes: int) -> Frame:
        length, _ = struct.unpack_from("<II", data)
        return Frame(json.loads(data[8 : 8 + length]))

    monkeypatch.setattr(Frame, "decode", careless)
    with pytest.raises(SandboxExecutionError):
        run(SEND + GARBAGE)


def test_a_large_frame_costs_the_host_no_more_than_its_size(run: Runner) -> None:
    result, peak = measured(
        run,
        """
text = b'{"op": "none", "list": [' + b"[]," * 700_000 + b"[]]}"
send(text)
print(len(text))
""",
    )
    assert result.success, result.stderr
    assert peak < 5 * int(result.stdout)


def test_a_frame_of_raw_buffers_costs_the_host_no_more_than_its_size(run: Runner) -> None:
    result, peak = measured(
        run,
        """
send({"op": "none"}, bytes(10_000_000))
send({"op": "none"}, *[b"x"] * 4096)
print(10_000_000)
""",
    )
    assert result.success, result.stderr
    assert peak < 5 * int(result.stdout)


def measured(run: Runner, code: str) -> tuple[SandboxResult, int]:
    """The result of some code, and the most that Python allocated on the host meanwhile."""
    made = run.sandbox(memory_bytes=256_000_000)
    made.execute("pass")
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        result = made.execute(SEND + code)
        return result, tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


# Messages that are forged.

HOSTILE_REPLIES: dict[str, str] = {
    "nothing": "{}",
    "huge code": "{'exit_code': 2 ** 70}",
    "negative code": "{'exit_code': -(2 ** 70)}",
    "text code": "{'exit_code': '0; rm'}",
    "null code": "{'exit_code': None}",
    "true code": "{'exit_code': True}",
    "list code": "{'exit_code': [0]}",
    "nan code": "{'exit_code': float('nan')}",
    "infinite code": "{'exit_code': float('inf')}",
    "list error": "{'exit_code': 1, 'error': ['x']}",
    "object error": "{'exit_code': 1, 'error': {'name': 'x'}}",
    "long error": "{'exit_code': 1, 'error': 'E' * 5_000_000}",
    "surrogate error": "{'exit_code': 1, 'error': '\\ud800'}",
    "control characters": "{'exit_code': 1, 'error': '\\x1b[2J\\n\\0'}",
    "other fields": (
        "{'exit_code': 0, 'success': True, 'fuel_consumed': -1, 'limit': 'none',"
        " 'stdout': 'counterfeit', 'workspace_path': '/counterfeit', 'files': ['counterfeit'],"
        " 'metadata': {'runtime': 'counterfeit'}}"
    ),
    "advice in the wrong form": "{'exit_code': 1, 'error': 'E', 'advice': {'NoNetwork': [None]}}",
    "advice of no kind": "{'exit_code': 1, 'error': 'E', 'advice': ['counterfeit', 'x']}",
    "long advice": "{'exit_code': 1, 'error': 'E', 'advice': ['NoNetwork', 'x' * 5_000_000]}",
    "surrogate advice": "{'exit_code': 1, 'error': 'E', 'advice': ['NoNetwork', '\\ud800']}",
    "deep advice": (
        "{'exit_code': 1, 'error': 'E',"
        " 'advice': __import__('functools').reduce(lambda deep, _: [deep, deep], range(12), 'x')}"
    ),
}


@pytest.mark.parametrize("how", HOSTILE_REPLIES)
def test_a_forged_reply_gives_a_plain_result(run: Runner, workspace: Path, how: str) -> None:
    made = run.sandbox()
    result = made.execute(
        SEND + f"import json\nforged = json.dumps({HOSTILE_REPLIES[how]}).encode()\n"
        "send({'op': 'reply'}, forged)\nprint('printed')\nraise SystemExit(9)"
    )
    assert result.stdout == "printed\n"
    assert type(result.exit_code) is int and result.exit_code != 9
    json.dumps(result.metadata)
    assert "counterfeit" not in repr(result)
    assert -(2**31) < result.exit_code < 2**31
    assert result.fuel_consumed is not None
    assert result.fuel_consumed > 0
    assert result.workspace_path == str(workspace)
    assert len(repr(result)) < 100_000
    assert SandboxResult.model_validate_json(result.model_dump_json()) == result
    assert made.execute("print('fresh')").stdout == "fresh\n"


def test_only_the_first_reply_counts(run: Runner) -> None:
    result = run(
        SEND
        + """
import json
for code in (7, 8, 9):
    send({"op": "reply"}, json.dumps({"exit_code": code, "error": None}).encode())
for wrong in (None, [], "reply", 5):
    send({"op": "reply"}, json.dumps(wrong).encode())
raise SystemExit(3)
"""
    )
    assert result.exit_code == 7
    assert not result.success


def test_a_reply_before_the_end_hides_no_limit(run: Runner) -> None:
    result = run(
        SEND + "send({'op': 'reply', 'reply': {'exit_code': 0}})\nwhile True: pass",
        fuel_budget=50_000_000,
    )
    assert result.limit is Limit.FUEL
    assert not result.success
    result = run(
        SEND + "send({'op': 'reply', 'reply': {'exit_code': 0}})\nwhile True: pass",
        fuel_budget=10**15,
        timeout_seconds=0.3,
    )
    assert result.limit is Limit.TIME


def test_the_next_request_is_given_out_once(run: Runner) -> None:
    result = run(SEND + "print([send({'op': 'next'}) for _ in range(3)])")
    assert result.stdout == "[b'', b'', b'']\n"


LOOKS_LIKE_A_REPLY = """
import os, sys
reply = frame({"op": "reply", "reply": {"exit_code": 0, "error": None}})
for descriptor in (1, 2):
    os.write(descriptor, reply)
    os.write(descriptor, frame({"op": "end"}))
print('{"op":"reply","reply":{"exit_code":0}}')
print('{"exit_code": 0, "success": true}', file=sys.stderr)
print("\\x04\\x1a\\x00done", flush=True)
raise SystemExit(3)
"""


def test_output_that_looks_like_a_reply_is_output(run: Runner) -> None:
    result = run(SEND + LOOKS_LIKE_A_REPLY)
    assert result.exit_code == 3
    assert not result.success
    assert '{"op":"reply","reply":{"exit_code":0}}' in result.stdout
    assert result.fuel_overhead < 100_000_000


# Marks of whose fuel is burnt.

FORGED_MARKS = {
    "end": "send({'op': 'end'})\nwork(TOTAL)",
    "end, again and again": "while True:\n    send({'op': 'end'})\n    work(1)",
    "both, in turn": (
        "while True:\n    send({'op': 'end'})\n    work(1)\n    send({'op': 'begin'})\n    work(1)"
    ),
    "show": "send({'op': 'show'})\nwork(TOTAL)",
    "show, again and again": "while True:\n    send({'op': 'show'})\n    work(1)",
    "show and begin": (
        "while True:\n    send({'op': 'show'})\n    work(1)\n    send({'op': 'begin'})\n    work(1)"
    ),
    "show and end": (
        "while True:\n    send({'op': 'show'})\n    work(1)\n    send({'op': 'end'})\n    work(1)"
    ),
    "begin, again and again": "while True:\n    send({'op': 'begin'})\n    work(1)",
    "in a finalizer": (
        "class A:\n    def __del__(self):\n        send({'op': 'end'}); work(1)\n"
        "while True:\n    A(); work(1)"
    ),
    "after the end": "import atexit\natexit.register(lambda: (send({'op': 'end'}), work(TOTAL)))",
    "before the reply": "import sys\nsys.stdout.flush = lambda: work(TOTAL)",
}
BUDGET = ALLOWANCE = 60_000_000
WORK = """
done = 0

def work(rounds):
    global done
    for _ in range(rounds):
        for _ in range(300): pass
        done += 1
        if done % 50 == 0:
            os.write(1, b".")
        if done >= TOTAL:
            os._exit(0)
"""


@pytest.fixture
def small_allowance(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The shell's allowance is as small as the user's budget, to keep the tests short."""
    monkeypatch.setattr(one_shot, "OVERHEAD_FUEL", ALLOWANCE)
    yield


def rounds_of(result: SandboxResult) -> int:
    """How much work was done."""
    return 50 * result.stdout.count(".")


def forging(how: str, total: int) -> str:
    """Code that forges marks and works until it is stopped or has done its total."""
    return f"import os\nTOTAL = {total}\n" + SEND + WORK + FORGED_MARKS[how]


@pytest.fixture
def work_for_the_budget(run: Runner, small_allowance: None) -> int:
    """How many rounds of work the budget pays for, without any forgery."""
    result = run(f"import os\nTOTAL = 10 ** 9\n{WORK}work(TOTAL)", fuel_budget=BUDGET)
    assert result.limit is Limit.FUEL
    return rounds_of(result)


@pytest.mark.parametrize("how", FORGED_MARKS)
def test_forged_marks_buy_no_more_than_the_allowance(
    run: Runner, work_for_the_budget: int, how: str
) -> None:
    result = run(forging(how, 4 * work_for_the_budget), fuel_budget=BUDGET)
    assert rounds_of(result) <= 2.1 * work_for_the_budget
    assert not result.success
    assert result.fuel_consumed is not None
    assert result.fuel_consumed <= BUDGET
    assert result.fuel_overhead <= ALLOWANCE


def test_control_marks_that_fill_the_purse_are_noticed(
    run: Runner, work_for_the_budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation.Fuel, "settle", lambda *_: None)
    result = run(forging("both, in turn", 4 * work_for_the_budget), fuel_budget=BUDGET)
    assert rounds_of(result) > 2.1 * work_for_the_budget


# Guest code that replaces what is around it.

REPLACED = {
    "stdout": "import sys; sys.stdout = sys.__stdout__ = object()",
    "stderr": "import sys; sys.stderr = sys.__stderr__ = None\n1 / 0",
    "both streams": "import sys; sys.stdout = sys.stderr = None",
    "closed streams": "import os\nos.close(1); os.close(2)\nprint('lost')",
    "print": "import builtins; builtins.print = None",
    "import": "import builtins; builtins.__import__ = None",
    "exec": "import builtins; builtins.exec = builtins.compile = builtins.isinstance = None",
    "exceptions": "import builtins; builtins.BaseException = builtins.Exception = int\n1 / 0",
    "all builtins": "import builtins; builtins.__dict__.clear()",
    "json": "import json; json.dumps = lambda *_, **__: '[]'\njson.loads = None",
    "json encoder": 'import json; json.dumps = lambda *_, **__: \'{"op": "next"}\'',
    "struct": "import struct; struct.pack = lambda *_: b'\\xff' * 100",
    "modules": "import sys; sys.modules.clear()",
    "driver": "import sys; sys.modules['wasm_guest'] = sys.modules['wasm_guest.driver'] = None",
    "driver's steps": "import wasm_guest.driver as d; d._steps.clear(); d._shell = d.door = None",
    "driver's serve": "import wasm_guest.driver as d; d.serve = lambda: None; d.__dict__.clear()",
    "door": "import wasm_guest.door as d; d.call = d.user_code = lambda *_: ({'x': 1}, [])",
    "door's marks": "import wasm_guest.door as d; d._BEGIN = d._END = b'\\xff' * 1000",
    "host module": "import _host; _host.call = lambda *_: b'\\xff' * 8",
    "host module gone": "import sys; sys.modules['_host'] = None; del sys.modules['json']",
    "main": "import sys; sys.modules['__main__'] = None; del sys.modules['sys']",
    "script": "import wasm_guest.script as s; s._finish = s._run = s.door = None",
    "excepthook": "import sys; sys.excepthook = sys.__excepthook__ = None\n1 / 0",
    "excepthook that exits": "import sys, os; sys.excepthook = lambda *_: os._exit(0)\n1 / 0",
    "exit functions": "import atexit; atexit._run_exitfuncs = None; atexit.register(lambda: 1 / 0)",
    "trace": "import sys; sys.settrace(lambda *_: 1 / 0); sys.setprofile(lambda *_: 1 / 0)",
    "recursion limit": "import sys; sys.setrecursionlimit(20)",
    "collector": "import gc; gc.callbacks.append(lambda *_: 1 / 0); gc.set_threshold(1)",
    "switch": "import sys; sys.setswitchinterval(1e-9); sys.flags = sys.argv = sys.path = None",
    "audit": "import sys; sys.addaudithook(lambda *_: 1 / 0)",
    "importers": "import sys; sys.meta_path.clear(); sys.path_hooks.clear(); sys.path.clear()",
    "frames": "import sys\nf = sys._getframe()\nwhile f: f.f_globals.clear(); f = f.f_back",
    "line cache": "import linecache; linecache.cache = linecache.getline = None\n1 / 0",
    "exception text": "class E(Exception):\n    def __str__(s): raise s\nraise E",
    "exception group": "raise BaseExceptionGroup('g', [SystemExit(0), KeyboardInterrupt()])",
    "exit code": "class C(int):\n    def __index__(s): 1 / 0\nraise SystemExit(C(5))",
    "exit object": "class C:\n    def __str__(s): 1 / 0\nraise SystemExit(C())",
    "exit number": "raise SystemExit(10 ** 4000)",
    "exception name": (
        "class M(type):\n    __name__ = property(lambda c: 1 / 0)\n"
        "class E(Exception, metaclass=M): pass\nraise E"
    ),
    "exception name of garbage": (
        "class M(type):\n    __name__ = property(lambda c: chr(0xD800) * 3)\n"
        "class E(Exception, metaclass=M): pass\nraise E"
    ),
    "exception name that is long": "raise type('E' * 3_000_000, (Exception,), {})",
}


@pytest.mark.parametrize("how", REPLACED)
def test_what_the_guest_replaces_hurts_only_itself(run: Runner, how: str) -> None:
    made = run.sandbox(fuel_budget=1_000_000_000)
    result = made.execute(REPLACED[how])
    assert len(repr(result)) < 1_100_000
    result.model_dump_json()
    after = made.execute("import sys, json, _host\nprint(json.dumps([1]), len(sys.path), __name__)")
    assert after.success, after.stderr
    assert after.stdout == "[1] 4 __main__\n"


ENDS_WELL = {
    "stdout is None": "import sys; sys.stdout = None",
    "stdout is closed": "import sys; sys.stdout.close()",
    "stdout is something else": "import io, sys; sys.stdout = io.StringIO()",
}


@pytest.mark.parametrize("how", ENDS_WELL)
def test_a_script_that_gave_up_its_stdout_ends_well(run: Runner, how: str) -> None:
    result = run(ENDS_WELL[how])
    assert result.exit_code == 0, result.stderr
    assert "wasm_guest" not in result.stderr


def test_control_a_run_that_is_not_fresh_is_noticed(
    run: Runner, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strategy(), "reset", lambda *_: None)
    made = run.sandbox()
    made.execute(REPLACED["json"])
    the_one_that_waits(pool)
    after = made.execute("import json\nprint(json.dumps([1]))")
    assert after.stdout != "[1]\n"


CALLED_FROM = {
    "finalizer": "class A:\n    def __del__(self): CALL\na = A(); del a\nb = A(); b.b = b; del b",
    "finalizer at the end": "import sys\nclass A:\n    def __del__(self): CALL\nsys.kept = A()",
    "exit function": "import atexit\natexit.register(lambda: CALL)",
    "generator": "def g():\n    try: yield\n    finally: CALL\nnext(g())",
    "weak reference": (
        "import weakref\nclass A: pass\na = A(); w = weakref.ref(a, lambda _: CALL); del a"
    ),
    "collector": "import gc; gc.callbacks.append(lambda *_: CALL); gc.collect()",
    "hash": "class A:\n    def __hash__(self): CALL; return 1\n{A(): A()}",
    "trace": "import sys; sys.settrace(lambda *_: CALL)\n(lambda: 1)()",
    "excepthook": "import sys; sys.excepthook = lambda *_: CALL\n1 / 0",
    "stream": (
        "import sys\nclass S:\n    write = flush = lambda *_: CALL\nsys.stdout = S(); print(1)"
    ),
    "deep recursion": "def f():\n    CALL\n    f()\nf()",
    "deep recursion in C": (
        "class A:\n    def __eq__(s, o): CALL; return True\n"
        "for depth in (100, 1000, 3000):\n"
        "    x, y = A(), A()\n    for _ in range(depth): x, y = [x], [y]\n"
        "    try: x == y\n    except RecursionError: pass"
    ),
}


@pytest.mark.parametrize("how", CALLED_FROM)
@pytest.mark.parametrize("message", ["{'op': 'none'}", "{'op': 'next'}", "b'garbage'"])
def test_the_door_can_be_called_from_anywhere(run: Runner, how: str, message: str) -> None:
    made = run.sandbox(fuel_budget=1_000_000_000)
    made.execute(SEND + CALLED_FROM[how].replace("CALL", f"send({message})"))
    assert made.execute("print('fresh')").stdout == "fresh\n"


def test_no_connection_reaches_the_host(run: Runner, canary: Canary) -> None:
    result = run(
        ATTEMPT
        + f"""
import http.client, urllib.request
address = ("127.0.0.1", {canary.port})
url = "http://127.0.0.1:{canary.port}/"

def connect():
    import socket
    made = socket.socket()
    made.connect(address)
    made.sendall(b"hello")

def low():
    import _socket
    made = _socket.socket(2, 1)
    made.connect(address)

def create():
    import socket
    return socket.create_connection(address)

def adopt(number):
    import socket
    made = socket.socket(fileno=number)
    made.connect(address)

attempt("connect", connect)
attempt("low", low)
attempt("create", create)
for number in range(8):
    attempt(f"adopt {{number}}", lambda: adopt(number))
attempt("urllib", lambda: urllib.request.urlopen(url, timeout=1))
attempt("http", lambda: http.client.HTTPConnection(*address, timeout=1).request("GET", "/"))
attempt("pandas", lambda: __import__("pandas").read_csv(url))
""",
        fuel_budget=20_000_000_000,
    )
    assert result.success, result.stderr
    assert len(attempts(result)) == 14
    assert done(result) == []
    assert canary.connections() == 0


def test_control_a_connection_is_counted(canary: Canary) -> None:
    socket.create_connection(("127.0.0.1", canary.port)).close()
    assert canary.connections() == 1


# Work of the host.

LONG_MESSAGES = {
    "headers": "data = frame(b'{\"op\":\"x\",\"a\":[' + b'0,' * 200_000 + b'0]}')",
    "replies": "data = frame({'op': 'reply'}, b'[' + b'0,' * 500_000 + b'0]')",
    "headers that are cut": "data = frame(b'{' * 400_000)",
}
SEND_LONG = "\nfor n in range(1000):\n    _host.call(data)\nprint('all')"


@pytest.mark.parametrize("what", LONG_MESSAGES)
def test_the_guest_pays_for_what_the_host_reads(run: Runner, what: str) -> None:
    """Sending the same message again costs no instructions to speak of, reading it costs time."""
    result = run(SEND + LONG_MESSAGES[what] + SEND_LONG, fuel_budget=500_000_000)
    assert result.limit is Limit.FUEL


def test_control_messages_that_are_read_for_nothing(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "JSON_FUEL", 0)
    code = SEND + LONG_MESSAGES["headers that are cut"] + SEND_LONG
    assert run(code, fuel_budget=500_000_000).stdout == "all\n"


def test_short_messages_and_raw_bytes_cost_little(run: Runner) -> None:
    code = SEND + "data = frame({'op': 'x', 'a': 'b' * 3000}, bytes(1_000_000))" + SEND_LONG
    assert run(code, fuel_budget=500_000_000).stdout == "all\n"


COPIED = SEND + "data = frame({'op': 'x'}, bytes(20_000_000))" + SEND_LONG


def test_the_guest_pays_for_what_the_host_copies(run: Runner) -> None:
    assert run(COPIED, fuel_budget=1_000_000_000).limit is Limit.FUEL


def test_control_messages_that_are_copied_for_nothing(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "BYTES_PER_FUEL", 1 << 40)
    assert run(COPIED, fuel_budget=1_000_000_000).stdout == "all\n"


def longest_read(run: Runner, monkeypatch: pytest.MonkeyPatch) -> int:
    """The longest piece of its memory that the host took when a guest sent 300 MB."""
    lengths = [0]
    plain = GuestMemory.read

    def read(memory: GuestMemory, pointer: int, length: int) -> bytes:
        lengths.append(length)
        return plain(memory, pointer, length)

    monkeypatch.setattr(GuestMemory, "read", read)
    code = "import _host\n_host.call(bytes(300_000_000))\nprint('refused')"
    result = run(code, fuel_budget=20_000_000_000, memory_bytes=600_000_000)
    assert result.stdout == "refused\n", result.stderr
    return max(lengths)


def test_of_a_message_that_is_too_long_no_more_is_copied(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert longest_read(run, monkeypatch) < 280_000_000


def test_control_a_message_that_is_copied_whole(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    anything = property(lambda _: 1 << 30, lambda *_: None)
    monkeypatch.setattr(Guest, "door_max_bytes", anything, raising=False)
    assert longest_read(run, monkeypatch) == 300_000_000


# Numbers that no honest guest passes.

POINTERS = [0, 1, 16, 2048, 262_143, 262_144, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF]
WIDE = [0, 1, 2**64 - 1, 2**63 - 1, 2**63, 1 << 40]
DESCRIPTORS = [0, 1, 2, 3, 4, 99, 1024, 0x7FFFFFFF, 0xFFFFFFFF]
ANSWERED = sorted({*wasi_abi._ANSWERED, DOOR})


@pytest.fixture
def opened(workspace: Path) -> Iterator[Workspace]:
    """The open workspace that a probe is given."""
    with Workspace(workspace) as made:
        yield made


def hostile_numbers(name: str, chance: random.Random) -> list[int]:
    """Arguments of a host function: any mixture of zero, small, at the end, and far beyond it."""
    kinds = FUNCTIONS[name]
    numbers = [chance.choice(WIDE if kind == "I" else POINTERS) for kind in kinds]
    if name.startswith(("fd_", "path_")) and chance.random() < 0.9:
        numbers[0] = chance.choice(DESCRIPTORS)
    return numbers


def bombarded(workspace: Workspace, name: str, *, virtual: bool) -> tuple[list[Any], int]:
    """What a host function did on many hostile calls, and what the host allocated at most."""
    chance = random.Random(name)
    kinds = FUNCTIONS[name]
    calls = [[value] * len(kinds) for value in POINTERS]
    calls += [hostile_numbers(name, chance) for _ in range(40 if name == "random_get" else 120)]
    found: list[Any] = []
    probe = Probe(workspace, virtual=virtual)
    probe.call("sched_yield")
    probe.call("fd_close", 99)
    tracemalloc.start()
    try:
        for numbers in calls:
            outcome = probe.call(name, *numbers)
            if probe.guest.failure is not None:
                found.append(probe.guest.failure)
                probe.guest.failure = None
            found.append(outcome)
            if probe.guest.is_dead:
                probe.guest.close()
                probe = Probe(workspace, virtual=virtual)
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        probe.guest.close()


def is_error_number(outcome: object) -> bool:
    """Whether a call was simply answered."""
    return isinstance(outcome, Returned) and outcome.value is not None and -2 <= outcome.value <= 76


def test_every_host_function_is_bombarded() -> None:
    assert set(wasi_abi._ANSWERED) | set(wasi_abi._RELAYED) | set(wasi_abi._VIRTUAL) <= set(
        FUNCTIONS
    )


@pytest.mark.parametrize("virtual", [False, True], ids=["real", "virtual"])
@pytest.mark.parametrize("name", ANSWERED)
def test_hostile_numbers_are_answered_with_an_error_number(
    opened: Workspace, name: str, virtual: bool
) -> None:
    found, peak = bombarded(opened, name, virtual=virtual)
    assert [outcome for outcome in found if not is_error_number(outcome)] == []
    assert peak < 4_000_000


@pytest.mark.parametrize("name", sorted(set(wasi_abi._VIRTUAL)))
def test_hostile_numbers_to_the_virtual_world(opened: Workspace, name: str) -> None:
    found, peak = bombarded(opened, name, virtual=True)
    assert [outcome for outcome in found if not is_error_number(outcome)] == []
    assert peak < 16_000_000


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - set(ANSWERED)))
def test_hostile_numbers_to_the_rest_end_the_guest_at_most(opened: Workspace, name: str) -> None:
    found, peak = bombarded(opened, name, virtual=False)
    wrong = [
        outcome
        for outcome in found
        if not is_error_number(outcome)
        and not (isinstance(outcome, Trapped) and outcome.kind is TrapKind.ABORT)
    ]
    assert wrong == []
    assert peak < 4_000_000


def test_control_a_host_that_believes_a_length_is_noticed(
    opened: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(_: GuestMemory, pointer: int, length: int) -> bytes:
        return bytes(max(length, 1 << 23))

    monkeypatch.setattr(GuestMemory, "read", careless)
    _, peak = bombarded(opened, DOOR, virtual=False)
    assert peak > 4_000_000


def test_control_a_host_that_stumbles_is_noticed(
    opened: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(_: GuestMemory, pointer: int, length: int) -> bytes:
        raise TypeError("not what was expected")

    monkeypatch.setattr(GuestMemory, "read", careless)
    found, _ = bombarded(opened, "fd_write", virtual=False)
    assert [outcome for outcome in found if not is_error_number(outcome)] != []


def test_output_vectors_that_overlap_and_exceed_everything(opened: Workspace) -> None:
    with Probe(opened) as probe:
        size = probe.guest.memory.size
        vectors = struct.pack("<II", 0, size) * 1024
        probe.guest.memory.write(8192, vectors)
        tracemalloc.start()
        for count in (1, 2, 1024, 1025, 0xFFFFFFFF):
            for descriptor in (1, 2):
                assert is_error_number(probe.call("fd_write", descriptor, 8192, count, 16))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(probe.guest.stdout.finish().encode()) <= 3000
        assert probe.guest.stdout.truncated
        assert peak < 1_000_000


def test_a_door_answer_written_over_the_request(opened: Workspace) -> None:
    with Probe(opened) as probe:
        size = probe.guest.memory.size
        for places in ((1024, 1024), (1026, 1025), (size - 4, size - 4), (0, 0), (1024, 1028)):
            assert is_error_number(probe.call(DOOR, 1024, 40, *places))
        for places in ((size - 3, 0), (0, size - 3), (size, size), (0xFFFFFFFF, 0)):
            assert probe.call(DOOR, 1024, 40, *places) == Returned(-2)


BAD_ALLOCATORS = {
    "beyond the memory": "(i32.const -16)",
    "at the end": "(i32.const 262143)",
    "nothing": "(i32.const 0)",
}


@pytest.mark.parametrize("how", BAD_ALLOCATORS)
def test_an_allocator_that_lies_gets_no_answer(opened: Workspace, how: str) -> None:
    with Probe(opened, later_alloc=BAD_ALLOCATORS[how]) as probe:
        assert probe.call(DOOR, 0, 8, 64, 68) == Returned(-2)
        assert probe.guest.failure is None


def test_an_instance_whose_allocator_trapped_is_not_entered_again(opened: Workspace) -> None:
    with Probe(opened, later_alloc="(unreachable)") as probe:
        outcome = probe.call(DOOR, 0, 8, 64, 68)
        assert isinstance(outcome, Trapped) or probe.guest.is_dead


ENDLESS_ALLOCATOR = """
import sys, tempfile
from pathlib import Path
sys.path.insert(0, {folder!r})
from probe import DOOR, Probe
from wasm_kernel.host.workspace import Workspace

call = "(call $call (i32.const 0) (i32.const 8) (i32.const 64) (i32.const 68))"
alloc = "(drop " + call + ") (i32.const 0)"
with Workspace(Path({workspace!r})) as workspace, Probe(workspace, later_alloc=alloc) as probe:
    probe.call(DOOR, 0, 8, 64, 68)
    print(probe.guest.failure)
"""


def test_an_allocator_that_calls_the_door_is_no_error_of_the_host(workspace: Path) -> None:
    code = ENDLESS_ALLOCATOR.format(folder=str(Path(__file__).parent), workspace=str(workspace))
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300
    )
    assert finished.stderr == ""
    assert finished.stdout == "None\n"


def test_a_wait_that_is_longer_than_time_itself(opened: Workspace) -> None:
    subscription = struct.pack("<QB7xI4xQQH6x", 7, 0, 1, 2**64 - 1, 0, 0)
    with Probe(opened, virtual=True) as probe:
        for _ in range(3):
            probe.guest.memory.write(4096, subscription)
            assert is_error_number(probe.call("poll_oneoff", 4096, 8192, 1, 12_000))
            assert is_error_number(probe.call("clock_time_get", 0, 1, 8192))
            assert probe.guest.failure is None


def test_a_file_whose_number_cannot_be_told_is_still_reported(opened: Workspace) -> None:
    with Probe(opened) as probe:
        probe.guest.memory.write(4096, b"made")
        outcome = probe.call("path_open", 3, 0, 4096, 4, 1, 1 << 6, 0, 0, 0xFFFFFFFF)
        assert is_error_number(outcome)
        assert outcome != Returned(0)
        there = (opened.root / "made").exists()
        assert [change.path for change in probe.guest.journal.changes()] == ["made"] * there
        assert probe.guest.failure is None
