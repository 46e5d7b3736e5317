"""SVG drawings: written anew from a short list, then shown as a picture.

A browser neither runs scripts nor loads anything for an SVG inside ``<img>``. The list makes it
inert as a document of its own too, for whoever opens the picture in a new tab.
"""

from __future__ import annotations

import base64
import re
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from wasm_kernel.notebook.sanitize.images import PIXELS_MAX, raster_image
from wasm_kernel.notebook.sanitize.refusal import Refused
from wasm_kernel.notebook.sanitize.texts import too_large
from wasm_kernel.notebook.sanitize.words import words

BYTES_MAX = 5_000_000
ELEMENTS_MAX = 100_000
DEPTH_MAX = 100
CLONES_MAX = 200_000
"""Elements that all ``use`` references may stand for: a few lines can ask for billions."""
REFERENCES_MAX = 2_000_000
"""References, each counted for every element with an id that it lies in."""
FILTERS_MAX = 100
FILTERED_MAX = 100
"""Steps of all filters times the elements that use one: each may go over the whole drawing."""
MATCHES_MAX = 20_000_000
"""Selectors times elements: each of them is tried on every one."""
SIDE_MAX = 4_000

SVG_NAMESPACE = "http://www.w3.org/2000/svg"
XLINK_NAMESPACE = "http://www.w3.org/1999/xlink"
_DOCTYPE = re.compile(r"<!DOCTYPE\s[^\[\]<>]*>", re.IGNORECASE)
_ENCODING = re.compile(r"\A\ufeff?\s*<\?xml[^>]*\?>")
_ROOT = re.compile(r"<svg(?=[\s>])(?![^<>]*\sxmlns\s*=)")
_URL = re.compile(
    r"url\(\s*+[\"']?+\s*+(?!#)|@import|@font-face|\\"
    r"|(?:expression|image|image-set|cross-fade|src|element|paint|attr)\s*\("
    r"|marker(?:-mid)?\s*:",
    re.IGNORECASE,
)
_FILTER_STEP = re.compile(r"<(?:[^\s<>/:]{1,99}:)?fe[A-Z]")
# Rules that filter whatever they reach, or that look around in the whole drawing for each element.
_SLOW_RULES = re.compile(r"filter|:has\s*\(|~", re.IGNORECASE)
_TARGET = re.compile(r"url\(\s*[\"']?#([^\"')\s]+)", re.IGNORECASE)
# Drawn once for each corner of a path, which may have a million of them.
_AT_EVERY_CORNER = frozenset({"marker", "marker-mid"})
_LENGTH = re.compile(r"\s*(\d{1,5}(?:\.\d{1,8})?)(px|pt|)\s*")
_DATA_IMAGE = re.compile(r"data:(image/(?:png|jpeg|gif|webp));base64,")
_POINTS_TO_PIXELS = 4 / 3

_ELEMENTS = words(
    """
    a circle clipPath defs desc ellipse feBlend feColorMatrix feComponentTransfer feComposite
    feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur feMerge feMergeNode feOffset
    filter g image line linearGradient marker mask metadata path pattern polygon polyline
    radialGradient rect stop style svg switch symbol text textPath title tspan use
    """
)
_DROPPED_WITH_CONTENT = frozenset({"metadata"})
_REFERENCES = frozenset({"href"})


class _Writer:
    """Receives the parser's events and writes what is on the list."""

    def __init__(self, filter_steps: int) -> None:
        """``filter_steps`` is how many steps all filters of the drawing have."""
        self._filter_steps = filter_steps
        self._filtered_left = FILTERED_MAX
        self._selectors = 0
        self.parts: list[str] = []
        self.width: float | None = None
        self.height: float | None = None
        self._open: list[str | None] = []
        self._skipping = 0
        self._elements = 0
        self._filters = 0
        self._ids: list[str] = []
        self._clones: dict[str, list[str]] = {"": []}
        self._references_left = REFERENCES_MAX
        self._sizes: dict[str, int] = {}
        self._style: list[str] | None = None
        self._styled: list[str] = []
        self._pixels_left = PIXELS_MAX

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        if self._elements > ELEMENTS_MAX or len(self._open) >= DEPTH_MAX:
            raise Refused("too many elements or levels")
        namespace, _, local = name.rpartition(" ")
        known = namespace == SVG_NAMESPACE and local in _ELEMENTS
        if not self._open:
            if not known or local != "svg":
                raise Refused("the root element is not svg")
            self._measure(attributes)
        if self._skipping or not known or local in _DROPPED_WITH_CONTENT:
            self._skipping += 1
            self._open.append(None)
            return
        if local.startswith("fe"):
            self._filters += 1
            if self._filters > FILTERS_MAX:
                raise Refused("too many filters")
        self._ids.append(attributes.get("id", ""))
        for identifier in self._ids:
            if identifier:
                self._sizes[identifier] = self._sizes.get(identifier, 0) + 1
        root = "" if self._open else f' xmlns="{SVG_NAMESPACE}" xmlns:xlink="{XLINK_NAMESPACE}"'
        self.parts.append(f"<{local}{root}{self._attributes(local, attributes)}>")
        self._open.append(local)
        if local == "style":
            self._style = []

    def end(self, _: str) -> None:
        local = self._open.pop()
        if local is None:
            self._skipping -= 1
            return
        self._ids.pop()
        if local == "style":
            rules, self._style = "".join(self._style or ()), None
            if not _URL.search(rules) and not _SLOW_RULES.search(rules):
                self._selectors += rules.count("{") + rules.count(",")
                self._styled += _TARGET.findall(rules)
                self.parts.append(escape(rules))
        self.parts.append(f"</{local}>")

    def text(self, content: str) -> None:
        # The parser may cut a text anywhere, so rules are looked at when they are complete.
        if not self._skipping:
            (self.parts if self._style is None else self._style).append(
                escape(content) if self._style is None else content
            )

    def check_clones(self) -> None:
        """Add up what all references stand for, and all selectors."""
        if self._selectors * self._elements > MATCHES_MAX:
            raise Refused("too many rules for so many elements")
        totals: dict[str, int] = {}

        def total(name: str, depth: int) -> int:
            if depth > DEPTH_MAX:
                raise Refused("references inside references are too deep")
            if name not in totals:
                totals[name] = CLONES_MAX
                inner = sum(total(target, depth + 1) for target in self._clones.get(name, ()))
                totals[name] = min(inner + self._sizes.get(name, 1), CLONES_MAX)
            return totals[name]

        # A rule may reach every element.
        styled = self._elements * sum(total(target, 0) for target in self._styled)
        if total("", 0) + styled >= CLONES_MAX:
            raise Refused("its references stand for too many elements")

    def _measure(self, attributes: dict[str, str]) -> None:
        self.width = _pixels(attributes.get("width", ""))
        self.height = _pixels(attributes.get("height", ""))

    def _attributes(self, local: str, attributes: dict[str, str]) -> str:
        kept = []
        for name, value in attributes.items():
            namespace, _, plain = name.rpartition(" ")
            if plain in _REFERENCES and namespace in ("", XLINK_NAMESPACE):
                if self._is_safe_reference(local, value):
                    kept.append(f" xlink:href={quoteattr(value)}")
                continue
            if namespace or plain[:2].lower() == "on" or _URL.search(value) or ":" in plain:
                continue
            if plain in _AT_EVERY_CORNER or not self._may_filter(plain, value):
                continue
            kept.append(f" {plain}={quoteattr(value)}")
            if plain != "id":
                for target in _TARGET.findall(value):
                    self._refer(target)
        return "".join(kept)

    def _may_filter(self, name: str, value: str) -> bool:
        """Whether an attribute filters nothing, or a filter more can be afforded."""
        if name != "filter" and not (name == "style" and "filter" in value.lower()):
            return True
        self._filtered_left -= self._filter_steps + 3 * value.count("(")
        return self._filtered_left >= 0

    def _is_safe_reference(self, local: str, value: str) -> bool:
        if local == "image":
            return self._is_safe_image(value)
        if local == "a" or not value.startswith("#"):
            return False
        self._refer(value[1:])
        return True

    def _is_safe_image(self, value: str) -> bool:
        match = _DATA_IMAGE.match(value)
        if not match:
            return False
        try:
            picture = raster_image(match[1], value[match.end() :], len(value))
        except Refused:
            return False
        self._pixels_left -= picture.pixels
        return self._pixels_left >= 0

    def _refer(self, target: str) -> None:
        """An element with an id is cloned with everything inside it."""
        self._references_left -= len(self._ids) + 1
        if self._references_left < 0:
            raise Refused("too many references")
        self._clones[""].append(target)
        for name in self._ids:
            if name:
                self._clones.setdefault(name, []).append(target)


def _pixels(text: str) -> float | None:
    match = _LENGTH.fullmatch(text)
    if not match:
        return None
    number = float(match[1]) * (_POINTS_TO_PIXELS if match[2] == "pt" else 1)
    return number if 0 < number <= SIDE_MAX else None


def _refuse(*_: Any) -> None:
    raise Refused("it declares entities or processing instructions")


def clean_svg(value: Any) -> tuple[str, float | None, float | None]:
    """The drawing with only harmless parts, and its size in pixels where it states one."""
    if isinstance(value, bytes | bytearray):
        value = bytes(value).decode("utf-8", "replace")
    if not isinstance(value, str):
        raise Refused("it is not text")
    if len(value) > BYTES_MAX:
        raise Refused(too_large(BYTES_MAX))
    text = _DOCTYPE.sub("", _ENCODING.sub("", value), count=1).strip()
    # JupyterLab shows drawings without a namespace too, so many of them have none.
    text = _ROOT.sub(f'<svg xmlns="{SVG_NAMESPACE}"', text, count=1)
    if "xlink:" in text and "xmlns:xlink" not in text:
        text = text.replace("<svg", f'<svg xmlns:xlink="{XLINK_NAMESPACE}"', 1)
    writer = _Writer(len(_FILTER_STEP.findall(text)))
    parser = expat.ParserCreate(encoding="utf-8", namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = writer.start
    parser.EndElementHandler = writer.end
    parser.CharacterDataHandler = writer.text
    parser.EntityDeclHandler = _refuse
    parser.StartDoctypeDeclHandler = _refuse
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError:
        raise Refused("it is not well-formed") from None
    writer.check_clones()
    return "".join(writer.parts), writer.width, writer.height


def svg_picture(value: Any, limit: int, attributes: str = "") -> str:
    """An ``<img>`` that shows the drawing, with attributes that were checked before."""
    drawing, width, height = clean_svg(value)
    source = base64.b64encode(drawing.encode("utf-8")).decode("ascii")
    if len(source) > limit:
        raise Refused(too_large(limit))
    if " width=" not in attributes and " height=" not in attributes and width and height:
        attributes += f' width="{width:.0f}" height="{height:.0f}"'
    if " alt=" not in attributes:
        attributes += ' alt="drawing"'
    return f'<img src="data:image/svg+xml;base64,{source}"{attributes}>'
