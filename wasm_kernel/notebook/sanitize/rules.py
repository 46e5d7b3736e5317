"""The lists for HTML: which elements and attributes stay, and what an attribute may say."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import nh3

from wasm_kernel.notebook.sanitize.css import declarations
from wasm_kernel.notebook.sanitize.names import PREFIX, safe_classes, safe_id
from wasm_kernel.notebook.sanitize.words import words

TAGS = words(
    """
    a abbr address article aside b bdi big blockquote br caption center cite code col colgroup dd
    del details dfn div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins
    kbd li main mark meter ol p pre progress q rp rt ruby s samp section small span strike strong
    sub summary sup table tbody td tfoot th thead time tr tt u ul var
    """
)
VOID_TAGS = frozenset({"br", "col", "hr", "img"})
DROPPED_WITH_CONTENT = words(
    """
    applet audio canvas datalist embed frame frameset iframe math noembed noframes noscript object
    plaintext script select style svg template textarea title video xmp
    """
)
_EVERYWHERE = frozenset({"class", "dir", "id", "lang", "style", "title"})
_CELL = frozenset(
    {"align", "bgcolor", "colspan", "headers", "height", "rowspan", "valign", "width"}
)
ATTRIBUTES: dict[str, frozenset[str]] = {
    "a": frozenset({"href"}),
    "col": frozenset({"align", "span", "width"}),
    "colgroup": frozenset({"align", "span", "width"}),
    "details": frozenset({"open"}),
    "div": frozenset({"align"}),
    "font": frozenset({"color", "size"}),
    "img": frozenset({"alt", "height", "src", "width"}),
    "li": frozenset({"value"}),
    "meter": frozenset({"high", "low", "max", "min", "optimum", "value"}),
    "ol": frozenset({"reversed", "start", "type"}),
    "p": frozenset({"align"}),
    "progress": frozenset({"max", "value"}),
    "table": frozenset({"align", "bgcolor", "border", "cellpadding", "cellspacing", "width"}),
    "tbody": frozenset({"align", "valign"}),
    "td": _CELL,
    "tfoot": frozenset({"align", "valign"}),
    "th": _CELL | {"scope"},
    "thead": frozenset({"align", "valign"}),
    "time": frozenset({"datetime"}),
    "tr": frozenset({"align", "bgcolor", "valign"}),
    "ul": frozenset({"type"}),
}

CLEANER = nh3.Cleaner(
    tags=set(TAGS),
    clean_content_tags=set(DROPPED_WITH_CONTENT),
    attributes={"*": set(_EVERYWHERE)} | {tag: set(names) for tag, names in ATTRIBUTES.items()},
    strip_comments=True,
    link_rel=None,
    # The attributes that hold an address are judged below; here only schemes that run are lost.
    url_schemes={"http", "https", "mailto", "data"},
    id_prefix=PREFIX,
)


def is_known_attribute(tag: str, name: str) -> bool:
    """Whether an attribute can stay on an element."""
    return name in _EVERYWHERE or name in ATTRIBUTES.get(tag, ())


_LINK = re.compile(r"(?:https?://[^\s\\<>\"'`\x00-\x20]{1,2000}|mailto:[^\s\\<>\"'`]{1,300})", re.I)
_FRAGMENT = re.compile(r"#[\w:.-]{1,200}")
_LINK_EXTRAS = ' rel="noopener noreferrer nofollow" target="_blank"'


def _link(value: str) -> str | None:
    # A relative address would be looked up among the files of the Jupyter server.
    address = value.strip()
    if _FRAGMENT.fullmatch(address):
        return f' href="#{safe_id(address[1:])}"'
    if _LINK.fullmatch(address):
        return f' href="{html.escape(address)}"{_LINK_EXTRAS}'
    return None


def _style(value: str) -> str | None:
    safe = declarations(value)
    return f' style="{safe}"' if safe else None


def _class(value: str) -> str | None:
    safe = safe_classes(value)
    return f' class="{safe}"' if safe else None


def _headers(value: str) -> str | None:
    names = " ".join(safe_id(name) for name in value.split()[:50])
    return f' headers="{names}"' if re.fullmatch(r"[\w:. -]*", names) else None


def _text(name: str) -> Callable[[str], str | None]:
    return lambda value: f' {name}="{html.escape(value[:5_000])}"'


def _matching(name: str, pattern: str) -> Callable[[str], str | None]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda value: f' {name}="{value.strip()}"' if compiled.fullmatch(value.strip()) else None


_WHOLE = r"[0-9]{1,4}"
_LENGTH = r"[0-9]{1,4}(?:\.[0-9]{1,4})?(?:px|%)?"
_NUMBER = r"-?[0-9]{1,12}(?:\.[0-9]{1,12})?"
_COLOR = r"#?[a-z0-9]{1,20}"

WRITERS: dict[str, Callable[[str], str | None]] = {
    "align": _matching("align", "left|right|center|justify|char"),
    "alt": _text("alt"),
    "bgcolor": _matching("bgcolor", _COLOR),
    "border": _matching("border", "[0-9]{1,2}"),
    "cellpadding": _matching("cellpadding", "[0-9]{1,2}"),
    "cellspacing": _matching("cellspacing", "[0-9]{1,2}"),
    "class": _class,
    "color": _matching("color", _COLOR),
    "colspan": _matching("colspan", "[0-9]{1,3}|1000"),
    "datetime": _matching("datetime", r"[0-9a-z:.+ -]{1,40}"),
    "dir": _matching("dir", "ltr|rtl|auto"),
    "headers": _headers,
    "height": _matching("height", _LENGTH),
    "href": _link,
    "id": _matching("id", rf"{PREFIX}[\w:.-]{{1,200}}"),
    "lang": _matching("lang", "[a-z0-9-]{1,20}"),
    "open": lambda _: ' open=""',
    "reversed": lambda _: ' reversed=""',
    "rowspan": _matching("rowspan", _WHOLE),
    "scope": _matching("scope", "row|col|rowgroup|colgroup"),
    "size": _matching("size", "[+-]?[1-7]"),
    "span": _matching("span", "[0-9]{1,3}"),
    "start": _matching("start", "-?[0-9]{1,9}"),
    "style": _style,
    "title": _text("title"),
    "type": _matching("type", "[1aAiI]|disc|circle|square"),
    "valign": _matching("valign", "top|middle|bottom|baseline"),
    "width": _matching("width", _LENGTH),
} | {name: _matching(name, _NUMBER) for name in ("high", "low", "max", "min", "optimum", "value")}
"""How an attribute is written anew from its unescaped value; None drops it."""
