"""Clean HTML that weighs on a browser: whatever a cell shows, the tab lives and draws the page.

Nothing here runs or loads. As it came from the cell, most of it ends or stops the tab.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
from chromium import browser_context, chromium, needs_chromium
from playwright.sync_api import Browser, Error, Page

from wasm_kernel.notebook.sanitize import TextSanitizer, sanitize
from wasm_kernel.notebook.sanitize.turns import TURNS_MAX

from .page_vectors import gif

pytestmark = needs_chromium


def nested(style: str, levels: int = 500) -> str:
    return f"<div style='{style}'>" * levels + "x" + "</div>" * levels


def many(style: str, count: int = 3_000, text: str = "xxxxxxx") -> str:
    return f"<div style='{style}'>{text}</div>" * count


WIDE_ROW = "<tr>" + "<td colspan=1000>x</td>" * 20 + "</tr>"
ROWS = "<tr><td>x</td></tr>" * 40_000
DEADLY = {
    "inline-tables": nested("display:inline-table"),
    "inline-blocks": nested("display:inline-block;overflow:auto;width:min-content"),
    "slots": f"<table style='border-collapse:collapse;border:1px solid'>{WIDE_ROW}{ROWS}</table>",
}
"""What ends the tab as it is."""

SELECTORS = "".join(f"*:nth-last-child({n}n+1):not(.a){{color:red}}" for n in range(60_000))
SIBLINGS = "".join(f"i~b:nth-child({n}){{color:red}}" for n in range(200))
SAME_IDS = "".join(f"#a:nth-child({n}n+1){{color:red}}" for n in range(60_000))
HEAVY = {
    "shadows": many("box-shadow:0 0 9999px 9999px red;text-shadow:0 0 9999px red"),
    "shadows-by-variable": many("--s:0 0 9999px red;text-shadow:var(--s)"),
    "dots": many("border:1px dotted red;width:99999px;border-radius:50%"),
    "dots-by-rule": "<style>div{--d:dashed;border:1px var(--d) red;width:99999px}"
    "div{border-radius:9px}</style>" + many("color:red"),
    "selectors": f"<style>{SELECTORS}</style>" + "<b>x</b>" * 20_000,
    "marks": "<p>x" + "\u0301" * 1_000_000 + "y</p>",
    "turns": "<p>" + "\u05d0 a " * 200_000,
    "turns-of-blocks": "<p style='display:inline'>\u05d0 a " * 100_000,
    "turns-by-rule": "<style>p{display:inline}</style>" + "<p>\u05d0 a " * 100_000,
    "turns-in-elements": "<b>\u05d0</b>a<br>" * 80_000,
    "turns-among-elements": "<p style='display:inline'>\u05d0 a " * 1_300
    + "<p style='display:inline'>b a " * 80_000,
    "modifiers": "<p>x" + "\U0001f3fb" * 1_000_000 + "y</p>",
    "siblings": f"<style>{SIBLINGS}</style>" + "<b>x</b>" * 20_000,
    "same-ids": f"<style>{SAME_IDS}</style>" + "<b id=a>x</b>" * 20_000,
    "hanging-cells": "<table>" + ("<tr>" + "<td rowspan=9999>x" * 20) * 2_000 + "</table>",
    "rows-by-style": "<div style='display:table;border-collapse:collapse'>"
    f"<table style='display:contents'>{WIDE_ROW}</table>"
    + "<div style='display:table-row'>x</div>"
    * 40_000,
    "shares-of-grids": nested("display:grid;max-width:90%", 12),
    "shares-of-padded-grids": nested("display:grid;padding:1%", 12),
    "shares-of-scrolling-grids": nested(
        "display:grid;overflow-x:auto;overflow-y:auto;max-height:90%;max-width:90%", 14
    ),
    "shares-of-flexible-boxes": nested("display:flex;overflow:auto;height:99%;padding:1%", 40),
    "shares-by-rule": "<style>div{--p:1%;display:grid;padding:var(--p)}</style>"
    + nested("color:red", 14),
    "columns": "<table>" + "<colgroup span=999></colgroup>" * 1_000 + f"{ROWS}</table>",
}
"""What takes from ten seconds to many minutes as it is."""

SHOW = """async text => {
    const place = document.getElementById('output');
    place.innerHTML = text;
    const height = place.offsetHeight;
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    return height;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser_context(browser) as context:
        page = context.new_page()
        # As deep in the page as an output of JupyterLab's.
        page.set_content("<body>" + "<div>" * 40 + "<div id=output></div>")
        yield page


@pytest.mark.parametrize("name", [*DEADLY, *HEAVY])
def test_the_tab_draws_it(page: Page, name: str) -> None:
    text = sanitize({"text/html": (DEADLY | HEAVY)[name]}, {}, html="safe").data["text/html"]
    # Most of it has no other harm in it than the time it takes, which the page's patience bounds.
    assert 0 < page.evaluate(SHOW, text) <= 50_000
    assert page.locator("#output").inner_text().strip()


@pytest.mark.parametrize("name", DEADLY)
def test_as_it_came_it_ends_the_tab(page: Page, name: str) -> None:
    with pytest.raises(Error, match="crashed"):
        page.evaluate(SHOW, DEADLY[name])


def test_the_tab_draws_text_that_turns(page: Page) -> None:
    """Streams come in pieces, which a page puts together again."""
    sanitizer = TextSanitizer()
    pieces = [sanitizer.feed(piece) for piece in ["\u05d0", "a ", "\u0660 1\n"] * 100_000]
    text = "".join(pieces)
    assert text.count("\u05d0") + text.count("\u0660") <= TURNS_MAX + 1
    assert text.count("\n") == 100_000
    assert page.evaluate(SHOW, f"<pre>{text}</pre>") > 0
    # The control: whoever writes from right to left, or in few turns, sees every letter.
    hebrew, mixed = "\u05e9\u05dc\u05d5\u05dd " * 500, "\u05d0 a " * 100
    for plain in (f"{hebrew}\n" * 100, f"{mixed}\n" * (TURNS_MAX // 100)):
        assert sanitize({"text/plain": plain}, {}, html="safe").data["text/plain"] == plain
    cells = "<tr><td>\u05e9\u05dc\u05d5\u05dd</td><td>12</td></tr>" * 15_000
    clean = sanitize({"text/html": f"<table>{cells}</table>"}, {}, html="safe").data["text/html"]
    assert clean.count("\u05dd") == 15_000


DRAWINGS = {
    "height": "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9999999'><rect/></svg>",
    "shape": "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 99999'><rect/></svg>",
}
HEAVY_DRAWINGS = {
    "rules": f"<style>{SELECTORS}</style>" + "<g/>" * 60_000,
    "siblings": "<style>i~g{fill:red}</style>" + "<g/>" * 60_000,
    "filter": "<filter id='f'>"
    + "<feGaussianBlur stdDeviation='99'/>" * 90
    + "</filter>"
    + "<rect width='999' height='999' filter='url(#f)'/>" * 900,
    "filter-by-rule": "<style>rect{filter:blur(99px)}</style>"
    + "<rect width='999' height='999'/>" * 3_000,
}
LOADED = """async text => {
    const place = document.getElementById('output');
    place.innerHTML = text;
    await place.querySelector('img').decode();
    return place.offsetHeight;
}"""


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_drawing_makes_the_page_endless(page: Page, name: str) -> None:
    clean = sanitize({"image/svg+xml": DRAWINGS[name]}, {}, html="safe").data["text/html"]
    assert 0 < page.evaluate(LOADED, clean) <= 50_000
    source = base64.b64encode(DRAWINGS[name].encode()).decode()
    as_it_came = f'<img src="data:image/svg+xml;base64,{source}">'
    assert page.evaluate(LOADED, as_it_came) > 5_000_000


@pytest.mark.parametrize("name", HEAVY_DRAWINGS)
def test_the_tab_draws_a_drawing(page: Page, name: str) -> None:
    source = f"<svg width='999' height='999'>{HEAVY_DRAWINGS[name]}</svg>"
    clean = sanitize({"image/svg+xml": source}, {}, html="safe")
    if "text/html" in clean.data:
        assert page.evaluate(LOADED, clean.data["text/html"])
        page.evaluate("() => new Promise(requestAnimationFrame)")
    else:
        assert "too many" in clean.notes[0]


def test_a_frame_that_is_larger_than_its_picture(page: Page) -> None:
    """The browser shows the whole frame, so the frame is what counts."""
    small = sanitize({"image/gif": gif(1, 1, 300, 200)}, {}, html="safe").data["image/gif"]
    shown = page.evaluate(
        LOADED, f'<img src="data:image/gif;base64,{small}" style="display:block">'
    )
    assert shown == 200
    clean = sanitize({"image/gif": gif(1, 1, 30_000, 30_000)}, {}, html="safe")
    assert "image/gif" not in clean.data
    assert "too many pixels" in clean.notes[0]
