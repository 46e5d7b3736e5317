"""Saved outputs in files that are no page: what nbconvert writes as Markdown, or as another text.

Nothing of an output may become a picture, a link or a directive there that it was not in the page.
"""

from __future__ import annotations

import re
from typing import Any

import mistune
from nbconvert import MarkdownExporter, RSTExporter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

from wasm_kernel.notebook.sanitize import sanitize, sanitize_text, sanitize_traceback

from .page_vectors import VECTORS

CANARY = "http://127.0.0.1:9"
LINES = ("\n\n", "\n \t\n", "\r\r", "\r\n\r\n", "\u2028\u2028", "\u2029", "\x85\x85", "\x0b\x0c")


def pieces(name: str) -> str:
    """Pictures of Markdown and of reStructuredText after every kind of line end."""
    picture = f"![x]({CANARY}/{name})"
    directive = f".. image:: {CANARY}/{name}"
    return "a" + "".join(f"{end}{picture}{end}{directive}{end}" for end in LINES)


BUNDLES: dict[str, dict[str, Any]] = {
    "html": {"text/html": f"<p>a</p>{pieces('html')}"},
    "pre": {"text/html": f"<pre>{pieces('pre')}</pre>"},
    "title": {"text/html": f'<p title="{pieces("title")}">x</p>'},
    "table": {
        "text/html": '<table border="1" class="dataframe"><tbody><tr>'
        f"<td>{pieces('table')}</td></tr></tbody></table>"
    },
    "style": {"text/html": f"<style>b{{color:red}}\n\n</style>{pieces('style')}"},
    "plain": {"text/plain": pieces("plain")},
    "latex": {"text/latex": pieces("latex")},
    "code": {"text/markdown": f"~~~\n{pieces('code')}\n~~~\n"},
    "drawing": {"image/svg+xml": f"<svg><text>{pieces('drawing')}</text></svg>"},
    **{vector.name: vector.ready(CANARY).data for vector in VECTORS},
}
CONTROL = {"html", "title", "table", "style", "plain", "latex", "traceback"}


TEXTS = ("text/html", "text/latex", "text/plain")
"""What these files take from an output; Markdown is never among what we send."""


def as_saved(data: dict[str, Any]) -> dict[str, Any]:
    return {mime: data[mime] for mime in TEXTS if isinstance(data.get(mime), str)}


def notebook(*, is_sanitized: bool) -> NotebookNode:
    bundles = [
        as_saved(sanitize(data, {}, html="safe").data if is_sanitized else data)
        for data in BUNDLES.values()
    ]
    lines, text = [pieces("traceback")], pieces("stream").replace("\r", "\n")
    if is_sanitized:
        lines, text = sanitize_traceback(lines), sanitize_text(text)
    outputs = [new_output("display_data", data=bundle) for bundle in bundles if bundle]
    outputs.append(new_output("error", ename="E", evalue="", traceback=lines))
    outputs.append(new_output("stream", name="stdout", text=text))
    return new_notebook(cells=[new_code_cell("1", outputs=[output]) for output in outputs])


def shown_as_markdown(*, is_sanitized: bool) -> set[str]:
    """Names of the outputs of which a reader of the Markdown file would load something."""
    text, _ = MarkdownExporter().from_notebook_node(notebook(is_sanitized=is_sanitized))
    page = str(mistune.create_markdown(escape=False)(text))
    return set(re.findall(rf"<img[^<>]*{CANARY}/([\w-]+)", page))


def test_nothing_is_a_picture_in_markdown() -> None:
    assert shown_as_markdown(is_sanitized=True) == set()


def test_the_same_outputs_load_without_the_sanitizer() -> None:
    assert shown_as_markdown(is_sanitized=False) >= CONTROL


def directives(*, is_sanitized: bool) -> set[str]:
    """The same of a file for Sphinx, which splits lines as Python does; ours are all indented."""
    text, _ = RSTExporter().from_notebook_node(notebook(is_sanitized=is_sanitized))
    found = [re.match(rf"\.\. image:: {CANARY}/(\w+)", line) for line in text.splitlines()]
    return {match[1] for match in found if match}


def test_nothing_is_a_directive_in_restructured_text() -> None:
    assert directives(is_sanitized=True) == set()


def test_the_same_outputs_direct_without_the_sanitizer() -> None:
    assert directives(is_sanitized=False) >= {"html", "plain", "latex", "traceback"}


def test_a_page_shows_the_same() -> None:
    """The blank lines are there, in another spelling."""
    text = sanitize({"text/html": "<pre title='a\n\nb'>a\n\n\nb\n</pre>"}, {}, html="safe")
    assert '<pre title="a&#10;\nb">a&#10;&#10;\nb\n</pre>' in text.data["text/html"]
