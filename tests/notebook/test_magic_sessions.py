"""``%sandbox`` as a line: what it says can be typed where it was said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from wasm_kernel.notebook.commands import CommandError
from wasm_kernel.notebook.magic_sessions import LINE_COMMANDS, Sessions


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[Sessions]:
    made = Sessions()
    made.get("default", workspace=str(tmp_path / "workspace"))
    yield made
    made.close()


def said(sessions: Sessions, command: str, *arguments: str) -> str:
    return str(LINE_COMMANDS[command](sessions, "default", list(arguments))["text/plain"])


def test_the_ways_back_are_those_of_the_line_magic(sessions: Sessions) -> None:
    answer = said(sessions, "checkpoint", "two words")
    assert answer.endswith("come back with %sandbox restore 'two words'")
    assert said(sessions, "save", "parked").endswith("; %sandbox resume parked.session")


@pytest.mark.parametrize(
    ("command", "arguments", "usage"),
    [
        ("undo", ["two"], "%sandbox undo [N]"),
        ("restore", [], "%sandbox restore NAME"),
        ("files", ["a", "b"], "%sandbox files [NAME]"),
    ],
)
def test_so_is_the_usage(
    sessions: Sessions, command: str, arguments: list[str], usage: str
) -> None:
    with pytest.raises(CommandError) as raised:
        said(sessions, command, *arguments)
    assert str(raised.value) == f"usage: {usage}"
