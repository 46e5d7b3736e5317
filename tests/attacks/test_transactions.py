"""Attacks on transactions: traps that leave something, secrets that outlive undo, twin dice.

Each check looks from the host's side and is tried against a weakened sandbox too, where it must
find something.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import wasm_kernel.session as session_module
from wasm_kernel import NOTEBOOK_POLICY, Limit, Session
from wasm_kernel.host.journal import Journal
from wasm_kernel.host.mapped import MappedMemory
from wasm_kernel.host.pages import CommittedMemory
from wasm_kernel.host.wasi import WasiGuard
from wasm_kernel.runtimes.python.inputs import Beginning
from wasm_kernel.runtimes.python.live import LiveInterpreter

from .conftest import HANG_GUARD_SECONDS, fingerprint

MakeSession = Callable[..., Session]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[MakeSession]:
    """``make(**policy_fields)``: a session on the test's workspace, closed at the end."""
    made: list[Session] = []

    def session(strategy: type[CommittedMemory] | None = None, **fields: Any) -> Session:
        # A small memory, because some tests look at every byte that could hold something.
        limits = {
            "fuel_budget": 300_000_000,
            "timeout_seconds": HANG_GUARD_SECONDS,
            "memory_bytes": 220_000_000,
        }
        made.append(
            Session(
                NOTEBOOK_POLICY.replace(**{**limits, **fields}),
                tmp_path / "workspace",
                memory_strategy=strategy,
            )
        )
        return made[-1]

    yield session
    for one in made:
        one.close()


@pytest.fixture(params=[CommittedMemory, MappedMemory], ids=["copied", "mapped"])
def strategy(request: pytest.FixtureRequest) -> type[CommittedMemory]:
    chosen: type[CommittedMemory] = request.param
    return chosen


# After every kind of trap.

TRAPS = {
    "fuel": "while True: pass",
    "fuel in a finalizer": (
        "class A:\n    def __del__(self):\n        while True: pass\na = A()\ndel a"
    ),
    "fuel in a finally": "try:\n    while True: pass\nfinally:\n    while True: pass",
    "fuel in atexit": "import atexit\natexit.register(lambda: 1)\nwhile True: pass",
    "stack in C": "import json\njson.loads('[' * 10**5)",
    "stack in the compiler": "import ast\nast.dump(ast.parse('+'.join(['1'] * 20_000)))",
    "abort": "os.abort()",
    "exit": "os._exit(0)",
    "exit in a generator": "def g():\n    yield 1\n    os._exit(3)\nlist(g())",
    "exit in __del__": "class A:\n    def __del__(self): os._exit(3)\na = A()\ndel a",
    "exit while the result is shown": "class A:\n    def __repr__(self): os._exit(3)\nA()",
    "exit while an error is shown": (
        "class E(Exception):\n    def __str__(self): os._exit(3)\nraise E"
    ),
    "a forged reply, then an end": (
        "from wasm_guest import door\n"
        "door.call({'op': 'reply'}, [b'{\"execution_count\": 99, \"error\": null}'])\nos._exit(0)"
    ),
    "forged marks, then no fuel": (
        "from wasm_guest import door\n"
        "for _ in range(50): door.call({'op': 'end'}); door.call({'op': 'begin'})\nwhile True: pass"
    ),
    "closed mounts, then an abort": (
        "for n in range(3, 8):\n    try: os.close(n)\n    except OSError: pass\nos.abort()"
    ),
    "closed streams, then an abort": "os.close(1); os.close(2); os.abort()",
    "as many open files as there can be, then an abort": (
        "keep = []\ntry:\n    while True: keep.append(open('kept'))\n"
        "except OSError:\n    os.abort()"
    ),
}

SETTLE = (
    "import os\nx = ['kept']\nopen('kept', 'w').write('kept')\n"
    "os.makedirs('d/e')\nopen('d/e/f', 'w').write('deep')\nlog = open('log', 'w')\n"
    "log.write('start'); log.flush()\nos.chdir('d')"
)
HARM = (
    "x.append('harm')\nopen('/app/kept', 'w').write('harmed')\nopen('/app/new', 'w').write('n')\n"
    "os.rename('/app/d/e', '/app/e2')\nos.remove('/app/e2/f')\nlog.write('harm'); log.flush()\n"
    "os.chdir('/app')\nos.environ['HARM'] = '1'\nimport builtins\nbuiltins.harm = 1\n"
)
LOOK = (
    "import builtins\n"
    "print([x, os.getcwd(), 'HARM' in os.environ, hasattr(builtins, 'harm'), log.tell(), len(In)])"
)


def files_of(session: Session) -> dict[str, Any]:
    """The workspace without the times of its folders, which nobody asks to be put back."""
    return {
        name: (mode, digest, None if stat.S_ISDIR(mode) else changed)
        for name, (mode, _, changed, digest) in fingerprint(session.workspace).items()
    }


def differences(session: Session, trap: str) -> list[str]:
    """What a trap left behind, as the host sees it and as the next cell sees it."""
    session.execute(SETTLE)
    files, count = files_of(session), session.execution_count
    looked = session.execute(LOOK)
    session.undo()
    result = session.execute(HARM + trap)
    found = []
    if not result.rolled_back:
        found.append("not rolled back")
    if files_of(session) != files:
        found.append("files")
    if session.execution_count != count:
        found.append("count")
    again = session.execute(LOOK)
    if again.stdout != looked.stdout:
        found.append(f"memory: {again.stdout!r} for {looked.stdout!r}")
    return found


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_leaves_nothing(
    make: MakeSession, trap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "OVERHEAD_FUEL", 1_000_000_000)
    assert differences(make(), TRAPS[trap]) == []


@pytest.mark.parametrize("trap", ["fuel", "abort", "exit"])
def test_a_trap_leaves_nothing_without_the_help_of_linux(make: MakeSession, trap: str) -> None:
    assert differences(make(CommittedMemory), TRAPS[trap]) == []


def test_control_a_journal_that_forgets(make: MakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the rollback of files the check finds the files."""
    monkeypatch.setattr(Journal, "rollback", lambda self, spare=frozenset(): [])
    assert "files" in differences(make(), TRAPS["abort"])


def test_control_a_memory_that_keeps(make: MakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the trapped memory committed the check finds the memory."""
    plain = LiveInterpreter.forget

    def forget(self: LiveInterpreter) -> None:
        if self._guest is not None:
            self.memory.commit(self._guest.memory)
        plain(self)

    monkeypatch.setattr(LiveInterpreter, "forget", forget)
    assert any("memory" in found for found in differences(make(), TRAPS["abort"]))


# Changes that the journal could be made to miss.

UNSEEN = {
    "after a move onto a full folder": """
open("one/file", "a").write("!")
try: os.rename("one", "two")
except OSError: pass
open("two/file", "w").write("harmed")
""",
    "after a move into itself": """
open("one/file", "a").write("!")
try: os.rename("one", "one/inner")
except OSError: pass
open("one/inner/file", "w").write("harmed")
""",
    "after a move by a name with a slash": """
open("one/file", "a").write("!")
try: os.rename("one/file", "two/file/")
except OSError: pass
open("two/file", "w").write("harmed")
""",
    "beside a folder behind a link": """
try: open("link/../file", "w").write("harmed")
except OSError: pass
""",
    "beside a folder behind a link, by a descriptor": """
folder = os.open(".", os.O_RDONLY)
try: os.close(os.open("link/./../file", os.O_WRONLY | os.O_TRUNC, dir_fd=folder))
except OSError: pass
""",
    "removed beside a folder behind a link": """
try: os.unlink("link/../file")
except OSError: pass
""",
}


def unseen_by_rollback(session: Session, how: str) -> bool:
    """Whether something is not as before a cell that was rolled back."""
    for folder in ("one/inner", "two"):
        (session.workspace / folder).mkdir(parents=True)
    for name in ("one/file", "one/inner/file", "two/file", "file"):
        (session.workspace / name).write_text("good")
    (session.workspace / "link").symlink_to("one/inner")
    before = files_of(session)
    assert session.execute("import os\n" + UNSEEN[how] + "\nos._exit(1)").rolled_back
    return files_of(session) != before


@pytest.mark.parametrize("how", UNSEEN)
def test_no_change_is_unseen_by_the_rollback(make: MakeSession, how: str) -> None:
    assert not unseen_by_rollback(make(), how)


def test_control_a_journal_that_believes_a_move_too_soon(
    make: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Journal.note_rename

    def note(self: Journal, old: str, new: str, found: os.stat_result) -> None:
        plain(self, old, new, found)
        self.note_moved(old, new)

    monkeypatch.setattr(Journal, "note_rename", note)
    assert unseen_by_rollback(make(), "after a move onto a full folder")


def test_control_a_guard_that_reads_names_alone(
    make: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WasiGuard, "_refuse_link", lambda *_: None)
    assert unseen_by_rollback(make(), "beside a folder behind a link")


def test_traps_again_and_again(make: MakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "OVERHEAD_FUEL", 1_000_000_000)
    session = make(fuel_budget=30_000_000)
    session.execute(SETTLE)
    files = files_of(session)
    for trap in TRAPS.values():
        assert session.execute(HARM + trap).rolled_back
    assert files_of(session) == files
    assert session.execute("print(x)").stdout == "['kept']\n"


def test_a_put_that_ends_the_guest_is_not_committed(make: MakeSession) -> None:
    """The guest's own driver answers and ends: what it left is no state to go on from."""
    session = make()
    session.execute(
        "import os\nx = 1\nfrom wasm_guest import door, driver\n"
        "def evil(request, buffers):\n"
        "    global x\n"
        "    x = 666\n"
        "    door.call({'op': 'reply'}, [b'{}'])\n"
        "    os._exit(0)\n"
        "driver._steps['put'] = evil"
    )
    with pytest.raises(session_module.VariableTransferError):
        session.put("y", 1)
    assert session.execute("print(x)").stdout == "1\n"


def test_a_put_that_fails_leaves_no_file(make: MakeSession) -> None:
    session = make()
    session.execute(
        "from wasm_guest import driver\n"
        "def evil(request, buffers):\n    open('/app/left', 'w').close()\n    raise ValueError\n"
        "driver._steps['put'] = evil"
    )
    with pytest.raises(session_module.VariableTransferError):
        session.put("y", 1)
    assert not (session.workspace / "left").exists()


# Secrets.

PART = b"swordfish-"
SECRET = PART * 40
"""Never in any source as a whole: only a guest that ran the cell has it in its memory."""

KEEP_SECRET = (
    "part = bytes(reversed(b'-hsifdrows'))\n"
    "secret = part * 40\ncopies = [bytes(secret) for _ in range(300)]\n"
    "big = secret * 20_000\n"
    "open('secret.txt', 'wb').write(secret)"
)


def places(session: Session) -> list[str]:
    """Where the secret still is: committed pages, the backing behind them, a fresh guest, files."""
    found = []
    session.execute("pass")
    assert session.committed_pages, "waits for the last commit"
    memory = session._live.memory
    if any(SECRET in bytes(run) for _, run in memory.runs()):
        found.append("committed pages")
    if memory._backing.find(SECRET) >= 0:
        found.append("the backing")
    guest = session._live._guest
    assert guest is not None
    if SECRET in guest.memory.read(0, guest.memory.size):
        found.append("the live guest")
    for path in session.workspace.rglob("*"):
        if path.is_file() and SECRET in path.read_bytes():
            found.append(path.name)
    return found


def test_a_kept_secret_is_found(make: MakeSession, strategy: type[CommittedMemory]) -> None:
    """So that not finding it means something."""
    session = make(strategy)
    session.execute(KEEP_SECRET)
    assert set(places(session)) == {
        "committed pages",
        "the backing",
        "the live guest",
        "secret.txt",
    }


def test_an_undone_secret_is_nowhere(make: MakeSession, strategy: type[CommittedMemory]) -> None:
    session = make(strategy)
    session.execute("x = 1")
    session.execute(KEEP_SECRET)
    session.undo()
    assert places(session) == []


def test_a_secret_undone_over_several_cells_is_nowhere(make: MakeSession) -> None:
    session = make()
    session.execute("x = 1")
    session.checkpoint("before")
    session.execute(KEEP_SECRET)
    session.execute("again = bytes(secret)\nrest = [bytes(secret) for _ in range(100)]")
    session.execute("del copies")
    session.restore("before")
    assert places(session) == []


def test_a_secret_of_a_rolled_back_cell_is_nowhere(
    make: MakeSession, strategy: type[CommittedMemory]
) -> None:
    session = make(strategy)
    session.execute("import os")
    assert session.execute(KEEP_SECRET + "\nos.abort()").rolled_back
    assert places(session) == []


def test_an_undone_secret_is_in_no_fork_and_in_no_file(make: MakeSession, tmp_path: Path) -> None:
    session = make()
    session.execute("x = 1")
    session.execute(KEEP_SECRET)
    session.undo()
    with session.fork(tmp_path / "forked") as fork:
        assert places(fork) == []
    session.save(tmp_path / "parked")
    resumed = Session.load(
        tmp_path / "parked", policy=session.policy, workspace=tmp_path / "resumed"
    )
    with resumed:
        assert places(resumed) == []


def test_a_secret_is_not_seen_in_memory_that_grows_again(make: MakeSession) -> None:
    """Memory that an undone cell had used comes back as zeros."""
    session = make()
    session.execute("x = 1")
    session.execute("big = bytes(reversed(b'-hsifdrows')) * 3_000_000")
    session.undo()
    session.execute("import numpy as np\nseen = np.empty(25_000_000, dtype='u1')")
    found = session.execute("print((bytes(reversed(b'-hsifdrows')) * 3) in seen.tobytes())")
    assert found.stdout == "False\n"


def test_control_pages_that_are_not_discarded(
    make: MakeSession, monkeypatch: pytest.MonkeyPatch, strategy: type[CommittedMemory]
) -> None:
    """Without the clean-up of undone pages the check finds the secret in the backing."""
    monkeypatch.setattr(strategy, "_discard", lambda *_: None)
    session = make(strategy)
    session.execute("x = 1")
    session.execute(KEEP_SECRET)
    session.undo()
    assert "the backing" in places(session)


def test_one_session_never_sees_the_memory_of_another(make: MakeSession) -> None:
    first = make()
    first.execute(KEEP_SECRET)
    first.close()
    second = make()
    (second.workspace / "secret.txt").unlink()
    assert places(second) == []


# Twin dice.

DRAW = (
    "import json, random, tempfile, uuid, secrets\nimport numpy as np\n"
    "print(json.dumps([random.random(), random.SystemRandom().random(), np.random.rand(),\n"
    "    np.random.default_rng().random(), uuid.uuid4().hex, secrets.token_hex(),\n"
    "    tempfile.mktemp(), random.sample(range(10**9), 3)]))"
)


def alike(*sessions: Session) -> int:
    """How many of the things that sessions draw by chance are the same in two of them."""
    drawn = [json.loads(session.execute(DRAW).stdout) for session in sessions]
    return sum(
        len({repr(value) for value in column}) < len(sessions)
        for column in zip(*drawn, strict=True)
    )


def test_forks_differ(make: MakeSession, tmp_path: Path) -> None:
    origin = make()
    origin.execute(DRAW)
    with origin.fork() as first, origin.fork() as second, first.fork() as third:
        assert alike(origin, first, second, third) == 0


def test_resumed_sessions_differ(make: MakeSession, tmp_path: Path) -> None:
    origin = make()
    origin.execute(DRAW)
    origin.save(tmp_path / "parked")
    resumed = [
        Session.load(tmp_path / "parked", workspace=tmp_path / "workspace") for _ in range(2)
    ]
    try:
        assert alike(origin, *resumed) == 0
    finally:
        for session in resumed:
            session.close()


def test_forks_of_an_undone_state_differ(make: MakeSession) -> None:
    origin = make()
    origin.execute("x = 1")
    origin.execute(DRAW)
    origin.undo()
    with origin.fork() as first, origin.fork() as second:
        assert alike(first, second) == 0


def test_sessions_whose_first_cell_was_undone_differ(make: MakeSession) -> None:
    sessions = [make(), make()]
    for session in sessions:
        session.execute("x = 1")
        session.undo()
    assert alike(*sessions) == 0


def test_sessions_that_begin_with_a_question_differ(make: MakeSession) -> None:
    sessions = [make(), make()]
    for session in sessions:
        session.complete("impo")
    assert alike(*sessions) == 0


def test_control_forks_without_entropy(make: MakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reseeding taken out the check finds twins."""
    monkeypatch.setattr(
        Beginning,
        "request",
        lambda *_: {"env": {}, "randomness": "seeded", "seed": 1},
    )
    origin = make()
    origin.execute(DRAW)
    with origin.fork() as first, origin.fork() as second:
        assert alike(first, second) > 0


# Limits of whoever goes on.


def test_a_fork_has_the_limits_of_its_origin(make: MakeSession) -> None:
    session = make(fuel_budget=50_000_000, stdout_max_bytes=10)
    session.execute("x = 1")
    with session.fork() as fork:
        assert fork.policy == session.policy
        assert fork.execute("while True: pass").limit is Limit.FUEL
        assert fork.execute("print('x' * 100)").stdout == "x" * 10


def test_undo_cannot_be_used_to_keep_fuel(make: MakeSession) -> None:
    session = make(fuel_budget=50_000_000)
    session.execute("x = 1")
    for _ in range(3):
        assert session.execute("while True: pass").limit is Limit.FUEL
        session.execute("x")
        session.undo()


# kill -9.

HALF_WRITTEN = """
import os, sys
from pathlib import Path
from wasm_kernel.host import cache

with cache.new_file(Path(sys.argv[1])) as temporary:
    temporary.write_bytes(b"half of a new im")
    sys.stdout.write("written")
    sys.stdout.flush()
    sys.stdin.read()
"""


def test_kill_9_in_the_middle_of_an_image_leaves_the_last_good_one(tmp_path: Path) -> None:
    """Images, modules and manifests are all written this way."""
    target = tmp_path / "some.image"
    target.write_bytes(b"the last good image")
    child = subprocess.Popen(
        [sys.executable, "-c", HALF_WRITTEN, str(target)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None and child.stdin is not None
    assert child.stdout.read(7) == b"written"
    child.send_signal(signal.SIGKILL)
    child.wait(HANG_GUARD_SECONDS)
    child.stdin.close()
    child.stdout.close()
    assert target.read_bytes() == b"the last good image"


COMMIT_FOR_EVER = """
import sys
from wasm_kernel import Session

session = Session(workspace=sys.argv[2])
session.execute("n = 0")
session.save(sys.argv[1])
for n in range(10**6):
    session.execute(f"n = {n}\\nopen('f', 'w').write('x' * 100_000)\\nbig = bytearray(5_000_000)")
    sys.stdout.write(".")
    sys.stdout.flush()
"""


def test_kill_9_in_the_middle_of_a_commit_leaves_what_was_saved(tmp_path: Path) -> None:
    path = tmp_path / "parked"
    for commits in (1, 3):
        child = subprocess.Popen(
            [sys.executable, "-c", COMMIT_FOR_EVER, str(path), str(tmp_path / "w")],
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None
        child.stdout.read(commits)
        os.kill(child.pid, signal.SIGKILL)
        child.wait(HANG_GUARD_SECONDS)
        child.stdout.close()
        with Session.load(path, workspace=tmp_path / "w") as session:
            assert session.get("n") == 0
            assert session.execute("open('f', 'w').write('works')").success
