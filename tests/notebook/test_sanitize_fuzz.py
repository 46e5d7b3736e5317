"""Thousands of mutated outputs: whatever goes in, what comes out passes the checks of the attacks.

The inputs are the hostile outputs and ordinary ones, cut, joined, repeated and damaged; the checks
look at the parsed result with other parsers than the sanitizer's.
"""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from attacks.page_checks import html_violations, isolated_violations, violations
from attacks.page_vectors import VECTORS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wasm_kernel.notebook.sanitize import TextSanitizer, sanitize, sanitize_text
from wasm_kernel.notebook.sanitize.css import declarations, stylesheet
from wasm_kernel.notebook.sanitize.expressions import is_safe_expression
from wasm_kernel.notebook.sanitize.guard import flattened
from wasm_kernel.notebook.sanitize.markdown import markdown_to_html
from wasm_kernel.notebook.sanitize.tables import known_table

CANARY = "http://127.0.0.1:9"
READY = [vector.ready(CANARY) for vector in VECTORS]
FRAME = pd.DataFrame({"a": [1, 2], "b": ["x < y", "$\\alpha$"]})
FRIENDLY = [
    FRAME._repr_html_(),
    FRAME.style.bar().set_caption("c").to_html(),
    "<p>text <b>bold</b> <a href='https://example.org'>link</a></p>",
    "<style>.a{color:red}</style><div class=a id=b>x</div>",
]
HTML = [str(v.data["text/html"]) for v in READY if isinstance(v.data.get("text/html"), str)]
HTML += FRIENDLY
MARKDOWN = [v.data["text/markdown"] for v in READY if "text/markdown" in v.data]
DRAWINGS = [v.data["image/svg+xml"] for v in READY if "image/svg+xml" in v.data]
LATEX = [v.data["text/latex"] for v in READY if "text/latex" in v.data]
CHARTS = [(m, d) for v in READY for m, d in v.data.items() if m.startswith("application/vnd.")]
PIECES = sorted({piece for text in HTML for piece in re.findall(r"<[^<>]*>|[^<>]+", text)})
NASTY = [
    *(
        "<",
        ">",
        "</",
        "/>",
        '"',
        "'",
        "`",
        "=",
        "&",
        ";",
        "\0",
        "\\",
        "{",
        "}",
        "(",
        ")",
        "--",
        "$",
    ),
    *("<!--", "-->", "<![CDATA[", "]]>", "<svg>", "</svg>", "<math>", "<style>", "</style>", "@"),
    *(
        "&lt;",
        "&#x3c;",
        "&#60",
        "&Tab;",
        "url(",
        "/*",
        "*/",
        "\n",
        "\t",
        "\x0c",
        "\u202e",
        "\ud83d",
    ),
    *("<table>", "</table>", "<td>", "</div>", "<a ", "href=", "style=", "on", "javascript:", "$$"),
]
SETTINGS = settings(
    max_examples=400,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)


def mutated(texts: list[str]) -> st.SearchStrategy[str]:
    """Parts of known texts in a new order, with hostile pieces in between."""
    part = st.one_of(
        st.sampled_from(texts),
        st.tuples(st.sampled_from(texts), st.integers(0, 200), st.integers(0, 200)).map(
            lambda cut: cut[0][min(cut[1], cut[2]) : max(cut[1], cut[2])]
        ),
        st.sampled_from(NASTY),
        st.sampled_from(PIECES),
        st.text(max_size=8),
    )
    return st.lists(part, max_size=8).map("".join)


def check(data: dict[str, Any], metadata: dict[str, Any] | None = None) -> None:
    clean = sanitize(data, metadata or {}, html="safe")
    assert violations(clean.data, clean.metadata) == []
    assert clean.data


@SETTINGS
@given(mutated(HTML))
def test_html(text: str) -> None:
    check({"text/html": text})


@SETTINGS
@given(mutated(HTML))
def test_html_twice(text: str) -> None:
    """What was cleaned and is cleaned again holds no surprise: no text turns into markup."""
    once = sanitize({"text/html": text}, {}, html="safe").data
    check(once)


@SETTINGS
@given(mutated(HTML))
def test_flattened_html(text: str) -> None:
    check({"text/html": flattened(text)})


@SETTINGS
@given(mutated(HTML))
def test_isolated_html(text: str) -> None:
    clean = sanitize({"text/html": f"{text}<script>1</script>"}, {}, html="isolated")
    assert isolated_violations(clean.data["text/html"]) == []


@SETTINGS
@given(mutated(MARKDOWN))
def test_markdown(text: str) -> None:
    assert isinstance(markdown_to_html(text), str)
    check({"text/markdown": text})


@SETTINGS
@given(mutated(LATEX))
def test_latex(text: str) -> None:
    check({"text/latex": text})
    check({"text/html": f"<p>${text}$</p>"})


@SETTINGS
@given(mutated(DRAWINGS))
def test_drawings(text: str) -> None:
    check({"image/svg+xml": text})
    check({"text/html": f"<div>{text}</div>"})


@SETTINGS
@given(mutated(["#T_a td", ".x > y", "{color: red}", "{background: url(x)}", "@media", ":hover"]))
def test_styles(text: str) -> None:
    check({"text/html": f"<style>{text}</style>x"})
    check({"text/html": f"<style>.a{{{text}}}</style><p style='{text}'>x</p>"})
    for written in (declarations(text), stylesheet(text, "wkscope-0123456789ab")):
        assert not set(written) & set('<&"\\@') or "@media (prefers-color-scheme:" in written


@SETTINGS
@given(
    st.text(st.sampled_from('<>/tdhrable "=id-class1&;lg\n$x'), max_size=60), st.integers(0, 400)
)
def test_known_tables(noise: str, place: int) -> None:
    """Whatever the fast way for tables lets through is harmless, and balanced."""
    text = FRAME.style.to_html()
    body = text[text.index("<table") :]
    damaged = body[:place] + noise + body[place:]
    found = known_table(damaged)
    if found is not None:
        assert html_violations(f'<div style="contain:content">{found}</div>') == []
    check({"text/html": damaged})


@settings(SETTINGS, max_examples=150)
@given(st.sampled_from(CHARTS), st.randoms(use_true_random=False))
def test_charts(chart: tuple[str, Any], chance: random.Random) -> None:
    mime, value = chart
    check({mime: shuffled(value, chance)})


def shuffled(value: Any, chance: random.Random) -> Any:
    """A chart with parts of other charts in places where they do not belong."""
    if chance.random() < 0.03:
        value = chance.choice(CHARTS)[1]
    if isinstance(value, dict):
        return {
            (chance.choice(["url", "data", "on", "values"]) if chance.random() < 0.05 else key): (
                shuffled(item, chance)
            )
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [shuffled(item, chance) for item in value]
    return value


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
TYPES = st.one_of(
    st.sampled_from(sorted({mime for v in READY for mime in v.data})),
    st.sampled_from(["text/html", "text/plain", "image/png", "image/svg+xml", "application/json"]),
    st.text(max_size=20),
)
VALUES = st.one_of(JSON, mutated(HTML), st.binary().map(lambda b: base64.b64encode(b).decode()))


@SETTINGS
@given(st.dictionaries(TYPES, VALUES, max_size=5), st.dictionaries(TYPES, JSON, max_size=3))
def test_whole_bundles(data: dict[str, Any], metadata: dict[str, Any]) -> None:
    check(data, metadata)


@SETTINGS
@given(st.sampled_from(READY), st.sampled_from(READY), st.data())
def test_two_attacks_in_one(first: Any, second: Any, data: st.DataObject) -> None:
    mode = data.draw(st.sampled_from(["safe", "text"]))
    clean = sanitize(
        {**first.data, **second.data}, {**first.metadata, **second.metadata}, html=mode
    )
    assert violations(clean.data, clean.metadata) == []


TERMINAL = st.lists(
    st.one_of(
        st.sampled_from(
            ["\x1b", "\x1b[", "\x1b]", "\x1b\\", "\x07", "\x9b", "\x9d", "\x9c", "31m", "8;;", "\n"]
        ),
        st.sampled_from(
            ["\x1b[31m", "\x1b[2J", "\x1bP", "\x1b_", "\x18", "\u202e", "\r", "\b", "m"]
        ),
        st.text(max_size=4),
    ),
    max_size=20,
)


@SETTINGS
@given(TERMINAL)
def test_terminal_text(parts: list[str]) -> None:
    """Cut anywhere, a stream gives what the whole text gives."""
    whole = sanitize_text("".join(parts))
    assert violations({"text/plain": whole}, {}) == []
    stream = TextSanitizer()
    assert "".join(stream.feed(part) for part in parts) + stream.finish() == whole


@SETTINGS
@given(st.text(st.sampled_from("datum.eventviewconstructor()[]'\"+ {}=;\\`1,?:"), max_size=40))
def test_expressions(text: str) -> None:
    if is_safe_expression(text):
        names = set(
            re.findall(r"(?<![.'\"\w])[A-Za-z_]\w*", re.sub(r"'[^']*'|\"[^\"]*\"", "", text))
        )
        assert "event" not in names
        assert not re.search(r"[{}=;\\`]", re.sub(r"'[^']*'|\"[^\"]*\"|[=!<>]=+", "", text))
        assert not re.search(r"[\])]\s*\(", text)


@pytest.mark.parametrize("identity", [lambda data: data])
def test_the_checks_fail_without_a_sanitizer(identity: Callable[[Any], Any]) -> None:
    """The control: most of the inputs these tests start from are refused as they are."""
    refused = [v for v in READY if violations(identity(v.data), v.metadata)]
    assert len(refused) > 0.95 * len(READY)
