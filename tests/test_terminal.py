"""What a terminal is shown: what was used, how far a step is, and no sequence that steers it."""

from __future__ import annotations

import io

import pytest

from wasm_kernel import ExecutionPolicy, Limit, SandboxResult
from wasm_kernel.core.events import StreamEvent
from wasm_kernel.runtimes.python.prepare import Progress
from wasm_kernel.terminal import ProgressLine, ScriptOutput, metrics_line

HOSTILE = "\x1b]0;title\x07\x1b[31mred\x1b[0m\x1b[2J\x1b]52;c;aGk=\x07!\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "shown"), [(Terminal(), "\x1b[31mred\x1b[0m!\n"), (io.StringIO(), HOSTILE)]
)
def test_script_colours_a_terminal_but_does_not_steer_it(stream: io.StringIO, shown: str) -> None:
    show = ScriptOutput(stream, io.StringIO())
    for character in HOSTILE:
        show(StreamEvent("stdout", character))
    assert stream.getvalue() == shown


@pytest.mark.parametrize("limit", [Limit.TIME, Limit.INTERRUPTED])
def test_fuel_is_a_least_amount_where_a_clock_ended_the_run(limit: Limit) -> None:
    result = SandboxResult(success=False, workspace_path="w", fuel_consumed=177_000, limit=limit)
    assert "fuel at least 177 k of 2 G" in metrics_line(result, ExecutionPolicy())


def test_metrics_name_at_most_five_files_of_a_kind() -> None:
    result = SandboxResult(
        success=True,
        workspace_path="w",
        duration_ms=12.34,
        fuel_consumed=1_816_000,
        memory_used_bytes=63_200_000,
        files_created=list("abcdef"),
        files_deleted=["g"],
    )
    assert metrics_line(result, ExecutionPolicy()) == (
        "[12.3 ms · fuel 1.82 M of 2 G · memory 63.2 MB of 128 MB · "
        "created a, b, c, d, e, … · deleted g]"
    )


def test_progress_in_a_log_is_a_line_for_each_step() -> None:
    stream = io.StringIO()
    show = ProgressLine(stream)
    for done in (0.0, 1.0, 2.0):
        show(Progress("compiling", done, 90.0))
    show(Progress("downloading", 50_000_000, 98_000_000, "B"))
    show.end()
    assert stream.getvalue() == "compiling: about 1 min 30 s\ndownloading: 50 MB of 98 MB\n"
