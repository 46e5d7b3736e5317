"""Every message of the protocol, against a real kernel process."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from wasm_kernel import __version__

from .conftest import GUARD_SECONDS, Kernel, MakeKernel, without_colours

LOOP = "print('running')\nwhile True:\n    pass"
WAIT_FOR_FILE = """
import os
def wait_for(name):
    while not os.path.exists(name):
        pass
"""
WATCHED = {"metadata": {"cellId": "8f2c"}, "allow_stdin": True}
"""How JupyterLab sends a cell."""


# kernel_info.


def test_kernel_info(kernel: Kernel) -> None:
    info = kernel.ask("kernel_info_request")
    assert info["status"] == "ok"
    assert info["protocol_version"].startswith("5.")
    assert (info["implementation"], info["implementation_version"]) == ("wasm_kernel", __version__)
    assert info["language_info"] == {
        "name": "python",
        "version": "3.15.0",
        "mimetype": "text/x-python",
        "codemirror_mode": {"name": "ipython", "version": 3},
        "pygments_lexer": "ipython3",
        "nbconvert_exporter": "python",
        "file_extension": ".py",
    }
    assert "sandbox" in info["banner"]
    assert "%sandbox?" in info["banner"]
    assert all(link["url"].startswith("https://") and link["text"] for link in info["help_links"])


def test_the_version_it_names_is_the_guests(kernel: Kernel) -> None:
    version = kernel.ask("kernel_info_request")["language_info"]["version"]
    assert kernel.value("'.'.join(map(str, __import__('sys').version_info[:3]))") == repr(version)


def test_kernel_info_offers_only_what_there_is(kernel: Kernel) -> None:
    features = kernel.ask("kernel_info_request")["supported_features"]
    assert "kernel subshells" in features
    # JupyterLab switches its debugger on by this word, and would then wait for answers.
    assert "debugger" not in features


# execute.


def test_execute_frame(kernel: Kernel) -> None:
    cell = kernel.run("1 + 1")
    states = [content["execution_state"] for content in cell.of("status")]
    assert states == ["busy", "idle"]
    (echo,) = cell.of("execute_input")
    assert echo["code"] == "1 + 1"
    (result,) = cell.of("execute_result")
    assert result["data"] == {"text/plain": "2"}
    assert echo["execution_count"] == result["execution_count"] == cell.content["execution_count"]
    assert cell.content["status"] == "ok"
    assert cell.content["payload"] == []
    assert cell.content["user_expressions"] == {}
    assert kernel.run("pass").content["execution_count"] == cell.content["execution_count"] + 1


def number_of_a_cell(kernel: Kernel) -> int:
    """The number of a cell that followed an ordinary one."""
    kernel.run("pass")
    return int(kernel.run("pass").content["execution_count"])


def test_silent_shows_nothing_and_counts_nothing(kernel: Kernel) -> None:
    before = number_of_a_cell(kernel)
    cell = kernel.run("print('hidden'); quiet = 1; quiet", silent=True)
    assert cell.status == "ok"
    assert [message["msg_type"] for message in cell.messages] == ["status", "status"]
    after = kernel.run("quiet")
    assert after.result == "1"
    assert after.content["execution_count"] == before + 1


def test_silent_error_is_only_in_the_reply(kernel: Kernel) -> None:
    cell = kernel.run("1/0", silent=True)
    assert cell.status == "error"
    assert cell.content["ename"] == "ZeroDivisionError"
    assert cell.kinds == []


def test_a_silent_command_that_fails_says_so_only_in_the_reply(kernel: Kernel) -> None:
    cell = kernel.run("%undo two", silent=True)
    assert (cell.status, cell.kinds) == ("error", [])
    assert cell.content["evalue"] == "usage: %undo [N]"


def test_store_history_off(kernel: Kernel) -> None:
    before = number_of_a_cell(kernel)
    cell = kernel.run("'not remembered'", store_history=False)
    assert cell.result == "'not remembered'"
    tail = kernel.ask(
        "history_request", hist_access_type="tail", output=False, raw=True, n=1, session=0
    )
    assert [row[2] for row in tail["history"]] == ["pass"]
    assert kernel.run("pass").content["execution_count"] == before + 1


def test_user_expressions(kernel: Kernel) -> None:
    wanted = {"sum": "a + 1", "bad": "1/0", "missing": "nowhere", "broken": "1 +"}
    answers = kernel.run("a = 41", user_expressions=wanted).content["user_expressions"]
    assert answers["sum"] == {"status": "ok", "data": {"text/plain": "42"}, "metadata": {}}
    for name, error in (
        ("bad", "ZeroDivisionError"),
        ("missing", "NameError"),
        ("broken", "SyntaxError"),
    ):
        assert answers[name]["status"] == "error"
        assert answers[name]["ename"] == error


def test_the_reply_has_the_numbers_of_the_cell(kernel: Kernel) -> None:
    numbers = kernel.run("open('numbers.txt', 'w').write('123');").metadata
    assert 0 < numbers["fuel_consumed"] < numbers["fuel_budget"] == 1_000_000_000_000
    assert 0 < numbers["memory_bytes"] < numbers["memory_limit"] == 2**30
    assert numbers["duration_ms"] >= numbers["guest_ms"] > 0
    assert numbers["rolled_back"] is False
    assert numbers["limit"] == "none"
    assert numbers["files"] == [
        {"path": "numbers.txt", "change": "created", "size": 3, "type": "text/plain"}
    ]
    assert numbers["stdout_truncated"] is numbers["stderr_truncated"] is False


# Errors.


def test_error_has_a_coloured_traceback_that_names_the_cell(kernel: Kernel) -> None:
    cell = kernel.run("def divide(n):\n    return 1 / n\n\ndivide(0)")
    assert cell.status == "error"
    assert (cell.error["ename"], cell.error["evalue"]) == ("ZeroDivisionError", "division by zero")
    coloured = "\n".join(cell.error["traceback"])
    assert "\x1b[" in coloured
    plain = without_colours(coloured)
    assert "\x1b" not in plain
    number = cell.content["execution_count"]
    assert f"Cell In[{number}], line 4" in plain
    assert f"Cell In[{number}], line 2" in plain
    assert "----> 2     return 1 / n" in plain
    assert plain.rstrip().endswith("ZeroDivisionError: division by zero")


def test_syntax_error(kernel: Kernel) -> None:
    cell = kernel.run("1 +* 2")
    assert cell.error["ename"] == "SyntaxError"
    assert "1 +* 2" in cell.traceback


def test_a_limit_is_an_error_that_says_what_to_do(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("kept = [1]")
    kernel.run("%policy fuel_budget=1G")
    cell = kernel.run("kept.append(2)\nwhile True: pass")
    assert cell.error["ename"] == "OutOfFuel"
    assert "raise fuel_budget" in cell.error["evalue"]
    assert "rolled back" in cell.error["evalue"]
    assert cell.metadata["limit"] == "fuel"
    assert cell.metadata["rolled_back"] is True
    assert kernel.value("kept") == "[1]"


def test_stop_on_error_aborts_what_is_queued(kernel: Kernel) -> None:
    failing = kernel.start("input(); 1/0", allow_stdin=True)
    kernel.question()
    queued = [kernel.start(f"ran_{n} = True") for n in range(3)]
    kernel.answer("")
    assert failing.finish().status == "error"
    cells = [pending.finish() for pending in queued]
    assert [cell.status for cell in cells] == ["aborted"] * 3
    # The numbers of the cell before are not those of a cell that never ran.
    assert all("wasm_kernel" not in cell.reply["metadata"] for cell in cells)
    assert kernel.value("[n for n in globals() if n.startswith('ran_')]") == "[]"


def test_without_stop_on_error_the_queue_goes_on(kernel: Kernel) -> None:
    failing = kernel.start("input(); 1/0", allow_stdin=True, stop_on_error=False)
    kernel.question()
    queued = kernel.start("'went on'")
    kernel.answer("")
    assert failing.finish().status == "error"
    assert queued.finish().result == "'went on'"


# Streams.


def test_streams_are_seen_while_the_cell_asks(kernel: Kernel) -> None:
    pending = kernel.start("print('early'); answer = input('go on? ')", allow_stdin=True)
    pending.until("stream", "early")
    assert kernel.question()["prompt"] == "go on? "
    kernel.answer("yes")
    assert pending.finish().status == "ok"
    assert kernel.value("answer") == "'yes'"


def test_streams_are_seen_while_the_cell_computes(kernel: Kernel) -> None:
    kernel.run(WAIT_FOR_FILE)
    pending = kernel.start("print('half way', end=''); print(flush=True); wait_for('go.txt')")
    pending.until("stream", "half way")
    (kernel.folder / "workspace" / "go.txt").touch()
    cell = pending.finish()
    assert (cell.status, cell.stdout) == ("ok", "half way\n")


def test_stdout_and_stderr_keep_their_order(kernel: Kernel) -> None:
    cell = kernel.run(
        "import sys\nfor n in range(3):\n    print('out', n); print('err', n, file=sys.stderr)"
    )
    texts = [(content["name"], content["text"]) for content in cell.of("stream")]
    assert texts == [
        (name, f"{word} {n}\n")
        for n in range(3)
        for name, word in (("stdout", "out"), ("stderr", "err"))
    ]


def test_a_burst_of_prints_loses_no_byte_and_is_batched(kernel: Kernel) -> None:
    cell = kernel.run("for n in range(20_000): print(n, 'grüße ☃ 🐍')", stop_on_error=False)
    assert cell.stdout == "".join(f"{n} grüße ☃ 🐍\n" for n in range(20_000))
    assert len(cell.of("stream")) <= 200


def test_a_line_that_is_redrawn_arrives_as_it_is(kernel: Kernel) -> None:
    cell = kernel.run(
        "for n in range(3): print(f'\\r{n + 1}/3', end='')\nprint('\\x1b[31mred\\x1b[0m\\b')"
    )
    assert cell.stdout == "\r1/3\r2/3\r3/3\x1b[31mred\x1b[0m\b\n"


def test_what_is_not_a_colour_never_reaches_the_terminal(kernel: Kernel) -> None:
    cell = kernel.run("print('a\\x1b]0;title\\x07b\\x1b[2Jc\\x1b[6nd')")
    assert cell.stdout == "abcd\n"


def test_output_above_the_cap_is_cut_and_said(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("%policy stdout_max_bytes=1kB")
    cell = kernel.run("print('x' * 5000)")
    assert cell.status == "ok"
    assert cell.stdout.count("x") <= 1000
    assert cell.metadata["stdout_truncated"] is True


# Displays.


def test_display_data(kernel: Kernel) -> None:
    cell = kernel.run("from IPython.display import HTML, display\ndisplay(HTML('<b>bold</b>'))")
    (content,) = cell.of("display_data")
    assert "<b>bold</b>" in content["data"]["text/html"]
    assert content["data"]["text/plain"] == "<IPython.core.display.HTML object>"
    assert content["transient"] == {}


def test_figure(kernel: Kernel) -> None:
    cell = kernel.run("import matplotlib.pyplot as plt\nplt.plot([1, 3, 2]);")
    (content,) = cell.of("display_data")
    assert base64.b64decode(content["data"]["image/png"]).startswith(b"\x89PNG\r\n\x1a\n")
    assert "Figure" in content["data"]["text/plain"]


def test_table(kernel: Kernel) -> None:
    cell = kernel.run("import pandas as pd\npd.DataFrame({'a': [1, 2]})")
    (content,) = cell.of("execute_result")
    assert content["data"]["text/html"].count("<tr") == 3
    assert content["data"]["text/plain"].split() == ["a", "0", "1", "1", "2"]


def test_update_of_a_display_of_this_kernel(kernel: Kernel) -> None:
    first = kernel.run("handle = display('one', display_id='mine')")
    (shown,) = first.of("display_data")
    assert shown["transient"] == {"display_id": "mine"}
    # A later cell may change it, and so may an update that shows it once more.
    second = kernel.run("handle.update('two')")
    (update,) = second.of("update_display_data")
    assert update["data"]["text/plain"] == "'two'"
    assert update["transient"] == {"display_id": "mine"}


def test_no_update_of_a_display_that_another_kernel_made(kernel: Kernel) -> None:
    cell = kernel.run(
        "from IPython.display import update_display\nupdate_display('x', display_id='not mine')"
    )
    assert cell.status == "ok"
    assert cell.of("update_display_data") == []


def test_the_policy_for_html_holds_from_the_first_cell_on(
    make_kernel: MakeKernel, tmp_path: Path
) -> None:
    (tmp_path / "policy.toml").write_text("html = 'text'\n")
    kernel = make_kernel(WASM_KERNEL_POLICY=str(tmp_path / "policy.toml"))
    code = "from IPython.display import HTML\nHTML('<b>bold</b>')"
    first, second = kernel.run(code), kernel.run(code)
    for cell in (first, second):
        (content,) = cell.of("execute_result")
        assert "text/html" not in content["data"]


@pytest.mark.parametrize("wait", [False, True])
def test_clear_output(kernel: Kernel, wait: bool) -> None:
    cell = kernel.run(
        "from IPython.display import clear_output\n"
        f"print('before'); clear_output(wait={wait}); print('after')"
    )
    assert cell.kinds == ["stream", "clear_output", "stream"]
    assert cell.of("clear_output") == [{"wait": wait}]


def test_outputs_come_in_the_order_in_which_they_were_made(kernel: Kernel) -> None:
    cell = kernel.run("print('1'); display('2'); print('3'); 4")
    assert cell.kinds == ["stream", "display_data", "stream", "execute_result"]


def test_help_is_an_output_and_no_payload(kernel: Kernel) -> None:
    cell = kernel.run("len?")
    assert cell.content["payload"] == []
    assert "number of items" in without_colours(cell.shown)


def test_no_payload_takes_text_into_a_cell(kernel: Kernel) -> None:
    cell = kernel.run("get_ipython().set_next_input('import os')")
    assert cell.content["payload"] == []
    assert cell.stdout.endswith("the sandbox cannot write cells]\nimport os\n")


# Input.


def test_input_and_getpass(kernel: Kernel) -> None:
    pending = kernel.start(
        "import getpass\nname = input('name: ')\nsecret = getpass.getpass('secret: ')",
        allow_stdin=True,
    )
    assert kernel.question() == {"prompt": "name: ", "password": False}
    kernel.answer("Ada ☃")
    assert kernel.question() == {"prompt": "secret: ", "password": True}
    kernel.answer("s3cret")
    cell = pending.finish()
    assert (cell.status, cell.kinds) == ("ok", [])
    assert kernel.value("name, secret") == "('Ada ☃', 's3cret')"


def test_an_answer_that_is_no_message_is_not_the_end_of_the_cell(kernel: Kernel) -> None:
    pending = kernel.start("input('name: ')", allow_stdin=True)
    kernel.question()
    for frames in ([b"garbage"], [b"<IDS|MSG>", b"forged", b"{}", b"{}", b"{}", b"{}"]):
        kernel.client.stdin_channel.socket.send_multipart(frames)
    kernel.answer("Ada")
    assert pending.finish().result == "'Ada'"


def test_input_where_nobody_can_answer(kernel: Kernel) -> None:
    cell = kernel.run("input('anybody? ')")
    assert cell.error["ename"] == "StdinNotImplementedError"
    assert "input" in cell.error["evalue"]


# complete, inspect, is_complete.


def test_complete_with_types(kernel: Kernel) -> None:
    kernel.run("class Thing:\n    size = 1\n    def grow(self): ...\nthing = Thing()")
    found = kernel.complete("thing.")
    assert {"size", "grow"} <= set(found["matches"])
    assert (found["cursor_start"], found["cursor_end"]) == (6, 6)
    types = {row["text"]: row["type"] for row in found["metadata"]["_jupyter_types_experimental"]}
    assert types["grow"] == "function"
    row = found["metadata"]["_jupyter_types_experimental"][0]
    assert set(row) == {"start", "end", "text", "type", "signature"}


@pytest.mark.parametrize("code", ["prin", "import o", "%ti", "%un", "%", "%%ti"])
def test_types_go_with_the_matches(kernel: Kernel, code: str) -> None:
    """JupyterLab inserts the text of the row that has the place of the match."""
    found = kernel.complete(code)
    rows = [row["text"] for row in found["metadata"]["_jupyter_types_experimental"]]
    assert found["matches"]
    assert rows == found["matches"]


def test_a_command_that_ipython_has_too_is_offered_once(kernel: Kernel) -> None:
    assert kernel.complete("%sav")["matches"] == ["%save"]


HOSTILE_ANSWERS = ("5", "{'matches': 5, 'types': 7}", "{'start': 'x', 'end': None, 'types': [1]}",
    "{'status': ['complete']}", "{'start': -1, 'end': 10**9, 'types': [{'text': []}]}",
    "{'found': 1, 'data': []}", "{'history': 3}", "{'history': [[1], {}]}")  # fmt: skip


@pytest.mark.parametrize("answer", HOSTILE_ANSWERS)
def test_a_question_is_answered_whatever_the_guest_says(
    make_kernel: MakeKernel, answer: str
) -> None:
    """Without a reply the page waits: the completer spins, Shift-Tab shows nothing for ever."""
    kernel = make_kernel()
    kernel.run(
        "import wasm_guest.shell as shell\n"
        "for name in ('complete', 'inspect', 'is_complete', 'history'):\n"
        f"    setattr(shell, name, lambda *_: {answer})"
    )
    found = kernel.complete("zi")
    assert (found["status"], found["cursor_start"], found["cursor_end"]) == ("ok", 2, 2)
    assert all(isinstance(match, str) for match in found["matches"])
    assert kernel.inspect("zip")["data"] == {}
    assert kernel.ask("is_complete_request", code="1")["status"] == "unknown"
    asked = {"hist_access_type": "tail", "output": False, "raw": True, "n": 1}
    assert kernel.ask("history_request", **asked)["status"] == "ok"


def test_complete_counts_characters_not_bytes(kernel: Kernel) -> None:
    code = "größe = '🐍'; größe.isalph"
    found = kernel.complete(code)
    assert found["matches"] == ["isalpha"]
    start, end = found["cursor_start"], found["cursor_end"]
    assert code[start:end] == "isalph"


def test_complete_runs_nothing_that_stays(kernel: Kernel) -> None:
    kernel.run(
        "class Loud:\n    def __dir__(self):\n        global touched\n"
        "        touched = True\n        return ['x']\nloud = Loud(); touched = False"
    )
    kernel.complete("loud.")
    assert kernel.value("touched") == "False"


def test_complete_inside_a_cell(kernel: Kernel) -> None:
    code = "import math\nmath.sq\nprint(1)"
    found = kernel.complete(code, code.index("sq") + 2)
    assert found["matches"] == ["sqrt"]


def test_inspect_has_the_signature_and_with_detail_the_source(kernel: Kernel) -> None:
    kernel.run("def area(width, height=2):\n    '''The area.'''\n    return width * height")
    brief = kernel.inspect("area")
    assert brief["found"] is True
    text = without_colours(brief["data"]["text/plain"])
    assert "area(width, height=2)" in text
    assert "The area." in text
    assert "return width" not in text
    full = without_colours(kernel.inspect("area", detail=1)["data"]["text/plain"])
    assert "return width * height" in full


def test_inspect_inside_a_call(kernel: Kernel) -> None:
    kernel.run("import math")
    assert "sqrt" in kernel.inspect("math.sqrt(")["data"]["text/plain"]


def test_inspect_of_nothing(kernel: Kernel) -> None:
    answer = kernel.inspect("there_is_no_such_name")
    assert (answer["status"], answer["found"], answer["data"]) == ("ok", False, {})


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("x = 1", {"status": "complete"}),
        ("for i in range(3):", {"status": "incomplete", "indent": "    "}),
        ("if x:\n    for y in z:", {"status": "incomplete", "indent": "        "}),
        ("f(", {"status": "incomplete", "indent": ""}),
        ("1 +* 2", {"status": "invalid"}),
        ("%policy", {"status": "complete"}),
    ],
)
def test_is_complete(kernel: Kernel, code: str, answer: dict[str, str]) -> None:
    found = kernel.ask("is_complete_request", code=code)
    if code == "f(":
        found["indent"] = ""  # how far a bracket indents is IPython's taste
    assert found == answer


# history, comms.


def test_history(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    for code in ("one = 1", "two = 2", "one + two", "two = 2"):
        kernel.run(code)

    def history(kind: str, **more: object) -> list[tuple[int, object]]:
        wanted = {"hist_access_type": kind, "output": False, "raw": True, "session": 0, **more}
        reply = kernel.ask("history_request", **wanted)
        assert reply["status"] == "ok"
        return [(line, text) for _, line, text in reply["history"]]

    assert history("tail", n=2) == [(3, "one + two"), (4, "two = 2")]
    assert history("tail", n=100)[0] == (1, "one = 1")
    assert history("tail", n=2, output=True) == [(3, ["one + two", "3"]), (4, ["two = 2", None])]
    assert history("range", start=2, stop=4) == [(2, "two = 2"), (3, "one + two")]
    assert history("search", pattern="two*") == [(2, "two = 2"), (4, "two = 2")]
    assert [text for _, text in history("search", pattern="two*", unique=True)] == ["two = 2"]
    assert history("search", pattern="*=*", n=1) == [(4, "two = 2")]
    # As in IPython: ten where the request names no number, and nothing of earlier sessions.
    assert history("tail") == history("tail", n=10) == history("range", start=1)
    assert history("range", session=-1, start=1) == []


def test_history_keeps_magics_as_they_were_typed(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("%time x = 1")
    reply = kernel.ask(
        "history_request", hist_access_type="tail", output=False, raw=True, n=1, session=0
    )
    assert [row[2] for row in reply["history"]] == ["%time x = 1"]


def test_there_are_no_comms(kernel: Kernel) -> None:
    assert kernel.ask("comm_info_request") == {"status": "ok", "comms": {}}
    assert kernel.ask("comm_info_request", target_name="jupyter.widget")["comms"] == {}


def test_a_comm_that_is_opened_is_closed_at_once(kernel: Kernel) -> None:
    """As the protocol asks of a kernel that does not know the target."""
    content = {"comm_id": "c1", "target_name": "jupyter.widget.control", "data": {}}
    pending = kernel.send("comm_open", content)
    assert pending.until("comm_close")["content"] == {"comm_id": "c1", "data": {}}


def test_a_comm_does_not_wait_for_the_cell(kernel: Kernel) -> None:
    running = kernel.start("input()", allow_stdin=True)
    kernel.question()
    content = {"comm_id": "c2", "target_name": "jupyter.widget.control", "data": {}}
    kernel.send("comm_open", content).until("comm_close")
    kernel.answer("")
    assert running.finish().status == "ok"


# Interrupt and the control channel.


def test_interrupt_a_loop(kernel: Kernel) -> None:
    kernel.run("kept = ['before']")
    pending = kernel.start("kept.append('half')\n" + LOOP)
    pending.until("stream", "running")
    kernel.interrupt()
    cell = pending.finish()
    assert cell.error["ename"] == "KeyboardInterrupt"
    assert "rolled back" in cell.error["evalue"]
    assert cell.metadata["limit"] == "interrupted"
    assert kernel.value("kept") == "['before']"


def test_one_interrupt_is_enough_from_the_moment_a_cell_is_shown_as_running(
    make_kernel: MakeKernel,
) -> None:
    """The session may not have heard of the cell by then, or not even be there."""
    kernel = make_kernel()
    for _ in range(10):
        pending = kernel.start("while True: pass")
        pending.until("execute_input")
        kernel.interrupt()
        assert pending.finish().error["ename"] == "KeyboardInterrupt"
    assert kernel.value("6 * 7") == "42"


def test_interrupt_a_sleep(kernel: Kernel) -> None:
    pending = kernel.start("import time; print('running'); time.sleep(3600)")
    pending.until("stream", "running")
    kernel.interrupt()
    assert pending.finish().error["ename"] == "KeyboardInterrupt"


def test_interrupt_an_input_and_drop_its_late_answer(kernel: Kernel) -> None:
    pending = kernel.start("input('first? ')", allow_stdin=True)
    kernel.question()
    kernel.interrupt()
    assert pending.finish().error["ename"] == "KeyboardInterrupt"
    kernel.answer("too late")
    second = kernel.start("input('second? ')", allow_stdin=True)
    assert kernel.question()["prompt"] == "second? "
    kernel.answer("in time")
    assert second.finish().result == "'in time'"


def test_interrupt_aborts_what_is_queued(kernel: Kernel) -> None:
    pending = kernel.start(LOOP)
    pending.until("stream", "running")
    queued = kernel.start("after_interrupt = True")
    kernel.interrupt()
    assert pending.finish().status == "error"
    assert queued.finish().status == "aborted"


def test_interrupt_of_an_idle_kernel_harms_nothing(kernel: Kernel) -> None:
    kernel.interrupt()
    assert kernel.value("'unharmed'") == "'unharmed'"


def test_the_control_channel_answers_while_a_cell_runs(kernel: Kernel) -> None:
    pending = kernel.start(LOOP)
    pending.until("stream", "running")
    assert kernel.control("kernel_info_request")["implementation"] == "wasm_kernel"
    usage = kernel.control("usage_request")
    assert usage["pid"] == kernel.manager.provisioner.process.pid
    assert usage["kernel_memory"] > 1_000_000
    assert {"kernel_cpu", "cpu_count", "host_virtual_memory", "hostname"} <= usage.keys()
    kernel.interrupt()
    assert pending.finish().status == "error"


def test_a_debug_request_is_answered(kernel: Kernel) -> None:
    """Whoever asks although no debugger is offered must not wait for ever."""
    reply = kernel.control("debug_request", type="request", seq=7, command="debugInfo")
    assert reply["type"] == "response"
    assert (reply["request_seq"], reply["command"]) == (7, "debugInfo")
    assert reply["success"] is False
    assert reply["message"] == "there is no debugger in the sandbox"


def test_no_request_keeps_the_control_channel_waiting_for_a_cell(kernel: Kernel) -> None:
    pending = kernel.start(LOOP)
    pending.until("stream", "running")
    for kind in ("execute", "complete", "inspect", "history", "is_complete"):
        reply = kernel.control(f"{kind}_request", code="1", cursor_pos=1)
        assert reply["status"] == "error"
        assert reply["evalue"] == f"{kind}_request belongs on the shell channel"
    kernel.interrupt()
    assert pending.finish().error["ename"] == "KeyboardInterrupt"


# Subshells.


def test_a_subshell_runs_cells_in_the_same_session(kernel: Kernel) -> None:
    kernel.run("from_main = 'seen'")
    subshell = kernel.control("create_subshell_request")["subshell_id"]
    pending = kernel.send(
        "execute_request",
        {"code": "from_main", "silent": False, "allow_stdin": False},
        subshell_id=subshell,
    )
    assert pending.finish().result == "'seen'"
    assert subshell in kernel.control("list_subshell_request")["subshell_id"]
    assert kernel.control("delete_subshell_request", subshell_id=subshell)["status"] == "ok"


def test_a_subshell_does_not_take_the_outputs_of_the_running_cell(kernel: Kernel) -> None:
    kernel.run(WAIT_FOR_FILE)
    subshell = kernel.control("create_subshell_request")["subshell_id"]
    main = kernel.start("print('begin'); wait_for('two.txt'); print('end of main')")
    main.until("stream", "begin")
    other = kernel.send(
        "execute_request",
        {"code": "print('from subshell')", "silent": False, "allow_stdin": False},
        subshell_id=subshell,
    )
    other.until("execute_input")
    (kernel.folder / "workspace" / "two.txt").touch()
    ran, beside = main.finish(), other.finish()
    kernel.control("delete_subshell_request", subshell_id=subshell)
    assert ran.stdout == "begin\nend of main\n"
    assert beside.stdout == "from subshell\n"


def test_a_cell_outlives_its_subshell(kernel: Kernel) -> None:
    """Nobody gets its reply, but what it does is done, and whole."""
    kernel.run(WAIT_FOR_FILE)
    subshell = kernel.control("create_subshell_request")["subshell_id"]
    code = "print('begin'); wait_for('gone.txt'); print('end'); outlived = True"
    orphan = kernel.send(
        "execute_request",
        {"code": code, "silent": False, "allow_stdin": False},
        subshell_id=subshell,
    )
    orphan.until("stream", "begin")
    assert kernel.control("delete_subshell_request", subshell_id=subshell)["status"] == "ok"
    (kernel.folder / "workspace" / "gone.txt").touch()
    assert kernel.value("outlived") == "True"


def test_completion_in_a_subshell_waits_for_the_cell_and_comes(kernel: Kernel) -> None:
    subshell = kernel.control("create_subshell_request")["subshell_id"]
    main = kernel.start("input()", allow_stdin=True)
    kernel.question()
    asked = kernel.send("complete_request", {"code": "zi", "cursor_pos": 2}, subshell_id=subshell)
    kernel.answer("")
    assert main.finish().status == "ok"
    assert asked.finish().content["matches"] == ["zip"]
    kernel.control("delete_subshell_request", subshell_id=subshell)


def test_the_numbers_of_a_cell_are_its_own_beside_another(kernel: Kernel) -> None:
    subshell = kernel.control("create_subshell_request")["subshell_id"]
    main = kernel.start("input(); open('main.txt', 'w').write('1');", allow_stdin=True)
    kernel.question()
    other = kernel.send(
        "execute_request",
        {"code": "open('beside.txt', 'w').write('2');", "silent": False, "allow_stdin": False},
        subshell_id=subshell,
    )
    other.until("execute_input")
    kernel.answer("")
    files = [[f["path"] for f in cell.finish().metadata["files"]] for cell in (main, other)]
    assert files == [["main.txt"], ["beside.txt"]]
    kernel.control("delete_subshell_request", subshell_id=subshell)


# Metrics.


def metrics_of(kernel: Kernel, **request: object) -> list[str]:
    cell = kernel.run("measured = 1", **request)
    return [content["data"]["text/plain"] for content in cell.of("display_data")]


def test_metrics_are_for_those_who_watch(kernel: Kernel) -> None:
    assert metrics_of(kernel) == []
    assert metrics_of(kernel, allow_stdin=True) == []
    assert metrics_of(kernel, metadata={"cellId": "8f2c"}) == []
    (line,) = metrics_of(kernel, **WATCHED)
    assert line.startswith("[") and "fuel" in line and "memory" in line


def test_metrics_come_last_and_never_on_a_stream(kernel: Kernel) -> None:
    cell = kernel.run("print('text'); open('metrics.txt', 'w').write('1234'); 5", **WATCHED)
    assert cell.kinds == ["stream", "execute_result", "display_data"]
    assert cell.stdout == "text\n"
    (content,) = cell.of("display_data")
    assert content["data"].keys() == {"text/html", "text/plain"}
    assert 'href="./workspace/metrics.txt"' in content["data"]["text/html"]
    assert "created metrics.txt" in content["data"]["text/plain"]


def test_no_metrics_for_a_silent_cell(kernel: Kernel) -> None:
    assert metrics_of(kernel, silent=True, **WATCHED) == []


def test_a_limit_shows_a_panel(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("%policy fuel_budget=1G")
    cell = kernel.run("while True: pass", **WATCHED)
    assert cell.kinds == ["error", "display_data"]
    assert cell.error["ename"] == "OutOfFuel"
    assert "rolled back" in cell.error["evalue"]
    assert "had used 1 G instructions" in cell.shown
    assert "%policy fuel_budget=" in cell.shown


def test_a_limit_that_the_cell_could_catch_shows_its_panel_too(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    cell = kernel.run("bytearray(1_500_000_000)", **WATCHED)
    assert cell.kinds == ["error", "display_data"]
    assert cell.error["ename"] == "MemoryError"
    assert cell.metadata["rolled_back"] is False
    assert cell.shown.endswith("%policy memory_bytes=2GiB")


def test_metrics_can_be_switched_on_for_everybody(make_kernel: MakeKernel) -> None:
    kernel = make_kernel(WASM_KERNEL_METRICS="on")
    (line,) = metrics_of(kernel)
    assert "fuel" in line


def test_metrics_can_be_switched_off(make_kernel: MakeKernel) -> None:
    kernel = make_kernel(WASM_KERNEL_METRICS="off")
    assert metrics_of(kernel, **WATCHED) == []


# The workspace.


def test_the_workspace_beside_the_notebook_is_app(kernel: Kernel) -> None:
    assert kernel.value("import os; os.getcwd()") == "'/app'"
    kernel.run("open('x.csv', 'w').write('a\\n1\\n')")
    assert (kernel.folder / "workspace" / "x.csv").read_text() == "a\n1\n"
    (kernel.folder / "workspace" / "from_host.txt").write_text("hello")
    assert kernel.value("open('from_host.txt').read()") == "'hello'"


def test_the_folder_of_the_notebook_is_out_of_reach(kernel: Kernel) -> None:
    (kernel.folder / "secret.txt").write_text("secret")
    for attempt in ("../secret.txt", "/secret.txt", str(kernel.folder / "secret.txt")):
        cell = kernel.run(f"open({attempt!r}).read()")
        assert cell.status == "error"
        assert "secret" not in cell.stdout
    for attempt in ("../new.txt", "/new.txt", str(kernel.folder / "new.txt")):
        assert kernel.run(f"open({attempt!r}, 'w')").status == "error"
    kept = {path.name for path in kernel.folder.iterdir()}
    assert kept == {"secret.txt", "workspace"}


def test_data_beside_the_notebook_can_be_read_only(make_kernel: MakeKernel, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "table.csv").write_text("n\n7\n")
    kernel = make_kernel()
    assert kernel.value("open('/data/table.csv').read()") == "'n\\n7\\n'"
    for code in (
        "open('/data/new.csv', 'w')",
        "open('/data/table.csv', 'a')",
        "import os; os.remove('/data/table.csv')",
        "import os; os.rename('/data/table.csv', '/app/table.csv')",
        "import os; os.mkdir('/data/sub')",
    ):
        cell = kernel.run(code)
        assert cell.status == "error", code
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["table.csv"]
    assert (tmp_path / "data" / "table.csv").read_text() == "n\n7\n"


def test_folders_can_be_named(make_kernel: MakeKernel, tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "n.txt").write_text("8")
    kernel = make_kernel(
        WASM_KERNEL_WORKSPACE=str(tmp_path / "elsewhere"), WASM_KERNEL_DATA=str(tmp_path / "input")
    )
    kernel.run("open('copy.txt', 'w').write(open('/data/n.txt').read())")
    assert (tmp_path / "elsewhere" / "copy.txt").read_text() == "8"
    assert not (tmp_path / "workspace").exists()


# Restart, shutdown, exit.


def test_restart_gives_a_clean_session_on_the_same_workspace(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("gone = 1; open('stays.txt', 'w').write('here');")
    before = kernel.pid
    kernel.restart()
    assert kernel.pid != before
    cell = kernel.run("'gone' in globals(), open('stays.txt').read()")
    assert cell.result == "(False, 'here')"
    assert cell.content["execution_count"] == 1


def test_restart_while_a_cell_loops(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.start(LOOP).until("stream", "running")
    kernel.restart()
    assert kernel.value("1 + 1") == "2"


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_shutdown_is_answered_and_ends_the_process_by_itself(
    make_kernel: MakeKernel, busy: bool
) -> None:
    kernel = make_kernel()
    if busy:
        kernel.start(LOOP).until("stream", "running")
    assert kernel.control("shutdown_request", restart=False) == {"status": "ok", "restart": False}
    # A manager would send a signal after two and a half seconds; none should be needed.
    assert kernel.manager.provisioner.process.wait(timeout=GUARD_SECONDS) == 0


def test_a_kernel_that_is_not_needed_after_all_ends_at_once(
    make_kernel: MakeKernel, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its session is still being made; several, because the threads that end have their races."""
    endings = []
    for _ in range(5):
        kernel = make_kernel()
        kernel.control("shutdown_request", restart=False)
        endings.append(kernel.manager.provisioner.process.wait(timeout=GUARD_SECONDS))
    assert endings == [0] * 5
    # What ipykernel says after it has waited for ten seconds.
    assert "timed out" not in capfd.readouterr().err


@pytest.mark.parametrize("queued", ["while True: pass", "import time; time.sleep(9999)", "input()"])
def test_after_exit_no_cell_is_run(make_kernel: MakeKernel, queued: str, tmp_path: Path) -> None:
    kernel = make_kernel()
    leaving = kernel.start("open('left', 'w').close()\nexit()")
    waiting = kernel.start(f"open('ran', 'w').close()\n{queued}", allow_stdin=True)
    assert leaving.finish().status == "ok"
    assert waiting.finish().status == "aborted"
    kernel.until_dead()
    assert [file.name for file in (tmp_path / "workspace").glob("*")] == ["left"]


@pytest.mark.parametrize("code", ["exit()", "quit", "exit"])
def test_exit_ends_the_kernel(make_kernel: MakeKernel, code: str) -> None:
    kernel = make_kernel()
    reply = kernel.reply(kernel.start(code).msg_id)
    assert reply["content"]["status"] == "ok"
    assert reply["content"]["payload"] == [{"source": "ask_exit", "keepkernel": False}]
    kernel.until_dead()


def test_the_end_of_the_guests_process_is_not_the_end_of_the_kernel(kernel: Kernel) -> None:
    kernel.run("survivor = 1")
    for code in ("import os; os._exit(3)", "import os; os.abort()"):
        cell = kernel.run("survivor = 2; " + code)
        assert cell.status == "error"
        assert "rolled back" in cell.error["evalue"]
    cell = kernel.run("raise SystemExit(4)")
    assert cell.error["ename"] == "SystemExit"
    assert kernel.value("survivor") == "1"
    assert kernel.is_alive
