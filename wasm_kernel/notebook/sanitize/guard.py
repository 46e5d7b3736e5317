"""What the HTML parser may cost: its work grows with depth times length, so both are bounded here.

A parser of HTML5 walks the open elements for most tags and compares the attributes of a tag with
each other. Half a megabyte of ``<div>`` keeps it busy for a minute; such input is made flat first.
"""

from __future__ import annotations

import html
import re

from wasm_kernel.notebook.sanitize.refusal import Refused
from wasm_kernel.notebook.sanitize.rules import (
    DROPPED_WITH_CONTENT,
    TAGS,
    VOID_TAGS,
    is_known_attribute,
)

TAGS_MAX = 250_000
"""Tags of one output: laying out more makes the page stop."""
WORK_MAX = 2_000_000
"""Open elements times tags that the parser may look at without help."""
GAP_MAX = 4_000
"""Characters between two tags; more may be a tag with thousands of attributes."""
DEPTH_MAX = 100
ATTRIBUTES_MAX = 30

# Parts of a table close each other, so they never add to the depth on their own. Any real tag is
# also one in this count, wherever quotes and comments stand: it can only be too high.
_DEEPENING = re.compile(r"<(?!/|t(?:d|h|r|head|body|foot)[\s>])")
_FOREIGN = re.compile(r"<(?:svg|math|template)", re.IGNORECASE)
_TABLE = re.compile(r"<table", re.IGNORECASE)
# Every alternative matches to the end of the text if nothing closes it: no second attempt is made.
_TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<[!?][^>]*(?:>|\Z)|</(?P<end>[a-zA-Z][^\s/>]*)[^>]*(?:>|\Z)"
    r"|<(?P<start>[a-zA-Z][^\s/>]*)"
    r"(?P<attributes>(?:[^>\"']++|\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))*+)(?:>|\Z)",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(
    r"([^\s\"'<>/=]{1,50})(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'=<>`]+)))?"
)
_CLOSES_ITSELF = frozenset({"p", "li", "td", "th", "tr", "dt", "dd", "thead", "tbody", "tfoot"})


def bounded(text: str) -> str:
    """The same HTML where the parser handles it well, else a flatter version of it."""
    tags = text.count("<")
    if tags > TAGS_MAX:
        raise Refused(f"more than {TAGS_MAX:,} tags")
    depth = len(_DEEPENING.findall(text)) + 4 * len(_TABLE.findall(text))
    is_cheap = depth * tags <= WORK_MAX and not _FOREIGN.search(text)
    if is_cheap and max(map(len, text.split("<"))) <= GAP_MAX:
        return text
    return flattened(text)


def flattened(text: str) -> str:
    """The known elements of a text, properly nested and at most ``DEPTH_MAX`` deep."""
    written: list[str] = []
    stack: list[str] = []
    position = 0
    while True:
        match = _TOKEN.search(text, position)
        if match is None:
            written.append(_escaped(text[position:]))
            break
        written.append(_escaped(text[position : match.start()]))
        position = match.end()
        if match["end"]:
            _close(match["end"].lower(), stack, written)
        elif match["start"]:
            name = match["start"].lower()
            if name in DROPPED_WITH_CONTENT:
                position = _after(name, text, position)
            elif name in TAGS:
                _open(name, match["attributes"], stack, written)
    written.extend(f"</{name}>" for name in reversed(stack))
    return "".join(written)


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _after(name: str, text: str, position: int) -> int:
    closing = re.compile(rf"</{name}(?:[\s/][^>]*)?(?:>|\Z)", re.IGNORECASE).search(text, position)
    return closing.end() if closing else len(text)


def _open(name: str, attributes: str, stack: list[str], written: list[str]) -> None:
    if name in _CLOSES_ITSELF and stack and stack[-1] == name:
        written.append(f"</{stack.pop()}>")
    if len(stack) >= DEPTH_MAX:
        return
    kept = []
    for found in _ATTRIBUTE.finditer(attributes):
        attribute = found[1].lower()
        if is_known_attribute(name, attribute):
            value = html.unescape(found[2] or found[3] or found[4] or "")
            kept.append(f' {attribute}="{html.escape(value)}"')
            if len(kept) == ATTRIBUTES_MAX:
                break
    written.append(f"<{name}{''.join(kept)}>")
    if name not in VOID_TAGS:
        stack.append(name)


def _close(name: str, stack: list[str], written: list[str]) -> None:
    if name in stack:
        while True:
            top = stack.pop()
            written.append(f"</{top}>")
            if top == name:
                return
