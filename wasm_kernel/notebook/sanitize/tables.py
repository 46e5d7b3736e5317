"""Tables as pandas writes them, recognised whole: they need no further cleaning.

The pattern is closed: literal tags, a few literal attributes and text without tags, all of it
balanced. What matches is as harmless as what the general way would make of it, ten times faster;
what does not match in every character goes the general way.
"""

from __future__ import annotations

import re
from functools import cache

from wasm_kernel.notebook.sanitize.names import PANDAS_CLASS, PREFIX

_TEXT = r"(?:[^<&]++|&(?:amp|lt|gt|quot|nbsp|\#39|\#x27|\#34);)*+"
_ID = r'(?: id="[A-Za-z_][A-Za-z0-9_-]*+")?+'
_CLASS = rf'(?: class="{PANDAS_CLASS}(?: {PANDAS_CLASS})*+ ?")?+'
_SPAN = r'(?: (?:colspan|rowspan)="[0-9]{1,4}")*+'
_ALIGN = r'(?: (?:halign|valign)="(?:left|right|center|top|bottom|middle)")*+'
_CELL = "|".join(rf"{tag}{_ID}{_CLASS}{_SPAN}{_ALIGN} ?>{_TEXT}</{tag}" for tag in ("td", "th"))
_ROW_STYLE = r'(?: style="text-align: (?:left|right|center);")?+'
_ROWS = rf"\s*+(?:<tr{_ROW_STYLE}>\s*+(?:<(?:{_CELL})>\s*+)*+</tr>\s*+)*+"
_PARTS = rf"\s*+(?:<thead>{_ROWS}</thead>\s*+)?+(?:<tbody>{_ROWS}</tbody>\s*+)?+"
_TABLE = rf'<table(?: border="[0-9]")?+{_ID}{_CLASS}>{_PARTS}</table>'
_COUNT = rf"(?:<p>{_TEXT}</p>\s*+)?+"


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(rf"\s*+(?:<div>\s*+{_TABLE}\s*+{_COUNT}</div>|{_TABLE})\s*+")


def known_table(text: str) -> str | None:
    """The table with the page's ids, or None where the text is not one that pandas writes."""
    if not _pattern().fullmatch(text):
        return None
    if ' id="' not in text:
        return text
    # Text holds no "<", so these only meet tags; the pattern allows the id in no other place.
    for tag in ("td", "th", "table"):
        text = text.replace(f'<{tag} id="', f'<{tag} id="{PREFIX}')
    return text
