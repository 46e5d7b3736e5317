"""Vega expressions: only sums, comparisons and pure functions of the datum.

The expression language runs in the page. Objects, events, the view and calls on anything but the
functions below have been ways out of it, so none of them is let in.
"""

from __future__ import annotations

import re
from collections.abc import Set

from wasm_kernel.notebook.sanitize.vega_lists import FORMAT
from wasm_kernel.notebook.sanitize.words import words

EXPRESSION_MAX = 2_000
FUNCTIONS = words(
    """
    abs acos asin atan atan2 ceil clamp cos exp floor hypot log max min pow round sin sqrt tan
    isBoolean isDate isDefined isFinite isNaN isNumber isString isValid toBoolean toDate toNumber
    toString date day dayofyear hours milliseconds minutes month quarter seconds time week year
    utcdate utcday utchours utcminutes utcmonth utcquarter utcseconds utcyear datetime utc
    dayFormat monthAbbrevFormat monthFormat dayAbbrevFormat format timeFormat utcFormat
    if length lower upper trim substring parseFloat parseInt indexof
    """
)
CONSTANTS = frozenset({"true", "false", "null", "undefined", "NaN", "PI", "E", "LN2", "LN10"})
_FORBIDDEN_MEMBERS = frozenset({"constructor", "prototype", "__proto__", "caller", "callee"})
_NEVER_NAMES = frozenset({"event", "item", "view", "window", "document", "globalThis", "this"})
_TOKEN = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<literal>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?|'[^'\\\n]*'|\"[^\"\\\n]*\")"
    r"|(?P<mark>===|!==|==|!=|<=|>=|&&|\|\||[-+*/%<>!?:,().\[\]]))"
)


def is_safe_expression(text: str, names: Set[str] = frozenset()) -> bool:
    """Whether an expression stays within the list; ``names`` are the chart's own parameters."""
    text = text.rstrip()
    if len(text) > EXPRESSION_MAX:
        return False
    tokens: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            return False
        tokens.append((match.lastgroup, match[match.lastgroup]))
        position = match.end()
    padded = [("", ""), *tokens, ("", ""), ("", "")]
    return all(_is_safe_at(padded, index, names) for index in range(1, len(padded) - 2))


def _has_plain_format(tokens: list[tuple[str, str]], opening: int) -> bool:
    """Whether a call ends with a short format as it stands; one can ask for a gigabyte of zeros."""
    depth = 0
    for index in range(opening, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[index][1], 0)
        if depth == 0:
            (_, comma), (kind, text) = tokens[index - 2 : index]
            return comma == "," and kind == "literal" and FORMAT.fullmatch(text[1:-1]) is not None
    return False


def _is_safe_at(tokens: list[tuple[str, str]], index: int, names: Set[str]) -> bool:
    before, (kind, text), after = tokens[index - 1 : index + 2]
    if kind == "name":
        if before[1] == ".":
            return text not in _FORBIDDEN_MEMBERS and after[1] != "("
        if after[1] == "(":
            return text in FUNCTIONS and (text != "format" or _has_plain_format(tokens, index + 1))
        return text == "datum" or text in CONSTANTS or (text in names and text not in _NEVER_NAMES)
    if text == ".":
        return before[0] == "name" or before[1] == "]"
    if text == "[":
        # A member by name, and nothing but one literal between the brackets.
        is_member = before[0] == "name" or before[1] == "]"
        is_plain = after[0] == "literal" and after[1].strip("'\"") not in _FORBIDDEN_MEMBERS
        return is_member and is_plain and tokens[index + 2][1] == "]"
    if text == "(":
        return before[1] not in (")", "]") and before[0] != "literal"
    return True
