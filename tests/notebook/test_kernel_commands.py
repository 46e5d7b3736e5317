"""Cells that speak to the host: what each command does, and what it says when it is misused."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from wasm_kernel.core.policies import NOTEBOOK_POLICY
from wasm_kernel.core.texts import TRACEBACK_COLUMNS
from wasm_kernel.notebook.commands import COMMANDS
from wasm_kernel.notebook.render import KERNEL_ADVICE, advice
from wasm_kernel.notebook.settings import DEFAULT_CEILING

from .conftest import Cell, Kernel, MakeKernel

ALL = (
    "undo", "checkpoint", "restore", "checkpoints", "save", "resume", "policy", "files", "metrics",
)  # fmt: skip


def said(cell: Cell) -> str:
    """The one text that a command answered with."""
    assert cell.status == "ok", cell.content
    assert cell.kinds == ["display_data"]
    return cell.shown


def refused(cell: Cell) -> str:
    """The one sentence that a refused command answered with."""
    assert cell.status == "error", cell.shown
    assert cell.kinds == ["error"]
    sentence = str(cell.error["evalue"])
    assert sentence
    assert "\n" not in sentence
    # Broken between words: a page breaks a long line anywhere.
    assert sentence in " ".join(cell.traceback.split())
    assert "File " not in cell.traceback
    return sentence


def test_these_are_the_commands() -> None:
    assert tuple(COMMANDS) == ALL


# %undo.


def test_undo_takes_back_a_cell_with_its_files(make_kernel: MakeKernel, tmp_path: Path) -> None:
    kernel = make_kernel()
    kernel.run("x = 1")
    kernel.run("x = 2; open('made.txt', 'w').write('2');")
    answer = kernel.run("%undo")
    assert said(answer) == "the last cell was undone; 1 more can be"
    assert not (tmp_path / "workspace" / "made.txt").exists()
    cell = kernel.run("x")
    assert cell.result == "1"
    # The number follows: the cell that was taken back gives its number to the next.
    assert cell.content["execution_count"] == 2


def test_undo_takes_back_several(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    for n in range(4):
        kernel.run(f"x = {n}")
    assert said(kernel.run("%undo 2")) == "the last 2 cells were undone; 2 more can be"
    assert kernel.value("x") == "1"


def test_a_command_is_no_cell_to_undo(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("x = 1")
    kernel.run("x = 2")
    kernel.run("%policy")
    kernel.run("%files")
    kernel.run("%undo")
    assert kernel.value("x") == "1"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("%undo 9", "there is no cell to undo"),
        ("%undo 0", "the number of cells to undo must be at least 1"),
        ("%undo -1", "usage: %undo [N]"),
        ("%undo two", "usage: %undo [N]"),
        ("%undo 1 2", "usage: %undo [N]"),
        ("%undo ²", "usage: %undo [N]"),
        ("%undo " + "9" * 5000, "usage: %undo [N]"),
        ("%checkpoint", "usage: %checkpoint NAME"),
        ("%checkpoint a b", "usage: %checkpoint NAME"),
        ("%checkpoint " + "x" * 201, "at most 200 characters"),
        ("%restore", "usage: %restore NAME"),
        ("%restore nowhere", "there is no checkpoint 'nowhere'; there are: none"),
        ("%checkpoints extra", "usage: %checkpoints"),
        ("%save", "usage: %save FILE"),
        ("%save ../outside", "plain file name"),
        ("%save /etc/outside", "plain file name"),
        ("%save ..", "plain file name"),
        ("%resume", "usage: %resume FILE"),
        ("%resume nothing", "nothing.session"),
        ("%resume ../outside", "plain file name"),
        ("%policy fuel", "give FIELD=VALUE with one of fuel_budget, memory_bytes"),
        ("%policy speed=9", "give FIELD=VALUE with one of fuel_budget, memory_bytes"),
        ("%policy mount_host_dir=/", "give FIELD=VALUE"),
        ("%policy mount_data_dir=/etc", "give FIELD=VALUE"),
        ("%policy html=isolated", "give FIELD=VALUE"),
        ("%policy fuel_budget=plenty", "'plenty' is not an amount of fuel such as 5G or 200M"),
        ("%policy fuel_budget=-1", "'-1' is not an amount of fuel"),
        ("%policy fuel_budget=0", "fuel_budget"),
        ("%policy memory_bytes=1kB", "already has"),
        ("%policy memory_bytes=lots", "'lots' is not a size such as 512MB or 1GiB"),
        ("%policy timeout_seconds=soon", "'soon' is not a time such as 30s"),
        ("%files nothing.txt", "nothing.txt cannot be shown: No such file or directory"),
        ("%files ../secret.txt", "without '..'"),
        ("%files /etc/passwd", "without '..' and without a leading '/'"),
        ("%files a b", "usage: %files [NAME]"),
        ("%metrics", "usage: %metrics auto|on|off|problems"),
        ("%metrics loud", "usage: %metrics auto|on|off|problems"),
        ("%save 'open", "%save: No closing quotation"),
    ],
)
def test_misuse_gets_one_clear_sentence(kernel: Kernel, line: str, sentence: str) -> None:
    assert sentence in refused(kernel.run(line, stop_on_error=False))
    assert kernel.is_alive


# Checkpoints.


def test_checkpoint_and_restore(make_kernel: MakeKernel, tmp_path: Path) -> None:
    kernel = make_kernel()
    assert said(kernel.run("%checkpoints")).startswith("there are no checkpoints")
    kernel.run("values = [3, 1, 2]")
    answer = said(kernel.run("%checkpoint before"))
    assert answer == "checkpoint 'before' set; come back with %restore before"
    kernel.run("values.clear(); open('a.txt', 'w').write('a');")
    kernel.run("%checkpoint 'two words'")
    assert said(kernel.run("%checkpoints")).splitlines() == ["before", "two words"]
    assert said(kernel.run("%restore before")) == "back at checkpoint 'before'"
    assert kernel.value("values") == "[3, 1, 2]"
    assert not (tmp_path / "workspace" / "a.txt").exists()


def test_the_way_back_that_is_named_works(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("x = 1")
    answer = said(kernel.run("%checkpoint 'two words'"))
    kernel.run("x = 2")
    command = answer.partition("come back with ")[2]
    assert kernel.run(command).status == "ok"
    assert kernel.value("x") == "1"


def test_a_name_steers_no_terminal(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    answers = [said(kernel.run("%checkpoint 'a\x1b[2Jb'")), said(kernel.run("%checkpoints"))]
    assert "\x1b" not in "".join(answers)
    assert answers[1] == "ab"


# Park.


def test_saved_sessions_count_as_what_the_workspace_holds(
    make_kernel: MakeKernel, tmp_path: Path
) -> None:
    kernel = make_kernel()
    kernel.run("import os\ndata = os.urandom(20_000_000)")
    kernel.run("%policy workspace_max_bytes=10MB")
    assert "with this session it could be" in refused(kernel.run("%save large"))
    assert not (tmp_path / "workspace" / "large.session").exists()
    kernel.run("%policy workspace_max_bytes=100MB")
    for _ in range(3):  # each replaces the last one
        assert "parked in large.session" in said(kernel.run("%save large"))


def test_save_and_resume_in_another_process(make_kernel: MakeKernel, tmp_path: Path) -> None:
    kernel = make_kernel()
    kernel.run("import pandas as pd\nframe = pd.DataFrame({'a': [1, 2]})")
    answer = said(kernel.run("%save afternoon"))
    assert re.fullmatch(
        r"the session is parked in afternoon\.session \([0-9.]+ [kM]?B\); "
        r"%resume afternoon\.session",
        answer,
    )
    assert (tmp_path / "workspace" / "afternoon.session").is_file()
    kernel.restart()
    assert kernel.run("frame").status == "error"
    answer = said(kernel.run("%resume afternoon"))
    assert answer == "the session goes on where afternoon.session was saved"
    cell = kernel.run("frame['a'].sum()")
    assert cell.result.endswith("3") or cell.result.endswith("3)")
    assert cell.content["execution_count"] == 2


def test_a_file_that_is_no_session_is_refused_and_the_session_goes_on(
    make_kernel: MakeKernel,
) -> None:
    kernel = make_kernel()
    kernel.run("x = 1; open('fake.session', 'wb').write(b'not a session' * 100);")
    assert "fake.session" in refused(kernel.run("%resume fake"))
    assert kernel.value("x") == "1"


def test_a_resumed_session_keeps_the_limits_of_this_kernel(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("x = 1")
    kernel.run("%save here")
    kernel.run("%policy fuel_budget=1G")
    assert kernel.run("%resume here").status == "ok"
    assert "fuel_budget           1G" in said(kernel.run("%policy"))


# %policy.


def test_policy_shows_the_limits(kernel: Kernel) -> None:
    rows = dict(line.split(None, 1) for line in said(kernel.run("%policy")).splitlines())
    assert rows["fuel_budget"] == "1T"
    assert rows["timeout_seconds"] == "none"
    assert set(rows) == {
        "fuel_budget", "memory_bytes", "timeout_seconds", "stdout_max_bytes", "stderr_max_bytes",
        "display_max_bytes", "display_max_count", "workspace_max_bytes", "workspace_max_files",
    }  # fmt: skip


def test_policy_changes_limits_and_keeps_the_session(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("x = 1")
    shown = said(kernel.run("%policy fuel_budget=2G timeout_seconds=0.2"))
    assert "fuel_budget           2G" in shown
    assert "timeout_seconds       200ms" in shown
    assert kernel.run("import time; time.sleep(60)").error["ename"] == "TimeLimit"
    assert "timeout_seconds       none" in said(kernel.run("%policy timeout_seconds=none"))
    assert kernel.value("x") == "1"


def test_a_refused_change_changes_nothing(kernel: Kernel) -> None:
    before = said(kernel.run("%policy"))
    refused(kernel.run("%policy timeout_seconds=5 fuel_budget=plenty"))
    refused(kernel.run("%policy stdout_max_bytes=5kB fuel_budget=900T"))
    assert said(kernel.run("%policy")) == before


def test_without_a_policy_there_is_still_a_ceiling(kernel: Kernel) -> None:
    sentence = refused(kernel.run("%policy fuel_budget=900T"))
    assert "ceiling" in sentence
    assert "fuel_budget=5T" in sentence


def test_an_installed_policy_is_the_ceiling(make_kernel: MakeKernel, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("fuel_budget = 3_000_000_000\ntimeout_seconds = 30.0\n")
    kernel = make_kernel(WASM_KERNEL_POLICY=str(tmp_path / "policy.toml"))
    shown = said(kernel.run("%policy"))
    assert "fuel_budget           3G" in shown
    assert refused(kernel.run("%policy fuel_budget=4G")).endswith("fuel_budget=3G")
    # No limit at all is more than any limit.
    assert refused(kernel.run("%policy timeout_seconds=none")).endswith("timeout_seconds=30s")
    assert refused(kernel.run("%policy memory_bytes=2GiB")).endswith("memory_bytes=1GiB")
    assert "fuel_budget           1G" in said(kernel.run("%policy fuel_budget=1G"))
    assert "fuel_budget           3G" in said(kernel.run("%policy fuel_budget=3G"))
    assert said(kernel.run("%policy fuel_budget=3G")) == shown


def test_what_the_limit_panel_advises_is_taken(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    hurried = NOTEBOOK_POLICY.replace(timeout_seconds=0.5)
    commands = [advice(KERNEL_ADVICE, limit, hurried, DEFAULT_CEILING) for limit in KERNEL_ADVICE]
    assert None not in commands
    answers = {command: kernel.run(str(command)).status for command in commands}
    assert answers == dict.fromkeys(commands, "ok")


def test_nothing_is_advised_that_the_ceiling_refuses(
    make_kernel: MakeKernel, tmp_path: Path
) -> None:
    (tmp_path / "policy.toml").write_text("fuel_budget = 1_000_000_000\n")
    kernel = make_kernel(WASM_KERNEL_POLICY=str(tmp_path / "policy.toml"))
    cell = kernel.run("while True: pass", metadata={"cellId": "8f2c"}, allow_stdin=True)
    for command in re.findall(r"%policy \S+", cell.shown):
        assert kernel.run(command).status == "ok"


# %files.


def test_files(make_kernel: MakeKernel, tmp_path: Path) -> None:
    kernel = make_kernel()
    assert said(kernel.run("%files")) == "the workspace is empty"
    kernel.run(
        "import os; os.mkdir('sub')\n"
        "open('sub/table.csv', 'w').write('name,n\\nAda,1\\n<b>Bob</b>,2\\n')\n"
        "open('note.txt', 'w').write('line one\\nline two\\n');"
    )
    cell = kernel.run("%files")
    lines = said(cell).splitlines()
    assert [line.split()[-1] for line in lines] == ["note.txt", "sub/table.csv"]
    assert cell.of("display_data")[0]["data"]["text/html"].count("<tr>") == 3
    assert said(kernel.run("%files note.txt")) == "line one\nline two"
    table = kernel.run("%files sub/table.csv").of("display_data")[0]["data"]
    assert table["text/plain"].splitlines() == ["name  n", "Ada  1", "<b>Bob</b>  2"]
    assert "&lt;b&gt;Bob&lt;/b&gt;" in table["text/html"]
    assert "<b>" not in table["text/html"]


def test_files_shows_a_picture(kernel: Kernel) -> None:
    kernel.run(
        "import matplotlib.pyplot as plt\nfigure, _ = plt.subplots(figsize=(1, 1))\n"
        "figure.savefig('tiny.png'); plt.close(figure)"
    )
    (content,) = kernel.run("%files tiny.png").of("display_data")
    assert content["data"]["image/png"].startswith("iVBOR")


def test_files_follows_no_link_and_escapes_names(make_kernel: MakeKernel, tmp_path: Path) -> None:
    kernel = make_kernel()
    kernel.run("open('<img src=x onerror=alert(1)>.txt', 'w').write('');")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "workspace" / "link.txt").symlink_to(tmp_path / "secret.txt")
    assert "cannot be shown" in refused(kernel.run("%files link.txt"))
    cell = kernel.run("%files")
    seen: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: seen.append(tag)  # type: ignore[method-assign]
    parser.feed(cell.of("display_data")[0]["data"]["text/html"])
    assert set(seen) == {"table", "tr", "th", "td"}
    assert "secret" not in json.dumps(cell.of("display_data"))


# %metrics.


def test_metrics_modes(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    assert said(kernel.run("%metrics on")) == "metrics: on"
    assert "fuel" in kernel.run("x = 1").shown
    assert said(kernel.run("%metrics off")) == "metrics: off"
    watched = {"metadata": {"cellId": "8f2c"}, "allow_stdin": True}
    assert kernel.run("x = 1", **watched).kinds == []
    kernel.run("%metrics problems\n%policy fuel_budget=1G")
    assert kernel.run("x = 1", **watched).kinds == []
    assert kernel.run("while True: pass").kinds == ["error", "display_data"]


# Help.


def test_sandbox_help_lists_every_command(kernel: Kernel) -> None:
    text = said(kernel.run("%sandbox?"))
    for name in ALL:
        assert COMMANDS[name].usage in text
        assert COMMANDS[name].summary in text
    for line in text.splitlines():
        assert len(line) <= 100
    # So it is asked for in a notebook of the ordinary kernel.
    assert said(kernel.run("%%sandbox?")) == text


@pytest.mark.parametrize("name", ALL)
def test_each_command_has_its_help(kernel: Kernel, name: str) -> None:
    text = said(kernel.run(f"%{name}?"))
    assert text == f"{COMMANDS[name].usage}\n\n{COMMANDS[name].summary}"
    answer = kernel.inspect(f"%{name}")
    assert answer["found"] is True
    assert answer["data"]["text/plain"] == text


@pytest.mark.parametrize("code", ["?%undo", "%undo??", "??%undo", "%undo ?"])
def test_the_other_ways_to_ask_work_too(kernel: Kernel, code: str) -> None:
    assert "take back the last cell" in kernel.run(code).shown


@pytest.mark.parametrize("code", ["%un|do", "x = 1\n%undo|\ny = 2", "%undo 3|", "  %undo|?"])
def test_the_tooltip_knows_the_command_of_its_line(kernel: Kernel, code: str) -> None:
    before, _, after = code.partition("|")
    answer = kernel.ask("inspect_request", code=before + after, cursor_pos=len(before))
    assert answer["found"] is True
    assert "take back the last cell" in answer["data"]["text/plain"]


def test_completion_knows_them(kernel: Kernel) -> None:
    for name in ALL:
        found = kernel.complete(f"%{name[:-1]}")
        assert f"%{name}" in found["matches"]
        assert found["cursor_start"] == 0
    assert "%sandbox" in kernel.complete("%san")["matches"]


def test_completion_in_a_later_line(kernel: Kernel) -> None:
    code = "%checkpoint a\n%rest"
    found = kernel.complete(code)
    assert "%restore" in found["matches"]
    assert code[found["cursor_start"] : found["cursor_end"]] == "%rest"


# What is not a command.


def test_several_commands_in_one_cell(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("x = 1")
    cell = kernel.run("\n%checkpoint start\n\n  %checkpoints  \n")
    assert cell.kinds == ["display_data"] * 2
    assert cell.shown.splitlines()[-1] == "start"


def test_a_long_sentence_is_broken_between_words(kernel: Kernel) -> None:
    lines = kernel.run("%policy fuel=5").traceback.splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= TRACEBACK_COLUMNS


def test_a_mixed_cell_goes_to_the_guest(kernel: Kernel) -> None:
    cell = kernel.run("mixed = 1\n%undo")
    assert cell.of("display_data") == []
    assert "%undo is for the sandbox and not for the code in it" in cell.stderr
    assert kernel.run("mixed").status == "ok"


def test_unknown_ones_reach_ipython(kernel: Kernel) -> None:
    assert kernel.run("%pwd").result == "'/app'"
    assert "`%nonsense` not found" in kernel.run("%nonsense").stderr
    assert "time" in kernel.run("%time x = 1").stdout.lower()
    kernel.run("%%writefile cell.txt\n%undo")
    assert kernel.value("open('cell.txt').read()") == "'%undo\\n'"


def test_the_save_of_ipython_is_still_there(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("x = 1")
    assert kernel.run("%save notes 1").status == "ok"
    assert "x = 1" in (kernel.folder / "workspace" / "notes.py").read_text()


def test_a_cell_magic_whose_name_is_a_command_is_none(kernel: Kernel) -> None:
    assert "`%%undo` not found" in kernel.run("%%undo\ntext").stderr


def test_a_silent_command_says_nothing(kernel: Kernel) -> None:
    cell = kernel.run("%policy", silent=True)
    assert (cell.status, cell.kinds) == ("ok", [])


def test_a_failed_command_aborts_the_queue_like_any_error(kernel: Kernel) -> None:
    waiting = kernel.start("input()", allow_stdin=True)
    kernel.question()
    failing = kernel.start("%undo two")
    queued = kernel.start("never = 1")
    kernel.answer("")
    assert waiting.finish().status == "ok"
    assert failing.finish().status == "error"
    assert queued.finish().status == "aborted"
