"""A notebook played in a terminal: every cell in order, readable, with the right exit code."""

from __future__ import annotations

import io
import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from wasm_kernel.cli import main
from wasm_kernel.core.errors import SandboxExecutionError
from wasm_kernel.notebook.play import play


@pytest.fixture(autouse=True)
def own_jupyter(jupyter: Path) -> None:
    """Nothing of the user's settings."""


def written(folder: Path, *cells: nbformat.NotebookNode) -> Path:
    path = folder / "played.ipynb"
    nbformat.write(new_notebook(cells=list(cells)), path)
    return path


def played(path: Path, *, colours: bool = False) -> tuple[bool, str]:
    stream = io.StringIO()
    return play(path, stream, colours=colours), stream.getvalue()


def test_a_notebook_reads_well_in_a_terminal(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        new_markdown_cell(
            "# A title\n\nSome words that are wrapped " + "because they go on " * 8 + "for long."
        ),
        new_code_cell("x = 20\nprint('hello')\nx + 1"),
        new_code_cell(""),
        new_code_cell("import pandas as pd\npd.DataFrame({'a': [1, 2]})"),
        new_code_cell("import matplotlib.pyplot as plt\nplt.plot([1, 2]);"),
        new_code_cell("%undo"),
        new_code_cell("import os\nsorted(os.listdir())"),
        new_code_cell("1/0", metadata={"tags": ["raises-exception"]}),
        new_markdown_cell("The end."),
    )
    ok, text = played(path)
    assert ok
    lines = text.splitlines()
    assert "\x1b" not in text
    assert "A title" in lines
    assert max(map(len, lines)) <= 120
    begin = lines.index(">>> x = 20")
    assert lines[begin : begin + 5] == [
        ">>> x = 20", "... print('hello')", "... x + 1", "    hello", "    21",
    ]  # fmt: skip
    assert "    0  1" in lines
    assert any(line.startswith("    [image/png, ") and line.endswith("B]") for line in lines)
    assert "    the last cell was undone; 2 more can be" in lines
    assert "    []" in lines
    assert "    ZeroDivisionError: division by zero" in lines
    assert lines[-1] == "The end."
    # Empty cells leave no prompt, and nothing of HTML or base64 is printed.
    assert text.count(">>> ") == 6
    assert "<div" not in text
    assert "iVBOR" not in text


def test_each_cell_says_what_it_used_unless_that_is_not_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, new_code_cell("x = 1"), new_markdown_cell("The end."))
    _, text = played(path)
    assert re.search(r"^>>> x = 1\n    \[.* · fuel .* · memory .*\]\n\nThe end\.\n", text, re.M)
    monkeypatch.setenv("WASM_KERNEL_METRICS", "off")
    _, text = played(path)
    assert text.endswith(">>> x = 1\n\nThe end.\n")
    # Nor does the kernel warn of its ports: it has none.
    assert capfd.readouterr() == ("", "")


def test_prose_fits_a_narrow_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    _, text = played(written(tmp_path, new_markdown_cell("some words " * 20)))
    assert 30 < max(map(len, text.splitlines())) <= 40


def test_lists_keep_their_lines(tmp_path: Path) -> None:
    path = written(
        tmp_path, new_markdown_cell("What there is:\n\n- one thing\n- another thing\n\n1. first")
    )
    _, text = played(path)
    assert "- one thing\n- another thing\n" in text
    assert "1. first\n" in text


def test_an_item_is_wrapped_under_itself_and_a_heading_ends_with_its_line(tmp_path: Path) -> None:
    item = "- " + "some words of an item " * 6 + "and\nits second line"
    _, text = played(written(tmp_path, new_markdown_cell(f"## Heading\nText below.\n{item}")))
    lines = text.splitlines()
    assert lines[1:3] == ["Heading", "Text below."]
    assert lines[3].startswith("- some words")
    assert all(line.startswith("  ") for line in lines[4:])
    assert text.endswith("and its second line\n")


@pytest.mark.parametrize("colours", [False, True])
def test_no_part_of_a_notebook_steers_the_terminal(tmp_path: Path, colours: bool) -> None:
    """A title, a cleared screen or an answer-back in a source is as hostile as in an output."""
    hostile = "\x1b]0;title\x07\x1b[2J\x1b[6n\x9b2J"
    path = written(
        tmp_path,
        new_markdown_cell(f"# A title{hostile}\n\nwords {hostile}"),
        new_code_cell(f"x = 1  # {hostile}"),
    )
    _, text = played(path, colours=colours)
    assert not set("\x07\x9b") & set(text)
    assert set(re.findall(r"\x1b.{0,2}", text)) <= (
        {"\x1b[1", "\x1b[3", "\x1b[0"} if colours else set()
    )
    assert "words" in text


def test_colours(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        new_markdown_cell("# A title"),
        new_code_cell("1/0", metadata={"tags": ["raises-exception"]}),
    )
    ok, text = played(path, colours=True)
    assert ok
    assert "\x1b[1;36mA title\x1b[0m" in text
    assert "\x1b[32m>>> \x1b[0m1/0" in text


def test_a_failure_that_nobody_expected_is_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, new_code_cell("1/0"), new_code_cell("print('went on')"))
    assert main(["play", str(path)]) == 1
    shown = capsys.readouterr().out
    assert "ZeroDivisionError" in shown
    assert "    went on" in shown
    assert (tmp_path / "workspace").is_dir()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("not json", "Expecting value"),
        ("[]", "it has no cells"),
        ('{"nbformat": 4}', "it has no cells"),
    ],
)
def test_what_is_not_a_notebook(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "not.ipynb"
    path.write_text(text)
    with pytest.raises(SandboxExecutionError, match=rf"not\.ipynb is not a notebook: {reason}"):
        played(path)


def test_a_sandbox_that_cannot_be_set_up_is_said_once_and_not_by_each_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, new_code_cell("x = 1"), new_code_cell("x"))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o755)
    monkeypatch.setenv("WASM_KERNEL_CACHE_DIR", str(tmp_path / "cache"))
    assert main(["play", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("is open to other users") == captured.err.count("\n") == 1


def test_a_limit_is_said_by_the_cell_and_not_by_a_log(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, new_code_cell("%policy fuel_budget=100M"), new_code_cell("while 1: 0"))
    ok, text = played(path)
    assert not ok
    assert "OutOfFuel" in text
    assert "fuel_exhaustion" not in capfd.readouterr().err


def test_a_notebook_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", str(tmp_path / "missing.ipynb")]) == 2
    assert "missing.ipynb" in capsys.readouterr().err
