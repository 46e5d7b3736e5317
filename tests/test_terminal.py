"""What a terminal is shown: how far a step is, and no sequence that steers it."""

from __future__ import annotations

import io

import pytest

from wasm_kernel.core.events import StreamEvent
from wasm_kernel.runtimes.python.prepare import Progress
from wasm_kernel.terminal import ProgressLine, ScriptOutput

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


def test_progress_in_a_log_is_a_line_for_each_step() -> None:
    stream = io.StringIO()
    show = ProgressLine(stream)
    for done in (0.0, 1.0, 2.0):
        show(Progress("compiling", done, 90.0))
    show(Progress("downloading", 50_000_000, 98_000_000, "B"))
    show.end()
    assert stream.getvalue() == "compiling: about 1 min 30 s\ndownloading: 50 MB of 98 MB\n"
