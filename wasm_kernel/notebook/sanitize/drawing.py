"""What a browser may cost with clean HTML: levels, slots of tables, dots of borders.

Nothing here runs or loads; a few kilobytes of it can still crash the tab or keep it for minutes.
"""

from __future__ import annotations

import re
from collections import defaultdict

LEVELS_MAX = 150
"""Levels of elements: at 300 the layout of inline blocks or tables overflows Chromium's stack."""
SLOTS_MAX = 2_000_000
"""Places of a table's grid; with spans, twenty cells can ask for a billion of them."""
SLOTS_PER_CELL = 20
DOTTED_MAX = 300
"""Elements that may have dotted and rounded borders, which are drawn dot by dot."""

DETAILS_MAX = 500
BARS_MAX = 5_000
"""Elements that a browser makes of hidden ones with styles of their own, each of which it weighs
against all of the page's: in JupyterLab three milliseconds for a ``details``."""

NESTED_BOXES_MAX = 5
"""Levels below which boxes that share out their room may ask for a part of it."""

_LEVEL = re.compile(r"<(/?)(?!(?:br|col|hr|img)\b)[a-z]")
_CELL = re.compile(r"<(/?)(table|tr|td|th|col|colgroup)\b([^>]*)>")
_SPAN = re.compile(r' (colspan|rowspan|span)="([0-9]+)"')
_DOTS = re.compile(r"(?<![\w-])(?:dotted|dashed)(?![\w-])")
_STYLE = re.compile(r' style="[^"]*"')
_DETAILS = re.compile(r"<(/?)details\b")
_BARS = re.compile(r"<(/?)(?:meter|progress)\b")
_SHARING = re.compile(r"display:(?:inline-)?(?:flex|grid)|display:-webkit-")
_SHARE = re.compile(
    r"(?<![\w-])(?:padding(?:-[a-z]+)?|(?:max|min)-(?:width|height)|height|flex|flex-basis"
    r'|(?:row-|column-)?gap):[^;"{}]*(?:%|var\()[^;"{}]*;?'
)


def is_deep(text: str) -> bool:
    """Whether elements that a parser wrote lie too deep inside each other."""
    return _is_deeper(text, LEVELS_MAX)


def _is_deeper(text: str, levels: int) -> bool:
    if text.count("<") <= levels:
        return False
    depth = 0
    for tag in _LEVEL.finditer(text):
        depth += -1 if tag[1] else 1
        if depth > levels:
            return True
    return False


def with_few_slots(text: str, styles: list[str]) -> str:
    """The same, without its spans where they make a table that is nearly all holes."""
    if "span=" not in text:
        return text
    cells = text.count("<td") + text.count("<th")
    # Styles can make rows of any elements, and rows of one table the rows of another.
    is_free = "display:" in text or any("display" in style.lower() for style in styles)
    rows = text.count("<") if is_free else text.count("<tr")
    slots = rows * _widest(text)
    return _SPAN.sub("", text) if slots > max(SLOTS_MAX, SLOTS_PER_CELL * cells) else text


def _widest(text: str) -> int:
    """The columns of the widest row, with what hangs down into it from the rows above."""
    widest = columns = 0
    tables: list[_Table] = [_Table()]
    for closing, name, attributes in _CELL.findall(text):
        if name == "table":
            if not closing:
                tables.append(_Table())
            elif len(tables) > 1:
                tables.pop()
        elif closing:
            continue
        elif name == "tr":
            tables[-1].begin_row()
        else:
            spans = {span: int(number) for span, number in _SPAN.findall(attributes)}
            if name in ("td", "th"):
                width = tables[-1].add(spans.get("colspan", 1), spans.get("rowspan", 1))
                widest = max(widest, width)
            else:
                columns += spans.get("span", 1)
    return widest + columns


class _Table:
    """One table while its rows are counted."""

    def __init__(self) -> None:
        self._row = 0
        self._width = 0
        self._hanging = 0
        self._ends: dict[int, int] = defaultdict(int)

    def begin_row(self) -> None:
        self._row += 1
        self._hanging -= self._ends.pop(self._row, 0)
        self._width = self._hanging

    def add(self, columns: int, rows: int) -> int:
        self._width += columns
        # No rows at all means: as many as there are.
        if rows != 1:
            self._hanging += columns
            self._ends[self._row + rows if rows else -1] += columns
        return self._width


def lightly_drawn(body: str, rules: str) -> tuple[str, str]:
    """The same, without what takes a browser far longer than it took to write."""
    return _with_plain_lines(*_without_shares(_with_few_made_of_others(body), rules))


def _with_few_made_of_others(body: str) -> str:
    """The same, with plain elements in the place of too many that are made of hidden ones."""
    if body.count("<details") > DETAILS_MAX:
        body = _DETAILS.sub(r"<\1div", body)
    if body.count("<meter") + body.count("<progress") > BARS_MAX:
        body = _BARS.sub(r"<\1span", body)
    return body


def _without_shares(body: str, rules: str) -> tuple[str, str]:
    """The same, without parts of a room that the boxes inside of it share out in turn.

    Each level measures the next one several times to learn what the percentages are of: ten
    levels of one line take a minute. Widths and margins in percent do not.
    """
    if not _SHARING.search(rules) and not _SHARING.search(body):
        return body, rules
    if not _is_deeper(body, NESTED_BOXES_MAX):
        return body, rules
    return _STYLE.sub(lambda style: _SHARE.sub("", style[0]), body), _SHARE.sub("", rules)


def _with_plain_lines(body: str, rules: str) -> tuple[str, str]:
    """The same, with plain lines where many elements may have rounded borders of dots."""
    if "radius" not in body and "radius" not in rules:
        return body, rules
    if not _DOTS.search(rules) and not _DOTS.search(body):
        return body, rules
    if body.count("<") <= 2 * DOTTED_MAX:
        return body, rules
    plain = _STYLE.sub(lambda style: _DOTS.sub("solid", style[0]), body)
    return plain, _DOTS.sub("solid", rules)
