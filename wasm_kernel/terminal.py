"""What ``wasm-kernel`` shows in a terminal: progress, and the output of a script."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from wasm_kernel.core.events import Event, StreamEvent

if TYPE_CHECKING:
    from wasm_kernel.runtimes.python.prepare import Progress


class ScriptOutput:
    """Shows what a script writes while it runs.

    A file or a pipe gets it as it is. A terminal gets colours and no other sequence that steers it:
    nobody has read the script, and a terminal obeys.
    """

    def __init__(self, stdout: TextIO, stderr: TextIO) -> None:
        self._streams = {"stdout": stdout, "stderr": stderr}
        self._cleaned = {name: _cleaning(stream) for name, stream in self._streams.items()}
        self.is_unread = False

    def __call__(self, event: Event) -> None:
        """Show one piece; where nobody reads any more, let the script end in peace."""
        if not isinstance(event, StreamEvent) or self.is_unread:
            return
        stream = self._streams[event.name]
        try:
            stream.write(self._cleaned[event.name](event.text))
            stream.flush()
        except BrokenPipeError:
            self.is_unread = True


def _cleaning(stream: TextIO) -> Callable[[str], str]:
    if not stream.isatty():
        return lambda text: text
    from wasm_kernel.notebook.sanitize import TextSanitizer

    return TextSanitizer().feed


class ProgressLine:
    """Shows progress: a line that moves on a terminal, a line now and then in a log."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._moves = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._step = ""
        self._shown = 0.0

    def __call__(self, progress: Progress) -> None:
        """Show where the preparation is."""
        now = time.monotonic()
        is_new = progress.step != self._step
        if not is_new and now - self._shown < (0.2 if self._moves else 15.0):
            return
        if self._moves and is_new and self._step:
            self._stream.write("\n")
        self._step, self._shown = progress.step, now
        line = f"{progress.step}: {progress.amount}"
        self._stream.write(f"\r\x1b[K{line}" if self._moves else line + "\n")
        self._stream.flush()

    def end(self) -> None:
        """Leave the cursor on a fresh line."""
        if self._moves and self._step:
            self._stream.write("\n")
