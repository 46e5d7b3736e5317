"""Texts that keep a sanitizer busy: it reads each of them about once, however it is written.

It works while Python's lock is held: neither an interrupt nor a limit of the cell reaches it, so
whatever takes the square of a text's length stops the kernel for hours.
"""

from __future__ import annotations

import re
import time
import tracemalloc

import pytest

import wasm_kernel.notebook.sanitize.css as css_module
import wasm_kernel.notebook.sanitize.svg as svg_module
import wasm_kernel.notebook.sanitize.tex as tex_module
from wasm_kernel.notebook.sanitize import sanitize

SECONDS_MAX = 20.0
"""Each takes a second or a few; as they were read before, from a minute to days."""

MEGABYTE = 1_000_000
_NAMESPACE = "xmlns='http://www.w3.org/2000/svg'"
_DEEP = "".join(f"<g id='a{number}'>" for number in range(90))


def formula(inside: str) -> str:
    return f"<p>$ {inside} $</p>"


SLOW = {
    "rows that end nowhere": ("text/html", formula("\\\\[" * MEGABYTE)),
    "a row far from its distance": ("text/html", formula("\\\\" + " " * MEGABYTE + "x")),
    "an option far from its command": ("text/html", formula("\\cancel" + " " * MEGABYTE + "x")),
    "blanks without a line's end": ("text/markdown", "`" + "\t" * 199_000),
    "rules inside rules": ("text/html", "<style>" + "a{{}}" * 500_000 + "</style><p>x</p>"),
    "drawings that do not end": ("image/svg+xml", "<svg " * 900_000 + " xmlns="),
    "references from far inside": (
        "image/svg+xml",
        f"<svg {_NAMESPACE}>{_DEEP}<path d='{'url(#b)' * 600_000}'/>{'</g>' * 90}</svg>",
    ),
}
SLOW_ISOLATED = {
    "a height far from its number": "<script></script> height=" + " " * 199_000 + "x",
}


def seconds_of(mime: str, text: str, mode: str = "safe") -> float:
    start = time.process_time()
    sanitize({mime: text}, {}, html="isolated" if mode == "isolated" else "safe")
    return time.process_time() - start


@pytest.mark.parametrize("name", SLOW)
def test_a_text_is_read_about_once(name: str) -> None:
    assert seconds_of(*SLOW[name]) < SECONDS_MAX


@pytest.mark.parametrize("name", SLOW_ISOLATED)
def test_a_text_for_a_frame_is_read_about_once(name: str) -> None:
    assert seconds_of("text/html", SLOW_ISOLATED[name], "isolated") < SECONDS_MAX


def test_control_a_pattern_that_reads_on_and_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a pattern that looks for the end of each row, a short text takes many times as long."""
    text = formula("\\\\[" * 3_000)
    seconds_of("text/html", text)
    once = seconds_of("text/html", text)
    monkeypatch.setattr(tex_module, "_FAR_ROW", re.compile(r"(\\\\\s*\*?\s*)(?=\[[^\]]*[0-9]{3})"))
    assert seconds_of("text/html", text) > 10 * once


def test_control_references_without_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a drawing names is remembered once for each element around it."""

    def peak(most: int) -> int:
        monkeypatch.setattr(svg_module, "REFERENCES_MAX", most)
        references = "url(#b)" * 5_000
        text = f"<svg {_NAMESPACE}>{_DEEP}<path d='{references}'/>{'</g>' * 90}</svg>"
        tracemalloc.start()
        try:
            sanitize({"image/svg+xml": text}, {}, html="safe")
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(1 << 60) > 3 * peak(1_000)


def test_a_rule_after_many_others_is_found_where_it_is() -> None:
    rules = css_module.stylesheet("b{{}} i{{{}}} td{color:red}" * 3, "s")
    assert rules == "\n".join([".s td{color:red}"] * 3)


@pytest.mark.parametrize(
    "distance", ["[999pt]", "  [999pt]", "*[999pt]", " * [" + " " * 200 + "9pt]"]
)
def test_a_distance_of_any_length_is_switched_off(distance: str) -> None:
    assert tex_module.defused(f"a\\\\{distance}b") != f"a\\\\{distance}b"


def test_a_short_distance_stays() -> None:
    assert tex_module.defused("a\\\\[12pt]b\\\\ [2ex]") == "a\\\\[12pt]b\\\\ [2ex]"
