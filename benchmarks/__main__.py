"""``python -m benchmarks``: measure, compare with the peers, and write it down."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import machine, report, tables
from benchmarks.bench import Bench
from benchmarks.parts import (
    cells,
    compute,
    growth,
    limits,
    memory,
    profile,
    sanitizing,
    sessions,
    starts,
)
from benchmarks.results import FOLDER, Results, latest
from benchmarks.targets import judge
from benchmarks.worker import NotOffered, WorkerFailed

PARTS: dict[str, Callable[[Bench], None]] = {
    "cold": starts.run_cold,
    "fresh": starts.run_fresh,
    "throughput": starts.run_throughput,
    "cells": cells.run_cells,
    "kernels": cells.run_kernels,
    "profile": profile.run,
    "sessions": sessions.run,
    "memory": memory.run,
    "compute": compute.run,
    "limits": limits.run,
    "growth": growth.run_growth,
    "frames": growth.run_frames,
    "sanitize": sanitizing.run,
}


def main(arguments: list[str] | None = None) -> int:
    """Run the suite, or some of it."""
    options = _parser().parse_args(arguments)
    if options.report:
        page = report.write(Results.read(options.json or latest(quick=options.quick)))
        print(f"wrote {page}")
        return 0
    chosen = options.only.split(",") if options.only else list(PARTS)
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        print(f"there is no part {unknown[0]!r}; there are: {', '.join(PARTS)}")
        return 2
    # Ended from outside, it ends its workers too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    results = _run(chosen, quick=options.quick)
    path = options.json or FOLDER / time.strftime("%Y%m%d-%H%M%S.json")
    results.write(path)
    _update_latest(results, quick=options.quick)
    _summary(results)
    print(
        f"results: {path}; the page: python -m benchmarks --report"
        + (" --quick" if options.quick else "")
    )
    return 0


def _run(chosen: list[str], *, quick: bool) -> Results:
    bench = Bench(quick=quick)
    bench.results.about = {**machine.describe(), "quick": quick}
    try:
        for name in chosen:
            before, started = machine.load(), time.monotonic()
            bench.say(f"{name} (load {before[0]}) ...")
            try:
                PARTS[name](bench)
            except (WorkerFailed, NotOffered) as error:
                bench.results.problems.append(f"{name}: {error}")
                bench.say(f"  {name} was given up: {error}")
            bench.drop_workers()
            seconds = round(time.monotonic() - started, 1)
            row = {"part": name, "before": before, "after": machine.load(), "seconds": seconds}
            bench.results.load.append(row)
    finally:
        bench.close()
    return bench.results


def _update_latest(results: Results, *, quick: bool) -> None:
    """Lay a run over what was measured before, so that parts can be measured again alone."""
    path = latest(quick=quick)
    known = Results.read(path) if path.exists() else Results()
    known.merge(results)
    known.write(path)


def _summary(results: Results) -> None:
    measured = [verdict for verdict in judge(results) if verdict.measured is not None]
    for line in tables.targets_table(measured):
        print(line)
    for line in tables.losses(results):
        print(line)
    for problem in results.problems:
        print(f"not measured: {problem}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repeats: some minutes")
    parser.add_argument("--only", metavar="NAME,...", help=f"some parts: {', '.join(PARTS)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where results go or come from")
    parser.add_argument("--report", action="store_true", help="write docs/performance.md")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
