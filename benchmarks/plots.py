"""Plots of the results, drawn by matplotlib inside our own sandbox."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.results import Measure, Results
from benchmarks.tables import title_of

STYLE = """
import matplotlib
matplotlib.use("svg")
import matplotlib.pyplot as plt
plt.rcParams.update({
    "svg.hashsalt": "wasm_kernel", "svg.fonttype": "path", "font.size": 9,
    "axes.spines.top": False, "axes.spines.right": False, "figure.facecolor": "white",
})
OURS, OTHERS = "#1f77b4", "#b0b7bf"

def number(value, _=None):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"

def save(figure, name):
    figure.savefig(name, format="svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
"""

BARS = """
panels = [panel for panel in data if panel["bars"]]
heights = [max(2, len(panel["bars"])) for panel in panels]
figure, axes = plt.subplots(
    len(panels), 1, figsize=(7, 0.36 * sum(heights) + 0.7 * len(panels)), squeeze=False,
    gridspec_kw={"height_ratios": heights, "hspace": 0.9},
)
for axis, panel in zip(axes[:, 0], panels):
    names = [bar["name"] for bar in panel["bars"]][::-1]
    values = [bar["value"] for bar in panel["bars"]][::-1]
    colours = [OURS if bar["ours"] else OTHERS for bar in panel["bars"]][::-1]
    drawn = axis.barh(names, values, color=colours)
    axis.bar_label(drawn, labels=[f" {number(value)}" for value in values])
    if panel["log"]:
        axis.set_xscale("log")
        axis.set_xlim(left=min(values) / 3)
        axis.xaxis.set_major_formatter(number)
        axis.minorticks_off()
    axis.margins(x=0.15)
    title = panel["title"] + (", logarithmic" if panel["log"] else "")
    axis.set_title(title, loc="left", fontsize=9)
save(figure, file)
"""

LINES = """
figure, axes = plt.subplots(2, 2, figsize=(8, 6))
for axis, panel in zip(axes.flat, data):
    for line in panel["lines"]:
        axis.plot(line["x"], line["y"], marker="o", markersize=3, label=line["name"])
    axis.set_xscale("symlog" if panel["zero"] else "log")
    axis.xaxis.set_major_formatter(number)
    axis.minorticks_off()
    highest = max(max(line["y"]) for line in panel["lines"])
    axis.set_ylim(0, 1.15 * highest)
    axis.set_xlabel(panel["x"])
    axis.set_ylabel("ms")
    axis.set_title(panel["title"], loc="left", fontsize=9)
    if len(panel["lines"]) > 1:
        axis.legend(frameon=False)
figure.tight_layout()
save(figure, file)
"""

PANELS = {
    "fresh": ("fresh.print", "fresh.busy", "fresh.numpy", "fresh.pandas"),
    "cold": ("cold.print", "cold.pandas"),
    "cell": ("cell.api", "session.first"),
    "kernel": ("kernel.start", "kernel.pandas", "kernel.next", "cell.kernel"),
    "memory": ("memory.private",),
}
GROWTH = (
    (
        "sessions",
        "sessions",
        "sessions in one process",
        {"new_ms": "new session", "newest_ms": "x = 1"},
    ),
    ("cells", "cells", "cells in one session", {"ms": "x = 1"}),
    ("files", "files", "files in the workspace", {"ms": "x = 1"}),
    (
        "data",
        "megabytes",
        "MB of live data",
        {"cell_ms": "x = 1", "undo_ms": "undo", "rollback_ms": "rollback"},
    ),
)


def draw(results: Results, folder: Path) -> dict[str, str]:
    """Draw what there are results for; names and paths relative to the page."""
    from wasm_kernel import Session

    folder.mkdir(parents=True, exist_ok=True)
    wanted = {name: (BARS, data) for name, data in _bars(results).items() if data}
    growth = _growth(results)
    if len(growth) == len(GROWTH):
        wanted["growth"] = (LINES, growth)
    drawn = {}
    with tempfile.TemporaryDirectory(prefix="wasm-kernel-plots-") as scratch:
        with Session(workspace=scratch) as session:
            for name, (source, data) in wanted.items():
                session.put("data", data)
                session.put("file", f"{name}.svg")
                result = session.execute(STYLE + source)
                if result.error is not None:
                    raise RuntimeError("\n".join(result.error.traceback))
                (folder / f"{name}.svg").write_bytes((Path(scratch) / f"{name}.svg").read_bytes())
                drawn[name] = f"{folder.name}/{name}.svg"
    return drawn


def _bars(results: Results) -> dict[str, list[dict[str, Any]]]:
    found = {}
    for name, measures in PANELS.items():
        present = [results.measures[key] for key in measures if key in results.measures]
        found[name] = [_panel(measure) for measure in present if measure.samples]
    computing = [m for key, m in results.measures.items() if key.startswith("compute.")]
    found["compute"] = [
        _ratios(measure) for measure in computing if "subprocess" in measure.samples
    ]
    return found


def _panel(measure: Measure) -> dict[str, Any]:
    order = sorted(measure.samples.items(), key=lambda item: item[1].median)
    values = [sample.median for _, sample in order]
    return {
        "title": f"{measure.title} ({measure.unit})",
        "log": max(values) > 20 * max(min(values), 1e-9),
        "bars": [
            {"name": title_of(peer), "value": sample.median, "ours": peer.startswith("ours")}
            for peer, sample in order
        ],
    }


def _ratios(measure: Measure) -> dict[str, Any]:
    native = measure.samples["subprocess"].median
    return {
        "title": f"{measure.title} (times native)",
        "log": False,
        "bars": [
            {"name": title_of(peer), "value": sample.median / native, "ours": peer == "ours"}
            for peer, sample in sorted(measure.samples.items(), key=lambda item: item[1].median)
            if peer != "subprocess"
        ],
    }


def _growth(results: Results) -> list[dict[str, Any]]:
    found = []
    for name, key, title, lines in GROWTH:
        rows = results.tables.get(f"growth.{name}", {}).get("rows", [])
        if not rows:
            continue
        places = [float(row[key]) for row in rows]
        found.append(
            {
                "title": title,
                "x": key,
                "zero": 0.0 in places,
                "lines": [
                    {"name": label, "x": places, "y": [float(row[field]) for row in rows]}
                    for field, label in lines.items()
                ],
            }
        )
    return found
