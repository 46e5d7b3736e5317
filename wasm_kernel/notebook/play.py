"""Runs a notebook through the kernel and prints it as a person reads it in a terminal."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from jupyter_client.manager import KernelManager

from wasm_kernel.core.errors import SandboxExecutionError
from wasm_kernel.core.units import format_bytes
from wasm_kernel.notebook.install import KERNEL_ARGUMENTS
from wasm_kernel.notebook.sanitize import sanitize_text
from wasm_kernel.notebook.settings import ENV_METRICS

CELL_SECONDS = 600
_WIDTH_MAX = 96
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")


def play(notebook: Path, stream: TextIO, *, colours: bool) -> bool:
    """Run every cell in order; whether all of them did what they should."""
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    except ValueError as error:
        raise SandboxExecutionError(f"{notebook} is not a notebook: {error}") from error
    except (KeyError, TypeError):
        raise SandboxExecutionError(f"{notebook} is not a notebook: it has no cells") from None
    with tempfile.TemporaryDirectory(prefix="wasm-kernel-play-") as folder:
        manager = _manager(Path(folder))
        return _play(notebook, cells, manager, _Printer(stream, colours))


def _manager(folder: Path) -> KernelManager:
    manager = KernelManager(kernel_name="python3")
    if os.name == "posix":
        # Sockets in a folder of our own: nobody else can connect, which no port could promise.
        manager.transport = "ipc"
        manager.connection_file = str(folder / "kernel.json")
        manager.ip = str(folder / "socket")
    # The kernel of this environment, whether or not its kernelspec is installed.
    # Its log goes to this terminal too, and would say of a limit what the cell says of it.
    manager.kernel_spec.argv = [sys.executable, *KERNEL_ARGUMENTS, "--log-level", "ERROR"]
    manager.kernel_spec.interrupt_mode = "message"
    return manager


def _play(
    notebook: Path, cells: list[dict[str, Any]], manager: KernelManager, printer: _Printer
) -> bool:
    # A person looks at this, unless they said otherwise.
    env = {ENV_METRICS: "on", **os.environ}
    manager.start_kernel(cwd=str(notebook.resolve().parent), env=env)
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        # Every cell runs, also after one that failed: a list, not a generator.
        worked = [_play_cell(client, printer, cell) for cell in cells]
        return all(worked)
    except KeyboardInterrupt:
        manager.interrupt_kernel()
        raise
    finally:
        client.stop_channels()
        manager.shutdown_kernel()


def _play_cell(client: Any, printer: _Printer, cell: dict[str, Any]) -> bool:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        printer.markdown(source)
        return True
    if cell["cell_type"] != "code" or not source.strip():
        return True
    printer.code(source)
    reply = client.execute_interactive(
        source,
        allow_stdin=False,
        stop_on_error=False,
        timeout=CELL_SECONDS,
        output_hook=lambda message: printer.output(message["msg_type"], message["content"]),
    )
    may_fail = "raises-exception" in cell.get("metadata", {}).get("tags", [])
    return reply["content"]["status"] == "ok" or may_fail


class _Printer:
    def __init__(self, stream: TextIO, colours: bool) -> None:
        self._stream = stream
        self._colours = colours
        self._width = min(_WIDTH_MAX, shutil.get_terminal_size((_WIDTH_MAX, 24)).columns)

    def markdown(self, source: str) -> None:
        self._line("")
        for block in _blocks(source):
            if block.startswith("#"):
                self._line(self._styled(block.lstrip("# "), "1;36"))
                continue
            mark = _ITEM.match(block)
            indent = " " * len(mark[0]) if mark else ""
            for line in textwrap.wrap(block, self._width, subsequent_indent=indent):
                self._line(line)

    def code(self, source: str) -> None:
        self._line("")
        for number, line in enumerate(source.splitlines()):
            mark = ">>> " if number == 0 else "... "
            self._line(self._styled(mark, "32") + line)

    def output(self, kind: str, content: dict[str, Any]) -> None:
        if kind == "error":
            self._text("\n".join(content["traceback"]))
        elif kind == "stream":
            self._text(content["text"])
        elif kind in ("execute_result", "display_data"):
            for line in _described(content["data"]):
                self._text(line)

    def _text(self, text: str) -> None:
        for line in text.rstrip("\n").splitlines():
            self._line("    " + line)

    def _styled(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self._colours else text

    def _line(self, text: str) -> None:
        # Not only outputs: the sources too may be of a notebook that nobody has read.
        safe = sanitize_text(text)
        self._stream.write((safe if self._colours else _COLOUR.sub("", safe)) + "\n")
        self._stream.flush()


def _blocks(source: str) -> Iterator[str]:
    """The headings, paragraphs and list items of a Markdown cell, each as one line."""
    for paragraph in re.split(r"\n\s*\n", source):
        block = ""
        for line in paragraph.splitlines():
            if block and (_ITEM.match(line) or "#" in (line[:1], block[:1])):
                yield block
                block = line
            else:
                block = f"{block} {line.strip()}" if block else line
        yield block


def _described(data: dict[str, Any]) -> Iterator[str]:
    for mime, value in data.items():
        if mime.startswith("image/"):
            yield f"[{mime}, {format_bytes(len(str(value)) * 3 / 4)}]"
            return
    yield str(data.get("text/plain", ", ".join(data)))
