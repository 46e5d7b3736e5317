"""The tools people run notebooks with, each for real in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pexpect
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from wasm_kernel.notebook.install import KERNEL_NAME

from .conftest import without_colours

TOOL_SECONDS = 300
ROOT = Path(__file__).resolve().parents[2]
SANITIZE = ROOT / "notebooks" / "nbval_sanitize.cfg"

Tool = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def tool(jupyter: Path, tmp_path: Path) -> Tool:
    """``tool("nbconvert", …)``: run ``python -m`` something in the test's folder."""

    def run(*arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        # Warnings of other people's tools are not what is tested here.
        return subprocess.run(
            [sys.executable, "-W", "ignore", "-m", *arguments],
            input=stdin,
            cwd=tmp_path,
            env={**os.environ, "PYTHONWARNINGS": "ignore", "NO_COLOR": "1", **env},
            capture_output=True,
            text=True,
            timeout=TOOL_SECONDS,
            check=False,
        )

    return run


def notebook(*sources: str, tags: dict[int, list[str]] | None = None) -> nbformat.NotebookNode:
    """A notebook of code cells for our kernel."""
    cells = [new_markdown_cell("# A small notebook")]
    for number, source in enumerate(sources):
        cells.append(new_code_cell(source, metadata={"tags": (tags or {}).get(number, [])}))
    spec = {"name": KERNEL_NAME, "display_name": "Python (WASM sandbox)", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": spec})


def code_cells(path: Path) -> list[Any]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def outputs(cell: Any) -> list[tuple[str, str]]:
    """The kind and the text of each output of a cell."""
    found = []
    for output in cell["outputs"]:
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        found.append((output["output_type"], "".join(text)))
    return found


SMALL = (
    "print('hello'); x = 20",
    "x + 1",
    "import matplotlib.pyplot as plt\nplt.plot([1, 2]);",
    "%undo",
    "open('made.txt', 'w').write('made');",
)


# nbconvert.


def test_nbconvert_executes_a_notebook(tool: Tool, tmp_path: Path) -> None:
    nbformat.write(notebook(*SMALL), tmp_path / "small.ipynb")
    ran = tool("nbconvert", "--to", "notebook", "--execute", "small.ipynb", "--output", "out")
    assert ran.returncode == 0, ran.stderr
    cells = code_cells(tmp_path / "out.ipynb")
    assert outputs(cells[0]) == [("stream", "hello\n")]
    assert outputs(cells[1]) == [("execute_result", "21")]
    assert "image/png" in cells[2]["outputs"][0]["data"]
    assert outputs(cells[3]) == [("display_data", "the last cell was undone; 2 more can be")]
    # No metrics where nobody looks: the outputs are those of the code.
    assert outputs(cells[4]) == []
    assert (tmp_path / "workspace" / "made.txt").read_text() == "made"
    info = json.loads((tmp_path / "out.ipynb").read_text())["metadata"]["language_info"]
    assert (info["name"], info["file_extension"]) == ("python", ".py")
    exported = tool("nbconvert", "--to", "script", "out.ipynb")
    assert exported.returncode == 0, exported.stderr
    assert "x + 1" in (tmp_path / "out.py").read_text()


def test_nbconvert_stops_at_an_error_and_says_which(tool: Tool, tmp_path: Path) -> None:
    nbformat.write(notebook("1/0", "'never'"), tmp_path / "bad.ipynb")
    ran = tool("nbconvert", "--to", "notebook", "--execute", "bad.ipynb")
    assert ran.returncode != 0
    assert "ZeroDivisionError: division by zero" in without_colours(ran.stderr)
    assert not (tmp_path / "bad.nbconvert.ipynb").exists()


# papermill.


def test_papermill_with_parameters(tool: Tool, tmp_path: Path) -> None:
    source = notebook("n = 1\nname = 'nobody'", "print(name * n)", tags={0: ["parameters"]})
    nbformat.write(source, tmp_path / "in.ipynb")
    ran = tool(
        "papermill", "in.ipynb", "out.ipynb", "-p", "n", "3", "-p", "name", "Ada",
        "--no-progress-bar",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    cells = code_cells(tmp_path / "out.ipynb")
    assert outputs(cells[-1]) == [("stream", "AdaAdaAda\n")]
    assert [cell["execution_count"] for cell in cells] == [1, 2, 3]
    assert all(cell["metadata"]["papermill"]["status"] == "completed" for cell in cells)


# nbclient, in this process.


@pytest.fixture
def run_notebook(jupyter: Path, tmp_path: Path) -> Callable[..., nbformat.NotebookNode]:
    def run(node: nbformat.NotebookNode, **options: Any) -> nbformat.NotebookNode:
        client = NotebookClient(
            node, timeout=TOOL_SECONDS, resources={"metadata": {"path": str(tmp_path)}}, **options
        )
        ran: nbformat.NotebookNode = client.execute()
        return ran

    return run


def test_nbclient(run_notebook: Callable[..., nbformat.NotebookNode]) -> None:
    ran = run_notebook(notebook(*SMALL))
    cells = [cell for cell in ran.cells if cell.cell_type == "code"]
    assert outputs(cells[1]) == [("execute_result", "21")]
    assert [cell.execution_count for cell in cells] == [1, 2, 3, 4, 5]


def test_nbclient_tells_of_a_limit(
    run_notebook: Callable[..., nbformat.NotebookNode],
) -> None:
    with pytest.raises(CellExecutionError, match=r"(?s)OutOfFuel: .* rolled back"):
        run_notebook(notebook("%policy fuel_budget=1G", "while True: pass"))


def test_nbclient_interrupts_a_cell_that_takes_too_long(
    run_notebook: Callable[..., nbformat.NotebookNode],
) -> None:
    node = notebook("'warm'", "while True: pass", "'went on'")
    ran = run_notebook(
        node,
        timeout_func=lambda cell: 2 if "while" in cell.source else TOOL_SECONDS,
        interrupt_on_timeout=True,
        allow_errors=True,
    )
    _, _, endless, after = ran.cells
    assert endless.outputs[0].ename == "KeyboardInterrupt"
    assert outputs(after) == [("execute_result", "'went on'")]


# nbval.


def test_nbval_agrees_with_what_the_kernel_showed_and_sees_a_difference(
    tool: Tool, run_notebook: Callable[..., nbformat.NotebookNode], tmp_path: Path
) -> None:
    sources = (
        "print('hello')",
        "object()",
        "import pandas as pd\npd.DataFrame({'a': [1, 2]})",
        "%undo",
        "%save parked",
        "1/0",
        "6 * 7",
        "6 * 7",
    )
    node = run_notebook(notebook(*sources, tags={5: ["raises-exception"]}))
    node.cells[-1].outputs[0].data["text/plain"] = "41"
    nbformat.write(node, tmp_path / "small.ipynb")
    ran = tool(
        "pytest", "--nbval", "-p", "no:cacheprovider", "-c", os.devnull,
        f"--nbval-sanitize-with={SANITIZE}", "small.ipynb",
    )  # fmt: skip
    assert ran.returncode == 1
    assert "1 failed, 7 passed" in ran.stdout, ran.stdout
    assert "41" in ran.stdout


# jupyter console.


class Console:
    """``jupyter console`` on a terminal of its own."""

    def __init__(self, folder: Path) -> None:
        self.child = pexpect.spawn(
            sys.executable,
            ["-W", "ignore", "-m", "jupyter_console", "--kernel", KERNEL_NAME, "--simple-prompt"],
            cwd=str(folder),
            env={**os.environ, "TERM": "dumb", "PYTHONWARNINGS": "ignore"},
            encoding="utf-8",
            timeout=TOOL_SECONDS,
            dimensions=(40, 120),
            echo=False,
        )

    def run(self, line: str) -> str:
        """What is shown for a line."""
        self.child.sendline(line)
        return self.until_prompt()

    def until_prompt(self) -> str:
        """Wait for the prompt of the next cell; what was shown before it."""
        self.child.expect(r"In \[\d+\]: ")
        return without_colours(str(self.child.before))


@pytest.fixture
def console(jupyter: Path, tmp_path: Path) -> Iterator[Console]:
    pytest.importorskip("jupyter_console", reason="jupyter-console is not installed")
    started = Console(tmp_path)
    yield started
    started.child.close(force=True)


def test_console(console: Console) -> None:
    assert "WebAssembly sandbox" in console.until_prompt()
    console.run("x = 20")
    assert "21" in console.run("x + 1")
    assert "streamed" in console.run("print('streamed')")
    assert "ZeroDivisionError" in console.run("1/0")
    assert "fuel_budget" in console.run("%policy")
    console.child.sendline("name = input('who? ')")
    console.child.expect_exact("who? ")
    console.run("Ada")
    assert "'Ada'" in console.run("name")
    console.run("%metrics on")
    shown = console.run("open('made.txt', 'w').write('123');")
    assert "created made.txt" in shown
    assert "<div" not in shown
    console.child.sendline("exit")
    console.child.expect(pexpect.EOF)
