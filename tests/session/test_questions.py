"""Completion, inspection, completeness and history of a session."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

import pytest

from wasm_kernel import GuestProtocolError, Session

from .conftest import Cell, MakeSession

RunCell = Callable[..., Cell]


# Completion.


def test_names_of_the_session_are_completed(session: Session) -> None:
    session.execute("velocity_of_light = 3\nvelocity_of_sound = 4")
    found = session.complete("x = velocity_")
    assert found["matches"] == ["velocity_of_light", "velocity_of_sound"]
    assert (found["start"], found["end"]) == (4, 13)


def test_completion_knows_types_and_signatures(shared: Session) -> None:
    code = "import os.path\nos.path.joi"
    found = shared.complete(code)
    assert "join" in found["matches"]
    (entry,) = [item for item in found["types"] if item["text"] == "join"]
    assert entry["type"] == "function" and "path" in entry["signature"]
    assert (entry["start"], entry["end"]) == (found["start"], found["end"])


def test_jedi_completes_what_was_never_run(shared: Session) -> None:
    assert "upper" in shared.complete("text = 'abc'\ntext.upp")["matches"]


def test_columns_files_and_magics_are_completed(session: Session) -> None:
    session.execute("import pandas as pd\ntable = pd.DataFrame({'height': [1], 'width': [2]})")
    (session.workspace / "data.csv").write_text("a\n")
    assert any("height" in match for match in session.complete("table['hei")["matches"])
    assert "height" in session.complete("table.hei")["matches"]
    assert any("data.csv" in match for match in session.complete("open('dat")["matches"])
    assert "%timeit" in session.complete("%timei")["matches"]


def test_the_cursor_may_be_anywhere(shared: Session) -> None:
    found = shared.complete("pri(1)\nlen", cursor=3)
    assert "print" in found["matches"] and (found["start"], found["end"]) == (0, 3)
    text = "'\U0001f600'.upp"
    found = shared.complete(text)
    assert found["end"] == len(text) and "upper" in found["matches"]


@pytest.mark.parametrize("code", ["", "   ", "(((", "'unterminated", "\U0001f600", "x" * 500])
def test_odd_code_has_no_completions_but_an_answer(shared: Session, code: str) -> None:
    found = shared.complete(code)
    assert isinstance(found["matches"], list)


@pytest.mark.parametrize("cursor", [-1, 10**6])
def test_a_cursor_outside_the_code_is_answered(shared: Session, cursor: int) -> None:
    try:
        found = shared.complete("pri", cursor=cursor)
    except GuestProtocolError as error:
        assert str(error)
    else:
        assert isinstance(found["matches"], list)


# Inspection.


def documented(session: Session, code: str, **options: int) -> str:
    """What an inspection says, without colours."""
    found = session.inspect(code, **options)
    assert found["found"]
    return re.sub(r"\x1b\[[0-9;]*m", "", found["data"]["text/plain"])


def test_inspect_short_and_long(session: Session) -> None:
    session.execute(
        "def area(width, height=2):\n    'Width times height.'\n    return width * height"
    )
    text = documented(session, "area", detail=0)
    assert "Width times height." in text and "width, height=2" in text
    assert "return width" not in text
    assert "return width" in documented(session, "area", detail=1)


def test_inspect_finds_the_call_around_the_cursor(session: Session) -> None:
    found = session.inspect("print(1, ", cursor=9)
    assert found["found"] and "print" in found["data"]["text/plain"]


def test_inspect_what_is_not_there(shared: Session) -> None:
    assert shared.inspect("no_such_name_at_all") == {"found": False}
    assert shared.inspect("") == {"found": False}


# Completeness.


@pytest.mark.parametrize(
    ("code", "status", "indent"),
    [
        ("x = 1", "complete", ""),
        ("for i in range(3):", "incomplete", "    "),
        ("if x:\n    y = (1,", "incomplete", "    "),
        ("def f():\n    return 1\n", "complete", ""),
        ("x = = 1", "invalid", ""),
        ("'''open", "incomplete", ""),
        ("%timeit x", "complete", ""),
        ("", "complete", ""),
    ],
)
def test_is_complete(shared: Session, code: str, status: str, indent: str) -> None:
    found = shared.is_complete(code)
    assert found["status"] == status
    if status == "incomplete":
        assert found["indent"] == indent


# History.


@pytest.fixture
def lived(session: Session) -> Session:
    """A session with five inputs."""
    for code in ("a = 1", "b = 2", "a + b", "%who", "a = 1"):
        session.execute(code)
    return session


def test_history_tail(lived: Session) -> None:
    assert lived.history("tail", n=2) == [[0, 4, "%who"], [0, 5, "a = 1"]]
    assert lived.history("tail", n=0) == []
    assert len(lived.history("tail", n=100)) == 5


def test_history_range(lived: Session) -> None:
    assert [row[2] for row in lived.history("range")] == [
        "a = 1",
        "b = 2",
        "a + b",
        "%who",
        "a = 1",
    ]
    assert lived.history("range", start=2, stop=4) == [[0, 2, "b = 2"], [0, 3, "a + b"]]
    assert lived.history("range", start=3, stop=4, output=True) == [[0, 3, ["a + b", "3"]]]
    assert "run_line_magic" in lived.history("range", start=4, stop=5, raw=False)[0][2]


def test_history_search(lived: Session) -> None:
    assert [row[2] for row in lived.history("search", pattern="a*")] == ["a = 1", "a + b", "a = 1"]
    found = lived.history("search", pattern="a = *", unique=True)
    assert [row[2] for row in found] == ["a = 1"]
    assert lived.history("search", pattern="a*", n=1) == [[0, 5, "a = 1"]]
    assert lived.history("search", pattern="nothing*") == []


def test_history_follows_undo(lived: Session) -> None:
    lived.undo(3)
    assert [row[2] for row in lived.history("range")] == ["a = 1", "b = 2"]


# What a question leaves behind: nothing.


def test_a_question_changes_no_variable(session: Session, cell: RunCell) -> None:
    session.execute(
        "seen = []\n"
        "class Nosy:\n"
        "    def __repr__(self):\n        seen.append('repr')\n        return 'Nosy'\n"
        "nosy = Nosy()"
    )
    assert session.inspect("nosy")["found"]
    assert cell(session, "seen").value == "[]"


def test_a_question_changes_no_file(session: Session) -> None:
    session.execute(
        "class Nosy:\n    def __repr__(self):\n"
        "        open('left', 'w').close()\n        return 'Nosy'\n"
        "nosy = Nosy()"
    )
    assert session.inspect("nosy")["found"]
    assert not (session.workspace / "left").exists()


def test_a_question_does_not_change_the_fuel_of_the_next_cell(
    make_session: MakeSession, cell: RunCell
) -> None:
    session = make_session()
    cell(session, "x = 1")
    with session.fork() as first, session.fork() as second:
        first.execute("x")
        second.execute("x")
        first.complete("x.bit")
        assert (
            first.execute("sum(range(1000))").fuel_consumed
            == second.execute("sum(range(1000))").fuel_consumed
        )


def test_a_question_is_no_cell(session: Session) -> None:
    session.execute("x = 1")
    before = (session.undo_depth, session.execution_count)
    session.complete("x")
    session.inspect("x")
    session.is_complete("x")
    session.history("tail", n=1)
    session.get("x")
    assert (session.undo_depth, session.execution_count) == before


def test_a_question_that_never_ends_can_be_interrupted(
    session: Session,
) -> None:
    session.execute(
        "class Endless:\n    def __repr__(self):\n        while True: pass\n"
        "endless = Endless()\nkept = 1"
    )
    started = threading.Event()
    failure: list[BaseException] = []

    def ask() -> None:
        started.set()
        try:
            session.inspect("endless")
        except GuestProtocolError as error:
            failure.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    started.wait()
    # The question may not have entered the guest yet: an interrupt before that is for nobody.
    while asking.is_alive():
        session.interrupt()
        asking.join(0.02)
    assert failure and "given up" in str(failure[0])
    assert session.get("kept") == 1
