"""Runs the corpus in a kernel and says, cell by cell, what a front end would have received.

Knows Jupyter's messages and the corpus' files, and nothing of either kernel's inside. As a script
it records ipykernel's side, and shows both sides next to each other::

    python -m tests.notebook.compare --record [FILE ...]   # ipykernel.json, from the real ipykernel
    python -m tests.notebook.compare [FILE ...]            # what is different, with the texts
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import hashlib
import json
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import KernelManager
from jupyter_core.utils import ensure_event_loop

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
RECORD = CORPUS / "ipykernel.json"
DIFFERENCES = HERE / "differences.toml"

READY_SECONDS = 180.0
CELL_SECONDS = 180.0
"""No cell takes a tenth of it; a kernel that is silent for so long hangs."""

SHOWN_LINES_MAX = 12
IGNORED = ("status", "execute_input", "comm_open", "comm_msg", "comm_close")
"""Widgets speak by comms; what a page shows of them is the display that names the widget."""

MARKER = re.compile(r"# %%(?: \[(?P<kind>\w+)\])?(?: (?P<name>[\w-]+))?$")
OWN_SETTINGS = (
    "WASM_KERNEL_POLICY",
    "WASM_KERNEL_WORKSPACE",
    "WASM_KERNEL_DATA",
    "WASM_KERNEL_METRICS",
)
MODULES = {"ours": "wasm_kernel.notebook", "ipykernel": "ipykernel_launcher"}


@dataclass(frozen=True)
class Cell:
    """One cell of the corpus."""

    name: str
    code: str

    @property
    def digest(self) -> str:
        """Tells whether a record was made from this text."""
        return hashlib.sha256(self.code.encode()).hexdigest()[:8]


@dataclass
class Outcome:
    """What a front end received for one cell."""

    status: str = "ok"
    """``ok``, or the name of the exception."""
    outputs: list[str] = field(default_factory=list)
    """A line each: the stream's name, or the message and its MIME types."""
    texts: list[str] = field(default_factory=list)
    """What a reader would see as text; for people, never compared."""

    @property
    def lines(self) -> list[str]:
        """The part that is compared."""
        return [self.status, *self.outputs]


def read_corpus(name: str) -> list[Cell]:
    """The cells of ``corpus/NAME.py``, which is in percent format.

    ``# %% [ipython] name`` begins a cell that plain Python cannot hold (a magic, a syntax error):
    each of its lines is a comment, as in a markdown cell.
    """
    cells: list[Cell] = []
    kind, title, lines = "", "", []

    def finish() -> None:
        if kind != "markdown" and title:
            text = [_uncommented(line) for line in lines] if kind == "ipython" else lines
            cells.append(Cell(title, "\n".join(text).strip("\n")))

    for number, line in enumerate((CORPUS / f"{name}.py").read_text().splitlines(), 1):
        if line != "# %%" and not line.startswith("# %% "):
            lines.append(line)
            continue
        marker = MARKER.match(line)
        if marker is None or not (marker["name"] or marker["kind"] == "markdown"):
            raise ValueError(f"{name}.py:{number}: a cell needs a name: {line}")
        finish()
        kind, title, lines = marker["kind"] or "", marker["name"] or "", []
    finish()
    names = [cell.name for cell in cells]
    twice = {cell for cell in names if names.count(cell) > 1}
    if twice:
        raise ValueError(f"{name}.py: the same name twice: {', '.join(sorted(twice))}")
    return cells


def _uncommented(line: str) -> str:
    return line[2:] if line.startswith("# ") else line.removeprefix("#")


def corpus_names() -> list[str]:
    """The files of the corpus."""
    return sorted(path.stem for path in CORPUS.glob("*.py"))


# Running.


class _Modules(KernelSpecManager):
    """Kernels by the name of their module: nothing needs to be installed."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The kernel of a module."""
        return KernelSpec(
            argv=[sys.executable, "-m", kernel_name, "-f", "{connection_file}"],
            display_name=kernel_name,
            language="python",
            interrupt_mode="message",
        )


@contextlib.contextmanager
def kernel(which: str, folder: Path) -> Iterator[BlockingKernelClient]:
    """A kernel of its own whose notebook would lie in ``folder``."""
    manager = KernelManager(kernel_name=MODULES[which], kernel_spec_manager=_Modules())
    # What the person who runs this has set up must not change what is compared.
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    kept = {n: v for n, v in os.environ.items() if n not in OWN_SETTINGS}
    own = {"IPYTHONDIR": str(folder / ".ipython"), "PYTHONWARNINGS": "", "PATH": programs}
    manager.start_kernel(cwd=str(folder), env={**kept, **own})
    client = manager.blocking_client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=READY_SECONDS)
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
        # The blocking client keeps a loop for each thread that it was used on.
        ensure_event_loop().close()


def run_file(which: str, name: str) -> dict[str, Outcome]:
    """Run one file of the corpus in a session of its own."""
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        with kernel(which, Path(folder)) as client:
            return {cell.name: run_cell(client, cell.code) for cell in read_corpus(name)}


def run_cell(client: BlockingKernelClient, code: str) -> Outcome:
    """Run a cell and wait until the kernel is idle again."""
    outcome = Outcome()
    streams: set[str] = set()

    def end_of_streams() -> None:
        outcome.outputs += sorted(streams)
        streams.clear()

    def receive(message: dict[str, Any]) -> None:
        kind, content = message["msg_type"], message["content"]
        if kind in IGNORED:
            return
        if kind == "stream":
            # How the two streams interleave between rich outputs is a matter of buffering.
            streams.add(content["name"])
            outcome.texts.append(content["text"])
            return
        end_of_streams()
        outcome.outputs.append(_line(kind, content))
        outcome.texts.append(_text(kind, content))

    reply = client.execute_interactive(
        code, allow_stdin=False, timeout=CELL_SECONDS, output_hook=receive, stop_on_error=False
    )["content"]
    end_of_streams()
    outcome.status = "ok" if reply["status"] == "ok" else reply.get("ename", reply["status"])
    for payload in reply.get("payload", []):
        data = payload.get("data", {})
        outcome.outputs.append(" ".join(["payload", payload["source"], *sorted(data)]))
        outcome.texts.append(str(data.get("text/plain", payload.get("text", ""))))
    return outcome


def _line(kind: str, content: dict[str, Any]) -> str:
    return " ".join([kind, *sorted(content.get("data", {}))])


def _text(kind: str, content: dict[str, Any]) -> str:
    if kind == "error":
        # Tracebacks name files and lines of the interpreter, which are two different ones here.
        return f"{content['ename']}: {content['evalue']}\n"
    return str(content.get("data", {}).get("text/plain", ""))


# The record and the table of differences.


def read_record() -> dict[str, dict[str, list[str]]]:
    """ipykernel's side: for each file and cell the digest of the code, the status, the outputs."""
    record: dict[str, dict[str, list[str]]] = json.loads(RECORD.read_text())
    return record


def write_record(record: dict[str, dict[str, list[str]]]) -> None:
    """A line for each cell, so that a change of the record can be read."""
    files = []
    for name in sorted(record):
        rows = [f"  {json.dumps(c)}: {json.dumps(row)}" for c, row in record[name].items()]
        files.append(f" {json.dumps(name)}: {{\n" + ",\n".join(rows) + "\n }")
    RECORD.write_text("{\n" + ",\n".join(files) + "\n}\n")


@dataclass(frozen=True)
class Difference:
    """A difference that is known: what our kernel gives instead, and why."""

    reason: str
    ours: list[str]


def read_differences() -> dict[str, dict[str, Difference]]:
    """For each file and cell the difference that is known."""
    table = tomllib.loads(DIFFERENCES.read_text())
    return {
        file: {cell: Difference(**entry) for cell, entry in cells.items()}
        for file, cells in table.items()
    }


def problems(name: str, found: dict[str, Outcome]) -> list[str]:
    """What is wrong in one file: differences nobody listed, and listed ones that are gone."""
    record, known = read_record().get(name, {}), read_differences().get(name, {})
    cells = {cell.name: cell for cell in read_corpus(name)}
    wrong = [f"{name}/{cell}: listed, but there is no such cell" for cell in known.keys() - cells]
    for cell in cells.values():
        digest, *theirs = record.get(cell.name, [""])
        if digest != cell.digest:
            wrong.append(f"{name}/{cell.name}: not recorded as it is now; run with --record")
            continue
        problem = _problem(theirs, found[cell.name].lines, known.get(cell.name))
        if problem:
            wrong.append(f"{name}/{cell.name}: {problem}")
    return wrong


def _problem(theirs: list[str], ours: list[str], listed: Difference | None) -> str | None:
    if listed is None:
        return None if ours == theirs else f"ipykernel gives {theirs}, ours gives {ours}"
    if ours == theirs:
        return f"listed as different ({listed.reason}), but it is not any more"
    return None if ours == listed.ours else f"listed as {listed.ours}, but ours gives {ours}"


# The script.


def main(arguments: list[str]) -> int:
    """Record ipykernel's side, or show what is different."""
    parser = argparse.ArgumentParser(description="compare the kernels on the corpus")
    parser.add_argument("files", nargs="*", help="names in the corpus; all if none is given")
    parser.add_argument("--record", action="store_true", help="write ipykernel.json")
    options = parser.parse_args(arguments)
    names = options.files or corpus_names()
    if options.record:
        record = read_record() if RECORD.exists() and options.files else {}
        for name in names:
            cells = {cell.name: cell.digest for cell in read_corpus(name)}
            found = run_file("ipykernel", name)
            record[name] = {cell: [cells[cell], *found[cell].lines] for cell in found}
        write_record(record)
        return 0
    for name in names:
        _show(name, run_file("ipykernel", name), run_file("ours", name))
    return 0


def _show(name: str, theirs: dict[str, Outcome], ours: dict[str, Outcome]) -> None:
    for cell in theirs:
        one, two = theirs[cell], ours[cell]
        if one.lines != two.lines:
            print(f"== {name}/{cell}: {one.lines} -> {two.lines}")
        texts = [normalised(outcome).splitlines() for outcome in (one, two)]
        changed = difflib.unified_diff(*texts, "ipykernel", "ours", lineterm="", n=0)
        lines = [line for line in changed if not line.startswith(("---", "+++", "@@"))]
        for line in lines[:SHOWN_LINES_MAX]:
            print(f"   {name}/{cell} {line}")


_CHANGING = [
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"0x[0-9a-f]{6,}"), "0x…"),
    (re.compile(r"\b\d+(\.\d+)? (ns|µs|us|ms|s|min)\b"), "… s"),
    (re.compile(r"\S*/ipykernel_\d+/\d+\.py|<ipython-input-\d+-\w+>"), "<cell>"),
]


def normalised(outcome: Outcome) -> str:
    """The text of a cell without what changes from run to run."""
    text = "".join(outcome.texts)
    for pattern, replacement in _CHANGING:
        text = pattern.sub(replacement, text)
    return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
