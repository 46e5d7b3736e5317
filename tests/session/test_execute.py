"""Cells: events in order and typed, history, exceptions, input, rich outputs."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ipykernel.compiler import get_file_name

from wasm_kernel import Limit, SandboxExecutionError, Session
from wasm_kernel import session as session_module
from wasm_kernel.core.events import (
    ClearEvent,
    DisplayEvent,
    ErrorEvent,
    Event,
    InputEvent,
    ResultEvent,
    StreamEvent,
    UpdateEvent,
)

from .conftest import Cell, MakeSession, Running

RunCell = Callable[..., Cell]
PNG = b"\x89PNG\r\n\x1a\n"
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2]);"


def decoded(picture: object) -> bytes:
    return picture if isinstance(picture, bytes) else base64.b64decode(str(picture))


# Events.


def test_events_come_in_order_and_typed(session: Session, cell: RunCell) -> None:
    ran = cell(
        session,
        "import sys\n"
        "print('one')\n"
        "display({'text/plain': 'two', 'application/json': {'a': [1, None]}}, raw=True,\n"
        "        metadata={'m': 1})\n"
        "print('three', file=sys.stderr)\n"
        "from IPython.display import clear_output\n"
        "clear_output(wait=True)\n"
        "print('four')\n"
        "5",
    )
    assert ran.result.success and ran.result.exit_code == 0
    assert ran.events == [
        StreamEvent("stdout", "one\n"),
        DisplayEvent({"text/plain": "two", "application/json": {"a": [1, None]}}, {"m": 1}),
        StreamEvent("stderr", "three\n"),
        ClearEvent(wait=True),
        StreamEvent("stdout", "four\n"),
        ResultEvent({"text/plain": "5"}, {}, 1),
    ]
    assert (ran.result.stdout, ran.result.stderr) == ("one\nfour\n", "three\n")


def test_text_without_a_newline_comes_before_a_display(session: Session, cell: RunCell) -> None:
    ran = cell(session, "print('left', end='')\ndisplay(1)\nprint('right', end='')")
    assert [type(event) for event in ran.events] == [StreamEvent, DisplayEvent, StreamEvent]


def test_output_arrives_while_the_cell_runs(session: Session) -> None:
    seen: dict[str, bool] = {}
    flag = session.workspace / "flag"

    def on_event(event: Event) -> None:
        assert isinstance(event, StreamEvent)
        seen[event.text.strip()] = flag.exists()

    session.execute("print('before')\nopen('flag', 'w').close()\nprint('after')", on_event=on_event)
    assert seen == {"before": False, "after": True}


def test_a_display_arrives_while_the_cell_runs(session: Session) -> None:
    """The cell waits for a file that the host only makes when it sees the display."""

    def on_event(event: Event) -> None:
        if isinstance(event, DisplayEvent):
            (session.workspace / "seen").write_text("host was here")

    code = (
        "import os\ndisplay('go on')\n"
        "while not os.path.exists('seen'): pass\n"
        "print(open('seen').read())"
    )
    assert session.execute(code, on_event=on_event).stdout == "host was here\n"


def test_without_a_listener_streams_are_in_the_result(session: Session) -> None:
    result = session.execute("import sys\nprint('out')\nprint('err', file=sys.stderr)\n1")
    assert (result.stdout, result.stderr) == ("out\n", "err\n")


def test_unicode_survives_the_stream(session: Session, cell: RunCell) -> None:
    text = "naïve ☃ 漢字 \U0001f600"
    ran = cell(session, f"print({text!r})\n{text!r}")
    assert ran.stdout == text + "\n"
    assert ran.value == repr(text)


def test_the_two_streams_keep_their_order_however_much_is_printed(
    session: Session, cell: RunCell
) -> None:
    ran = cell(
        session,
        "import sys\n"
        "for round in range(40):\n"
        "    for n in range(100):\n        print(round, n)\n"
        "    print('between', round, file=sys.stderr)\n",
    )
    written = "".join(event.text for event in ran.of(StreamEvent))
    assert written == "".join(
        "".join(f"{round} {n}\n" for n in range(100)) + f"between {round}\n" for round in range(40)
    )


def test_what_was_printed_is_seen_before_a_sleep(session: Session) -> None:
    """After so many lines they come in batches, but not one that waits for the sleeper."""
    seen = []

    def on_event(event: Event) -> None:
        if isinstance(event, StreamEvent):
            seen.append(event.text)
            if "last" in event.text:
                session.interrupt()

    result = session.execute(
        "import time\nfor n in range(2000):\n    print(n)\nprint('last')\ntime.sleep(10**6)",
        on_event=on_event,
    )
    assert result.limit is Limit.INTERRUPTED
    assert "".join(seen).endswith("1999\nlast\n")


def test_lone_surrogates_are_printed_as_escapes(session: Session, cell: RunCell) -> None:
    assert cell(session, "print('a\\ud800b')").stdout == "a\\ud800b\n"


def test_streams_are_capped_while_they_stream(make_session: MakeSession, cell: RunCell) -> None:
    session = make_session(stdout_max_bytes=1000, stderr_max_bytes=10)
    ran = cell(session, "import sys\nprint('x' * 5000)\nprint('e' * 20, file=sys.stderr)")
    assert ran.result.success
    assert ran.stdout == "x" * 1000 and ran.stderr == "e" * 10
    assert (ran.result.stdout_bytes, ran.result.stderr_bytes) == (5001, 21)
    assert ran.result.stdout_truncated and ran.result.stderr_truncated
    assert not cell(session, "print(1)").result.stdout_truncated


@pytest.mark.parametrize("bad", ["a\0b", "\ud800"])
def test_code_that_is_no_text_is_refused(shared: Session, bad: str) -> None:
    with pytest.raises(ValueError, match="must not contain"):
        shared.execute(bad)


def test_code_of_another_type_is_refused(shared: Session) -> None:
    with pytest.raises(TypeError, match="bytes"):
        shared.execute(b"1")  # type: ignore[arg-type]


def test_too_much_code_is_refused(make_session: MakeSession) -> None:
    with pytest.raises(ValueError, match="code_max_bytes"):
        make_session(code_max_bytes=10).execute("x = 1 # and more")


@pytest.mark.parametrize("code", ["", "   \n\n", "# only a comment"])
def test_an_empty_cell_does_nothing(session: Session, cell: RunCell, code: str) -> None:
    ran = cell(session, code)
    assert ran.result.success and ran.events == []


def test_a_listener_that_raises_rolls_the_cell_back(session: Session) -> None:
    session.execute("x = 1")

    def on_event(event: Event) -> None:
        if isinstance(event, StreamEvent):
            raise RuntimeError("the listener broke")

    result = session.execute("x = 2\nprint(x)", on_event=on_event)
    assert not result.success and result.rolled_back
    assert result.error is not None and "the listener broke" in result.error.value
    assert session.get("x") == 1


# Counting and history.


def test_execution_count_and_history_names(session: Session, cell: RunCell) -> None:
    assert cell(session, "10").result.execution_count == 1
    assert cell(session, "20").result.execution_count == 2
    assert cell(session, "30;").of(ResultEvent) == []
    assert cell(session, "_, __, ___").value == "(20, 10, '')"
    ran = cell(session, "In[1], Out[2], _1, _i, len(In), 3 in Out")
    assert ran.value == "('10', 20, 10, '_, __, ___', 6, False)"
    assert session.execution_count == 5
    (event,) = cell(session, "'last'").of(ResultEvent)
    assert event.execution_count == 6


def test_a_failed_cell_counts_too(session: Session, cell: RunCell) -> None:
    assert cell(session, "1/0").result.execution_count == 1
    assert cell(session, "this is not python").result.execution_count == 2
    assert cell(session, "1").result.execution_count == 3


def test_silent_leaves_no_trace(session: Session, cell: RunCell) -> None:
    cell(session, "1")
    ran = cell(session, "hidden = 2\nprint('text')\nhidden", silent=True)
    assert ran.result.success and ran.of(ResultEvent) == []
    ran = cell(session, "hidden, len(In), sorted(Out)")
    assert ran.value == "(2, 3, [1])"
    assert ran.result.execution_count == 2


def test_without_history_the_result_is_shown_but_not_kept(session: Session, cell: RunCell) -> None:
    ran = cell(session, "41 + 1", store_history=False)
    assert ran.value == "42"
    ran = cell(session, "len(In)")
    assert (ran.value, ran.result.execution_count) == ("2", 1)


def test_user_expressions(session: Session, cell: RunCell) -> None:
    ran = cell(
        session,
        "x = 7",
        user_expressions={"good": "x * 2", "bad": "missing", "broken": "1 +"},
    )
    found = ran.result.user_expressions
    assert ran.result.success
    assert found["good"] == {"status": "ok", "data": {"text/plain": "14"}, "metadata": {}}
    assert (found["bad"]["status"], found["bad"]["ename"]) == ("error", "NameError")
    assert (found["broken"]["status"], found["broken"]["ename"]) == ("error", "SyntaxError")
    assert ran.of(ErrorEvent) == []


def test_user_expressions_are_not_evaluated_after_an_error(session: Session, cell: RunCell) -> None:
    """As ipykernel has it: nothing more runs once the cell has failed."""
    ran = cell(session, "1/0", user_expressions={"touch": "open('touched', 'w').close()"})
    assert not ran.result.success
    assert not (session.workspace / "touched").exists()


# Exceptions.


def test_an_exception_keeps_the_state(session: Session, cell: RunCell) -> None:
    ran = cell(session, "kept = 1\nopen('kept.txt', 'w').write('x')\n1/0\nnever = 1")
    assert not ran.result.success and not ran.result.rolled_back
    assert ran.result.exit_code == 1 and ran.result.limit is Limit.NONE
    assert (ran.error.name, ran.error.value) == ("ZeroDivisionError", "division by zero")
    assert ran.result.files_created == ["kept.txt"]
    assert cell(session, "kept, 'never' in globals()").value == "(1, False)"


def test_tracebacks_name_the_cell_and_nothing_of_the_shell(session: Session, cell: RunCell) -> None:
    cell(session, "def fails():\n    raise ValueError('deep inside')")
    text = "\n".join(cell(session, "fails()").error.traceback)
    assert "In[1]" in text and "In[2]" in text and "deep inside" in text
    assert "wasm_guest" not in text and "interactiveshell" not in text


def test_frames_without_source_lines_are_not_guessed_about(session: Session, cell: RunCell) -> None:
    ran = cell(session, "import collections\ncollections.ChainMap()['x']")
    text = "\n".join(ran.error.traceback)
    assert "__missing__" in text and "Could not get source" not in text
    ran = cell(session, "import pandas as pd\npd.DataFrame({'a': [1]})['nothing']")
    text = "\n".join(ran.error.traceback)
    assert "pandas/_libs/index.pyx" in text and "Could not get source" not in text
    text = "\n".join(cell(session, "exec('def f():\\n 1/0\\nf()')").error.traceback)
    assert "Could not get source" in text


def test_an_error_in_long_modules_is_shown(session: Session, cell: RunCell) -> None:
    """Packages that a user brings have files of thousands of lines."""
    filler = "".join(f"def f{n}(x):\n    return [x, {n}, 'text']\n\n" for n in range(900))
    for name, end in (("one", "import two"), ("two", "import three"), ("three", "1 / 0")):
        (session.workspace / f"{name}.py").write_text(f"{filler}{end}\n")
    error = cell(session, "import one").error
    assert error.name == "ZeroDivisionError"
    text = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback))
    assert "2701 import two" in text and "-> 2701 1 / 0" in text


def test_chained_and_grouped_exceptions_are_shown(session: Session, cell: RunCell) -> None:
    ran = cell(session, "try:\n    1/0\nexcept Exception as e:\n    int('x')")
    text = "\n".join(ran.error.traceback)
    assert "ZeroDivisionError" in text and "ValueError" in text
    ran = cell(session, "raise ExceptionGroup('many', [ValueError('first'), TypeError('second')])")
    assert ran.result.error is not None and ran.result.error.name == "ExceptionGroup"
    text = ran.stderr + "".join("\n".join(e.traceback) for e in ran.of(ErrorEvent))
    assert "ValueError: first" in text and "TypeError: second" in text


def test_a_syntax_error_is_an_error_event(session: Session, cell: RunCell) -> None:
    ran = cell(session, "def f(:\n  pass")
    assert ran.error.name == "SyntaxError" and "In[1]" in "\n".join(ran.error.traceback)


def test_a_syntax_error_names_the_cell_as_ipykernel_does(session: Session, cell: RunCell) -> None:
    code = 'print "hello"'
    name = Path(get_file_name(code)).name
    assert cell(session, code).error.value.endswith(f"print(...)? ({name}, line 1)")
    # Other texts that are compiled keep their own names.
    assert cell(session, "eval('1 +')").error.value == "invalid syntax (<string>, line 1)"


def test_an_unfinished_cell_is_a_plain_syntax_error(session: Session, cell: RunCell) -> None:
    error = cell(session, "x = [1, 2").error
    assert error.name == "SyntaxError" and "Incomplete" not in "".join(error.traceback)
    assert "SyntaxError" in "".join(error.traceback)


def test_cells_have_the_names_of_files(session: Session, cell: RunCell) -> None:
    ran = cell(session, "import inspect, warnings\ndef f(): return 1\nwarnings.warn('careful')")
    assert re.match(r"/tmp/ipykernel_\d+/\d+\.py:3: UserWarning: careful\n  warn", ran.stderr)
    code = "inspect.getsource(f), inspect.getsourcefile(f) == f.__code__.co_filename"
    assert cell(session, code).value == "('def f(): return 1\\n', True)"


def test_what_is_printed_of_an_error_has_the_numbers_of_linux(
    session: Session, cell: RunCell
) -> None:
    code = (
        "import sys\ntry: open('missing')\nexcept OSError as error:\n"
        "    print('Error:', error)\n    print(f'{error!r}', file=sys.stderr)\n"
        "    kept = error\nkept"
    )
    ran = cell(session, code)
    assert ran.stdout == "Error: [Errno 2] No such file or directory: 'missing'\n"
    assert ran.stderr == "FileNotFoundError(2, 'No such file or directory')\n"
    assert ran.value == "FileNotFoundError(2, 'No such file or directory')"
    # A text that only looks like one stays, and a write answers for what it was given.
    ran = cell(session, "print(OSError(44, 'text'))\nsys.stdout.write(str(kept))")
    assert ran.stdout.startswith("[Errno 44] text\n[Errno 2] No")
    assert ran.value == str(len("[Errno 44] No such file or directory: 'missing'"))


def test_a_traceback_has_the_error_numbers_of_linux(session: Session, cell: RunCell) -> None:
    error = cell(session, "open('missing')").error
    assert error.value == "[Errno 2] No such file or directory: 'missing'"
    assert error.value in "".join(error.traceback)
    code = (
        "import errno, os\nos.mkdir('there')\n"
        "try: os.mkdir('there')\n"
        "except OSError as error: raise RuntimeError(str(error)) from error"
    )
    error = cell(session, code).error
    assert error.value == "[Errno 17] File exists: 'there'"
    assert any("FileExistsError" in line and "[Errno 17]" in line for line in error.traceback)
    # What a program compares is the system's own; a number that means something else stays.
    assert cell(session, "sys_error = OSError(44, 'text')\nraise sys_error").error.value == (
        "[Errno 44] text"
    )
    code = "try: open('missing')\nexcept OSError as error: same = error.errno == errno.ENOENT\nsame"
    assert cell(session, code).value == "True"


def test_the_names_that_every_module_has_are_there(session: Session, cell: RunCell) -> None:
    code = "print(*[name for name in dir() if name.startswith('__') and len(name) > 3])"
    assert cell(session, code).stdout == (
        "__builtin__ __builtins__ __doc__ __loader__ __name__ __package__ __spec__\n"
    )


def test_an_exception_without_a_text(session: Session, cell: RunCell) -> None:
    code = "class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd"
    ran = cell(session, code)
    assert ran.error.name == "Odd"
    assert cell(session, "1").value == "1"


def test_a_deep_recursion_is_an_ordinary_exception(session: Session, cell: RunCell) -> None:
    ran = cell(session, "before = 1\ndef f(): return f()\nf()")
    assert ran.error.name == "RecursionError" and not ran.result.rolled_back
    assert len(ran.error.traceback) < 200
    assert cell(session, "before").value == "1"


def test_an_exception_is_in_the_names_that_debuggers_look_at(
    session: Session, cell: RunCell
) -> None:
    cell(session, "1/0")
    assert cell(session, "import sys\nsys.last_value").value.startswith("ZeroDivisionError")
    assert "ZeroDivisionError" in "\n".join(cell(session, "%tb").of(ErrorEvent)[0].traceback)


@pytest.mark.parametrize(("code", "value"), [("3", "3"), ("", ""), ("'stop'", "stop")])
def test_sys_exit_is_an_error_that_ends_nothing(
    session: Session, cell: RunCell, code: str, value: str
) -> None:
    ran = cell(session, f"x = 1\nimport sys\nsys.exit({code})\nx = 2")
    assert ran.error.name == "SystemExit" and ran.error.value == value
    assert not ran.result.rolled_back and ran.result.metadata["exit"] is False
    assert cell(session, "x").value == "1"


@pytest.mark.parametrize("code", ["exit()", "quit()", "exit", "quit"])
def test_exit_and_quit_ask_the_host(session: Session, cell: RunCell, code: str) -> None:
    cell(session, "x = 1")
    ran = cell(session, code)
    assert ran.result.success and ran.result.metadata["exit"] is True
    ran = cell(session, "x")
    assert ran.value == "1" and ran.result.metadata["exit"] is False


# Rich outputs.


def test_display_ids_and_updates(session: Session, cell: RunCell) -> None:
    ran = cell(session, "h = display('a', display_id='mine')\nh.update('b')")
    assert ran.events == [
        DisplayEvent({"text/plain": "'a'"}, {}, "mine"),
        UpdateEvent({"text/plain": "'b'"}, {}, "mine"),
    ]
    ran = cell(session, "h.update('from a later cell')\nother = display(1, display_id=True)")
    update, display = ran.events
    assert isinstance(update, UpdateEvent) and update.display_id == "mine"
    assert isinstance(display, DisplayEvent) and display.display_id not in (None, "mine")


def test_clear_output(session: Session, cell: RunCell) -> None:
    ran = cell(
        session,
        "from IPython.display import clear_output\n"
        "print(1, end='')\nclear_output()\nprint(2, end='')",
    )
    assert ran.events == [
        StreamEvent("stdout", "1"),
        ClearEvent(wait=False),
        StreamEvent("stdout", "2"),
    ]


def test_an_animation_may_go_on(make_session: MakeSession, cell: RunCell) -> None:
    session = make_session(display_max_count=5)
    code = (
        "from IPython.display import clear_output\n"
        "for i in range(20):\n    clear_output(wait=True)\n    display(i)"
    )
    ran = cell(session, code)
    assert len(ran.of(DisplayEvent)) == 20 and ran.stderr == ""


@pytest.mark.parametrize(
    ("made", "mime"),
    [
        ("HTML('<b>x</b>')", "text/html"),
        ("Markdown('*x*')", "text/markdown"),
        ("Latex('$x$')", "text/latex"),
        ("JSON({'a': 1})", "application/json"),
        ("SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>')", "image/svg+xml"),
        ("Javascript('1')", "application/javascript"),
    ],
)
def test_rich_types(shared: Session, cell: RunCell, made: str, mime: str) -> None:
    (event,) = cell(shared, f"from IPython.display import *\ndisplay({made})").of(DisplayEvent)
    assert mime in event.data


def test_a_frame_shows_text_and_html(shared: Session, cell: RunCell) -> None:
    ran = cell(shared, "import pandas as pd\npd.DataFrame({'a': [1, 2]})")
    (event,) = ran.of(ResultEvent)
    assert set(event.data) >= {"text/plain", "text/html"} and "<table" in event.data["text/html"]


def test_a_picture_crosses_as_png(shared: Session, cell: RunCell) -> None:
    ran = cell(shared, "from PIL import Image\nImage.new('RGB', (3, 2), 'red')")
    (event,) = ran.of(ResultEvent)
    assert decoded(event.data["image/png"]).startswith(PNG)


def test_a_broken_repr_is_no_broken_cell(session: Session, cell: RunCell) -> None:
    ran = cell(session, "class A:\n    def _repr_html_(self): raise ValueError('bad html')\nA()")
    assert not ran.result.rolled_back
    assert "bad html" in "\n".join(line for e in ran.of(ErrorEvent) for line in e.traceback)
    assert ran.value.startswith("<__main__.A")
    assert cell(session, "1").value == "1"


def test_outputs_beyond_the_caps_are_dropped_and_said_so_once(
    make_session: MakeSession, cell: RunCell
) -> None:
    session = make_session(display_max_count=3)
    ran = cell(session, "for i in range(10): display(i)")
    assert ran.result.success and len(ran.of(DisplayEvent)) == 3
    assert ran.stderr.count("display_max_count") == 1
    assert len(cell(session, "display(1)").of(DisplayEvent)) == 1


def test_the_error_is_shown_even_when_no_more_outputs_are(
    make_session: MakeSession, cell: RunCell
) -> None:
    session = make_session(display_max_count=3)
    ran = cell(session, "for i in range(10): display(i)\n1/0")
    assert ran.error.name == "ZeroDivisionError"


# Figures.


def test_an_inline_figure(session: Session, cell: RunCell) -> None:
    ran = cell(session, PLOT)
    assert decoded(ran.picture).startswith(PNG)
    assert ran.of(DisplayEvent)[0].data["text/plain"].startswith("<Figure size")


def test_show_displays_at_once_and_each_figure_once(session: Session, cell: RunCell) -> None:
    code = (
        "import matplotlib.pyplot as plt\n"
        "for n in (1, 2):\n    plt.plot([n]); plt.show()\n    print(n)"
    )
    ran = cell(session, code)
    kinds = [type(event).__name__ for event in ran.events]
    assert kinds == ["DisplayEvent", "StreamEvent", "DisplayEvent", "StreamEvent"]


def test_figures_after_rollback_undo_fork_and_resume(
    make_session: MakeSession, cell: RunCell, tmp_path: Path
) -> None:
    session = make_session(fuel_budget=20_000_000_000)
    assert decoded(cell(session, PLOT).picture).startswith(PNG)
    assert cell(session, "import os\nplt.plot([5])\nos.abort()").result.rolled_back
    assert decoded(cell(session, PLOT).picture).startswith(PNG)
    session.undo()
    assert decoded(cell(session, PLOT).picture).startswith(PNG)
    with session.fork() as fork:
        assert decoded(cell(fork, PLOT).picture).startswith(PNG)
    session.save(tmp_path / "parked")
    with Session.load(tmp_path / "parked", workspace=session.workspace) as resumed:
        assert decoded(cell(resumed, PLOT).picture).startswith(PNG)
        assert decoded(cell(resumed, "plt.title('ab'); plt.plot([1, 2]);").picture).startswith(PNG)


def test_many_figures_are_drawn_with_what_the_cell_has_left(
    make_session: MakeSession, cell: RunCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are drawn when the cell has ended, which a shell's own fuel may not be enough for."""
    monkeypatch.setattr(session_module, "OVERHEAD_FUEL", 500_000_000)
    session = make_session(fuel_budget=10_000_000_000)
    code = "import matplotlib.pyplot as plt\nfor n in range(6): plt.figure(); plt.plot([n, 1])"
    ran = cell(session, code)
    assert ran.result.success, ran.result.error
    assert len(ran.of(DisplayEvent)) == 6
    assert ran.result.fuel_overhead <= 500_000_000
    spent = ran.result.fuel_consumed
    assert spent is not None and spent > 500_000_000
    # The control: who has not so much left is stopped, and nothing of it happened.
    session.change_policy(session.policy.replace(fuel_budget=spent // 2))
    ran = cell(session, "n = 'other'\n" + code)
    assert ran.result.limit is Limit.FUEL and ran.result.rolled_back
    assert cell(session, "n").value == "5"


def test_a_long_value_is_shown_with_what_the_cell_has_left(
    make_session: MakeSession, cell: RunCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "OVERHEAD_FUEL", 300_000_000)
    session = make_session(fuel_budget=3_000_000_000)
    cell(session, "import pandas as pd\npd.set_option('display.max_rows', None)")
    ran = cell(session, "pd.DataFrame({'n': range(3000)})")
    assert ran.result.success, ran.result.error
    assert "2999" in ran.value and ran.result.fuel_overhead <= 300_000_000
    # The control: not more than that.
    ran = cell(session, "pd.DataFrame({'n': range(300_000)})")
    assert ran.result.limit is Limit.FUEL and ran.result.rolled_back


def test_a_saved_figure_is_a_file(session: Session, cell: RunCell) -> None:
    ran = cell(session, PLOT + "\nplt.savefig('plot.png')")
    assert [(f.path, f.change, f.type) for f in ran.result.files] == [
        ("plot.png", "created", "image/png")
    ]
    assert (session.workspace / "plot.png").read_bytes().startswith(PNG)


# Progress bars and warnings.


@pytest.mark.parametrize("module", ["tqdm", "tqdm.auto"])
def test_progress_bars_have_no_warnings(session: Session, cell: RunCell, module: str) -> None:
    ran = cell(session, f"from {module} import tqdm\nfor _ in tqdm(range(5)): pass")
    assert ran.result.success and "100%" in ran.stderr and "5/5" in ran.stderr
    assert "Warning" not in ran.stderr and "Exception" not in ran.stderr


def test_pandas_progress(session: Session, cell: RunCell) -> None:
    code = (
        "import pandas as pd\nfrom tqdm.auto import tqdm\ntqdm.pandas()\n"
        "pd.Series([1, 2]).progress_apply(lambda n: n * 2).tolist()"
    )
    ran = cell(session, code)
    assert ran.value == "[2, 4]" and "Warning" not in ran.stderr


def test_warnings_are_shown(session: Session, cell: RunCell) -> None:
    ran = cell(session, "import warnings\nwarnings.warn('mind the gap')\nprint('on')")
    assert ran.result.success and "UserWarning: mind the gap" in ran.stderr


def test_escapes_of_older_notebooks_are_passed_over(session: Session, cell: RunCell) -> None:
    ran = cell(session, r"""'$\mu$', "\d", '\777' """)
    assert ran.value == r"""('$\\mu$', '\\d', 'ǿ')""" and ran.stderr == ""
    # The control: other warnings of the compiler are shown.
    assert "SyntaxWarning" in cell(session, "1 is 1").stderr


def test_deprecations_of_a_cell_are_shown_and_those_of_libraries_are_not(
    session: Session, cell: RunCell
) -> None:
    ran = cell(session, "import warnings\nwarnings.warn('old', DeprecationWarning)")
    assert "DeprecationWarning: old" in ran.stderr
    (session.workspace / "library.py").write_text(
        "import warnings\ndef f(): warnings.warn('inner', DeprecationWarning)\n"
    )
    ran = cell(session, "import sys\nsys.path.insert(0, '')\nimport library\nlibrary.f()")
    assert ran.result.success and "inner" not in ran.stderr


# Input.


def test_input_asks_the_host(session: Session, cell: RunCell) -> None:
    ran = cell(session, "print('hi')\nname = input('Name? ')\nname", answers=["Ada \u2603"])
    stream, asked, value = ran.events
    assert stream == StreamEvent("stdout", "hi\n")
    assert isinstance(asked, InputEvent) and (asked.prompt, asked.password) == ("Name? ", False)
    assert isinstance(value, ResultEvent) and ran.value == repr("Ada \u2603")


def test_getpass_is_marked_as_a_password(session: Session, cell: RunCell) -> None:
    ran = cell(session, "import getpass\ngetpass.getpass('Key: ') == 'k'", answers=["k"])
    (asked,) = ran.of(InputEvent)
    assert (asked.prompt, asked.password) == ("Key: ", True) and ran.value == "True"


def test_two_questions_get_their_own_answers(session: Session, cell: RunCell) -> None:
    assert cell(session, "input('a') + input('b')", answers=["1", "2"]).value == "'12'"


@pytest.mark.parametrize(
    ("call", "name"), [("input('x')", "raw_input"), ("__import__('getpass').getpass()", "getpass")]
)
def test_without_stdin_input_fails_and_says_why(
    session: Session, cell: RunCell, call: str, name: str
) -> None:
    ran = cell(session, call)
    assert ran.error.name == "StdinNotImplementedError"
    said = f"{name} was called, but this frontend does not support input requests."
    assert ran.error.value == said
    assert ran.of(InputEvent) == [] and not ran.result.rolled_back


def test_a_host_without_an_answer_is_an_error(session: Session, cell: RunCell) -> None:
    assert cell(session, "input()", answers=[]).error.name == "StdinNotImplementedError"


def test_interrupt_while_waiting_for_input(
    session: Session, cell: RunCell, background: Callable[..., Running]
) -> None:
    cell(session, "x = 1")
    running = background(session, "x = 2\ninput('?')\nx = 3", allow_stdin=True)
    running.until_asked()
    session.interrupt()
    result = running.result()
    assert result.limit is Limit.INTERRUPTED and result.rolled_back
    assert cell(session, "x").value == "1"


# asyncio.


def test_top_level_await(session: Session, cell: RunCell) -> None:
    code = (
        "import asyncio\nasync def f(n):\n    await asyncio.sleep(0.001)\n    return n\nawait f(4)"
    )
    assert cell(session, code).value == "4"
    assert cell(session, "await asyncio.gather(f(1), f(2))").value == "[1, 2]"
    assert cell(session, "async with asyncio.timeout(5): print(await f(3))").stdout == "3\n"


def test_asyncio_run(session: Session, cell: RunCell) -> None:
    code = (
        "import asyncio\n"
        "async def main():\n"
        "    async with asyncio.TaskGroup() as group:\n"
        "        tasks = [group.create_task(asyncio.sleep(0.001, n)) for n in range(3)]\n"
        "    return [task.result() for task in tasks]\n"
        "asyncio.run(main())"
    )
    assert cell(session, code).value == "[0, 1, 2]"
    assert (
        cell(session, "asyncio.run(main()), asyncio.run(main())").value == "([0, 1, 2], [0, 1, 2])"
    )


def test_a_task_goes_on_in_a_later_cell(session: Session, cell: RunCell) -> None:
    cell(
        session,
        "import asyncio\nasync def f():\n    await asyncio.sleep(0.001)\n    print('done')\n"
        "task = asyncio.get_event_loop().create_task(f())",
    )
    assert cell(session, "await task").stdout == "done\n"


def test_settings_of_a_context_stay_for_later_cells(session: Session, cell: RunCell) -> None:
    cell(session, "import contextvars, decimal\ndecimal.getcontext().prec = 5")
    assert cell(session, "decimal.Decimal(1) / 3").value == "Decimal('0.33333')"
    cell(session, "import numpy as np\nnp.set_printoptions(precision=3)")
    assert cell(session, "np.array([1 / 3])").value == "array([0.333])"
    cell(session, "word = contextvars.ContextVar('word', default='none')\ntoken = word.set('set')")
    assert cell(session, "word.get()").value == "'set'"
    result = session.execute("pass", user_expressions={"word": "word.get()"})
    assert result.user_expressions["word"]["data"]["text/plain"] == "'set'"
    assert cell(session, "word.reset(token)\nword.get()").value == "'none'"


def test_an_exception_under_await(session: Session, cell: RunCell) -> None:
    code = "async def f(): raise KeyError('k')\nawait f()"
    assert cell(session, code).error.name == "KeyError"
    assert cell(session, "1").value == "1"


# Where a cell lives.


def test_places(shared: Session, cell: RunCell) -> None:
    code = "import os, tempfile\nos.getcwd(), os.path.expanduser('~'), tempfile.gettempdir()"
    assert cell(shared, code).value == "('/app', '/app/.wasm_kernel/home', '/tmp')"


def test_private_files_are_not_reported(session: Session, cell: RunCell) -> None:
    code = (
        "import os, tempfile\n"
        "with tempfile.NamedTemporaryFile('w', delete=False) as f: f.write('x')\n"
        "os.makedirs(os.path.expanduser('~/.config'))\n"
        "open(os.path.expanduser('~/.config/setting'), 'w').close()\n"
        "open('seen.txt', 'w').close()"
    )
    ran = cell(session, code)
    assert ran.result.success and ran.result.files_created == ["seen.txt"]
    assert (session.workspace / ".wasm_kernel" / "home" / ".config" / "setting").exists()


def test_a_notebook_is_told_by_the_name_of_its_shell(shared: Session, cell: RunCell) -> None:
    assert cell(shared, "type(get_ipython()).__name__").value == "'ZMQInteractiveShell'"
    assert cell(shared, "type(get_ipython()).__module__").value == "'ipykernel.zmqshell'"
    assert cell(shared, "__doc__.split()[0]").value == "'Automatically'"


def test_the_environment_is_the_policys(
    make_session: MakeSession, cell: RunCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USER", "of-the-host")
    session = make_session(env={"COLOUR": "blue"})
    code = "import os\nos.environ['COLOUR'], os.environ['USER'], os.environ['PATH']"
    assert cell(session, code).value == "('blue', 'user', '/usr/local/bin:/usr/bin:/bin')"


@pytest.mark.parametrize(
    "change", [{"env": {"COLOUR": "blue"}}, {"argv": ["python", "x"]}, {"seed": 1}]
)
def test_what_a_guest_has_from_its_beginning_cannot_be_changed(
    session: Session, change: dict[str, Any]
) -> None:
    with pytest.raises(SandboxExecutionError, match="cannot be changed in a live session"):
        session.change_policy(session.policy.replace(**change))


def test_a_file_in_the_place_of_stdout_gets_what_is_written(session: Session) -> None:
    session.execute("import os\nos.close(1)\nnumber = os.open('text', os.O_RDWR | os.O_CREAT)")
    ran = session.execute("import sys\nwritten = os.write(number, b'kept')\nnumber")
    assert ran.stdout == ""
    assert (session.workspace / "text").read_bytes() == b"kept"


def test_modules_of_the_workspace_can_be_imported(session: Session, cell: RunCell) -> None:
    (session.workspace / "mine.py").write_text("value = 5\n")
    ran = cell(session, "import mine\nmine.value")
    assert ran.result.success and ran.value == "5"


def test_packages_in_site_packages_can_be_imported(session: Session, cell: RunCell) -> None:
    package = session.workspace / "site-packages" / "bundled"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("value = 6\n")
    ran = cell(session, "import bundled\nbundled.value")
    assert ran.result.success and ran.value == "6"


def test_packages_of_the_data_folder_can_be_imported(
    make_session: MakeSession, cell: RunCell, tmp_path: Path
) -> None:
    packages = tmp_path / "data" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "vendored.py").write_text("value = 7\n")
    session = make_session(mount_data_dir=str(packages.parent))
    ran = cell(session, "import vendored\n(vendored.__file__, vendored.value)")
    assert ran.value == "('/data/site-packages/vendored.py', 7)"


def test_a_data_folder_can_be_read_and_not_written(
    make_session: MakeSession, cell: RunCell, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "in.json").write_text(json.dumps([1, 2]))
    session = make_session(mount_data_dir=str(data))
    assert cell(session, "import json\njson.load(open('/data/in.json'))").value == "[1, 2]"
    assert not cell(session, "open('/data/new', 'w')").result.success
    assert sorted(path.name for path in data.iterdir()) == ["in.json"]


def test_the_last_outputs_are_empty_before_the_first(session: Session) -> None:
    result = session.execute("print([_, __, ___, _i, _ii], len(In), Out)")
    assert result.stdout == "['', '', '', '', ''] 2 {}\n"
