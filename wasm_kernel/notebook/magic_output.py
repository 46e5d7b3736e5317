"""What a cell of ``%%sandbox`` shows in the host's notebook or terminal, sanitised.

Errors are made here and raised by the magic; nothing here runs a cell.
"""

from __future__ import annotations

import os
import re
import sys
import uuid
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import clear_output, display, update_display

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
from wasm_kernel.core.models import CellError, ExecutionPolicy, Limit, SandboxResult
from wasm_kernel.notebook import render
from wasm_kernel.notebook.publish import EMPTY, Displays, error_content, notes_text
from wasm_kernel.notebook.sanitize import TextSanitizer, sanitize, sanitize_text
from wasm_kernel.notebook.settings import ENV_METRICS, NO_CEILING

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class SandboxCellError(Exception):
    """The error of a sandboxed cell."""

    def __init__(self, sentence: str, traceback: list[str]) -> None:
        super().__init__(sentence)
        self._traceback = traceback

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of the host's own frames, which say nothing of use."""
        return self._traceback


class _CellInterrupt(KeyboardInterrupt):
    """The interrupt of a sandboxed cell, without the host's own frames."""

    def _render_traceback_(self) -> list[str]:
        return [f"KeyboardInterrupt: {self}"]


# Jupyter's messages give the name of the class, and front ends know this one.
_CellInterrupt.__name__ = "KeyboardInterrupt"


def raised(
    error: CellError, shell: InteractiveShell, *, footer: str, is_quiet: bool
) -> SandboxCellError:
    """The error that the host's cell ends with: the guest's traceback, then the footer."""
    content = error_content(ErrorEvent(error.name, error.value, error.traceback))
    sentence = ": ".join(part for part in (content["ename"], content["evalue"]) if part)
    lines = [sentence] if is_quiet else content["traceback"]
    if footer:
        lines = [*lines, footer]
    return SandboxCellError(sentence, [_coloured(line, shell) for line in lines])


def interrupted(error: CellError | None) -> KeyboardInterrupt:
    """The interrupt that the host's cell ends with."""
    return _CellInterrupt(sanitize_text(error.value) if error is not None else "")


def _coloured(text: str, shell: InteractiveShell) -> str:
    return _COLOURS.sub("", text) if str(shell.colors).lower() == "nocolor" else text


def new_displays() -> Displays:
    """The displays of sandboxed cells, under names that the host's own never have."""
    return Displays(lambda _: f"wasm-kernel-{uuid.uuid4().hex}")


class Shower:
    """Shows the events of one cell."""

    def __init__(
        self,
        shell: InteractiveShell,
        displays: Displays,
        html: Any,
        *,
        is_quiet: bool,
        shows_errors: bool,
    ) -> None:
        self._shell = shell
        self._displays = displays
        self._html = html
        self._is_quiet = is_quiet
        self._shows_errors = shows_errors
        self._sanitizers = {"stdout": TextSanitizer(), "stderr": TextSanitizer()}

    def __call__(self, event: Event) -> str | None:
        """Show one event; the answer to an input event is what the user typed."""
        if isinstance(event, InputEvent):
            return _ask(event)
        if self._is_quiet:
            return None
        if isinstance(event, StreamEvent):
            _write(event.name, self._sanitizers[event.name].feed(event.text))
        elif isinstance(event, ClearEvent):
            clear_output(wait=event.wait)
        elif isinstance(event, ErrorEvent):
            # Otherwise the host shows it as the error of this cell.
            if self._shows_errors:
                text = "\n".join(error_content(event)["traceback"])
                _write("stderr", _coloured(text, self._shell) + "\n")
        else:
            self._show(event)
        return None

    def _show(self, event: DisplayEvent | UpdateEvent | ResultEvent) -> None:
        # A display without anything in it is a place for updates to come.
        clean = sanitize(event.data, event.metadata, html=self._html) if event.data else EMPTY
        options = {"metadata": clean.metadata, "raw": True}
        if isinstance(event, UpdateEvent):
            name = self._displays.get(event.display_id)
            if name is None:
                return
            update_display(clean.data, display_id=name, **options)
        elif isinstance(event, DisplayEvent) and event.display_id is not None:
            display(clean.data, display_id=self._displays.add(event.display_id), **options)
        else:
            display(clean.data, **options)
        if clean.notes:
            _write("stderr", notes_text(clean.notes))

    def finish(self) -> None:
        """Nothing stays behind."""
        for name, sanitizer in self._sanitizers.items():
            if not self._is_quiet:
                _write(name, sanitizer.finish())


def _write(name: str, text: str) -> None:
    if text:
        stream = sys.stdout if name == "stdout" else sys.stderr
        stream.write(text)
        stream.flush()


def _ask(event: InputEvent) -> str | None:
    prompt = sanitize_text(event.prompt)
    try:
        if event.password:
            import getpass

            return getpass.getpass(prompt)
        return input(prompt)
    except EOFError:
        return None


def has_stdin(shell: Any) -> bool:
    """Whether somebody can be asked: a terminal can, and a kernel says so for each cell."""
    kernel = getattr(shell, "kernel", None)
    return bool(getattr(kernel, "_allow_stdin", True))


def footer(
    result: SandboxResult, policy: ExecutionPolicy, shell: InteractiveShell
) -> render.Rendered | None:
    """The line after a cell, as the kernel's setting for it asks; see ``METRICS_MODES``."""
    mode = os.environ.get(ENV_METRICS) or "auto"
    if mode == "off" or result.limit is Limit.INTERRUPTED:
        return None
    if mode != "on" and mode != "problems" and not _is_watched(shell):
        return None
    if render.is_problem(result):
        command = render.advice(render.MAGIC_ADVICE, result.limit, policy, NO_CEILING)
        return render.limit_panel(result, command)
    return None if mode == "problems" else render.metrics(result, policy)


def _is_watched(shell: Any) -> bool:
    """Whether a person looks at the cell: pages name their cells, nbclient and its like do not."""
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return True
    return has_stdin(shell) and "cellId" in kernel.get_parent().get("metadata", {})
