"""What stays of ordinary output, and how it looks: pandas, pictures, LaTeX, Markdown, charts, text.

What must go is in tests/attacks/test_page_static.py.
"""

from __future__ import annotations

import base64
import io
import json
import time
from collections.abc import Callable
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
import pandas as pd
import pytest
import tinycss2
from attacks.page_checks import XHTML, html_violations, violations
from bleach._vendor import html5lib
from IPython.display import Audio
from PIL import Image

from wasm_kernel.notebook.sanitize import (
    Sanitized,
    TextSanitizer,
    sanitize,
    sanitize_text,
    sanitize_traceback,
)
from wasm_kernel.notebook.sanitize import bundle as bundle_module
from wasm_kernel.notebook.sanitize.css import declarations, selector, stylesheet
from wasm_kernel.notebook.sanitize.expressions import is_safe_expression
from wasm_kernel.notebook.sanitize.guard import bounded, flattened
from wasm_kernel.notebook.sanitize.links import LINKS_MAX
from wasm_kernel.notebook.sanitize.markdown import markdown_to_html
from wasm_kernel.notebook.sanitize.svg import clean_svg
from wasm_kernel.notebook.sanitize.tables import known_table
from wasm_kernel.notebook.sanitize.terminal import LINE_MAX, SGR_MAX, TEXT_LINES_MAX
from wasm_kernel.notebook.sanitize.tex import SIGNS_MAX, WORD_JOINER, is_too_much_in_html
from wasm_kernel.notebook.sanitize.texts import (
    EMBEDDED_LEFT_OUT,
    FAILED,
    FRAMES_LEFT_OUT,
    INTERACTIVE_LEFT_OUT,
    PLAYERS_LEFT_OUT,
)


def shown(mime: str, value: Any, **metadata: Any) -> Sanitized:
    clean = sanitize({mime: value}, metadata, html="safe")
    assert violations(clean.data, clean.metadata) == []
    return clean


def html_of(text: str) -> str:
    return str(shown("text/html", text).data["text/html"])


def tree_of(text: str) -> Element:
    tree: Element = html5lib.parseFragment(html_of(text), container="div", treebuilder="etree")
    return tree


def cells(tree: Element) -> list[list[str]]:
    return [["".join(cell.itertext()).strip() for cell in row] for row in tree.iter(f"{XHTML}tr")]


def rules_of(text: str) -> dict[str, str]:
    """Selector to declarations of all styles of some HTML, each without its scope."""
    tree = html5lib.parseFragment(text, container="div", treebuilder="etree")
    found = {}
    for style in tree.iter(f"{XHTML}style"):
        for rule in tinycss2.parse_stylesheet(style.text or ""):
            if rule.type == "qualified-rule":
                for part in tinycss2.serialize(rule.prelude).split(","):
                    scope, _, rest = part.strip().partition(" ")
                    assert scope.startswith(".wkscope-")
                    found[rest] = tinycss2.serialize(rule.content)
    return found


@pytest.fixture
def frame() -> pd.DataFrame:
    values = np.random.default_rng(7).normal(size=(6, 4))
    return pd.DataFrame(values, columns=["a", "b<i>", "c & d", "e"])


def shade(value: float) -> str:
    """What ``Styler.background_gradient`` writes for a cell; itself it needs Matplotlib."""
    level = int(127 + 60 * np.tanh(value))
    return f"background-color: #{level:02x}80{255 - level:02x};color: #f1f1f1;"


class TestPandas:
    def test_a_table_keeps_its_cells_classes_and_looks(self, frame: pd.DataFrame) -> None:
        before = frame._repr_html_()
        after = html_of(before)
        tree = tree_of(before)
        original = html5lib.parseFragment(before, container="div", treebuilder="etree")
        assert cells(tree) == cells(original)
        (table,) = tree.iter(f"{XHTML}table")
        assert table.attrib == {"border": "1", "class": "dataframe"}
        assert rules_of(after)[".dataframe tbody tr th"] == "vertical-align:top"
        assert rules_of(after)[".dataframe thead th"] == "text-align:right"

    def test_a_long_table_keeps_its_row_count(self) -> None:
        text = html_of(pd.DataFrame({"a": range(100)})._repr_html_())
        assert "100 rows \N{MULTIPLICATION SIGN} 1 columns" in text

    def test_a_table_with_many_levels_keeps_its_spans(self) -> None:
        index = pd.MultiIndex.from_product([["x", "y"], [1, 2]], names=["k", "l"])
        columns = pd.MultiIndex.from_product([["A", "B"], ["u", "v"]])
        wide = pd.DataFrame(np.arange(16).reshape(4, 4), index=index, columns=columns)
        heads = list(tree_of(wide._repr_html_()).iter(f"{XHTML}th"))
        assert [head.get("colspan") for head in heads if head.get("colspan")] == ["2", "2"]
        assert [head.get("rowspan") for head in heads if head.get("rowspan")] == ["2", "2"]

    @pytest.mark.parametrize(
        "make",
        [
            lambda f: f._repr_html_(),
            lambda f: f.to_html(),
            lambda f: f.style.to_html(),
            lambda f: f.style.map(shade).to_html(),
            lambda f: f.rename_axis("name").T._repr_html_(),
            lambda f: f.describe()._repr_html_(),
            lambda f: pd.DataFrame()._repr_html_(),
        ],
    )
    def test_both_ways_of_cleaning_agree(self, make: Any, frame: pd.DataFrame) -> None:
        """The fast way for known tables gives the tree that the general way gives."""
        text = make(frame)
        fast = html_of(text)
        slow = html_of(f"{text}<!-- not what pandas writes -->")
        assert _canonical(fast) == _canonical(slow)

    def test_the_fast_way_is_taken(self, frame: pd.DataFrame) -> None:
        body = frame.to_html()
        assert known_table(body) == body
        assert known_table(body.replace("<tr>", "<tr onclick=x>")) is None
        assert known_table(body.replace("</table>", "</table></div>")) is None
        assert known_table(body.replace("<td>", "<td>&#x202e;")) is None

    def test_a_styler_keeps_its_colours(self, frame: pd.DataFrame) -> None:
        frame.columns = list("abcd")
        styler = frame.style.map(
            lambda v: "color: red; font-weight: bold" if v > 0 else "color: #00f"
        )
        styler = styler.set_caption("caption").set_table_styles(
            [
                {"selector": "th.col_heading", "props": "background-color: #eee; color: black"},
                {"selector": "tr:hover", "props": [("background-color", "yellow")]},
                {"selector": "tr:nth-child(even)", "props": "opacity: 0.9"},
                {"selector": "td", "props": "background: url(http://x/y); border: 1px solid red"},
            ]
        )
        text = styler.to_html(table_uuid="u")
        after = html_of(text)
        tree = tree_of(text)
        rules = rules_of(after)
        (table,) = tree.iter(f"{XHTML}table")
        assert table.get("id") == "wk-T_u"
        assert rules["#wk-T_u th.col_heading"] == "background-color:#eee;color:black"
        assert rules["#wk-T_u tr:hover"] == "background-color:yellow"
        assert rules["#wk-T_u tr:nth-child(even)"] == "opacity:0.9"
        assert rules["#wk-T_u td"] == "border:1px solid red"
        ids = {cell.get("id") for cell in tree.iter(f"{XHTML}td")}
        coloured = {name.removeprefix("#"): body for name, body in rules.items() if "_row" in name}
        assert set(coloured) == ids
        assert set(coloured.values()) == {"color:red;font-weight:bold", "color:#00f"}
        assert "caption" in "".join(tree.itertext())

    def test_bars_and_tooltips_of_a_styler(self, frame: pd.DataFrame) -> None:
        rules = rules_of(html_of(frame.style.bar(color="#d65f5f").to_html()))
        assert any("linear-gradient(90deg" in body for body in rules.values())

    def test_two_outputs_do_not_style_each_other(self) -> None:
        first = html_of("<style>td{color:red}</style><table><tr><td>1</td></tr></table>")
        second = html_of("<style>td{color:red}</style><table><tr><td>2</td></tr></table>")
        scopes = [text.split('class="')[1].split('"')[0] for text in (first, second)]
        assert scopes[0] != scopes[1]

    def test_money_stays_money(self) -> None:
        text = html_of(pd.DataFrame({"price": ["$5", "$7 to $9"]})._repr_html_())
        assert "$7 to $9" in text


def _canonical(text: str) -> list[Any]:
    tree = html5lib.parseFragment(text, container="div", treebuilder="etree")
    return [
        (
            element.tag,
            sorted(
                (name, value.replace(" ", "").rstrip(";"))
                for name, value in element.attrib.items()
                if name not in ("class", "halign")
            ),
            " ".join((element.text or "").split()) if "style" not in element.tag else "",
        )
        for element in tree.iter()
        if isinstance(element.tag, str)
    ]


class TestHtml:
    def test_markup_of_texts_stays(self) -> None:
        text = (
            "<h1>T</h1><p>a <b>b</b> <i>c</i> <code>d</code><br>e</p><ul><li>f</li></ul>"
            "<details open><summary>g</summary>h</details><blockquote>i</blockquote>"
        )
        written = text.replace(" open", ' open=""').replace("<h1>", '<h1 class="tocSkip">')
        assert f"<div>{written}</div>" in html_of(text)

    def test_classes_ids_and_their_uses_change_together(self) -> None:
        after = html_of(
            "<style>.note{color:red} #top{color:blue} .jp-Cell{color:green}</style>"
            "<p class='note jp-Cell lm-x' id=top>x</p><a href='#top'>up</a>"
            "<table><tr><th id=h>h</th><td headers='h i'>x</td></tr></table>"
        )
        assert (
            '<p class="wk-note" id="wk-top">' in after or '<p id="wk-top" class="wk-note">' in after
        )
        assert '<a href="#wk-top">' in after
        assert 'headers="wk-h wk-i"' in after
        assert rules_of(after) == {".wk-note": "color:red", "#wk-top": "color:blue"}

    def test_links_outwards_open_apart(self) -> None:
        after = html_of("<a href='https://example.org/?a=1&b=2'>x</a>")
        assert (
            '<a href="https://example.org/?a=1&amp;b=2" rel="noopener noreferrer nofollow" '
            'target="_blank">x</a>' in after
        )
        assert "<a>x</a>" in html_of("<a href='notes.ipynb'>x</a>")

    def test_embedded_pictures_stay_and_others_leave_their_text(self) -> None:
        source = base64.b64encode(png(3, 2)).decode()
        text = (
            f"<img src='data:image/png;base64,{source}' width=30><img src='http://x/y' alt='why'>"
        )
        clean = shown("text/html", text)
        assert (
            f'<img src="data:image/png;base64,{source}" width="30">why' in clean.data["text/html"]
        )
        assert clean.notes == ["Pictures that would load from elsewhere were left out."]

    def test_a_drawing_inside_html_becomes_a_picture(self) -> None:
        after = html_of("<p>a<svg width='8' height='8'><circle r='4'/></svg>b</p>")
        assert '<p>a<img src="data:image/svg+xml;base64,' in after

    def test_sounds_of_samples_have_a_player_that_waits(self) -> None:
        audio = Audio(np.sin(np.arange(800)), rate=8000, autoplay=True)
        clean = shown("text/html", f"<p>a</p>{audio._repr_html_()}{audio._repr_html_()}")
        after = clean.data["text/html"]
        assert clean.notes == [] and "autoplay" not in after and "support" not in after
        samples = base64.b64encode(audio.data).decode()
        player = f'<audio controls="controls" src="data:audio/wav;base64,{samples}"></audio>'
        assert after.count(player) == 2
        for name in ("x-wav", "wave", "vnd.wave"):
            assert player in html_of(f"<audio src='data:audio/{name};base64,{samples}'></audio>")

    @pytest.mark.parametrize(
        "change",
        [
            lambda data: b"",
            lambda data: data[:30],
            lambda data: b"OggS" + data[4:],
            lambda data: data[:8] + b"AVI " + data[12:],
            lambda data: data.replace(b"fmt ", b"fnt "),
            lambda data: data.replace(b"data", b"deta"),
            lambda data: data[:20] + b"\x55\0" + data[22:],
            lambda data: data[:22] + b"\xff\xff" + data[24:],
            lambda data: data[:16] + b"\xff\xff\xff\xff" + data[20:],
            lambda data: b"#EXTM3U\nhttps://a.example/song.wav\n",
        ],
        ids=["empty", "cut", "ogg", "film", "no format", "no samples", "mp3", "channels", "size",
             "list of songs"],
    )  # fmt: skip
    def test_other_bytes_have_no_player(self, change: Callable[[bytes], bytes]) -> None:
        samples = change(bytes(Audio(np.ones(80), rate=8000).data))
        text = f"<audio src='data:audio/wav;base64,{base64.b64encode(samples).decode()}'></audio>x"
        clean = shown("text/html", text)
        assert clean.notes == [PLAYERS_LEFT_OUT] and "<audio" not in clean.data["text/html"]

    @pytest.mark.parametrize("source", ["tone.wav", "https://a.example/tone.wav", "blob:x", ""])
    def test_sounds_from_elsewhere_have_no_player(self, source: str) -> None:
        clean = shown("text/html", f"<audio controls src='{source}'></audio>")
        assert clean.notes == [PLAYERS_LEFT_OUT] and "<audio" not in clean.data["text/html"]

    def test_interactive_parts_are_mentioned(self) -> None:
        clean = shown("text/html", "<div id=plot></div><script>draw()</script>")
        assert clean.notes == [INTERACTIVE_LEFT_OUT]
        assert shown("text/html", "<p>only = online = 5</p>").notes == []

    @pytest.mark.parametrize(
        ("text", "note"),
        [
            ('<iframe\n width="3"\n src="https://a.example"></iframe>', FRAMES_LEFT_OUT),
            ("<iframe src='page.html'></iframe>", FRAMES_LEFT_OUT),
            ("<iframe srcdoc='x'></iframe>", INTERACTIVE_LEFT_OUT),
            ("<iframe src='x'></iframe><script>1</script>", INTERACTIVE_LEFT_OUT),
            ("<audio controls src='data:audio/wav;base64,UklG'></audio>", PLAYERS_LEFT_OUT),
            ("<video><source src='film.mp4'></video>", PLAYERS_LEFT_OUT),
            ("<form><input></form>", EMBEDDED_LEFT_OUT),
        ],
    )
    def test_the_note_says_what_helps(self, text: str, note: str) -> None:
        assert shown("text/html", text).notes == [note]

    def test_a_diagram_of_an_estimator_needs_no_word_about_its_script(self) -> None:
        diagram = '<div class="sk-top-container sk-global">Ridge()</div><script>copy()</script>'
        clean = shown("text/html", diagram)
        assert "Ridge()" in clean.data["text/html"] and "script" not in clean.data["text/html"]
        assert clean.notes == []

    def test_text_of_refused_html_is_shown(self) -> None:
        clean = sanitize({"text/html": "<p>a</p>" * 10}, {}, html="safe", max_bytes=20)
        assert set(clean.data) == {"text/plain"}
        clean = sanitize({"text/html": "<style>x</style><p>a &lt; b</p>"}, {}, html="text")
        assert clean.data == {"text/plain": "a < b"}

    def test_progress_bars_stay(self) -> None:
        assert '<progress max="10" value="3">' in html_of("<progress max=10 value=3></progress>")

    @pytest.mark.parametrize("size", [1_000, 20_000])
    @pytest.mark.parametrize(
        "bomb", ["<div>", "<b>", "<table><tr><td>", "<a b", "<svg>", "<p", "<!--"]
    )
    def test_hostile_nesting_costs_little(self, bomb: str, size: int) -> None:
        start = time.process_time()
        sanitize({"text/html": bomb * size}, {}, html="safe")
        attributes = " ".join(f"a{number}=1" for number in range(size))
        sanitize({"text/html": f"<p {attributes}>x</p>"}, {}, html="safe")
        sanitize({"text/html": "<div>" * size + "</p>" * size}, {}, html="safe")
        assert time.process_time() - start < 3

    def test_flattening_keeps_ordinary_documents(self) -> None:
        text = "<ul><li>a<li>b</ul><p>c<p title='x>y'>d <b>e</b> f"
        assert flattened(text) == (
            '<ul><li>a</li><li>b</li></ul><p>c</p><p title="x&gt;y">d <b>e</b> f</p>'
        )
        assert bounded(text) == text
        deep = flattened("<div>" * 500)
        assert deep.count("<div>") == 100
        assert flattened("a<script>b</script>c<!--d-->e<svg><p>f</svg>g") == "aceg"


class TestWeight:
    """What makes a browser slow is bounded; what people write is far below the bounds."""

    def test_levels(self) -> None:
        assert html_of("<div>" * 90 + "x").count("<div>") >= 90
        assert 90 <= html_of("<div>" * 500 + "x").count("<div>") <= 150
        clipped = html_of("<div style='display:inline-block'>" * 500 + "the words stay")
        assert "the words stay" in clipped

    def test_spans_of_real_tables_stay(self) -> None:
        index = pd.MultiIndex.from_product([range(200), range(10)])
        columns = pd.MultiIndex.from_product([range(3), range(5)])
        frame = pd.DataFrame(np.zeros((2_000, 15)), index, columns)
        text = frame.to_html()
        assert html_of(text).count("rowspan") == text.count("rowspan") == 200
        assert html_of(text).count("colspan") == text.count("colspan")
        styled = html_of("<style>b{display:block}</style>" + text)
        assert styled.count("rowspan") == 200

    def test_spans_that_make_holes_go(self) -> None:
        row = "<tr>" + "<td colspan=1000>x</td>" * 20 + "</tr>"
        assert "colspan" in html_of(f"<table>{row * 10}</table>")
        text = html_of(f"<table>{row}" + "<tr><td>x</td></tr>" * 1_000 + "</table>")
        assert "colspan" not in text
        assert text.count("<td>x</td>") == 1_020

    def test_shadows(self) -> None:
        short = "box-shadow:0 2px 4px rgba(0,0,0,0.2);text-shadow:1px 1px #999"
        assert declarations(short) == short
        assert (
            declarations("box-shadow:0 0 999px red;text-shadow:var(--x);color:red") == "color:red"
        )
        assert declarations("text-shadow:0 0 99em red;box-shadow:0 0 9rem red") == ""

    def test_dots(self) -> None:
        style = "<p style='border:1px dotted red;border-radius:4px'>dotted</p>"
        assert html_of(style).count("dotted") == 2
        crowd = html_of(style * 1_000)
        assert crowd.count("dotted") == crowd.count("solid") == 1_000
        assert "dotted" in html_of("<p style='border:1px dotted red'>x</p>" * 1_000)

    @pytest.mark.parametrize("mark", ["\u0301", "\u20dd", "\u0947", "\u200d", "\U0001f3fb"])
    def test_marks(self, mark: str) -> None:
        crowd, many = "x" + mark * 1_000, mark * 30
        assert html_of(crowd).count(mark) == sanitize_text(crowd).count(mark) == 30
        assert shown("text/latex", crowd).data["text/latex"].count(mark) == 30
        stream = TextSanitizer()
        fed = [
            stream.feed(piece) for piece in ("x", mark, mark * 20, mark * 20, "", mark, "y" + mark)
        ]
        assert "".join(fed) == f"x{many}y{mark}"
        ordinary = f"x{many}y{many}" + "█" * 100 + "é" + "👍" * 50
        assert sanitize_text(ordinary) == ordinary

    def test_selectors(self) -> None:
        rules = "".join(f"p:nth-child({n}){{color:red}}" for n in range(1_000))
        assert html_of(f"<style>{rules}</style>" + "<p>x</p>" * 1_000).count("{color") == 1_000
        assert html_of(f"<style>{rules}</style>" + "<p>x</p>" * 40_000).count("{color") == 250
        frame = pd.DataFrame(np.arange(20_000).reshape(-1, 10))
        text = frame.style.map(lambda value: f"background-color: #{value % 999:06x}").to_html()
        assert html_of(text).count("{background-color") == text.count("background-color") > 50


class TestCss:
    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ("color: RED; background: url(x)", "color:red"),
            (
                "font: italic bold .8em/1.2 Arial, sans-serif",
                "font:italic bold .8em/1.2 arial,sans-serif",
            ),
            (
                "border: 1px solid rgba(0, 0, 0, .5) !important",
                "border:1px solid rgba(0,0,0,.5)!important",
            ),
            ("color: var(--a, var(--b, #fff))", "color:var(--a,var(--b,#fff))"),
            ("--a: #fff", "--a:#fff"),
            ("--a: url(x)", ""),
            ('font-family: "Times New Roman"', "font-family:'times new roman'"),
            ('font-family: "x;y</style>"', ""),
            ("position: relative", "position:relative"),
            ("position: var(--p)", ""),
            ("width: 99999999px", ""),
            ("margin: -1px", ""),
            ("color: r\\65 d", ""),
            ("background: /**/ red", "background:red"),
            ("color", ""),
            ("", ""),
        ],
    )
    def test_declarations(self, given: str, kept: str) -> None:
        assert declarations(given) == kept

    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ("#T_x  thead > th", ".s #wk-T_x thead>th"),
            (".output_html .hll", ".s .wk-hll"),
            (":root", ".s"),
            ("td:not( .x ):hover", ".s td:not(.wk-x):hover"),
            ("tr:nth-child(2n + 1)", ".s tr:nth-child(2n+1)"),
            (".jp-Toolbar", None),
            ("a::before", None),
            ("[href]", None),
            ("a{}", None),
            ("</style>", None),
            ("", None),
        ],
    )
    def test_selectors(self, given: str, kept: str | None) -> None:
        assert selector(given, "s") == kept

    def test_a_sheet_is_written_anew(self) -> None:
        sheet = """
        @import url(x); .a, .b > c { color: red; content: "}" } /* x */
        @media (prefers-color-scheme: dark) { .a { color: white } }
        @media print { .a { color: black } }
        @font-face { src: url(x) } .c { .d { color: red } } .e { color: blue }
        """
        assert stylesheet(sheet, "s").split("\n") == [
            ".s .wk-a,.s .wk-b>c{color:red}",
            "@media (prefers-color-scheme:dark){.s .wk-a{color:white}}",
            ".s .wk-e{color:blue}",
        ]


class TestMarkup:
    def test_markdown_looks_like_markdown(self) -> None:
        source = "\n".join(
            [
                "# Title",
                "",
                "Some **bold**, *em*, ~~gone~~, `a < b`, snake_case_name and 2 * 3 * 4.",
                "[link](https://example.org) and <https://example.org/x>",
                "",
                "- a",
                "- b",
                "    1. c",
                "",
                "| x | y |",
                "|---|--:|",
                "| 1 | 2 |",
                "",
                "> quoted",
                "",
                "```python",
                "if a < b: pass",
                "```",
                "",
                "Under",
                "-----",
            ]
        )
        assert markdown_to_html(source) == "\n".join(
            [
                "<h1>Title</h1>",
                "<p>Some <strong>bold</strong>, <em>em</em>, <del>gone</del>, "
                "<code>a &lt; b</code>, snake_case_name and 2 * 3 * 4.",
                '<a href="https://example.org">link</a> and '
                '<a href="https://example.org/x">https://example.org/x</a></p>',
                '<ul><li>a</li><li>b\n<ol start="1"><li>c</li></ol></li></ul>',
                '<table><thead><tr><th>x</th><th align="right">y</th></tr></thead>'
                '<tbody><tr><td>1</td><td align="right">2</td></tr></tbody></table>',
                "<blockquote><p>quoted</p></blockquote>",
                "<pre><code>if a &lt; b: pass\n</code></pre>",
                "<h2>Under</h2>",
            ]
        )

    def test_markdown_becomes_html(self) -> None:
        clean = sanitize(
            {"text/markdown": "# A <b>b</b>", "text/plain": "<Markdown object>"}, {}, html="safe"
        )
        assert set(clean.data) == {"text/plain", "text/html"}
        assert '<h1 class="tocSkip">A <b>b</b></h1>' in clean.data["text/html"]

    def test_formulas_in_markdown_reach_the_page_whole(self) -> None:
        text = shown(
            "text/markdown", "$a_1 * b_2 * c$ and\n\n$$\nx < y \\\\\n\\frac{1}{2}\n$$"
        ).data
        assert "$a_1 * b_2 * c$" in text["text/html"]
        assert "$$\nx &lt; y \\\\\n\\frac{1}{2}\n$$" in text["text/html"]

    @pytest.mark.parametrize(
        "piece", ["[", "\\(", "*a ", "> ", "- ", "`", "<a ", "$a ", "|", "# ", "_"]
    )
    def test_hostile_markdown_costs_little(self, piece: str) -> None:
        start = time.process_time()
        sanitize({"text/markdown": piece * (190_000 // len(piece))}, {}, html="safe")
        sanitize({"text/markdown": f"{piece}\n" * 20_000}, {}, html="safe")
        assert time.process_time() - start < 6

    def test_latex_of_sympy_stays(self) -> None:
        source = (
            r"$\displaystyle \left[\begin{matrix}\frac{x^{2}}{2} & \sqrt{y}\\\int\limits_{0}^"
            r"{\infty} e^{- t^{2}}\, dt & \operatorname{atan}{\left(\theta \right)}\end{matrix}"
            r"\right]$"
        )
        clean = shown("text/latex", source)
        assert clean.data == {"text/latex": source}
        assert clean.notes == []

    def test_other_commands_are_shown_and_not_obeyed(self) -> None:
        clean = shown("text/latex", r"$\frac{1}{2} \href{https://x}{y} \color{red}{z}$")
        assert clean.data["text/latex"] == (
            rf"$\frac{{1}}{{2}} \{WORD_JOINER}href{{https://x}}{{y}} \color{{red}}{{z}}$"
        )
        assert clean.notes == ["Some LaTeX commands were switched off."]

    def test_latex_beside_html_is_not_talked_about(self) -> None:
        clean = sanitize({"text/html": "<b>x</b>", "text/latex": r"$\href{a}{b}$"}, {}, html="safe")
        assert set(clean.data) == {"text/html", "text/latex"}
        assert WORD_JOINER in clean.data["text/latex"] and clean.notes == []

    def test_text_with_backslashes_but_no_formula_is_left_alone(self) -> None:
        assert r"C:\Users\name" in html_of(r"<code>C:\Users\name</code>")

    def test_too_much_math_is_not_typeset(self) -> None:
        clean = shown("text/html", "<p>$x$</p>" * 3_000)
        assert 'class="mathjax_ignore tex2jax_ignore"' in clean.data["text/html"]

    @pytest.mark.parametrize("sign", ["x", r"\alpha", "&lt;", "x<br>", "{x}^{1.5}"])
    @pytest.mark.parametrize(
        "around", [("$", "$"), ("$$", "$$"), (r"\(", r"\)"), (r"\begin{align}", r"\end{align}")]
    )
    def test_signs_of_formulas_are_counted(self, sign: str, around: tuple[str, str]) -> None:
        begin, end = around
        count = SIGNS_MAX // (2 if sign == "{x}^{1.5}" else 1)
        assert not is_too_much_in_html(f"<p>{begin}{sign * (count - 1)}{end}</p>")
        assert is_too_much_in_html(f"<p>{begin}{sign * (count + 1)}{end}</p>")

    @pytest.mark.parametrize(
        "text",
        [
            "<p>It costs $5, and $7 with $x^2$ of them; \\$9 is no formula.</p>" * 300,
            f"<p>$x</p><p>{'word ' * 50_000}</p><p>y$</p>",
            f"<p>\\${'word ' * 50_000}\\$</p>",
            f"<p>$x{{$ {'word ' * 50_000}</p>",
        ],
        ids=["prices", "in two paragraphs", "escaped", "never closed"],
    )
    def test_what_is_no_formula_is_not_counted(self, text: str) -> None:
        assert not is_too_much_in_html(text)

    def test_a_search_for_ends_that_are_not_there_is_bounded(self) -> None:
        assert is_too_much_in_html("<p>" + r"\({}" * 1_000 + r"\a" * 10_000)


def png(width: int, height: int) -> bytes:
    return picture("PNG", width, height)


def picture(kind: str, width: int = 4, height: int = 3) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(buffer, kind)
    return buffer.getvalue()


class TestPictures:
    @pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "webp"])
    @pytest.mark.parametrize("form", ["bytes", "base64", "lines"])
    def test_bytes_and_base64_of_real_pictures(self, kind: str, form: str) -> None:
        content = picture(kind.upper())
        encoded = base64.b64encode(content).decode()
        value = {"bytes": content, "base64": encoded, "lines": encoded[:20] + "\n" + encoded[20:]}
        assert shown(f"image/{kind}", value[form]).data == {f"image/{kind}": encoded}

    @pytest.mark.parametrize("options", [{"lossless": True}, {"quality": 50}, {"save_all": True}])
    def test_every_kind_of_webp(self, options: dict[str, Any]) -> None:
        buffer = io.BytesIO()
        frames = [Image.new("RGBA", (40, 30), color) for color in ("red", "blue")]
        extra = {"append_images": frames[1:]} if "save_all" in options else {}
        frames[0].save(buffer, "WEBP", **options, **extra)
        assert "image/webp" in shown("image/webp", buffer.getvalue()).data

    def test_progressive_jpeg(self) -> None:
        buffer = io.BytesIO()
        Image.new("RGB", (64, 48)).save(buffer, "JPEG", progressive=True, comment=b"x" * 500)
        assert "image/jpeg" in shown("image/jpeg", buffer.getvalue()).data

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            (png(1, 1)[:16] + b"\xff" * 8, "pixels are too many"),
            (picture("GIF"), "not such a picture"),
            ("not base64!", "not base64"),
            (b"", "not such a picture"),
            (5, "neither bytes nor base64"),
            (b"\x89PNG\r\n\x1a\n" + b"x" * 3_000_000, "larger than"),
        ],
    )
    def test_what_is_no_such_picture(self, value: Any, reason: str) -> None:
        clean = sanitize({"image/png": value}, {}, html="safe", max_bytes=1_000_000)
        assert set(clean.data) == {"text/plain"}
        assert reason in clean.notes[0]

    def test_a_large_frame_in_a_small_animation(self) -> None:
        buffer = io.BytesIO()
        frames = [Image.new("P", (40, 30), colour) for colour in (1, 2, 3)]
        frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:], comment=b"x" * 600)
        content = buffer.getvalue()
        assert "image/gif" in shown("image/gif", content).data
        assert "image/gif" in shown("image/gif", content[:-20]).data
        last = content.rindex(b"\x00\x2c") + 1
        large = content[: last + 5] + b"\xff\xff\xff\xff" + content[last + 9 :]
        assert "image/gif" not in sanitize({"image/gif": large}, {}, html="safe").data

    def test_an_endless_animation(self) -> None:
        frame = b"\x00\x2c" * 1_000
        content = b"GIF89a" + b"\xff\x7f\xff\x05" + frame
        assert "image/gif" not in sanitize({"image/gif": content}, {}, html="safe").data

    def test_size_and_background_stay(self) -> None:
        metadata = {
            "image/png": {"width": 640, "height": 480.4, "x": 1},
            "needs_background": "light",
            "isolated": True,
        }
        clean = sanitize({"image/png": png(4, 3)}, metadata, html="safe")
        assert clean.metadata == {
            "image/png": {"width": 640, "height": 480},
            "needs_background": "light",
        }

    def test_a_drawing_becomes_a_picture_of_its_size(self) -> None:
        source = (
            "<svg width='460.8pt' height='345.6pt'><path d='M 0 0 L 1 1' style='fill: none'/></svg>"
        )
        text = shown("image/svg+xml", source).data["text/html"]
        assert text.endswith('width="614" height="461" alt="drawing"></div></div>')

    def test_filters_of_a_drawing_are_counted(self) -> None:
        def filtered(uses: int, use: str, steps: int = 3) -> int:
            filter_ = f"<filter id='f'>{'<feOffset/>' * steps}</filter>"
            source = f"<svg>{filter_}{f'<rect {use}/>' * uses}</svg>"
            return clean_svg(source)[0].count("<rect filter=") + clean_svg(source)[0].count(
                "<rect style="
            )

        assert filtered(10, "filter='url(#f)'") == 10
        assert filtered(1_000, "filter='url(#f)'") == 16
        assert filtered(10, "filter='url(#f)'", 99) == 0
        assert filtered(1_000, "style='fill:red; FILTER:blur(9px)'") == 16
        assert filtered(1_000, "style='fill:red'") == 1_000
        rules = "<style>rect{filter:blur(9px)}</style><style>g:has(rect)~g{fill:red}</style>"
        assert "<style></style><style></style>" in clean_svg(f"<svg>{rules}</svg>")[0]

    def test_rules_of_a_drawing_are_counted(self) -> None:
        rules = "".join(f"*:nth-child({number}){{fill:red}}" for number in range(1_000))
        few, many = "<g/>" * 1_000, "<g/>" * 50_000
        assert rules in clean_svg(f"<svg><style>{rules}</style>{few}</svg>")[0]
        clean = sanitize(
            {"image/svg+xml": f"<svg><style>{rules}</style>{many}</svg>"}, {}, html="safe"
        )
        assert "too many rules" in clean.notes[0]

    def test_a_drawing_keeps_what_it_draws_with(self) -> None:
        source = (
            '<?xml version="1.0" encoding="utf-8" standalone="no"?>\n'
            '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/x.dtd">\n'
            '<svg xmlns:xlink="http://www.w3.org/1999/xlink" xmlns="http://www.w3.org/2000/svg">'
            '<metadata><rdf xmlns="r"/></metadata><defs><style>*{stroke-linejoin: round}</style>'
            '<path id="m" d="M0 0"/><clipPath id="p"><rect width="9"/></clipPath></defs>'
            '<g clip-path="url(#p)"><use xlink:href="#m" x="1" style="fill: #1f77b4"/></g>'
            "<text>a &lt; b</text></svg>"
        )
        drawing, _, _ = clean_svg(source)
        assert '<use xlink:href="#m" x="1" style="fill: #1f77b4">' in drawing
        assert '<g clip-path="url(#p)">' in drawing
        assert "<style>*{stroke-linejoin: round}</style>" in drawing
        assert "<text>a &lt; b</text>" in drawing
        assert "rdf" not in drawing


class TestData:
    def test_json_is_data(self) -> None:
        value = {"a": [1, 2.5, None, True, "x"], "b": {"c": "<b>"}}
        assert shown("application/json", value).data == {"application/json": value}
        assert shown("application/json", json.dumps(value)).data == {"application/json": value}

    def test_values_json_cannot_hold(self) -> None:
        value = {"a": float("nan"), "b": 10**5000, "c": "x\ud800", "d": float("inf")}
        kept = shown("application/json", value).data["application/json"]
        assert kept == {"a": None, "b": None, "c": "x", "d": None}

    def test_depth_and_size_are_bounded(self) -> None:
        deep: Any = []
        for _ in range(10_000):
            deep = [deep]
        for value in (deep, [0] * 1_000_000, {"x": object()}, "{", "[" * 100_000):
            clean = sanitize({"application/json": value}, {}, html="safe")
            assert set(clean.data) == {"text/plain"}

    def test_geojson_stays(self) -> None:
        value = {"type": "Feature", "geometry": None, "properties": {"name": "a & b"}}
        assert shown("application/geo+json", value).data == {"application/geo+json": value}


LITE = {
    "$schema": "https://vega.github.io/schema/vega-lite/v5.20.1.json",
    "config": {"view": {"continuousWidth": 300, "continuousHeight": 300}},
    "data": {"name": "data-1"},
    "datasets": {"data-1": [{"a": "A", "b": 28, "c": "2020-01-01T00:00:00"}]},
    "mark": {"type": "bar", "tooltip": True, "cursor": "pointer"},
    "params": [
        {"name": "brush", "select": {"type": "interval", "encodings": ["x"]}},
        {"name": "cut", "value": 5, "bind": {"input": "range", "min": 0, "max": 10}},
    ],
    "transform": [
        {"calculate": "datum.b * 2 + cut", "as": "d"},
        {"filter": "datum['b'] > 3 && isValid(datum.a)"},
        {"filter": {"and": [{"param": "brush"}, "datum.b < 100"]}},
    ],
    "encoding": {
        "x": {"field": "a", "type": "nominal", "axis": {"labelExpr": "lower(datum.label)"}},
        "y": {"aggregate": "sum", "field": "d", "type": "quantitative"},
        "color": {"condition": {"param": "brush", "value": "steelblue"}, "value": "lightgray"},
    },
}


class TestCharts:
    @pytest.mark.parametrize("version", ["v4", "v5", "v6.1.0"])
    def test_an_altair_chart_stays(self, version: str) -> None:
        mime = f"application/vnd.vegalite.{version}+json"
        assert shown(mime, LITE).data == {mime: LITE}

    def test_embedding_options_inside_a_chart_are_dropped(self) -> None:
        chart = LITE | {"usermeta": {"embedOptions": {"patch": "x"}}}
        mime = "application/vnd.vegalite.v5+json"
        assert shown(mime, chart).data == {mime: LITE}

    def test_quotes_and_backslashes_stay_in_data_and_titles_stay_readable(self) -> None:
        rows = [{"a": 'say "x" \\ y', "name": "O'Brien", "format": "a\\b"}]
        encoding = {"x": {"field": "foo\\.bar", "axis": {"format": "$,.2f"}}}
        chart = {"data": {"values": rows}, "mark": "bar", "encoding": encoding}
        mime = "application/vnd.vegalite.v5+json"
        titled = shown(mime, chart | {"title": ['The "best"', "Bob's"]})
        assert titled.data == {mime: chart | {"title": ["The ”best”", "Bob's"]}}

    @pytest.mark.parametrize(
        "bind",
        [
            "scales",
            {"input": "select", "options": [None, "a"], "labels": ["none", "A"], "name": "Pick: "},
            {"b": {"input": "range", "min": 0, "max": 5, "step": 0.1}},
            {"input": "text", "placeholder": "search"},
        ],
    )
    def test_inputs_of_a_chart_stay(self, bind: Any) -> None:
        mime = "application/vnd.vegalite.v5+json"
        select = {"type": "point", "fields": ["b"], "toggle": "event.shiftKey", "on": "click"}
        chart = {"mark": "bar", "params": [{"name": "p", "select": select, "bind": bind}]}
        assert shown(mime, chart).data == {mime: chart}

    def test_a_vega_chart_stays(self) -> None:
        chart = {
            "$schema": "https://vega.github.io/schema/vega/v5.json",
            "width": 400,
            "data": [
                {
                    "name": "t",
                    "values": [{"x": 1}],
                    "transform": [{"type": "formula", "expr": "datum.x + 1", "as": "y"}],
                }
            ],
            "scales": [{"name": "s", "type": "linear", "domain": {"data": "t", "field": "x"}}],
            "marks": [
                {
                    "type": "rect",
                    "from": {"data": "t"},
                    "encode": {"update": {"fill": {"value": "red"}}},
                }
            ],
        }
        mime = "application/vnd.vega.v5+json"
        assert shown(mime, chart).data == {mime: chart}

    def test_a_plotly_figure_stays_without_its_configuration(self) -> None:
        figure = {
            "data": [
                {
                    "type": "scatter",
                    "x": [1, 2],
                    "y": {"dtype": "f8", "bdata": "AAAA"},
                    "name": "a",
                },
                {"type": "sankey", "link": {"source": [0], "target": [1], "value": [2]}},
            ],
            "layout": {
                "title": {"text": "<b>x</b> < y <a href='http://z'>z</a>"},
                "template": {
                    "layout": {"mapbox": {"style": "light"}, "geo": {}, "font": {}},
                    "data": {"scattermapbox": [{"type": "scattermapbox"}], "bar": []},
                },
                "updatemenus": [{"buttons": [{"method": "restyle", "args": ["visible", [True]]}]}],
            },
            "config": {"plotlyServerURL": "https://plot.ly"},
        }
        kept = shown("application/vnd.plotly.v1+json", figure).data[
            "application/vnd.plotly.v1+json"
        ]
        assert set(kept) == {"data", "layout"}
        assert kept["data"] == figure["data"]
        assert kept["layout"]["title"]["text"] == "<b>x</b> &lt; y &lt;a href='http://z'>z&lt;/a>"
        assert kept["layout"]["template"] == {"layout": {"font": {}}, "data": {"bar": []}}

    @pytest.mark.parametrize(
        ("text", "is_safe"),
        [
            ("datum.a + 1", True),
            ("datum['a b'] * -2 >= 1 ? 'x' : \"y\"", True),
            ("if(isValid(datum.x), format(datum.x, '.2f'), '')", True),
            ("cut < 3", True),
            ("other < 3", False),
            ("datum.constructor", False),
            ("datum['constructor']", False),
            ("datum['con' + 'structor']", False),
            ("datum.a()", False),
            ("datum.a.b.c", True),
            ("(datum.a)(1)", False),
            ("event.x", False),
            ("data('x')", False),
            ("{a: 1}", False),
            ("[1, 2]", False),
            ("'a\\x'", False),
            ("a = 1", False),
            ("", True),
            ("datum.a" * 1_000, False),
        ],
    )
    def test_expressions(self, text: str, is_safe: bool) -> None:
        assert is_safe_expression(text, frozenset({"cut"})) is is_safe


class TestTerminal:
    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ("\x1b[31mred\x1b[0m \x1b[38;5;12;1mx\x1b[38:2::1:2:3m", None),
            ("a\tb\r\n50%\r100%\b", None),
            ("\x1b]8;;http://x\x07link\x1b]8;;\x1b\\!", "link!"),
            ("\x1b]52;c;QQ==\x07\x1b]0;title\x9cx", "x"),
            ("\x1b[2J\x1b[1;1H\x1b[?25lx\x1b[6n", "x"),
            ("\x1bP1$q\x1b\\\x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\x", "x"),
            ("\x1bc\x1b7\x1b(B\x1b=x", "x"),
            ("\x9b31mx\x9d0;t\x07y\x85z", "xyz"),
            ("a\x07\x00\x0b\x0c\x7fb", "ab"),
            ("a\u202eb\u2066c\u200ed\u061ce", "abcde"),
            ("a\ud800b", "a\ufffdb"),
            ("x\x1b]0;stray\nnext line", "x\nnext line"),
            ("\x1b", ""),
            ("\x1b[", ""),
            ("\x1b[38;5", ""),
            ("\x1b[31;1\x07m", "[31;1m"),
            ("naïve ünïcode 🐍 עברית", None),
        ],
    )
    def test_sequences(self, given: str, kept: str | None) -> None:
        assert sanitize_text(given) == (given if kept is None else kept)
        stream = TextSanitizer()
        pieces = "".join(stream.feed(character) for character in given) + stream.finish()
        assert pieces == (given if kept is None else kept)

    def test_line_ends_beyond_the_bound_are_shown(self) -> None:
        lines = "a\n" * TEXT_LINES_MAX
        assert sanitize_text(lines + "b\nc\n") == lines + "b␤c␤"

    def test_a_million_lines_of_a_stream_are_lines(self) -> None:
        stream = TextSanitizer()
        lines = "a\n" * 1000
        assert all(stream.feed(lines) == lines for _ in range(1000))
        assert stream.feed("b\nc\n") == "b␤c␤"

    def test_links_beyond_the_bound_are_none(self) -> None:
        text = TextSanitizer()
        links = "http://a.b/\n" * LINKS_MAX
        assert text.feed(links) == links
        assert text.feed("https://a www.b x") == f"https{WORD_JOINER}://a www{WORD_JOINER}.b x"
        assert text.feed("s3://a data:b x") == f"s3{WORD_JOINER}://a data{WORD_JOINER}:b x"

    @pytest.mark.parametrize("link", ["s3://a/", "data:a;b", "www.a.b", "a://b"])
    def test_links_of_every_kind_are_counted(self, link: str) -> None:
        assert sanitize_text(f"{link} " * (LINKS_MAX + 5)).count(WORD_JOINER) == 5

    def test_links_are_counted_where_a_stream_is_cut(self) -> None:
        text = TextSanitizer()
        links = "http://a www.b data:c\n"
        streamed = "".join(text.feed(character) for character in links * (LINKS_MAX // 3 + 5))
        assert streamed.replace(WORD_JOINER, "") == links * (LINKS_MAX // 3 + 5)
        assert streamed.count(WORD_JOINER) == 14

    @pytest.mark.parametrize(
        "script",
        [
            "javascript://%0aalert(1)",
            "JaVaScript://x",
            "1javascript://x",
            "vbscript://x",
            "java\x1b[31mscript\x1b[0m:\x1b[m//x",
        ],
    )
    def test_no_text_becomes_a_link_that_is_a_script(self, script: str) -> None:
        safe = sanitize_text(script)
        assert safe.replace(WORD_JOINER, "") == script
        assert f"{WORD_JOINER}:" in safe
        stream = TextSanitizer()
        assert WORD_JOINER in "".join(stream.feed(character) for character in script)

    def test_addresses_stay_as_they_are(self) -> None:
        text = "see https://a.b/c?d=e, s3://bucket/key, data:x and javascript: a language\n"
        assert sanitize_text(text) == text

    def test_a_traceback_is_one_text(self) -> None:
        lines = ["www.a.b\n" * 6_000, "/usr/lib/x.py\n" * 6_000, "www.a.b\n" * 6_000]
        first, second, third = sanitize_traceback(lines)
        assert first == lines[0]
        assert second.count("/") == LINKS_MAX
        assert second.replace("\u2215", "/") == lines[1]
        assert third.count(WORD_JOINER) == 2_000

    def test_no_piece_of_a_traceback_waits_for_the_next(self) -> None:
        assert sanitize_traceback(["a\x1b[3", "1mb", "\x1b]0;", "c\nd"]) == [
            "a[3",
            "1mb",
            "",
            "c\nd",
        ]

    def test_long_lines_are_folded(self) -> None:
        folded = sanitize_text("x" * (2 * LINE_MAX + 5) + "\ny")
        assert [len(line) for line in folded.split("\n")] == [LINE_MAX, LINE_MAX, 5, 1]
        stream = TextSanitizer()
        streamed = "".join(stream.feed("x" * 777) for _ in range(100))
        assert max(len(line) for line in streamed.split("\n")) == LINE_MAX
        assert streamed.replace("\n", "") == "x" * 77_700

    def test_a_string_that_never_ends_does_not_swallow_the_stream(self) -> None:
        stream = TextSanitizer()
        text = "".join(stream.feed(piece) for piece in ["\x1b]0;", "x" * 99_000, "y" * 99_000, "z"])
        assert text.endswith("z")
        assert len(text) < 99_000

    def test_unfinished_sequences_need_no_room(self) -> None:
        stream = TextSanitizer()
        for _ in range(1_000):
            stream.feed("\x1b[" + "1;" * 500)
        assert len(stream._pending) < 300

    def test_progress_bars_are_bounded(self) -> None:
        text = sanitize_text("".join(f"\r{number}" for number in range(5_000)) + "\nx")
        assert text.count("\r") <= 51
        assert text.endswith("\r4999\nx")
        assert sanitize_text("a" * 2_000 + "\b" * 2_000).count("\b") == 512
        assert sanitize_text("\x1b[1ma" * 50_000).count("\x1b") == SGR_MAX


class TestBundle:
    def test_every_form_that_is_safe_stays(self) -> None:
        data = {"text/plain": "x", "text/html": "<b>x</b>", "image/png": png(1, 1)}
        clean = sanitize(data, {}, html="safe")
        assert list(clean.data) == ["text/plain", "text/html", "image/png"]
        assert clean.notes == []

    def test_unknown_types_get_one_note(self) -> None:
        data = {"text/plain": "x"} | {f"application/x-{number}": 1 for number in range(9)}
        clean = sanitize(data, {}, html="safe")
        assert clean.data == {"text/plain": "x"}
        assert clean.notes == [
            "Not shown: application/x-0, application/x-1, application/x-2 and 6 more "
            "(not a type this kernel shows)."
        ]

    def test_a_widget_says_what_to_do_instead(self) -> None:
        data = {"text/plain": "IntSlider(value=0)", "application/vnd.jupyter.widget-view+json": {}}
        clean = sanitize(data, {}, html="safe")
        assert clean.data == {"text/plain": "IntSlider(value=0)"}
        assert clean.notes == [
            "Not shown: widgets, for code of the page and of a cell cannot reach each other here. "
            "Set the value in the cell and run it again."
        ]

    def test_nothing_left_is_said(self) -> None:
        clean = sanitize({"application/javascript": "x"}, {}, html="safe")
        assert clean.data == {"text/plain": "<This output has no form that is safe to show.>"}

    def test_text_mode_is_text(self) -> None:
        data = {"text/plain": "x", "text/html": "<b>x</b>", "image/png": png(1, 1)}
        assert sanitize(data, {}, html="text").data == {"text/plain": "x"}

    def test_an_unknown_mode_is_text(self) -> None:
        clean = sanitize({"text/html": "<b>x</b>"}, {}, html="raw")  # type: ignore[arg-type]
        assert clean.data == {"text/plain": "x"}

    def test_isolated_mode_leaves_static_html_as_it_is(self) -> None:
        for text in ("<b>x</b>", pd.DataFrame({"a": [1]})._repr_html_()):
            data = {"text/html": text}
            assert sanitize(data, {}, html="isolated") == sanitize(data, {}, html="safe")

    @pytest.mark.parametrize(
        ("text", "height"),
        [
            ("<script>1</script>", 470),
            ("<div style='height:600px'></div><script>1</script>", 620),
            ('<script>Plotly.newPlot("x", [], {"height":500})</script>', 520),
            ("<div style='height:99999px'></div><script>1</script>", 470),
            ("<div style='height: 20px'></div><script>1</script>", 150),
        ],
    )
    def test_isolated_html_has_a_height(self, text: str, height: int) -> None:
        frame = sanitize({"text/html": text}, {}, html="isolated").data["text/html"]
        assert frame.startswith(f'<div style="height:{height}px;')

    def test_long_text_is_cut(self) -> None:
        clean = sanitize({"text/plain": "a b\n" * 1_000}, {}, html="safe", max_bytes=100)
        assert len(clean.data["text/plain"]) == 100
        assert clean.notes == ["The text was cut because it is too large."]

    def test_all_forms_together_stay_below_the_cap(self) -> None:
        data = {"text/html": "<p>x</p>" * 100, "application/json": ["y" * 900], "text/plain": "z"}
        clean = sanitize(data, {}, html="safe", max_bytes=1_200)
        assert set(clean.data) == {"text/plain", "text/html"}

    def test_a_failure_inside_ends_in_plain_text(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: Any) -> Any:
            raise AssertionError("a bug")

        monkeypatch.setattr(bundle_module, "treatment", broken)
        data = {"text/plain": "x\x1b[2J", "text/html": "<script>x</script>"}
        clean = sanitize(data, {"isolated": True}, html="safe")
        assert clean == Sanitized({"text/plain": "x"}, {}, [FAILED])

    @pytest.mark.parametrize("data", [None, [], "x", {1: 2}, {None: "x"}, {("a",): b""}, {}])
    def test_no_input_raises(self, data: Any) -> None:
        clean = sanitize(data, data, html="safe")
        assert set(clean.data) == {"text/plain"}

    def test_the_result_cannot_be_changed(self) -> None:
        clean = sanitize({"text/plain": "x"}, {}, html="safe")
        with pytest.raises(AttributeError):
            clean.notes = []  # type: ignore[misc]

    def test_the_same_input_gives_the_same_output(self) -> None:
        data = {"text/html": "<style>.a{color:red}</style><p class=a>x"}
        assert sanitize(data, {}, html="safe") == sanitize(data, {}, html="safe")
        assert html_violations(sanitize(data, {}, html="safe").data["text/html"]) == []
