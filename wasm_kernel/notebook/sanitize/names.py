"""Ids and classes: a cell's names get a prefix, so that they meet none of the page's own.

JupyterLab and its extensions style and find elements by class and id; a name of theirs on our
markup would borrow their looks or their behaviour. What pandas writes is known and stays.
"""

from __future__ import annotations

import re

from wasm_kernel.core.patterns import pattern

PREFIX = "wk-"
PANDAS_CLASS = (
    r"(?:dataframe|data|blank|index_name|col_heading|row_heading|col_trim|row_trim"
    r"|(?:row|col|level)[0-9]{1,7})"
)
"""A class that pandas gives to tables and cells, as a pattern."""

NO_MATH = "mathjax_ignore tex2jax_ignore"
"""Classes of an element in which no page looks for formulas."""

IDENTIFIER = r"-?[A-Za-z_][A-Za-z0-9_-]{0,100}"
_KEPT = pattern(PANDAS_CLASS)
# Dropped rather than prefixed: style sheets also match parts of class names.
_IMITATES = pattern(
    r"(?:wk-)*(?:jp|jpx|lm|cm|p|bp[0-9]|mjx|ansi)[-_]|(?:wk-)*(?:jupyter|codemirror|mathjax|output_"
    r"|rendered|widget|vega|plotly|mermaid|leaflet)",
    re.IGNORECASE,
)
_IDENTIFIER = pattern(IDENTIFIER)


def safe_class(name: str) -> str | None:
    """The class under which a cell's class is known on the page; None for no usable name."""
    if _KEPT.fullmatch(name):
        return name
    if not _IDENTIFIER.fullmatch(name) or _IMITATES.match(name):
        return None
    return name if name.startswith(PREFIX) else PREFIX + name


def safe_id(name: str) -> str:
    """The id under which a cell's id is known on the page."""
    return name if name.startswith(PREFIX) else PREFIX + name


def safe_classes(value: str) -> str:
    """A whole ``class`` attribute."""
    found = (safe_class(name) for name in value.split())
    return " ".join(name for name in found if name)
