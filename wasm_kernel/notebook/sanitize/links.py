"""Addresses in plain text: JupyterLab makes a link, an element of the page, of each that it finds.

It finds any scheme before ``://``, ``data:`` and ``www.``, and in tracebacks every path as well. An
invisible character inside an address keeps it text.
"""

from __future__ import annotations

import re

from wasm_kernel.core.patterns import pattern

LINKS_MAX = 10_000
"""Links of one text: a page that lays out more stops for seconds."""

_WORD_JOINER = "\u2060"
_SLASH = "\u2215"
"""A slash to look at, which is no part of a path."""

# Colours may stand anywhere: the page looks for addresses when it has taken them out.
_COLOURS = r"(?:\x1b\[[0-9;:]{0,64}m)*"
_MARK = pattern(
    rf"{_COLOURS.join('://')}|(?P<name>www(?={_COLOURS}\.)|data(?={_COLOURS}:)){_COLOURS}.",
    re.IGNORECASE,
)
# As links these would be scripts with the rights of the page, wherever a browser runs them.
_SCRIPT = pattern(
    "|".join(_COLOURS.join([*name, "(?=:)"]) for name in ("javascript", "vbscript")), re.IGNORECASE
)
_PLAIN_MARKS = ("://", "www.", "data:")
_TAIL = 1_000


class Links:
    """Leaves so many links in the pieces of one text, wherever it was cut."""

    def __init__(self) -> None:
        self._left = LINKS_MAX
        self._tail = ""

    def bounded(self, text: str) -> str:
        """The next piece, in which surplus addresses and scripts are no links."""
        whole, seam = self._tail + text, len(self._tail)
        self._tail = whole[-_TAIL:]
        lowered = whole.lower()
        if "\x1b" not in whole and not any(mark in lowered for mark in _PLAIN_MARKS):
            return text
        scripts = {name.end() for name in _SCRIPT.finditer(whole)}
        places = []
        for mark in _MARK.finditer(whole):
            if mark.end() <= seam:
                continue
            self._left -= 1
            if self._left < 0 or mark.start() in scripts:
                place = mark.end("name") if mark["name"] else mark.start()
                places.append(max(place, seam))
        if not places:
            return text
        bounds = zip([seam, *places], [*places, len(whole)], strict=True)
        return _WORD_JOINER.join(whole[start:end] for start, end in bounds)


def few_paths(lines: list[str]) -> list[str]:
    """The lines of a traceback, of which a page makes a bounded number of links to files."""
    left = LINKS_MAX
    kept = []
    for line in lines:
        slashes = line.count("/")
        if slashes > left:
            parts = line.split("/", left)
            line = "/".join([*parts[:-1], parts[-1].replace("/", _SLASH)])
        left = max(left - slashes, 0)
        kept.append(line)
    return kept
