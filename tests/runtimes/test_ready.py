"""Interpreters that wait for a script: which one a run gets, what it finds there, when they end."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from interpreters import ready, the_one_that_waits

from wasm_kernel import Limit, PythonSandbox, SandboxExecutionError
from wasm_kernel.host import guest as guest_module
from wasm_kernel.runtimes.python import ready as ready_module
from wasm_kernel.runtimes.python.ready import IDLE_MAX, PREPARING_MAX, Interpreter, Pool

MakeSandbox = Callable[..., PythonSandbox]


# Which interpreter a run gets.


@pytest.mark.parametrize(
    "code",
    [
        "x = 1",
        "raise ValueError",
        "import sys; sys.exit(3)",
        "open('/app/f', 'w').close()",
        "import os; os.open('/app/user_code.py', os.O_RDONLY)",
        "import os; os.close(3)",
    ],
    ids=["ordinary", "error", "exit", "file", "left a file open", "closed a mount"],
)
def test_an_interpreter_serves_the_next_run(
    make_sandbox: MakeSandbox, pool: Pool, code: str
) -> None:
    sandbox = make_sandbox()
    sandbox.execute("pass")
    guest = the_one_that_waits(pool).guest
    sandbox.execute(code)
    assert the_one_that_waits(pool).guest is guest
    assert sandbox.execute("print(open('/app/user_code.py').read())").stdout.startswith("print")


@pytest.mark.parametrize(
    "code",
    [
        "import os; os._exit(0)",
        "while True: pass",
        "x = bytearray(30_000_000)",
    ],
    ids=["exited", "trapped", "grown"],
)
def test_an_interpreter_that_cannot_be_put_back_serves_no_other_run(
    make_sandbox: MakeSandbox, pool: Pool, code: str
) -> None:
    sandbox = make_sandbox(fuel_budget=50_000_000)
    sandbox.execute("pass")
    the_one_that_waits(pool)
    sandbox.execute(code)
    assert pool.idle == []
    assert sandbox.execute("print('another')").stdout == "another\n"


def test_all_sandboxes_share_them(make_sandbox: MakeSandbox, pool: Pool, tmp_path: Path) -> None:
    guests = set()
    for number in range(5):
        with PythonSandbox(workspace=tmp_path / str(number)) as sandbox:
            assert sandbox.execute(f"print({number})").stdout == f"{number}\n"
        guests.add(the_one_that_waits(pool).guest)
    assert len(guests) == 1


def test_a_sandbox_finds_nothing_of_the_sandbox_before(pool: Pool, tmp_path: Path) -> None:
    """Neither its files nor its environment, its data, its arguments or what it printed."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "table.csv").write_text("a,b")
    look = (
        "import os, sys\nprint(sorted(os.listdir('/app')), os.listdir('/data'), sys.argv[1:], "
        "'TOKEN' in os.environ, os.path.exists('/elsewhere'))"
    )
    policies: list[dict[str, Any]] = [
        {"env": {"TOKEN": "x"}},
        {"mount_data_dir": str(data)},
        {"argv": ["python", "user_code.py", "two"]},
        {"guest_mount_path": "/elsewhere"},
        {},
    ]
    found = []
    for number, fields in enumerate(policies):
        policy = PythonSandbox().policy.replace(**fields)
        with PythonSandbox(policy, workspace=tmp_path / str(number)) as sandbox:
            if fields.get("guest_mount_path") is None:
                sandbox.execute(f"open('/app/file{number}', 'w').close()")
                found.append(sandbox.execute(look).stdout)
            else:
                sandbox.execute("print('a folder of another name')")
    assert found == [
        "['file0', 'user_code.py'] [] [] True False\n",
        "['file1', 'user_code.py'] ['table.csv'] [] False False\n",
        "['file2', 'user_code.py'] [] ['two'] False False\n",
        "['file4', 'user_code.py'] [] [] False False\n",
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"env": {"A": "1"}},
        {"deterministic": True},
        {"memory_bytes": 200_000_000},
        {"guest_mount_path": "/work"},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_run_that_could_tell_them_apart_gets_another(
    make_sandbox: MakeSandbox, pool: Pool, fields: dict[str, Any]
) -> None:
    make_sandbox().execute("pass")
    first = the_one_that_waits(pool)
    make_sandbox(**fields).execute("pass")
    _, second = pool.idle
    assert pool.idle[0] is first
    assert second.kind != first.kind


@pytest.mark.parametrize(
    "fields",
    [
        {"fuel_budget": 123_456_789},
        {"timeout_seconds": 7.0},
        {"stdout_max_bytes": 10},
        {"argv": ["python", "x"]},
        {"workspace_max_bytes": 1_000_000},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_run_that_could_not_gets_the_same(
    make_sandbox: MakeSandbox, pool: Pool, fields: dict[str, Any]
) -> None:
    make_sandbox().execute("pass")
    guest = the_one_that_waits(pool).guest
    make_sandbox(**fields).execute("pass")
    assert the_one_that_waits(pool).guest is guest


def test_limits_are_those_of_the_run(make_sandbox: MakeSandbox, pool: Pool) -> None:
    make_sandbox(stdout_max_bytes=10).execute("print('x' * 50)")
    the_one_that_waits(pool)
    assert make_sandbox().execute("print('x' * 50)").stdout == "x" * 50 + "\n"
    the_one_that_waits(pool)
    assert make_sandbox(stdout_max_bytes=10).execute("print('x' * 50)").stdout == "x" * 10
    the_one_that_waits(pool)
    counting = "for _ in range(10_000_000): pass"
    assert make_sandbox(fuel_budget=50_000_000).execute(counting).limit is Limit.FUEL
    assert make_sandbox(fuel_budget=50_000_000_000).execute(counting).success


def test_time_does_not_count_while_it_waits(make_sandbox: MakeSandbox, pool: Pool) -> None:
    make_sandbox().execute("pass")
    the_one_that_waits(pool)
    time.sleep(0.6)
    result = make_sandbox(timeout_seconds=0.5).execute("print(1)")
    assert result.success
    assert result.guest_ms is not None
    assert result.guest_ms < 500


def test_fuel_is_the_same_in_a_new_one_and_in_one_that_waited(
    make_sandbox: MakeSandbox, pool: Pool
) -> None:
    sandbox = make_sandbox(deterministic=True)
    first = sandbox.execute("print(sum(range(1000)))")
    the_one_that_waits(pool)
    second = sandbox.execute("print(sum(range(1000)))")
    assert first.fuel_consumed == second.fuel_consumed


# What a run finds there.


def test_one_that_waits_again_is_byte_for_byte_what_it_was(
    make_sandbox: MakeSandbox, pool: Pool
) -> None:
    sandbox = make_sandbox(deterministic=True)
    sandbox.execute("pass")
    memory = the_one_that_waits(pool).guest.memory
    before = memory.read(0, memory.size)
    for code in (SECRET_CODE, "import decimal", "print('x' * 100_000)", "1 / 0"):
        sandbox.execute(code)
        again = the_one_that_waits(pool).guest.memory
        assert again is memory
        assert memory.read(0, memory.size) == before


def test_an_image_has_room_for_small_scripts(make_sandbox: MakeSandbox, pool: Pool) -> None:
    """A memory that has grown is not put back, and the next script waits for a new instance."""
    sandbox = make_sandbox()
    before = sandbox.execute("pass").memory_used_bytes
    interpreter = the_one_that_waits(pool)
    assert sandbox.execute("kept = bytearray(1 << 20), [0] * 100_000").memory_used_bytes == before
    assert the_one_that_waits(pool) is interpreter


SECRET_CODE = """
import os, io
secret = bytes(reversed(b'moc.elpmaxe@drowssap-terces-yrev'))
keep = [secret * 3 for _ in range(100)], bytearray(secret * 300), secret.decode() + '!'
os.environ['SECRET'] = secret.decode()
open('/app/.secret', 'wb').write(secret)
os.unlink('/app/.secret')
local = io.BytesIO(secret)
assert len(keep) == 3
try: raise ValueError(secret.decode())
except ValueError as error: keep += (error,)
"""
SECRET = b"very-secret-password@example.com"


def test_secret_of_a_run_is_not_in_the_memory_of_the_next(
    make_sandbox: MakeSandbox, pool: Pool
) -> None:
    sandbox = make_sandbox()
    result = sandbox.execute(SECRET_CODE)
    assert result.success, result.stderr
    interpreter = the_one_that_waits(pool)
    memory, state = interpreter.guest.memory, interpreter.state
    assert state is not None

    def is_found() -> bool:
        return SECRET in memory.read(0, memory.size)

    assert not is_found()
    # The control: the search finds what is there, and only the reset takes it away.
    memory.write(memory.size // 2, SECRET)
    assert is_found()
    state.reset(memory)
    assert not is_found()
    interpreter.guest.watch.stop("interrupted")


def test_each_draws_other_random_numbers(make_sandbox: MakeSandbox, pool: Pool) -> None:
    sandbox = make_sandbox()
    drawn = []
    for _ in range(5):
        drawn.append(sandbox.execute("import random, uuid; print(random.random(), uuid.uuid4())"))
        the_one_that_waits(pool)
    assert len({result.stdout for result in drawn}) == 5


# Several runs at once.


def test_runs_at_once_never_share_one(make_sandbox: MakeSandbox, pool: Pool) -> None:
    sandboxes = [make_sandbox() for _ in range(3)]

    def run(number: int) -> str:
        code = (
            f"import __main__\nassert not hasattr(__main__, 'mine')\nmine = {number}\nprint(mine)"
        )
        return sandboxes[number % 3].execute(code).stdout

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(run, range(120))) == [f"{number}\n" for number in range(120)]
    assert len(pool.idle) <= IDLE_MAX


def test_runs_back_to_back_take_turns_with_few(make_sandbox: MakeSandbox, pool: Pool) -> None:
    """One is being put back while another runs, and there are never more of them."""
    sandbox = make_sandbox()
    for number in range(20):
        assert sandbox.execute(f"print({number})").stdout == f"{number}\n"
        assert 1 <= len(pool.idle) <= PREPARING_MAX


# Their end.


def test_no_more_than_so_many_wait(make_sandbox: MakeSandbox, pool: Pool) -> None:
    for number in range(IDLE_MAX + 3):
        make_sandbox(env={"NUMBER": str(number)}).execute("pass")
    kinds = [dict(interpreter.kind.beginning.env)["NUMBER"] for interpreter in pool.idle]
    assert kinds == [str(number) for number in range(3, IDLE_MAX + 3)]


def test_one_that_nobody_needs_ends_by_itself(
    make_sandbox: MakeSandbox, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ready_module, "KEEP_SECONDS", 0.05)
    make_sandbox().execute("pass")
    [interpreter] = pool.idle
    deadline = time.monotonic() + 60
    while not interpreter.has_ended:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert pool.idle == []
    assert make_sandbox().execute("print(1)").stdout == "1\n"


def test_a_script_that_comes_when_it_wants_to_end_is_run(
    make_sandbox: MakeSandbox, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ready_module, "KEEP_SECONDS", 0.0005)
    sandbox = make_sandbox()
    for number in range(200):
        assert sandbox.execute(f"print({number})").stdout == f"{number}\n"


def test_closing_the_pool_ends_them_and_the_next_run_makes_another(
    make_sandbox: MakeSandbox, pool: Pool
) -> None:
    sandbox = make_sandbox()
    sandbox.execute("pass")
    interpreter = the_one_that_waits(pool)
    pool.close()
    assert pool.idle == []
    assert interpreter.has_ended
    assert sandbox.execute("print(1)").stdout == "1\n"


def test_one_whose_preparation_failed_is_replaced(
    make_sandbox: MakeSandbox, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make_sandbox()
    with monkeypatch.context() as patch:
        patch.setattr(Interpreter, "_put_back", failing)
        assert sandbox.execute("print(1)").stdout == "1\n"
        [broken] = pool.idle
        while not broken.has_ended:
            time.sleep(0.001)
    assert sandbox.execute("print(2)").stdout == "2\n"
    assert the_one_that_waits(pool) is not broken


def test_a_run_keeps_its_result_where_no_thread_is_left_for_the_next(
    make_sandbox: MakeSandbox, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make_sandbox()
    sandbox.execute("pass")
    used = the_one_that_waits(pool)
    with monkeypatch.context() as patch:
        patch.setattr(ready_module.guest_threads, "start", no_thread)
        assert sandbox.execute("print(1)").stdout == "1\n"
        assert pool.idle == []
        assert used.guest not in guest_module._alive
        with pytest.raises(RuntimeError, match="new thread"):
            sandbox.execute("print(2)")
        assert len(guest_module._alive) == 0
    assert sandbox.execute("print(3)").stdout == "3\n"


def no_thread(*_: object) -> None:
    raise RuntimeError("can't start new thread")


def failing(*_: object) -> None:
    raise OSError("no memory")


def test_an_interpreter_that_cannot_be_started_says_so(
    make_sandbox: MakeSandbox, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ready_module, "_BOOT_FUEL", 1_000)
    with pytest.raises(SandboxExecutionError, match="could not be started"):
        make_sandbox().execute("print(1)")
    assert pool.idle == []


def test_ctrl_c_ends_the_run_and_the_next_one_works(make_sandbox: MakeSandbox, pool: Pool) -> None:
    sandbox = make_sandbox(fuel_budget=10**13)
    sandbox.execute("pass")
    the_one_that_waits(pool)
    main = threading.get_ident()
    timer = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        sandbox.execute("while True: pass")
    assert pool.idle == []
    assert sandbox.execute("print('next')").stdout == "next\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_makes_its_own(make_sandbox: MakeSandbox, pool: Pool) -> None:
    sandbox = make_sandbox()
    sandbox.execute("pass")
    ready(pool.idle[0])
    child = os.fork()
    if child == 0:
        # Nothing of pytest may run on in here.
        try:
            done = sandbox.execute("print('child')").stdout == "child\n"
            pool.close()
            os._exit(0 if done else 1)
        except BaseException:
            os._exit(2)
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    assert ended == (child, 0)
    assert sandbox.execute("print('parent')").stdout == "parent\n"
