"""What a result says about a cell, and the mode in which it says the same twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wasm_kernel import FileChange, Session
from wasm_kernel.core.events import Event, InputEvent
from wasm_kernel.host.pages import PAGE

from .conftest import Cell, MakeSession

RunCell = Callable[..., Cell]

CELLS = [
    "import math, collections",
    "total = sum(math.sqrt(n) for n in range(2000))\ntotal",
    "words = collections.Counter('the quick brown fox jumps over it' * 20)\nwords.most_common(3)",
    "import pandas as pd\nframe = pd.DataFrame({'a': range(50), 'b': list('xy') * 25})",
    "frame.groupby('b').sum()",
    "open('out.txt', 'w').write('x' * 1000)\nopen('out.txt').read(3)",
    "1/0",
    "{w for w in 'set order depends on hashes'.split()}",
    "class Point:\n    def __init__(self, x): self.x = x\n"
    "    def __repr__(self): return f'P({self.x})'\n"
    "sorted([Point(n) for n in (3, 1, 2)], key=lambda p: p.x)",
]


# Fuel.


def test_fuel_is_repeatable_to_the_instruction(make_session: MakeSession, tmp_path: Path) -> None:
    """The same code in the same state, in two forks with folders of their own."""
    origin = make_session()
    origin.execute("start = [n ** 2 for n in range(100)]")
    with origin.fork(tmp_path / "one") as first, origin.fork(tmp_path / "two") as second:
        for code in CELLS:
            one, two = first.execute(code), second.execute(code)
            assert one.fuel_consumed == two.fuel_consumed, code


def test_fuel_is_repeatable_after_undo(session: Session) -> None:
    session.execute("x = list(range(100))")
    session.execute("1")
    used = set()
    for _ in range(3):
        used.add(session.execute("sorted(x, reverse=True)[0]").fuel_consumed)
        session.undo()
    assert len(used) == 1


def test_fuel_is_repeatable_after_a_rollback(session: Session) -> None:
    session.execute("x = list(range(100))\nimport os")
    session.execute("1")
    first = session.execute("sorted(x, reverse=True)[0]").fuel_consumed
    session.undo()
    assert session.execute("x.clear()\nos.abort()").rolled_back
    assert session.execute("sorted(x, reverse=True)[0]").fuel_consumed == first


def test_fuel_grows_with_the_work_and_the_shell_is_apart(session: Session) -> None:
    session.execute("1")
    small = session.execute("for _ in range(10_000): pass")
    large = session.execute("for _ in range(100_000): pass")
    assert small.fuel_consumed is not None and large.fuel_consumed is not None
    assert 5 < large.fuel_consumed / small.fuel_consumed < 15
    assert 0 < small.fuel_overhead < 100_000_000
    failed = session.execute("1/0")
    assert failed.fuel_consumed is not None
    assert failed.fuel_consumed < 10_000_000 < failed.fuel_overhead


def test_the_budget_is_for_the_users_code(make_session: MakeSession) -> None:
    session = make_session(fuel_budget=2_000_000)
    assert session.execute("x = 1").success
    result = session.execute("1/0")
    assert result.error is not None and result.error.name == "ZeroDivisionError"
    assert session.execute("for _ in range(10**6): pass").limit.value == "fuel"


def test_the_first_magic_of_a_kind_is_paid_for_in_the_image(session: Session) -> None:
    for code in ("%pwd", "!ls"):
        result = session.execute(code)
        assert result.fuel_consumed is not None and result.fuel_consumed < 10_000_000, code


# Memory and time.


def test_pages_and_memory(session: Session) -> None:
    session.execute("x = 1")
    small = session.execute("x = 2")
    assert 0 < small.pages_committed < 3000
    pages = session.committed_pages
    large = session.execute("big = bytearray(b'x') * 40_000_000")
    assert large.pages_committed > 40_000_000 // PAGE
    assert session.committed_pages > pages + 40_000_000 // PAGE
    assert session.execute("x = 3", settle=False).pages_committed == 0
    assert large.memory_used_bytes == large.memory_peak_bytes == session.memory_bytes
    assert large.memory_used_bytes >= small.memory_used_bytes + 30_000_000
    assert large.memory_used_bytes % 65536 == 0


def test_times(session: Session) -> None:
    result = session.execute("import time\ntime.sleep(0.05)")
    assert 50 <= result.guest_ms <= result.duration_ms


# Files.


def test_files_with_size_and_type(session: Session) -> None:
    result = session.execute(
        "import os\nos.makedirs('sub')\n"
        "open('a.csv', 'w').write('x,y\\n')\nopen('sub/b.json', 'w').write('{}')\n"
        "open('c', 'w').close()\n"
        "open('gone', 'w').close(); os.remove('gone')"
    )
    assert result.files == [
        FileChange(path="a.csv", change="created", size=4, type="text/csv"),
        FileChange(path="c", change="created", size=0, type="application/octet-stream"),
        FileChange(path="sub/b.json", change="created", size=2, type="application/json"),
    ]
    assert result.files_created == ["a.csv", "c", "sub/b.json"]
    result = session.execute(
        "open('a.csv', 'a').write('1,2\\n')\nos.remove('c')\nopen('sub/b.json').read()"
    )
    assert [(f.path, f.change, f.size) for f in result.files] == [
        ("a.csv", "modified", 8),
        ("c", "deleted", 0),
    ]
    assert (result.files_modified, result.files_deleted) == (["a.csv"], ["c"])


def test_reading_changes_nothing(session: Session) -> None:
    (session.workspace / "in.txt").write_text("text")
    result = session.execute("open('in.txt').read()\nimport os\nos.listdir()\nos.stat('in.txt')")
    assert result.files == []


def test_a_renamed_file_is_one_deleted_and_one_created(session: Session) -> None:
    (session.workspace / "old").write_text("text")
    result = session.execute("import os\nos.rename('old', 'new')")
    assert (result.files_created, result.files_deleted) == (["new"], ["old"])


# Results as data.


def test_a_result_survives_json(session: Session) -> None:
    result = session.execute("print('x')\n1/0", user_expressions={"a": "1"})
    assert type(result).model_validate_json(result.model_dump_json()) == result


# Determinism.

CHANCE = [
    "import random, time, uuid, os, datetime, tempfile, secrets\nimport numpy as np, pandas as pd",
    "random.random(), np.random.rand(3).tolist(), np.random.default_rng().random()",
    "uuid.uuid4(), secrets.token_hex(), os.urandom(8)",
    "time.time(), datetime.datetime.now(), time.monotonic(), time.perf_counter()",
    "time.sleep(5)\ntime.time()",
    "tempfile.mktemp()",
    "os.stat('/app').st_ino, os.stat('/app').st_dev, os.path.samefile('.', '/app')",
    "for name in 'qwertyuiop': open(name, 'w').close()",
    "os.listdir(), [entry.name for entry in os.scandir()]",
    "{'a', 'b', 'c', 'd'}, hash('text')",
    "object()",
    "import matplotlib.pyplot as plt\nplt.scatter(np.random.rand(5), np.random.rand(5));",
    "1/0",
    "name = input('?')\nname",
    "%time sum(range(1000))",
    "await __import__('asyncio').sleep(0.5, 'slept')",
]


def played(session: Session, codes: list[str]) -> list[tuple[object, ...]]:
    """Everything that a notebook shows and uses."""
    found: list[tuple[object, ...]] = []
    for code in codes:
        events: list[str] = []

        def on_event(event: Event, events: list[str] = events) -> str | None:
            is_question = isinstance(event, InputEvent)
            events.append("input" if is_question else repr(event))
            return "answer" if is_question else None

        result = session.execute(code, on_event=on_event, allow_stdin=True)
        found.append((code, result.fuel_consumed, result.fuel_overhead, *events))
    return found


def test_the_same_notebook_gives_the_same_outputs_and_fuel(
    make_session: MakeSession, tmp_path: Path
) -> None:
    first, second = (
        played(make_session(workspace=tmp_path / name, deterministic=True, seed=7), CHANCE)
        for name in ("one", "two")
    )
    for one, two in zip(first, second, strict=True):
        assert one == two
    other = played(
        make_session(workspace=tmp_path / "three", deterministic=True, seed=8), CHANCE[:2]
    )
    assert other[1][3:] != first[1][3:]


def test_without_it_the_same_notebook_differs(make_session: MakeSession, tmp_path: Path) -> None:
    """So that the test above shows something."""
    first, second = (
        played(make_session(workspace=tmp_path / name), CHANCE[:4]) for name in ("one", "two")
    )
    for place in (1, 2, 3):
        assert first[place][3:] != second[place][3:]


def test_determinism_survives_rollback_and_undo(make_session: MakeSession, tmp_path: Path) -> None:
    plain = make_session(workspace=tmp_path / "plain", deterministic=True)
    troubled = make_session(workspace=tmp_path / "troubled", deterministic=True)
    codes = CHANCE[:4]
    expected = played(plain, codes)
    found = []
    for code in codes:
        found += played(troubled, [code])
        assert troubled.execute("import os\nos.urandom(100); os.abort()").rolled_back
        troubled.execute("import time, random\ntime.sleep(3); random.random()")
        troubled.undo()
    assert [row[0:1] + row[3:] for row in found] == [row[0:1] + row[3:] for row in expected]


def test_determinism_survives_questions(make_session: MakeSession, tmp_path: Path) -> None:
    plain = make_session(workspace=tmp_path / "plain", deterministic=True)
    asked = make_session(workspace=tmp_path / "asked", deterministic=True)
    chance = """
import os, time
class Chance:
    def __dir__(self):
        return [time.ctime(), str(os.urandom(8))]
chance = Chance()
"""
    played(plain, [chance])
    played(asked, [chance])
    for code in CHANCE[:4]:
        expected = played(plain, [code])
        asked.complete("chance.")
        found = played(asked, [code])
        assert [row[3:] for row in found] == [row[3:] for row in expected]


def test_a_question_leaves_an_open_file_where_it_is(session: Session) -> None:
    session.execute("open('text', 'w').write('0123456789')")
    session.execute("file = open('text'); first = file.buffer.raw.read(2)")
    session.execute("class Reader:\n    def __dir__(self):\n        return file.buffer.raw.read(3)")
    session.execute("reader = Reader()")
    session.complete("reader.")
    assert session.execute("print(first, file.buffer.raw.read(2))").stdout == "b'01' b'23'\n"


def test_listings_are_sorted_after_the_first_cell_was_undone(make_session: MakeSession) -> None:
    session = make_session(deterministic=True)
    for name in "qwertyuiopasdfghjkl":
        (session.workspace / name).touch()
    session.execute("1")
    session.undo()
    assert (
        session.execute("import os\nprint(os.listdir() == sorted(os.listdir()))").stdout == "True\n"
    )


@pytest.mark.parametrize("how", ["fork", "resume"])
def test_a_deterministic_session_goes_on_deterministically(
    make_session: MakeSession, tmp_path: Path, how: str
) -> None:
    """Two continuations of one state are the same, and time does not run backwards in them."""
    session = make_session(deterministic=True)
    before = float(session.execute("import time, random\nprint(time.time())").stdout)
    session.save(tmp_path / "parked")
    found = []
    for name in ("one", "two"):
        if how == "fork":
            twin = session.fork(tmp_path / name)
        else:
            twin = Session.load(
                tmp_path / "parked", policy=session.policy, workspace=tmp_path / name
            )
        with twin:
            found.append(twin.execute("print(time.time(), random.random())").stdout)
    assert found[0] == found[1]
    assert float(found[0].split()[0]) > before
