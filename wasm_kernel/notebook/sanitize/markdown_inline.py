"""The inside of a line of Markdown: emphasis, code, links, math, written as HTML.

The HTML made here is cleaned like any other, so this module is about looks and bounded work.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable

from wasm_kernel.core.data import dataclass

DELIMITERS_MAX = 200
"""Emphasis marks of one paragraph; pairing them costs their product."""
NESTING_MAX = 6

_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
# Nothing here looks further than a thousand characters for its end.
_MATH = (
    r"\$\$.{1,1000}?\$\$|\$(?=[^\s$])[^$\n]{0,1000}?(?<=[^\s\\])\$(?!\d)"
    r"|\\\\?\(.{1,1000}?\\\\?\)|\\\\?\[.{1,1000}?\\\\?\]"
)
_TARGET = r"<[^<>\n]*>|(?:[^\s()<>]|\([^\s()<>]*\))*"
_TITLE = r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?"
_TOKEN = re.compile(
    rf"(?P<escape>\\[{re.escape(_PUNCTUATION)}])"
    rf"|(?P<math>{_MATH})"
    r"|(?P<ticks>`+)"
    r"|(?P<auto><(?:https?://|mailto:)[^\s<>]{1,2000}>)"
    r"|(?P<tag></?[A-Za-z][^<>]{0,1000}>|<!--.{0,1000}?-->)"
    r"|(?P<bare>\bhttps?://[^\s<>\"'`]{1,2000}[^\s<>\"'`.,;:!?)*_~\]])"
    r"|(?P<bracket>!?\[)"
    r"|(?P<mark>\*+|_+|~~)"
    r"|(?P<hard>(?<! ) {2,}+\n|\\\n)",
    re.DOTALL,
)
_INLINE_TARGET = re.compile(rf"\(\s*(?P<target>{_TARGET}){_TITLE}\s*\)")
_REFERENCE = re.compile(r"\[([^\[\]]{0,200})\]")

Links = dict[str, str]
"""Reference names in lower case and what they stand for."""


@dataclass()
class _Mark:
    text: str
    opens: bool
    closes: bool
    before: str = ""
    after: str = ""


def inline(text: str, links: Links, depth: int = 0) -> str:
    """One run of text as HTML."""
    parts: list[str | _Mark] = []
    position = 0
    marks = 0
    runs = _tick_runs(text)
    brackets = _brackets(text) if depth < NESTING_MAX else {}
    while True:
        match = _TOKEN.search(text, position)
        if match is None:
            parts.append(html.escape(text[position:], quote=False).replace("&amp;", "&"))
            break
        parts.append(html.escape(text[position : match.start()], quote=False).replace("&amp;", "&"))
        kind = match.lastgroup or ""
        position = match.end()
        if kind == "mark" and marks < DELIMITERS_MAX:
            marks += 1
            parts.append(_mark(match))
        elif kind == "ticks":
            position = _code(match, runs, parts)
        elif kind == "bracket" and position in brackets:
            position = _link(match, brackets[position], links, depth, parts)
        else:
            parts.append(_WRITERS.get(kind, _plain)(match[0]))
    _pair([part for part in parts if isinstance(part, _Mark)])
    return "".join(
        part if isinstance(part, str) else part.before + part.text + part.after for part in parts
    )


def _plain(text: str) -> str:
    return html.escape(text, quote=False)


def _auto(text: str) -> str:
    address = text.strip("<>")
    shown = address.removeprefix("mailto:")
    return f'<a href="{html.escape(address)}">{html.escape(shown)}</a>'


def _math(text: str) -> str:
    # Like JupyterLab, "\\(" in the source of a cell counts as "\(".
    if text.startswith("\\\\"):
        text = f"\\{text[2]}{text[3:-3]}\\{text[-1]}"
    return html.escape(text, quote=False)


_WRITERS: dict[str, Callable[[str], str]] = {
    # MathJax reads an escaped dollar as one that starts no formula.
    "escape": lambda text: text if text == r"\$" else _plain(text[1]),
    "math": _math,
    "auto": _auto,
    "bare": _auto,
    "tag": lambda text: text,
    "hard": lambda _: "<br>\n",
}


def _code(match: re.Match[str], runs: dict[int, list[int]], parts: list[str | _Mark]) -> int:
    """Code up to the next run of as many backticks, or the backticks alone."""
    text, size = match.string, len(match[0])
    starts = runs[size]
    index = bisect_left(starts, match.end())
    if index == len(starts):
        parts.append(match[0])
        return match.end()
    content = text[match.end() : starts[index]].replace("\n", " ")
    if content.strip() and content[0] == content[-1] == " ":
        content = content[1:-1]
    parts.append(f"<code>{html.escape(content)}</code>")
    return starts[index] + size


def _tick_runs(text: str) -> dict[int, list[int]]:
    """Where runs of backticks start, by their length."""
    runs: dict[int, list[int]] = defaultdict(list)
    for run in re.finditer("`+", text):
        runs[len(run[0])].append(run.start())
    return runs


def _link(
    match: re.Match[str], end: int, links: Links, depth: int, parts: list[str | _Mark]
) -> int:
    """A link or a picture between its brackets, or the opening bracket alone."""
    label = match.string[match.end() : end]
    target, position = _target(match.string, end + 1, label, links)
    if target is None:
        parts.append(match[0])
        return match.end()
    if match[0] == "![":
        parts.append(f'<img src="{html.escape(target)}" alt="{html.escape(label)}">')
    else:
        parts.append(f'<a href="{html.escape(target)}">{inline(label, links, depth + 1)}</a>')
    return position


def _target(text: str, position: int, label: str, links: Links) -> tuple[str | None, int]:
    direct = _INLINE_TARGET.match(text, position)
    if direct:
        return html.unescape(direct["target"].strip("<>")), direct.end()
    reference = _REFERENCE.match(text, position)
    name = (reference[1] if reference and reference[1] else label).strip().lower()
    return links.get(name), reference.end() if reference else position


def _brackets(text: str) -> dict[int, int]:
    """Where the text after each opening bracket ends, for all that are closed."""
    found: dict[int, int] = {}
    stack: list[int] = []
    for bracket in re.finditer(r"\\.|[\[\]]", text, re.DOTALL):
        if bracket[0] == "[":
            stack.append(bracket.end())
        elif bracket[0] == "]" and stack:
            found[stack.pop()] = bracket.start()
    return found


def _mark(match: re.Match[str]) -> _Mark:
    before = match.string[match.start() - 1 : match.start()] or " "
    after = match.string[match.end() : match.end() + 1] or " "
    left = not after.isspace() and (
        after not in _PUNCTUATION or before.isspace() or before in _PUNCTUATION
    )
    right = not before.isspace() and (
        before not in _PUNCTUATION or after.isspace() or after in _PUNCTUATION
    )
    if match[0][0] == "_":
        return _Mark(
            match[0],
            opens=left and (not right or before in _PUNCTUATION),
            closes=right and (not left or after in _PUNCTUATION),
        )
    return _Mark(match[0], opens=left, closes=right)


def _pair(marks: list[_Mark]) -> None:
    """Match closing marks with the nearest opening ones, longest emphasis first."""
    for index, closer in enumerate(marks):
        while closer.closes and closer.text:
            opener = next(
                (
                    mark
                    for mark in reversed(marks[:index])
                    if mark.opens and mark.text and mark.text[0] == closer.text[0]
                ),
                None,
            )
            if opener is None:
                break
            size = 2 if len(opener.text) >= 2 and len(closer.text) >= 2 else 1
            tag = "del" if closer.text[0] == "~" else ("strong" if size == 2 else "em")
            opener.text, closer.text = opener.text[size:], closer.text[size:]
            opener.after = f"<{tag}>{opener.after}"
            closer.before += f"</{tag}>"
