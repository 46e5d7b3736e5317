"""``python -m benchmarks.profile_cell``: where the milliseconds of one warm cell go.

A cell is sent through the Jupyter protocol to our kernel with stopwatches in it; the clock is the
same in all processes, so the client's moments and the kernel's fit on one line.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.environments import PEERS, WORKERS, prepare
from benchmarks.worker import Worker

STEPS = (
    ("sent", "dispatched", "client to the shell channel"),
    ("dispatched", "request read", "message read, busy published"),
    ("request read", "cell begins", "input published"),
    ("cell begins", "worker begins", "hop to the worker thread"),
    ("worker begins", "session entered", "kernel: commands, publisher"),
    ("session entered", "guest asked", "session: request made"),
    ("guest asked", "guest entered", "hop to the guest thread"),
    ("guest entered", "code begins", "guest: shell before the code"),
    ("code begins", "code ends", "guest: the user's code"),
    ("code ends", "guest left", "guest: shell after the code"),
    ("guest left", "guest answered", "hop back from the guest thread"),
    ("guest answered", "session left", "session: result, journal, log"),
    ("session left", "worker ends", "kernel: metrics, reply made"),
    ("worker ends", "cell answered", "hop back from the worker thread"),
    ("cell answered", "reply sent", "streams flushed, reply sent"),
    ("reply sent", "idle sent", "streams flushed, idle published"),
    ("idle sent", "last", "to the client: reply and idle"),
)

HEADS = {"steps": "step", "inside": "inside these steps; a commit goes on beside them"}


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile_cell", description=__doc__)
    parser.add_argument("--cells", type=int, default=100, help="how many are measured")
    parser.add_argument("--code", default="x=1", help="the cell")
    options = parser.parse_args(arguments)
    client = prepare(PEERS["ipykernel"])
    if not client.is_ready:
        print(f"the native environment is missing: {client.reason}")
        return 1
    before = machine.load()
    profile = measure(client, options.cells, options.code)
    print(f"one warm cell {options.code!r} through the kernel: {profile['ms']:.2f} ms")
    print(f"the same under ipykernel, in turns: {profile['native_ms']:.2f} ms\n")
    for title in ("steps", "inside"):
        print(f"{HEADS[title]:<45} {'ms':>7} {'share':>6}")
        for name, value in profile[title].items():
            print(f"{name:<45} {value:7.3f} {value / profile['ms']:6.1%}")
        print()
    print(f"load before {before[0]}, after {machine.load()[0]}; medians of {options.cells} cells")
    return 0


def measure(client: Any, cells: int, code: str = "x=1") -> dict[str, Any]:
    """The medians of the steps of one cell, of some calls inside and beside them, and of all."""
    with tempfile.TemporaryDirectory(prefix="wasm-kernel-profile-") as scratch:
        rows, native = _measure(client, Path(scratch) / "marks", cells, code)
    steps: dict[str, list[float]] = defaultdict(list)
    inside: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        for start, end, title in STEPS:
            if start in row["marks"] and end in row["marks"]:
                steps[title].append((row["marks"][end] - row["marks"][start]) * 1000)
        for title, seconds in row["spent"].items():
            inside[title].append(seconds * 1000)
    return {
        "code": code,
        "cells": cells,
        "ms": statistics.median(row["ms"] for row in rows),
        "native_ms": statistics.median(native),
        "steps": {t: statistics.median(steps[t]) for _, _, t in STEPS if t in steps},
        "inside": {t: statistics.median(inside[t]) for t in sorted(inside)},
    }


def _measure(
    client: Any, file: Path, count: int, code: str
) -> tuple[list[dict[str, Any]], list[float]]:
    """Cells of our kernel and of ipykernel, in turns."""
    python = prepare(PEERS["ours"]).python
    kernels = {
        "ours": [python, str(WORKERS / "profiled_kernel.py")],
        "ipykernel": [client.python, "-m", "ipykernel_launcher"],
    }
    worker = Worker(client)
    rows, native = [], []
    try:
        for name, command in kernels.items():
            argv = [*command, "-f", "{connection_file}"]
            env = {"BENCH_MARKS": str(file)}
            worker.ask({"do": "open", "name": name, "argv": argv, "env": env})
        for number in range(count + 20):
            answer = worker.ask({"do": "cell", "name": "ours", "code": code})
            other = worker.ask({"do": "cell", "name": "ipykernel", "code": code})
            if number >= 20:
                rows.append(answer)
                native.append(other["ms"])
    finally:
        worker.close()
    lines = file.read_text(encoding="utf-8").splitlines()[-len(rows) :]
    for row, line in zip(rows, lines, strict=True):
        kernel = json.loads(line)
        times = row["times"]
        row["marks"] = {**kernel["marks"], "sent": times["sent"]}
        row["marks"]["last"] = max(times["reply"], times["idle"])
        row["spent"] = kernel["spent"]
    return rows, native


if __name__ == "__main__":
    raise SystemExit(main())
