"""CSS: rules and declarations are parsed and written anew from lists; nothing is copied through.

Whatever the input, the output is made of the selectors, properties and values below. None of them
can load, and every rule only reaches the inside of the output it came with.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache

from wasm_kernel.core.data import dataclass
from wasm_kernel.notebook.sanitize.names import IDENTIFIER, safe_class, safe_id
from wasm_kernel.notebook.sanitize.words import words

STYLESHEET_MAX = 3_000_000
SELECTORS_MAX = 100_000
DECLARATIONS_MAX = 200
VALUE_MAX = 500
SELECTOR_MAX = 500
MATCHES_MAX = 20_000_000
"""Selectors times the elements that each of them may be tried on."""

PROPERTIES = words(
    """
    align-content align-items align-self background background-color background-image border
    border-bottom border-bottom-color border-bottom-left-radius border-bottom-right-radius
    border-bottom-style border-bottom-width border-collapse border-color border-left
    border-left-color border-left-style border-left-width border-radius border-right
    border-right-color border-right-style border-right-width border-spacing border-style border-top
    border-top-color border-top-left-radius border-top-right-radius border-top-style
    border-top-width border-width box-shadow box-sizing caption-side clear color column-gap cursor
    direction display empty-cells flex flex-basis flex-direction flex-flow flex-grow flex-shrink
    flex-wrap float font font-family font-size font-stretch font-style font-variant
    font-variant-numeric font-weight gap height justify-content justify-items letter-spacing
    line-height list-style-position list-style-type margin margin-bottom margin-left margin-right
    margin-top max-height max-width min-height min-width opacity order outline outline-color
    outline-style outline-width overflow overflow-wrap overflow-x overflow-y padding padding-bottom
    padding-left padding-right padding-top position row-gap tab-size table-layout text-align
    text-decoration text-decoration-color text-decoration-line text-decoration-style text-indent
    text-overflow text-shadow text-transform vertical-align visibility white-space width word-break
    word-spacing word-wrap
    """
)
_NUMBER = r"[+]?(?:[0-9]{1,5}(?:\.[0-9]{0,10})?|\.[0-9]{1,10})"
_UNIT = r"(?:px|em|rem|ex|ch|pt|pc|cm|mm|in|deg|turn|fr|%)"
_NAME = r"-?[a-z][a-z0-9-]{0,40}"
_CUSTOM = r"--(?!jp-icon)[a-z0-9_][a-z0-9_-]{0,80}"
_WORD = rf"(?:\#[0-9a-f]{{3,8}}|{_NUMBER}{_UNIT}?|{_NAME}|'[a-z0-9 _-]{{1,60}}'|var\({_CUSTOM}\))"
# Blanks were normalised before, so every separator is one character: no pattern can backtrack far.
_PLAIN = rf"{_WORD}(?:[ ,/]{_WORD})*"
_STOP = rf"(?:(?:rgb|hsl)a?\({_PLAIN}\)|{_WORD})"
_GRADIENT = rf"(?:repeating-)?(?:linear|radial)-gradient\({_STOP}(?:[ ,]{_STOP})*\)"
_FUNCTION = rf"(?:(?:rgb|hsl)a?\({_PLAIN}\)|{_GRADIENT})"
_INNER_FALLBACK = rf"var\({_CUSTOM},(?:{_FUNCTION}|{_PLAIN})\)"
_FALLBACK = rf"var\({_CUSTOM},{_INNER_FALLBACK}\)|{_INNER_FALLBACK}"
_TERM = rf"(?:{_FUNCTION}|{_FALLBACK}|{_WORD})"
_CUSTOM_NAME = re.compile(_CUSTOM)
_KEYWORD_ONLY = re.compile(rf"{_NAME}(?:!important)?")
# In-flow positions only: everything else can lie over what is not the output's own.
_POSITION = re.compile(r"(?:static|relative)(?:!important)?")
# A shadow is drawn as far as it reaches: a few of thousands of pixels take minutes.
_SHORT = r"(?:[0-9]{1,2}(?:\.[0-9]{0,10})?|\.[0-9]{1,10})(?:px|pt)?"
_SHADE = rf"(?:\#[0-9a-f]{{3,8}}|{_SHORT}|[a-z]{{1,40}}|(?:rgb|hsl)a?\({_PLAIN}\))"
_SHADOW = re.compile(rf"{_SHADE}(?:[ ,]{_SHADE})*(?:!important)?")
_SPECIAL_VALUES = {
    "position": _POSITION,
    "cursor": _KEYWORD_ONLY,
    "display": _KEYWORD_ONLY,
    "box-shadow": _SHADOW,
    "text-shadow": _SHADOW,
}
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_PUNCTUATION = [(f"{a}{mark}{b}", mark) for mark in ",/" for a, b in ((" ", ""), ("", " "))]
_COMBINATORS = [(f"{a}{mark}{b}", mark) for mark in ">+~" for a, b in ((" ", ""), ("", " "))]
_PARENTHESES = [("( ", "("), (" )", ")"), (" !", "!"), ("! ", "!")]
_MEDIA = re.compile(r"@media\s*\(\s*prefers-color-scheme\s*:\s*(dark|light)\s*\)\s*", re.IGNORECASE)

_BRACE = re.compile(r"[{}]")
_COMBINATOR = re.compile(r"[\s>+~]")
_ID = re.compile(r' id="([^"]*)"')
_COUNT = r"\((?:odd|even|[+-]?[0-9]{0,5}n?(?:[+-][0-9]{1,5})?)\)"
_PSEUDO = (
    r":(?:hover|empty|(?:first|last|only)-(?:child|of-type)"
    rf"|nth-(?:last-)?(?:child|of-type){_COUNT})"
)
_SIMPLE = rf"[.#]{IDENTIFIER}|{_PSEUDO}|:not\([.#]?{IDENTIFIER}\)"
_COMPOUND = rf"(?:(?:\*|[A-Za-z][A-Za-z0-9]{{0,20}})(?:{_SIMPLE})*|(?:{_SIMPLE})+)"
_NAMES = re.compile(rf"([.#])({IDENTIFIER})")
_IDS_ONLY = re.compile(r"#[A-Za-z_][A-Za-z0-9_-]*(?:\s*,\s*#[A-Za-z_][A-Za-z0-9_-]*)*")
# How a notebook page calls the box around an output; the output's own box stands in for it.
_AROUND = re.compile(
    r"(?::root|html|body|\.output_html|\.rendered_html|\.jp-RenderedHTML(?:Common)?)(?=[ >]|$)"
)


# These two take 50 ms to compile, which a kernel that shows no styles never pays for.


@cache
def _value_pattern() -> re.Pattern[str]:
    return re.compile(rf"{_TERM}(?:[ ,/]{_TERM})*(?:!important)?")


@cache
def _selector_pattern() -> re.Pattern[str]:
    return re.compile(rf"{_COMPOUND}(?:[ >+~]{_COMPOUND}){{0,12}}")


def declarations(text: str) -> str:
    """The harmless declarations of a block or a ``style`` attribute, written anew.

    The result holds no double quote, ampersand, angle bracket, backslash or brace.
    """
    return _declarations(text) if len(text) <= 400 else _write_declarations(text)


def _write_declarations(text: str) -> str:
    if "/*" in text:
        text = _COMMENT.sub(" ", text)
    kept = []
    for declaration in text.split(";")[:DECLARATIONS_MAX]:
        name, colon, value = declaration.partition(":")
        if not colon:
            continue
        name = name.strip().lower()
        value = _condensed(value.lower().replace('"', "'"), _PUNCTUATION)
        if is_safe_declaration(name, value):
            kept.append(f"{name}:{value}")
    return ";".join(kept)


def _condensed(text: str, marks: list[tuple[str, str]]) -> str:
    """The text with single blanks, and none around some marks."""
    text = " ".join(text.split())
    for spaced, mark in (*marks, *_PARENTHESES):
        text = text.replace(spaced, mark)
    return text


_declarations = lru_cache(maxsize=4_096)(_write_declarations)


def is_safe_declaration(name: str, value: str) -> bool:
    """Whether a property and its value, both in lower case, are on the lists."""
    if len(value) > VALUE_MAX:
        return False
    if name in _SPECIAL_VALUES:
        return _SPECIAL_VALUES[name].fullmatch(value) is not None
    if name not in PROPERTIES and not _CUSTOM_NAME.fullmatch(name):
        return False
    return _value_pattern().fullmatch(value) is not None


def selector(text: str, scope: str) -> str | None:
    """One selector, below ``scope`` and with the page's names; None where it is not on the list."""
    if len(text) > SELECTOR_MAX:
        return None
    text = _condensed(text, _COMBINATORS)
    around = _AROUND.match(text)
    if around:
        text = text[around.end() :].lstrip("> ")
        if not text:
            return f".{scope}"
    if not _selector_pattern().fullmatch(text):
        return None
    if any(kind == "." and safe_class(name) is None for kind, name in _NAMES.findall(text)):
        return None
    return f".{scope} " + _NAMES.sub(_renamed, text)


def _renamed(match: re.Match[str]) -> str:
    return match[1] + (safe_id(match[2]) if match[1] == "#" else safe_class(match[2]) or "")


@dataclass(frozen=True)
class Weight:
    """What a browser tries selectors on."""

    elements: int = 0
    same_id: int = 1
    """How many elements have the most frequent id."""

    @classmethod
    def of(cls, body: str) -> Weight:
        """The weight of some clean HTML."""
        ids = Counter(_ID.findall(body))
        return cls(body.count("<"), max(ids.values(), default=1))

    def matches(self, prelude: str) -> int:
        """How often the selectors of a rule are tried."""
        if _IDS_ONLY.fullmatch(prelude):
            return self.same_id * (prelude.count(",") + 1)
        total = 0
        for one in prelude.split(","):
            last = _COMBINATOR.split(one.strip())[-1]
            tried = self.same_id if "#" in last.replace(":not(#", "") else self.elements
            # Each element then looks at all those before it.
            total += tried * (1 + self.elements // 20) if "~" in one else tried
        return total


NO_WEIGHT = Weight()


def stylesheet(text: str, scope: str, weight: Weight = NO_WEIGHT) -> str:
    """The harmless rules of a style element, every one of them below ``scope``."""
    if len(text) > STYLESHEET_MAX:
        return ""
    left, matches_left = SELECTORS_MAX, MATCHES_MAX
    written = []
    for media, prelude, block in _rules(_COMMENT.sub(" ", text) if "/*" in text else text):
        body = declarations(block)
        if not body:
            continue
        left -= prelude.count(",") + 1
        if left < 0:
            break
        chosen = _selectors(prelude, scope)
        matches_left -= weight.matches(prelude)
        if chosen and matches_left >= 0:
            rule = f"{chosen}{{{body}}}"
            written.append(f"@media (prefers-color-scheme:{media}){{{rule}}}" if media else rule)
    return "\n".join(written)


def _selectors(prelude: str, scope: str) -> str:
    if _IDS_ONLY.fullmatch(prelude):
        # What a pandas Styler writes: thousands of ids in a row.
        return prelude.replace("#wk-", "#").replace("#", f".{scope} #wk-")
    found = (selector(part, scope) for part in prelude.split(","))
    return ",".join(part for part in found if part)


def _rules(css: str, media: str = "") -> Iterator[tuple[str, str, str]]:
    """Colour scheme, selectors and block of every plain rule; other constructs are skipped."""
    position = 0
    while True:
        opening = css.find("{", position)
        if opening < 0:
            return
        # A statement such as @import ends with a semicolon and is simply passed over.
        prelude = css[position:opening].rpartition(";")[2].rpartition("}")[2].strip()
        closing = css.find("}", opening)
        nested = css.find("{", opening + 1, closing if closing >= 0 else len(css)) >= 0
        if nested:
            closing = _matching(css, opening)
        if closing < 0:
            return
        block = css[opening + 1 : closing]
        position = closing + 1
        scheme = _MEDIA.fullmatch(prelude)
        if scheme and not media:
            yield from _rules(block, scheme[1].lower())
        elif not nested and prelude and prelude[0] != "@":
            yield media, prelude, block


def _matching(css: str, opening: int) -> int:
    depth = 0
    for brace in _BRACE.finditer(css, opening):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    return -1
