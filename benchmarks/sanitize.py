"""What it costs to make an output safe. Prints the median of some runs for typical outputs."""

from __future__ import annotations

import base64
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from wasm_kernel.notebook.sanitize import sanitize, sanitize_text

RUNS = 30
TARGETS_MS = {"small table": 1.0, "table of 1,000 rows": 15.0}


def table(rows: int, columns: int = 10) -> pd.DataFrame:
    values = np.random.default_rng(0).normal(size=(rows, columns))
    return pd.DataFrame(values, columns=[f"column {number}" for number in range(columns)])


def html(text: str) -> Callable[[], Any]:
    return lambda: sanitize({"text/html": text, "text/plain": "x"}, {}, html="safe")


def bundle(mime: str, value: Any) -> Callable[[], Any]:
    return lambda: sanitize({mime: value}, {}, html="safe")


def cases() -> dict[str, Callable[[], Any]]:
    picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\4\0\0\0\3\0" + b"x" * 100_000
    rows = [{"a": number, "b": number * 2.5} for number in range(5_000)]
    chart = {"data": {"values": rows}, "mark": "bar", "encoding": {"x": {"field": "a"}}}
    gradient = [
        {"selector": f".row{number}", "props": f"background-color: #{number:06x}"}
        for number in range(100)
    ]
    article = "<h2>Title</h2><p>Some <b>bold</b> and <a href='https://example.org'>link</a></p>"
    markdown = (
        "# Title\n\nSome **bold** text, `code` and $x^2$.\n\n- a\n- b\n\n| a | b |\n|-|-|\n|1|2|\n"
    )
    coloured = "\x1b[31mred\x1b[0m" + " text" * 17 + "\n"
    return {
        "small table": html(table(5).to_html(notebook=True)),
        "table of 1,000 rows": html(table(1_000).to_html(notebook=True)),
        "small styled table": html(table(5).style.set_table_styles(gradient).to_html()),
        "styled table of 1,000 rows": html(table(1_000).style.bar().to_html()),
        "table of 1,000 rows, not from pandas": html(f"<!---->{table(1_000).to_html()}"),
        "HTML of 100 paragraphs": html(article * 100),
        "HTML of 10,000 nested elements": html("<div>" * 10_000),
        "Markdown of 20 sections": bundle("text/markdown", markdown * 20),
        "LaTeX": bundle("text/latex", r"$\displaystyle \int_0^1 \frac{x^{2}}{2}\, dx$" * 10),
        "picture of 100 kB": bundle("image/png", picture),
        "picture of 100 kB as base64": bundle("image/png", base64.b64encode(picture).decode()),
        "chart of 5,000 rows": bundle("application/vnd.vegalite.v5+json", chart),
        "1 MB of plain text": lambda: sanitize_text("a line of text without colours\n" * 32_000),
        "1 MB of coloured text": lambda: sanitize_text(coloured * 10_000),
    }


def milliseconds(call: Callable[[], Any]) -> float:
    call()
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1_000


def main() -> None:
    for name, call in cases().items():
        took = milliseconds(call)
        target = TARGETS_MS.get(name)
        verdict = "" if target is None else f"   (target: below {target:g} ms)"
        print(f"{name:38s} {took:9.3f} ms{verdict}")


if __name__ == "__main__":
    main()
