"""TeX as MathJax reads it, in LaTeX output and between dollars of any HTML that a page typesets.

MathJax has commands that link, style, name, load packages and define macros. Only the commands of
the list stay live; another one gets an invisible character behind its backslash, so that it is
shown and not obeyed, whether or not the place turns out to be a formula.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache

from wasm_kernel.notebook.sanitize.tex_commands import COMMANDS, ENVIRONMENTS

WORD_JOINER = "\u2060"
LATEX_MAX = 50_000
"""Characters of LaTeX that are typeset: MathJax stops the page for seconds beyond that."""
TYPESET_MAX = 300_000
FORMULAS_MAX = 1_000
SIGNS_MAX = 20_000
"""Letters, numbers and symbols in all formulas: MathJax takes some 0.25 ms for each."""
SEARCHED_MAX = 5_000_000
"""Characters among which ends of formulas are looked for, each time anew where there is none."""
DEPTH_MAX = 60
BACKWARD_MAX = 20
"""Negative spaces: enough of them move a formula over what stands left of it."""

_COMMAND = re.compile(r"\\([A-Za-z]+)(\s*\{[^{}]{0,40}\})?")
_BEGINS_MATH = re.compile(r"\\[(\[]|\\begin\s*\{|\\(?:eq)?ref\b")
_DELIMITER = re.compile(r"\$\$?|\\[(\[]|\\begin\b")
# As MathJax's FindTeX has them: where a formula begins, what else it passes over, where it ends.
_OPENING = re.compile(r"\$\$|\\[(\[]|\$|\\begin\s*\{(?P<name>[^{}]*)\}|\\[\\$]")
_CLOSINGS = {"$$": r"\$\$", "$": r"\$", r"\(": r"\\\)", r"\[": r"\\\]"}
_SIGN = re.compile(r"\\(?:[A-Za-z]+|.)|[0-9.]+|[^\s{}^_&]", re.DOTALL)
# Elements part what a page looks for formulas in, but for these.
_ELEMENT = re.compile(r"<(?!br>)[^<>]*>")
_COLOR_ARGUMENT = re.compile(r"\s*\{\s*(?:[A-Za-z]{2,30}|\#[0-9A-Fa-f]{3,8})\s*\}")
_LENGTH_ARGUMENT = re.compile(r"\s*\{\s*[0-9]{0,2}\.?[0-9]{1,3}\s*(?:em|ex|pt|mu|cm|mm|px)\s*\}")
_BACKWARD = re.compile(r"\\(?:!|neg(?:thin|med|thick)space)")
# Options draw over the neighbours, and a thickness or a row's distance has no bound of its own.
_OPTIONS = re.compile(r"(?:\s|&nbsp;|<br>)*+\[")
_THIN_FRACTION = re.compile(
    r"\s*(?:(?:\{(?:\\.|[^{}\\]){0,10}\}|\\[^A-Za-z]|[^\s{}\\])\s*){2}"
    r"\{\s*(?:(?:[0-9]|[0-9]?\.[0-9]{1,2})\s*(?:pt|px|em|ex|mm))?\s*\}"
)
# What is longer than any distance is not read to its end: a million others may begin in it.
_FAR_ROW = re.compile(r"(\\\\\s*+(?:\*\s*+)?+)(?=\[(?:(?![^\]]{0,60}+\])|[^\]]{0,60}[0-9]{3}))")
_WITHOUT_OPTIONS = frozenset({"cancel", "bcancel", "xcancel"})
_COLORS = frozenset({"color", "textcolor"})
_LENGTHS = frozenset({"hspace"})


def has_math(text: str) -> bool:
    """Whether a page might find a formula in a text."""
    return "$" in text or ("\\" in text and _BEGINS_MATH.search(text) is not None)


def is_too_much(text: str) -> bool:
    """Whether typesetting all formulas of a text would take too long."""
    return _is_too_much(text, [text])


def is_too_much_in_html(body: str) -> bool:
    """The same of all the texts in some clean HTML."""
    return _is_too_much(body, _ELEMENT.split(body))


def _is_too_much(whole: str, texts: list[str]) -> bool:
    if len(whole) > TYPESET_MAX or len(_DELIMITER.findall(whole)) > 2 * FORMULAS_MAX:
        return True
    return _is_too_deep(whole) or _is_too_long(texts)


def _is_too_long(texts: list[str]) -> bool:
    """Whether the formulas have too many signs, or take too long to find."""
    signs_left, searched_left = SIGNS_MAX, SEARCHED_MAX
    for text in texts:
        position = 0
        while opening := _OPENING.search(text, position):
            position = opening.end()
            if opening[0] in ("\\\\", "\\$"):
                continue
            end = _end_of_formula(text, opening)
            searched_left -= (end.end() if end else len(text)) - position
            if end:
                signs_left -= _signs(text[position : end.start()])
                position = end.end()
            if signs_left < 0 or searched_left < 0:
                return True
    return False


def _end_of_formula(text: str, opening: re.Match[str]) -> re.Match[str] | None:
    """Where MathJax sees the end of a formula: not inside of braces."""
    depth = 0
    for mark in _marks_for(opening[0], opening["name"]).finditer(text, opening.end()):
        if mark["end"] and depth == 0:
            return mark
        if mark[0] == "{":
            depth += 1
        elif mark[0] == "}":
            depth = max(depth - 1, 0)
    return None


@lru_cache(maxsize=64)
def _marks_for(opening: str, name: str | None) -> re.Pattern[str]:
    closing = _CLOSINGS.get(opening) or rf"\\end\s*\{{{re.escape(name or '')}\}}"
    return re.compile(rf"(?P<end>{closing})|\\(?:[A-Za-z]|.)|[{{}}]", re.DOTALL)


def _signs(formula: str) -> int:
    return len(_SIGN.findall(html.unescape(formula.replace("<br>", " "))))


def goes_backward(text: str) -> bool:
    """Whether formulas could leave their place to the left."""
    return len(_BACKWARD.findall(text)) > BACKWARD_MAX


def _is_too_deep(text: str) -> bool:
    depth = 0
    for brace in re.finditer(r"[{}]", text):
        depth = depth + 1 if brace[0] == "{" else max(depth - 1, 0)
        if depth > DEPTH_MAX:
            return True
    return False


def defused(text: str) -> str:
    """The text with every command that is not on the list switched off."""
    return _FAR_ROW.sub(r"\1{}", _COMMAND.sub(_checked, text)) if "\\" in text else text


def _checked(match: re.Match[str]) -> str:
    name, argument = match[1], match[2] or ""
    if name in ("begin", "end"):
        is_live = argument.strip(" \t\r\n{}").rstrip("*") in ENVIRONMENTS
    elif name in _COLORS:
        is_live = _COLOR_ARGUMENT.fullmatch(argument) is not None
    elif name in _LENGTHS:
        is_live = _LENGTH_ARGUMENT.fullmatch(argument) is not None
    elif name in _WITHOUT_OPTIONS:
        is_live = _OPTIONS.match(match.string, match.end(1)) is None
    elif name == "genfrac":
        is_live = _THIN_FRACTION.match(match.string, match.end(1)) is not None
    else:
        # One letter is an accent at most, and most often no TeX at all: "\n", "\d".
        is_live = name in COMMANDS or len(name) == 1
    if is_live:
        return match[0]
    return f"\\{WORD_JOINER}{match[0][1:]}"
