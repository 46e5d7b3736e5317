"""``%%sandbox`` in the kernels and terminals that people have: ipykernel, nbclient, ``ipython``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pexpect
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook

from .conftest import GUARD_SECONDS, Cell, Kernel, MakeKernel, without_colours

LOAD = "%load_ext wasm_kernel"
WATCHED = {"metadata": {"cellId": "a-cell"}, "allow_stdin": True}
"""What JupyterLab sends with a cell, and tools do not."""


@pytest.fixture(scope="module")
def ordinary(jupyter: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """An ordinary ipykernel with the extension."""
    started = Kernel(tmp_path_factory.mktemp("ordinary"), "python3")
    assert started.run(LOAD).status == "ok"
    yield started
    started.close()


def sandbox(kernel: Kernel, code: str, options: str = "") -> Cell:
    """A cell in the sandbox."""
    return kernel.run(f"%%sandbox {options}\n{code}")


def interrupt(kernel: Kernel) -> None:
    """What the ■ button does to an ordinary kernel."""
    kernel.manager.interrupt_kernel()


# ipykernel.


def test_outputs_are_messages_of_the_cell(ordinary: Kernel) -> None:
    ran = sandbox(
        ordinary,
        "import sys\nprint('out')\nprint('err', file=sys.stderr)\ndisplay('shown')\n'value'",
    )
    assert ran.status == "ok"
    assert (ran.stdout, ran.stderr, ran.shown) == ("out\n", "err\n", "'shown'\n'value'")
    assert ran.of("execute_result") == []
    assert ran.content["payload"] == []


@pytest.mark.parametrize("code", ["get_ipython().set_next_input('evil')", "%load workspace/f.py"])
def test_a_sandboxed_cell_cannot_write_the_next_one(ordinary: Kernel, code: str) -> None:
    """Run by the host itself, as a control, the same code sends a payload."""
    for name in ("f.py", "workspace/f.py"):
        made = "import pathlib\npath = pathlib.Path({!r})\npath.parent.mkdir(exist_ok=True)"
        sandbox(ordinary, f"{made.format(name)}\npath.write_text('evil')")
    ran = sandbox(ordinary, code)
    assert (ran.status, ran.content["payload"]) == ("ok", [])
    (payload,) = ordinary.run(code).content["payload"]
    assert (payload["source"], "evil" in payload["text"]) == ("set_next_input", True)


def test_variables_cross(ordinary: Kernel) -> None:
    ordinary.run("import pandas as pd\nframe = pd.DataFrame({'a': [1, 2]})")
    sandbox(ordinary, "total = frame.sum()\nn = int(total['a'])", "-i frame -o total,n")
    assert ordinary.value("(n, type(total).__name__)") == "(3, 'Series')"


def test_output_comes_while_the_cell_runs(ordinary: Kernel) -> None:
    running = ordinary.start(
        "%%sandbox -o name\nprint('early')\nname = input('who? ')", allow_stdin=True
    )
    running.until("stream", "early")
    assert ordinary.question() == {"prompt": "who? ", "password": False}
    ordinary.answer("Ada")
    assert running.finish().status == "ok"
    assert ordinary.value("name") == "'Ada'"


def test_a_password_is_asked_for_as_one(ordinary: Kernel) -> None:
    running = ordinary.start("%%sandbox\nimport getpass\nlen(getpass.getpass())", allow_stdin=True)
    assert ordinary.question()["password"] is True
    ordinary.answer("secret")
    assert running.finish().shown == "6"


def test_input_without_anybody_to_ask(ordinary: Kernel) -> None:
    assert "does not support input requests" in sandbox(ordinary, "input()").traceback


@pytest.mark.parametrize("code", ["while True: pass", "import time; time.sleep(3600)"])
def test_an_interrupt_stops_the_guest_and_rolls_back(ordinary: Kernel, code: str) -> None:
    sandbox(ordinary, "x = 1")
    ordinary.run("kept = 'old'")
    running = ordinary.start(f"%%sandbox -o kept\nx = 2\nkept = 'new'\nprint('begun')\n{code}")
    running.until("stream", "begun")
    interrupt(ordinary)
    ran = running.finish()
    assert ran.error["ename"] == "KeyboardInterrupt"
    assert ran.traceback == (
        "KeyboardInterrupt: the code was interrupted; the cell was rolled back: "
        "variables and files are as before it"
    )
    assert sandbox(ordinary, "x").shown == "1"
    assert ordinary.value("kept") == "'old'"


def test_an_interrupt_while_the_cell_asks(ordinary: Kernel) -> None:
    sandbox(ordinary, "x = 1")
    running = ordinary.start(
        "%%sandbox\nx = 2\ntry:\n    input('who? ')\nexcept BaseException:\n    x = 3",
        allow_stdin=True,
    )
    ordinary.question()
    interrupt(ordinary)
    assert running.finish().error["ename"] == "KeyboardInterrupt"
    assert sandbox(ordinary, "x").shown == "1"


def test_an_interrupt_while_a_variable_comes_out(ordinary: Kernel) -> None:
    """A cell can replace what hands its variables out: waiting for it must have an end."""
    code = (
        "def endless(*_):\n    while True: pass\n"
        "from wasm_guest import driver\ndriver._steps['get'] = endless\nprint('begun')"
    )
    running = ordinary.start(f"%%sandbox --session hostile -o x\n{code}")
    running.until("stream", "begun")
    interrupt(ordinary)
    assert running.finish().error["ename"] == "KeyboardInterrupt"
    ordinary.run("%sandbox close --session hostile")


def test_an_error_stops_the_cells_after_it(ordinary: Kernel) -> None:
    first = ordinary.start("%%sandbox\nprint('begun')\nundefined_name")
    second = ordinary.start("after = 1")
    ran = first.finish()
    assert ran.error["ename"] == "SandboxCellError"
    assert ran.error["evalue"] == "NameError: name 'undefined_name' is not defined"
    assert "----> 2 undefined_name" in ran.traceback
    assert "wasm_kernel" not in ran.traceback
    assert second.finish().status == "aborted"


def test_an_allowed_error_does_not(ordinary: Kernel) -> None:
    first = ordinary.start("%%sandbox --allow-errors\n1 / 0")
    second = ordinary.start("'after'")
    assert first.finish().status == "ok"
    assert second.finish().result == "'after'"


def test_a_mistake_is_one_line(ordinary: Kernel) -> None:
    ran = sandbox(ordinary, "1", "--fuel lots")
    assert ran.status == "error"
    assert ran.stderr == "UsageError: 'lots' is not an amount of fuel such as 5G or 200M\n"


def test_metrics_are_for_people(ordinary: Kernel) -> None:
    assert "fuel" not in sandbox(ordinary, "1").shown
    ran = ordinary.run("%%sandbox\n1", **WATCHED)
    assert re.search(r"^\[.* · fuel .* of 1 T · memory .*\]$", ran.shown, re.MULTILINE)
    failed = "%%sandbox --fuel 150M\nwhile True: pass"
    assert "To give it more" not in ordinary.run(failed).traceback
    assert ordinary.run(failed, **WATCHED).traceback.endswith("%%sandbox --fuel 750M")


def test_help_goes_to_the_pager(ordinary: Kernel) -> None:
    (page,) = ordinary.run("%%sandbox?").content["payload"]
    assert page["source"] == "page"
    assert "Run a cell in the WebAssembly sandbox" in page["data"]["text/plain"]


def test_displays_are_updated_across_cells(ordinary: Kernel) -> None:
    first = sandbox(ordinary, "handle = display('one', display_id=True)")
    second = sandbox(ordinary, "handle.update('two')")
    (made,), (updated,) = first.of("display_data"), second.of("update_display_data")
    assert made["transient"] == updated["transient"]
    assert updated["data"]["text/plain"] == "'two'"


def test_commands(ordinary: Kernel) -> None:
    sandbox(ordinary, "x = 1", "--session commands")
    sandbox(ordinary, "x = 2", "--session commands")
    assert ordinary.run("%sandbox undo --session commands").shown.startswith("the last cell was")
    assert sandbox(ordinary, "x", "--session commands").shown == "1"
    assert "commands" in ordinary.run("%sandbox list").shown
    assert ordinary.run("%sandbox close --session commands").status == "ok"


OPEN_WORKSPACES = """
import contextlib, os
found = []
for number in os.listdir('/proc/self/fd'):
    with contextlib.suppress(OSError):
        found.append(os.readlink(f'/proc/self/fd/{number}'))
[name for name in found if 'workspace' in name]
"""


@pytest.mark.parametrize("ending", ["close", "unload"])
def test_the_end_leaves_only_the_workspaces(
    make_kernel: MakeKernel, tmp_path: Path, ending: str
) -> None:
    temporary, notebook = tmp_path / "temporary", tmp_path / "notebook"
    temporary.mkdir()
    notebook.mkdir()
    kernel = make_kernel(notebook, "python3", TMPDIR=str(temporary))
    kernel.run(LOAD)
    for options in ("", "--session b"):
        sandbox(kernel, "x = 1\nopen('f', 'w').write('a' * 100_000)", options)
        sandbox(kernel, "open('f', 'w').write('b')", options)
    assert "workspace-b" in kernel.value(OPEN_WORKSPACES)
    if ending == "close":
        kernel.close()
    else:
        assert kernel.run("%unload_ext wasm_kernel").status == "ok"
        assert kernel.value(OPEN_WORKSPACES) == "[]"
    assert list(temporary.iterdir()) == []
    assert sorted(path.name for path in notebook.iterdir()) == ["workspace", "workspace-b"]
    assert (notebook / "workspace" / "f").read_text() == "b"


def test_our_own_kernel_says_that_it_is_not_needed(kernel: Kernel) -> None:
    sentence = "this notebook already runs in the sandbox; %%sandbox is not needed here\n"
    assert kernel.run(LOAD).stdout == sentence
    assert kernel.run("%%sandbox --fuel 5G\nprint('ran')").stdout == f"{sentence}ran\n"


# nbclient.


def executed(cells: list[str], folder: Path) -> nbformat.NotebookNode:
    """A notebook that nbclient ran with the ordinary kernel."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in cells])
    NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=int(GUARD_SECONDS),
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    return notebook


def test_nbclient(jupyter: Path, tmp_path: Path) -> None:
    notebook = executed([LOAD, "%%sandbox -o x\nx = 6 * 7\nprint(x)", "x"], tmp_path)
    (printed,), (value,) = (cell["outputs"] for cell in notebook["cells"][1:])
    assert (printed["text"], value["data"]["text/plain"]) == ("42\n", "42")
    with pytest.raises(CellExecutionError) as caught:
        executed([LOAD, "%%sandbox\n1 / 0"], tmp_path)
    assert "ZeroDivisionError: division by zero" in without_colours(str(caught.value))


# The terminal.


class Terminal:
    """``ipython`` in a terminal. Whoever makes it closes it."""

    def __init__(self, folder: Path) -> None:
        self._process = pexpect.spawn(
            sys.executable,
            ["-m", "IPython", "--simple-prompt", "--no-banner", "--colors=nocolor",
             "--HistoryManager.enabled=False"],
            cwd=str(folder),
            env={**os.environ, "TERM": "dumb"},
            encoding="utf-8",
            echo=False,
            timeout=GUARD_SECONDS,
            dimensions=(50, 200),
        )  # fmt: skip
        self.until(r"In \[1\]: ")

    def until(self, pattern: str) -> str:
        """Wait for a text; what came before it."""
        self._process.expect(pattern)
        return str(self._process.before).replace("\r\n", "\n").replace("   ...: ", "")

    def type(self, *lines: str) -> None:
        """Type lines; two empty ones end a cell."""
        for line in lines if len(lines) == 1 else [*lines, "", ""]:
            self._process.sendline(line)

    def run(self, *lines: str) -> str:
        """Type a cell; what it shows until the next prompt."""
        self.type(*lines)
        return self.until(r"In \[\d+\]: ").strip()

    def press_control_c(self) -> None:
        self._process.sendintr()

    def press_control_d(self) -> None:
        self._process.sendeof()

    def close(self) -> int | None:
        """Leave it as people do; its exit status."""
        self.type("exit")
        self._process.expect(pexpect.EOF)
        self._process.close()
        status: int | None = self._process.exitstatus
        return status


@pytest.fixture(scope="module")
def terminal(jupyter: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """One terminal for all tests; it must end well."""
    made = Terminal(tmp_path_factory.mktemp("terminal"))
    assert made.run(LOAD) == ""
    yield made
    assert made.close() == 0


def test_a_cell_in_the_terminal(terminal: Terminal) -> None:
    shown = terminal.run("%%sandbox", "print('hello')", "6 * 7")
    assert re.fullmatch(r"hello\n42\n\[[^\n]* · fuel [^\n]* · memory [^\n]*\]", shown), shown


def test_an_error_in_the_terminal(terminal: Terminal) -> None:
    shown = terminal.run("%%sandbox --no-metrics", "1 / 0")
    # A cell that is typed ends with an empty line.
    assert shown.endswith("----> 1 1 / 0\n      2 \n\nZeroDivisionError: division by zero"), shown


def test_control_c_in_the_terminal(terminal: Terminal) -> None:
    terminal.run("%%sandbox", "x = 1")
    terminal.type("%%sandbox", "x = 2", "print('be' + 'gun')", "while True: pass")
    terminal.until("begun")
    terminal.press_control_c()
    shown = terminal.until(r"In \[\d+\]: ").strip()
    assert shown.endswith(
        "KeyboardInterrupt: the code was interrupted; the cell was rolled back: "
        "variables and files are as before it"
    ), shown
    assert "Traceback" not in shown
    assert terminal.run("%%sandbox --no-metrics", "x") == "1"


def test_input_in_the_terminal(terminal: Terminal) -> None:
    terminal.type("%%sandbox --no-metrics", "name = input('who ' + 'are you? ')", "name")
    terminal.until(r"who are you\? ")
    assert terminal.run("Ada") == "'Ada'"


def test_the_end_of_input_is_the_cells_own(terminal: Terminal) -> None:
    terminal.type("%%sandbox --no-metrics", "try:", "    input('more' + '? ')",
                  "except Exception as error:", "    print('no more')")  # fmt: skip
    terminal.until(r"more\? ")
    terminal.press_control_d()
    assert terminal.until(r"In \[\d+\]: ").strip() == "no more"


def test_a_mistake_in_the_terminal(terminal: Terminal) -> None:
    shown = terminal.run("%sandbox dance")
    assert shown.startswith("UsageError: %sandbox dance: the commands are status, undo,")
