"""Undo, checkpoints and forks: going back, and going on twice."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from wasm_kernel import CheckpointError, Session, timeline
from wasm_kernel.core.errors import WasmKernelError
from wasm_kernel.host.pages import CommittedMemory

from .conftest import Cell, MakeSession, state_digest

RunCell = Callable[..., Cell]
Strategy = type[CommittedMemory]

DRAW = (
    "import json, random, tempfile, uuid\n"
    "import numpy as np\n"
    "print(json.dumps([random.random(), np.random.rand(), str(uuid.uuid4()),\n"
    "    tempfile.mktemp(), np.random.default_rng().random(), random.getrandbits(64)]))"
)


def drawn(session: Session) -> list[object]:
    """What a session draws by chance."""
    found: list[object] = json.loads(session.execute(DRAW).stdout)
    return found


# Undo.


def test_undo_steps_back_cell_by_cell(
    make_session: MakeSession, cell: RunCell, strategy: Strategy
) -> None:
    session = make_session(strategy=strategy)
    states = [state_digest(session)]
    for n in range(4):
        cell(
            session,
            f"n = {n}\nbig{n} = bytearray({n}) * 300_000\n"
            f"open('file', 'w').write('{n}' * (n + 1))\n{n}",
        )
        states.append(state_digest(session))
    assert session.undo_depth == 4 and session.execution_count == 4
    assert session.undo() == []
    assert state_digest(session) == states[3]
    ran = cell(session, "n, len(In), sorted(Out), _, 'big3' in globals()")
    assert ran.value == "(2, 5, [1, 2, 3], 2, False)" and ran.result.execution_count == 4
    session.undo()
    assert (session.workspace / "file").read_text() == "222"
    assert session.undo(2) == []
    assert state_digest(session) == states[1]
    assert (session.workspace / "file").read_text() == "0" and session.execution_count == 1
    session.undo()
    assert state_digest(session) == states[0]
    assert not (session.workspace / "file").exists()
    assert (session.undo_depth, session.execution_count) == (0, 0)


@pytest.mark.parametrize("cells", [0, -1, 3])
def test_an_impossible_undo_changes_nothing(session: Session, cell: RunCell, cells: int) -> None:
    cell(session, "x = 1")
    cell(session, "x = 2")
    with pytest.raises(CheckpointError):
        session.undo(cells)
    assert cell(session, "x").value == "2"


def test_undo_in_a_new_session(session: Session) -> None:
    with pytest.raises(CheckpointError, match="there is no cell to undo"):
        session.undo()


def test_rolled_back_cells_are_not_counted(session: Session, cell: RunCell) -> None:
    cell(session, "x = 1")
    cell(session, "x = 2")
    cell(session, "import os\nos.abort()")
    session.undo()
    assert cell(session, "x").value == "1"


def test_a_failed_cell_is_undone_like_any_other(session: Session, cell: RunCell) -> None:
    cell(session, "x = 1")
    cell(session, "x = 2\nopen('f', 'w').close()\n1/0")
    session.undo()
    assert cell(session, "x").value == "1" and not (session.workspace / "f").exists()


def test_undo_brings_back_open_files_and_the_folder(session: Session, cell: RunCell) -> None:
    cell(session, "import os\nos.makedirs('d')\nf = open('f', 'w+')\nf.write('abc')\nf.flush()")
    cell(session, "os.chdir('d')\nf.write('def')\nf.close()")
    session.undo()
    ran = cell(session, "f.write('!')\nf.flush()\nf.closed, os.getcwd(), f.tell()")
    assert ran.value == "(False, '/app', 4)"
    assert (session.workspace / "f").read_text() == "abc!"


def test_undo_keeps_files_that_somebody_else_changed(session: Session, cell: RunCell) -> None:
    cell(session, "open('a', 'w').write('guest')\nopen('b', 'w').write('guest')")
    (session.workspace / "a").write_text("the user's own words")
    assert session.undo() == ["a"]
    assert (session.workspace / "a").read_text() == "the user's own words"
    assert not (session.workspace / "b").exists()


def test_undo_of_the_first_cell_is_a_new_session(make_session: MakeSession, cell: RunCell) -> None:
    """The environment and the randomness of the first cell come again with the next."""
    session = make_session(env={"COLOUR": "red"})
    cell(session, "x = 1")
    session.undo()
    ran = cell(session, "import os\nos.environ.get('COLOUR'), 'x' in globals()")
    assert ran.value == "('red', False)"


def test_sessions_differ_after_their_first_cell_was_undone(make_session: MakeSession) -> None:
    found = []
    for _ in range(2):
        session = make_session()
        session.execute("x = 1")
        session.undo()
        found.append(drawn(session))
    assert all(a != b for a, b in zip(*found, strict=True))


def test_a_long_way_back(session: Session, cell: RunCell) -> None:
    cell(session, "values = []")
    start = state_digest(session)
    for n in range(40):
        session.execute(f"values.append({n})")
    session.undo(30)
    assert cell(session, "values").value == str(list(range(10)))
    session.undo(11)
    assert state_digest(session) == start


def test_grown_memory_shrinks_again(
    make_session: MakeSession, cell: RunCell, strategy: Strategy
) -> None:
    session = make_session(strategy=strategy)
    cell(session, "x = 1")
    before, digest = session.memory_bytes, state_digest(session)
    cell(session, "big = bytearray(b'y' * 20_000_000)")
    assert session.memory_bytes > before + 15_000_000
    session.undo()
    assert session.memory_bytes == before and state_digest(session) == digest
    cell(session, "again = bytearray(20_000_000)")
    assert cell(session, "x, sum(again)").value == "(1, 0)"


# The budget.


def test_the_oldest_cells_are_dropped_first(
    make_session: MakeSession, cell: RunCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "UNDO_MEMORY_BYTES", 12_000_000)
    session = make_session()
    session.checkpoint("start")
    cell(session, "import numpy as np\na = np.zeros(500_000)")
    session.checkpoint("middle")
    for n in range(6):
        cell(session, f"a[:] = {n + 1}")
    assert 1 <= session.undo_depth < 6
    assert session._timeline.held_bytes <= 12_000_000
    assert session.checkpoints() == []
    for name in ("start", "middle"):
        with pytest.raises(CheckpointError, match="dropped to stay within the undo budget"):
            session.restore(name)
    depth = session.undo_depth
    with pytest.raises(CheckpointError, match=f"{depth} can"):
        session.undo(depth + 1)
    session.undo(depth)
    assert cell(session, "float(a[0])").value == f"{6.0 - depth}"
    session.checkpoint("start")
    assert session.restore("start") == []


def test_only_so_many_cells_can_be_undone(
    make_session: MakeSession, cell: RunCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "UNDO_CELLS_MAX", 3)
    session = make_session()
    session.checkpoint("start")
    for n in range(5):
        cell(session, f"x = {n}")
    assert session.undo_depth == 3
    with pytest.raises(CheckpointError, match="dropped to stay within the undo budget"):
        session.restore("start")
    session.undo(3)
    assert cell(session, "x").value == "1"


def test_the_last_cell_can_always_be_undone(
    make_session: MakeSession, cell: RunCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "UNDO_MEMORY_BYTES", 1)
    session = make_session()
    cell(session, "x = 1")
    cell(session, "x = 2")
    assert session.undo_depth == 1
    session.undo()
    assert cell(session, "x").value == "1"


def test_dropped_cells_give_their_copies_of_files_back(
    make_session: MakeSession, cell: RunCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "UNDO_MEMORY_BYTES", 8_000_000)
    session = make_session()
    (session.workspace / "f").write_bytes(bytes(1_000_000))
    for n in range(10):
        cell(session, f"open('f', 'r+b').write(b'{n}')")
    held = session._preimages
    assert held.used <= 8_000_000
    assert held._folder is not None
    assert sum(path.stat().st_size for path in held._folder.iterdir()) == held.used


# Checkpoints.


def test_checkpoint_and_restore(session: Session, cell: RunCell, tmp_path: Path) -> None:
    cell(session, "x = 1\nopen('f', 'w').write('one')")
    session.checkpoint("one")
    cell(session, "x = 2\nopen('f', 'w').write('second')")
    session.checkpoint("two")
    session.checkpoint("also two")
    cell(session, "x = 3\nos = 1")
    assert session.checkpoints() == ["one", "also two", "two"]
    assert session.restore("two") == []
    assert cell(session, "x").value == "2"
    assert session.checkpoints() == ["one", "also two", "two"]
    session.restore("one")
    assert (session.workspace / "f").read_text() == "one"
    assert session.checkpoints() == ["one"]
    assert cell(session, "x").value == "1"
    session.restore("one")
    assert session.restore("one") == []


def test_a_checkpoint_of_now_is_where_we_are(session: Session, cell: RunCell) -> None:
    cell(session, "x = 1")
    session.checkpoint("now")
    assert session.restore("now") == []
    assert cell(session, "x").value == "1"


def test_a_name_that_is_set_again_moves(session: Session, cell: RunCell) -> None:
    session.checkpoint("here")
    cell(session, "x = 1")
    session.checkpoint("here")
    cell(session, "x = 2")
    assert session.checkpoints() == ["here"]
    session.restore("here")
    assert cell(session, "x").value == "1"


def test_an_unknown_checkpoint_names_those_there_are(session: Session) -> None:
    with pytest.raises(CheckpointError, match="there are: none"):
        session.restore("missing")
    session.checkpoint("known")
    with pytest.raises(CheckpointError, match="no checkpoint 'missing'; there are: 'known'"):
        session.restore("missing")


@pytest.mark.parametrize("name", ["", "x" * 201])
def test_a_bad_checkpoint_name(session: Session, name: str) -> None:
    with pytest.raises(CheckpointError, match="name"):
        session.checkpoint(name)


def test_undo_across_a_checkpoint(session: Session, cell: RunCell) -> None:
    cell(session, "x = 1")
    session.checkpoint("one")
    cell(session, "x = 2")
    session.undo(2)
    assert session.checkpoints() == []
    with pytest.raises(CheckpointError):
        session.restore("one")


# Forks.


def test_a_fork_is_independent(
    make_session: MakeSession, cell: RunCell, strategy: Strategy, tmp_path: Path
) -> None:
    session = make_session(strategy=strategy)
    cell(session, "import numpy as np\nx = [1]\na = np.arange(300_000)\n'out'")
    before = state_digest(session)
    with session.fork(tmp_path / "forked") as fork:
        assert state_digest(fork) == before and fork.execution_count == 1
        assert type(fork._live.memory) is strategy
        cell(fork, "x.append('fork')\na[:] = 7\ny = 1")
        assert state_digest(session) == before
        cell(session, "x.append('original')\na[:] = 8")
        assert cell(fork, "x, int(a[0]), 'y' in globals(), Out[1]").value == (
            "([1, 'fork'], 7, True, 'out')"
        )
        assert cell(session, "x, int(a[0]), 'y' in globals()").value == (
            "([1, 'original'], 8, False)"
        )
    assert cell(session, "x").value == "[1, 'original']"


def test_a_fork_outlives_its_origin(make_session: MakeSession, cell: RunCell) -> None:
    session = make_session()
    cell(session, "x = 1")
    with session.fork() as fork, fork.fork() as grandchild:
        session.close()
        assert cell(fork, "x").value == "1"
        assert cell(grandchild, "x").value == "1"
        assert grandchild.execution_count == 2 and fork.execution_count == 2


def test_a_fork_of_a_fork_keeps_what_cells_did_to_the_environment(
    make_session: MakeSession, cell: RunCell
) -> None:
    session = make_session(env={"GIVEN": "by the policy"})
    cell(session, "import os\nos.environ['GIVEN'] = 'by a cell'")
    with session.fork() as fork, fork.fork() as grandchild:
        for one in (grandchild, fork):
            assert cell(one, "os.environ['GIVEN']").value == "'by a cell'"


def test_a_fork_has_no_past_to_undo(session: Session, cell: RunCell) -> None:
    cell(session, "x = 1")
    session.checkpoint("one")
    with session.fork() as fork:
        assert fork.undo_depth == 0 and fork.checkpoints() == []
        cell(fork, "x = 2")
        fork.undo()
        assert cell(fork, "x").value == "1"


def test_a_fork_in_a_folder_of_its_own_has_copies_of_the_files(
    session: Session, cell: RunCell, tmp_path: Path
) -> None:
    cell(
        session,
        "import os, tempfile\nos.makedirs('d')\nopen('d/f', 'w').write('x')\ntempfile.mkstemp()",
    )
    (session.workspace / "link").symlink_to("/etc/passwd")
    with session.fork(tmp_path / "copy") as fork:
        assert sorted(str(p.relative_to(fork.workspace)) for p in fork.workspace.rglob("*")) == [
            "d", "d/f",
        ]  # fmt: skip
        cell(fork, "open('d/f', 'w').write('changed')")
        assert (session.workspace / "d" / "f").read_text() == "x"


def test_a_fork_in_a_folder_of_its_own_has_open_files_there(
    session: Session, cell: RunCell, tmp_path: Path
) -> None:
    cell(session, "f = open('log', 'w')\nf.write('one ')\nf.flush()")
    with session.fork(tmp_path / "copy") as fork:
        cell(fork, "f.write('fork')\nf.close()")
        cell(session, "f.write('original')\nf.close()")
        assert (fork.workspace / "log").read_text() == "one fork"
        assert (session.workspace / "log").read_text() == "one original"


def test_temporary_files_in_a_fork(session: Session, cell: RunCell, tmp_path: Path) -> None:
    assert cell(session, "import tempfile\ntempfile.mkstemp()").result.success
    with session.fork(tmp_path / "copy") as fork:
        ran = cell(fork, "tempfile.mkstemp()\ntempfile.mkdtemp()")
        assert ran.result.error is None


def test_the_environment_of_a_fork_is_the_origins(session: Session, cell: RunCell) -> None:
    cell(session, "import os\nos.environ['STAGE'] = 'two'\n%env COLOUR=red")
    with session.fork() as fork:
        assert cell(fork, "os.environ.get('STAGE'), os.environ.get('COLOUR')").value == (
            "('two', 'red')"
        )


def test_a_fork_beside_odd_files(session: Session, cell: RunCell, tmp_path: Path) -> None:
    """What is no file or folder is left out, or the fork says so and leaves nothing behind."""
    cell(session, "open('f', 'w').write('x')")
    os.mkfifo(session.workspace / "pipe")
    try:
        fork = session.fork(tmp_path / "copy")
    except WasmKernelError:
        assert not (tmp_path / "copy").exists()
    else:
        with fork:
            assert [path.name for path in fork.workspace.iterdir()] == ["f"]


def test_forks_and_their_origin_draw_different_numbers(
    make_session: MakeSession, strategy: Strategy, tmp_path: Path
) -> None:
    session = make_session(strategy=strategy)
    session.execute("import random, numpy as np\nrandom.seed(1); np.random.seed(1)")
    with session.fork() as first, session.fork() as second:
        columns = zip(drawn(session), drawn(first), drawn(second), strict=True)
        for column in columns:
            assert len(set(map(str, column))) == 3, column


def test_new_sessions_draw_different_numbers(make_session: MakeSession) -> None:
    first, second = drawn(make_session()), drawn(make_session())
    assert all(a != b for a, b in zip(first, second, strict=True))


def test_a_session_that_is_reseeded_by_its_user_is_repeatable(session: Session) -> None:
    found = set()
    for _ in range(2):
        found.add(session.execute("import random\nrandom.seed(5)\nprint(random.random())").stdout)
    assert len(found) == 1


def test_many_forks(session: Session, cell: RunCell) -> None:
    cell(session, "x = 1")
    forks = [session.fork() for _ in range(20)]
    try:
        for n, fork in enumerate(forks):
            fork.execute(f"x += {n}")
        assert [fork.get("x") for fork in forks] == [n + 1 for n in range(20)]
    finally:
        for fork in forks:
            fork.close()
    assert cell(session, "x").value == "1"
