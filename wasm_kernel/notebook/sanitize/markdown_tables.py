"""The rows of a Markdown table."""

from __future__ import annotations

import re

_DELIMITERS = re.compile(r" *+\|?+ *+:?+-++:?+ *+(?:\| *+:?+-++:?+ *+)*+\|?+ *+")
_BARS = re.compile(r"(?<!\\)\|")


def is_delimiter_row(line: str) -> bool:
    """Whether a line is the one between head and body, such as ``|---|:-:|``."""
    return "-" in line and _DELIMITERS.fullmatch(line) is not None


def cells(line: str) -> list[str]:
    """The texts between the bars of a row."""
    line = line.strip()
    line = line.removeprefix("|")
    if line.endswith("|") and not line.endswith("\\|"):
        line = line[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _BARS.split(line)]


def alignment(delimiter: str) -> str:
    """The attribute that a cell of the delimiter row stands for."""
    left, right = delimiter.startswith(":"), delimiter.endswith(":")
    if left and right:
        return ' align="center"'
    return ' align="right"' if right else (' align="left"' if left else "")
