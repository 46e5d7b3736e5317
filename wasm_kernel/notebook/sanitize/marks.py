"""Marks on a letter: a browser needs the square of their number to draw them all on one.

Unicode's own format for safe streams has at most thirty in a row, and no language needs five.
"""

from __future__ import annotations

import re
import unicodedata

from wasm_kernel.core.patterns import pattern

MARKS_MAX = 30
_KINDS = frozenset({"Mn", "Me", "Mc", "Cf"})
# No mark is a letter, a digit or a blank; what else is found here is looked at one by one.
_RUN = pattern(rf"[^\w\s\x00-\x7f]{{{MARKS_MAX + 1},}}")


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in _KINDS or "\U0001f3fb" <= character <= "\U0001f3ff"


def few_marks(text: str) -> str:
    """The text with at most so many marks in a row."""
    return text if text.isascii() else _RUN.sub(_thinned, text)


def _thinned(match: re.Match[str]) -> str:
    kept = []
    count = 0
    for character in match[0]:
        count = count + 1 if _is_mark(character) else 0
        if count <= MARKS_MAX:
            kept.append(character)
    return "".join(kept)


class Marks:
    """The same for the pieces of one text, wherever it was cut."""

    def __init__(self) -> None:
        self._count = 0
        """Marks at the end of what has come so far."""

    def bounded(self, text: str) -> str:
        """The next piece."""
        if text.isascii():
            self._count = 0 if text else self._count
            return text
        first = next((at for at, one in enumerate(text) if not _is_mark(one)), len(text))
        text = few_marks(text[: max(MARKS_MAX - self._count, 0)][:first] + text[first:])
        last = text[-MARKS_MAX:]
        at_end = next((at for at, one in enumerate(reversed(last)) if not _is_mark(one)), len(last))
        self._count = at_end + (self._count if at_end == len(text) else 0)
        return text
