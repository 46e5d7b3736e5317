"""What a safe output looks like, judged with parsers that the sanitizer does not use.

html5lib builds the tree a browser would build, tinycss2 reads styles, ElementTree reads drawings.
Nothing here looks at the text of the markup, and nothing is imported from the sanitizer.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

import tinycss2
from bleach._vendor import html5lib
from defusedxml.ElementTree import fromstring

XHTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
XLINK = "{http://www.w3.org/1999/xlink}"

INERT_ELEMENTS = """
a abbr address article aside b bdi big blockquote br caption center cite code col colgroup dd del
details dfn div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li
main mark meter ol p pre progress q rp rt ruby s samp section small span strike strong style sub
summary sup table tbody td tfoot th thead time tr tt u ul var
"""
INERT_ATTRIBUTES = """
align alt bgcolor border cellpadding cellspacing class color colspan datetime dir halign headers
height high href id lang low max min open optimum rel reversed rowspan scope size span src start
style target title type valign value width
"""
SHOWN_TYPES = re.compile(
    r"text/(?:plain|html|latex)|image/(?:png|jpeg|gif|webp)|application/(?:json|geo\+json)"
    r"|application/vnd\.plotly\.v1\+json|application/vnd\.vega(?:lite)?\.v\d{1,2}[.\d]*\+json"
)
OWN_CLASS = re.compile(
    r"wk-(?!jp-|lm-|cm-|p-|jupyter|CodeMirror)[\w-]+|wkscope-[0-9a-f]{12}|mathjax_ignore"
    r"|tex2jax_ignore|tocSkip|dataframe|data|blank|index_name|(?:col|row)_(?:heading|trim)"
    r"|(?:row|col|level)\d+"
)
LOADING_FUNCTIONS = {"url", "image-set", "-webkit-image-set", "image", "src", "element", "paint"}
LOADING_FUNCTIONS |= {"cross-fade", "-webkit-cross-fade", "expression", "attr", "env", "path"}
LEAVING_PROPERTIES = {"position": {"static", "relative"}}
FORBIDDEN_PROPERTIES = re.compile(
    r"z-index|inset.*|top|left|right|bottom|transform|animation.*|transition.*|content|behavior"
    r"|-moz-binding|pointer-events|filter|clip.*|mask.*|contain.*|will-change|all|zoom|d"
)
LIVE_TEX = re.compile(
    r"\\x?b?cancel\s*\[|\\\\\[[^\]]*\d{3}|\\genfrac(?:\{[^{}]*\}){2}\{\d\d|\\(?:href|url|class|cssId|style|html\w*|data|require|include\w*|input|unicode|def|let|gdef|edef"
    r"|newcommand|renewcommand|newenvironment|bbox|mmlToken|enclose|toggle|texttip|mathtip|raise"
    r"|lower|Rule|rule|kern|csname|label|ref|eqref|colorbox|fcolorbox|DeclareMathOperator|Newextarrow"
    r"|action|tooltip|special|write)(?![A-Za-z])"
)
OTHERWISE_READ = re.compile(r"\^\^|!\[|\]\(|\]:")
TYPESET = re.compile(r"\$|\\[(\[]|\\begin|\\(?:eq)?ref")
MAGIC = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
HIDING = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
UNSAFE_TEXT = re.compile(r"[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]")
COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
REACHES = re.compile(r"\b(?:event|window|view|constructor|__proto__)\b")
EXPRESSION_KEYS = {"expr", "signal", "calculate", "labelExpr", "test", "update", "init", "filter"}
EXPRESSION_KEYS |= {"and", "or", "not", "insert", "remove", "modify"}
LOADING_KEYS = {"url", "href", "src"}
PLOTLY_KEYS = {"accesstoken", "topojsonURL", "plotlyServerURL", "mapbox", "geo"}
INPUT_KEYS = {"debounce", "input", "labels", "max", "min", "name", "options", "placeholder", "step"}
VEGA_KEYS = {"usermeta", "element", "loader", "patch", "events", "pivot", "image", "trigger"}


def violations(data: Any, metadata: Any) -> list[str]:
    """Everything in an output that a page must not receive; empty for a safe one."""
    found: list[str] = []
    if any(isinstance(value, bytes) for value in data.values()):
        return ["bytes"]
    try:
        json.dumps([data, metadata], allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError) as error:
        return [f"not JSON: {error}"]
    for mime, value in data.items():
        if mime.startswith(("text/", "image/")) and not isinstance(value, str):
            found.append(f"{mime} is not text")
        elif not SHOWN_TYPES.fullmatch(mime):
            found.append(f"type {mime!r}")
        elif mime == "text/plain":
            found += _text_violations(value)
        elif mime == "text/html":
            found += html_violations(value)
        elif mime == "text/latex":
            found += [f"TeX {name}" for name in LIVE_TEX.findall(value)]
            found += [f"read otherwise {text}" for text in OTHERWISE_READ.findall(value)]
            found += ["markup in LaTeX"] if len(list(_fragment(value).iter())) > 1 else []
        elif mime in MAGIC:
            found += [] if _is_picture(mime, value) else [f"not {mime}"]
        elif mime == "application/geo+json":
            found += ["markup in GeoJSON" for text in _strings(value) if "<" in text]
        elif mime != "application/json":
            found += _chart_violations(value)
            found += _plotly_violations(value) if "plotly" in mime else _vega_violations(value)
    return found + _metadata_violations(metadata)


def _fragment(text: str) -> Element:
    tree: Element = html5lib.parseFragment(text, container="div", treebuilder="etree")
    return tree


def html_violations(text: str) -> list[str]:
    """The same for HTML that shall be static."""
    tree = _fragment(text)
    found: list[str] = []
    children = list(tree)
    is_picture = len(children) == 1 and children[0].tag == f"{XHTML}img"
    if not is_picture:
        box = children[0].get("style", "") if len(children) == 1 else ""
        if "contain:content" not in box or (tree.text or "").strip():
            found.append("not in a box")
        else:
            del children[0].attrib["style"]
    for element in tree.iter():
        if element is not tree:
            found += _element_violations(element)
    said = "".join(tree.itertext())
    if TYPESET.search(said):
        found += [f"TeX {name}" for name in LIVE_TEX.findall(said)]
    if HIDING.search(said) or UNSAFE_TEXT.search(said):
        found.append("hiding characters")
    return found


def _element_violations(element: Element) -> Iterator[str]:
    if not isinstance(element.tag, str):
        yield "comment"
        return
    name = element.tag.removeprefix(XHTML)
    if name == "audio" and _is_own_player(element):
        return
    if not element.tag.startswith(XHTML) or name not in INERT_ELEMENTS.split():
        yield f"element {element.tag}"
    if name == "style":
        yield from _sheet_violations(element.text or "")
    for attribute, value in element.attrib.items():
        if attribute not in INERT_ATTRIBUTES.split():
            yield f"attribute {attribute}"
        elif attribute == "style":
            yield from _declaration_violations(value)
        elif attribute == "class" and not all(map(OWN_CLASS.fullmatch, value.split())):
            yield f"class {value}"
        elif attribute in ("id", "headers") and not all(
            part.startswith("wk-") for part in value.split()
        ):
            yield f"{attribute} {value}"
        elif attribute == "href":
            yield from _link_violations(element, value)
        elif attribute == "src" and (name != "img" or not _is_embedded_picture(value)):
            yield f"src {value[:60]}"


def _is_own_player(element: Element) -> bool:
    """Whether it plays samples that it carries, when somebody asks for it, and no more."""
    match = re.fullmatch(r"data:audio/wav;base64,([A-Za-z0-9+/=]+)", element.get("src", ""))
    if match is None or set(element.attrib) != {"controls", "src"} or len(element):
        return False
    samples = base64.b64decode(match[1])
    return samples[:4] == b"RIFF" and samples[8:16] == b"WAVEfmt "


def _link_violations(element: Element, value: str) -> Iterator[str]:
    if element.tag != f"{XHTML}a":
        yield "href elsewhere"
    if value.startswith("#wk-"):
        return
    if not re.fullmatch(r"(?i)(?:https?://|mailto:)[^\s]+", value):
        yield f"href {value[:60]}"
    if element.get("target") != "_blank" or "noopener" not in (element.get("rel") or ""):
        yield "link without noopener"


def _is_embedded_picture(value: str) -> bool:
    match = re.fullmatch(r"data:(image/[a-z+]+);base64,([A-Za-z0-9+/=]*)", value)
    if not match:
        return False
    if match[1] == "image/svg+xml":
        return not drawing_violations(base64.b64decode(match[2]).decode())
    return match[1] in MAGIC and _is_picture(match[1], match[2])


def _is_picture(mime: str, value: Any) -> bool:
    try:
        return base64.b64decode(value, validate=True).startswith(MAGIC[mime])
    except (TypeError, ValueError):
        return False


def drawing_violations(text: str) -> list[str]:
    """What would be alive in an SVG opened as a document."""
    found = []
    for element in fromstring(text, forbid_dtd=True).iter():
        name = element.tag.removeprefix(SVG)
        if not element.tag.startswith(SVG) or name in (
            *("script", "foreignObject", "iframe", "animate", "set", "animateTransform"),
            *("feImage", "handler", "listener"),
        ):
            found.append(f"svg element {element.tag}")
        if name == "style":
            found += [item for item in _token_violations(element.text or "") if item]
        for attribute, value in element.attrib.items():
            plain = attribute.removeprefix(XLINK)
            if plain.lower().startswith("on") or plain == "marker-mid":
                found.append(f"svg attribute {attribute}")
            if plain in ("href", "src") and not re.match(r"#|data:image/(?!svg)", value):
                found.append(f"svg link {value[:60]}")
            if plain not in ("href", "id", "d"):
                found += _token_violations(value)
    return found


def _sheet_violations(text: str) -> Iterator[str]:
    for rule in tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True):
        if rule.type == "at-rule" and rule.lower_at_keyword == "media" and rule.content:
            yield from _sheet_violations(tinycss2.serialize(rule.content))
        elif rule.type != "qualified-rule":
            yield f"css {rule.type}"
        else:
            for selector in tinycss2.serialize(rule.prelude).split(","):
                if not re.match(r"\.wkscope-[0-9a-f]{12}(?:[ >].*)?$", selector.strip(), re.S):
                    yield f"selector {selector[:60]}"
            yield from _declaration_violations(tinycss2.serialize(rule.content))


def _declaration_violations(text: str) -> Iterator[str]:
    nodes = tinycss2.parse_blocks_contents(text, skip_comments=True, skip_whitespace=True)
    for node in nodes:
        if node.type != "declaration":
            yield f"css {node.type} in {text[:40]}"
            continue
        written = tinycss2.serialize(node.value)
        is_outside = node.lower_name.startswith("margin") and "-" in written.replace("e-", "")
        if FORBIDDEN_PROPERTIES.fullmatch(node.lower_name) or is_outside:
            yield f"property {node.name}"
        allowed = LEAVING_PROPERTIES.get(node.lower_name)
        if allowed and written.strip() not in allowed:
            yield f"property {node.name}"
        yield from _token_violations(written)


def _token_violations(text: str) -> list[str]:
    """Functions and tokens that load; a reference inside the same document does not."""
    found = []

    def visit(nodes: Any) -> None:
        for node in nodes or ():
            if node.type == "url" and not node.value.startswith("#"):
                found.append(f"css url {node.value[:60]}")
            elif node.type == "function":
                is_local = node.lower_name == "url" and tinycss2.serialize(node.arguments).strip(
                    " '\""
                ).startswith("#")
                if node.lower_name in LOADING_FUNCTIONS and not is_local:
                    found.append(f"css {node.lower_name}()")
                visit(node.arguments)
            elif node.type == "at-keyword" and node.lower_value in ("import", "font-face"):
                found.append("css at-rule")
            elif hasattr(node, "content"):
                visit(node.content)

    visit(tinycss2.parse_component_value_list(text))
    return found


def _text_violations(value: str) -> list[str]:
    plain = COLOUR.sub("", value)
    found = ["hiding characters"] if HIDING.search(plain) else []
    found += ["control characters"] if UNSAFE_TEXT.search(plain) else []
    found += ["long line"] if max(map(len, plain.split("\n"))) > 25_000 else []
    return found


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _mappings(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from _mappings(item)


def _chart_violations(value: Any) -> Iterator[str]:
    for mapping in _mappings(value):
        yield from (f"chart key {key}" for key in mapping if key in LOADING_KEYS)
    for text in _strings(value):
        if re.search(r"(?i)url\(|^\s*(?:javascript|vbscript):", text):
            yield f"chart text {text[:60]}"


def _plotly_violations(value: Any) -> Iterator[str]:
    for mapping in _mappings(value):
        yield from (f"chart key {key}" for key in mapping if key in PLOTLY_KEYS)
        source = mapping.get("source")
        if isinstance(source, str) and not source.startswith("data:image/"):
            yield f"chart picture {source}"
        yield from (f"late picture {key}" for key in mapping if re.search(r"images\[.*source", key))
    for text in _strings(value):
        # Labels are read as markup.
        if re.search(r"(?i)<a[\s>]|<img|<span\s", text):
            yield f"chart label {text[:60]}"
        if re.fullmatch(r"(?:scatter|choropleth|density)(?:geo|map|mapbox)|choropleth", text):
            yield f"map {text}"
    if isinstance(value, dict) and "config" in value:
        yield "plotly configuration"


def _without_rows(value: Any) -> Any:
    if isinstance(value, dict):
        kept = value.keys() - {"values", "datasets"}
        return {key: _without_rows(value[key]) for key in kept}
    return [_without_rows(item) for item in value] if isinstance(value, list) else value


def _outside_rows(value: Any) -> Iterator[dict[str, Any]]:
    """The mappings of a chart; a row of its data may have a field of any name."""
    if isinstance(value, dict):
        yield value
        value = [item for key, item in value.items() if key not in ("values", "datasets")]
    for item in value if isinstance(value, list) else ():
        yield from _outside_rows(item)


def _quote_violations(value: Any) -> Iterator[str]:
    """Vega-Lite writes these into expressions, between quotes of either kind."""
    quotes = {"title": r'["\\`]', "format": r"[\"'\\`]", "name": r"[\"'\\`]"}
    for mapping in _mappings(_without_rows(value)):
        for key, pattern in quotes.items():
            if isinstance(mapping.get(key), str) and re.search(pattern, mapping[key]):
                yield f"a quote in a {key}"


def _vega_violations(value: Any) -> Iterator[str]:
    yield from _quote_violations(value)
    yield from ("vega image" for text in _strings(value) if text == "image")
    yield from (
        "data as text" for one in _outside_rows(value) if isinstance(one.get("values"), str)
    )
    for mapping in _mappings(value):
        if "expr" in str(mapping.get("cursor")):
            yield "a cursor of its own"
        datasets = mapping.get("datasets")
        tables = datasets.values() if isinstance(datasets, dict) else []
        if any(isinstance(table, str) for table in tables):
            yield "data as text"
        if "input" in mapping and (set(mapping) - INPUT_KEYS or mapping["input"] == "password"):
            yield f"input with {sorted(mapping)}"
        if mapping.get("name") == "cursor" or mapping.get("type") in ("pivot", "force", "cross"):
            yield "a cursor, or fields, computed from data"
        listening = str([mapping.get(key) for key in ("toggle", "zoom", "translate", "bind")])
        if "event" in listening.replace("event.shiftKey", ""):
            yield "listens to events"
        if any(isinstance(mapping.get(key), dict) for key in ("as", "steps")):
            yield "a name or a bound that is computed"
        if ")" in str(mapping.get("parse")) or mapping.get("interval") == "millisecond":
            yield "an unusual parser or interval"
        if re.search(r"\d{4}", str(mapping.get("format"))) or mapping.get("cross"):
            yield "a format without bounds, or a join"
        for call in re.findall(r"format\(.*?\)", str(mapping.get("calculate"))):
            if re.search(r"\d{4}", call) or not re.search(r", *'[^']*'\)$", call):
                yield "a format without bounds"
        for key, item in mapping.items():
            if key == "__proto__" or key in VEGA_KEYS:
                yield f"reaches out: {key}"
            if key in EXPRESSION_KEYS:
                texts = [item] if isinstance(item, str) else item if isinstance(item, list) else []
                yield from (f"reaches out: {text}" for text in texts if REACHES.search(str(text)))


def _metadata_violations(metadata: Any) -> list[str]:
    found = []
    for key, value in metadata.items():
        if key in MAGIC and isinstance(value, dict):
            found += [
                f"metadata {name}"
                for name, size in value.items()
                if name not in ("width", "height") or type(size) is not int
            ]
        elif key != "needs_background" or value not in ("light", "dark"):
            found.append(f"metadata {key}")
    return found


def isolated_violations(text: str) -> list[str]:
    """The same for HTML that runs its scripts in a frame."""
    found: list[str] = []
    tree = _fragment(text)
    frames = [element for element in tree.iter() if element.tag == f"{XHTML}iframe"]
    others = {e.tag for e in tree.iter() if e is not tree} - {f"{XHTML}div", f"{XHTML}iframe"}
    if len(frames) != 1 or others or frames[0].get("sandbox") != "allow-scripts":
        return [f"not one sandboxed frame: {others}"]
    found += _attribute_surprises(frames[0])
    outer = _document(frames[0].get("srcdoc", ""))
    found += _policy_violations(outer)
    inner_frames = [element for element in outer.iter() if element.tag == f"{XHTML}iframe"]
    known = {"html", "head", "base", "meta", "style", "body", "iframe", "p", "button", "script"}
    strangers = {element.tag.removeprefix(XHTML) for element in outer.iter()} - known
    scripts = list(outer.iter(f"{XHTML}script"))
    if len(scripts) != 1 or scripts[0].attrib or "frame.remove()" not in (scripts[0].text or ""):
        found.append("the outer frame runs something else than its own script")
    if len(inner_frames) != 1 or strangers or inner_frames[0].get("sandbox") != "allow-scripts":
        return [*found, f"not one sandboxed frame inside: {strangers}"]
    found += _attribute_surprises(inner_frames[0])
    return found + _policy_violations(_document(inner_frames[0].get("srcdoc", "")))


def _document(text: str) -> Element:
    tree: Element = html5lib.parse(text, treebuilder="etree")
    return tree


def _attribute_surprises(frame: Element) -> list[str]:
    known = {"sandbox", "srcdoc", "style", "title", "referrerpolicy", "allow"}
    return [f"frame attribute {name}" for name in set(frame.attrib) - known]


def _policy_violations(document: Element) -> list[str]:
    head = next(document.iter(f"{XHTML}head"))
    own = ({"charset": "utf-8"}, {"href": "about:srcdoc"})
    elements = [child for child in head if child.attrib not in own]
    first = elements[0] if elements else None
    if first is None or first.get("http-equiv") != "Content-Security-Policy":
        return ["the policy does not come first"]
    policy = first.get("content", "")
    needed = ("default-src 'none'", "frame-src 'none'", "connect-src 'none'", "form-action 'none'")
    return [f"policy lacks {part}" for part in needed if part not in policy]
