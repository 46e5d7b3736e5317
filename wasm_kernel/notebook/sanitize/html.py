"""HTML: parsed by nh3 with our lists, its names, styles and addresses written anew, and boxed in.

Nothing the page receives was copied from the guest without having been parsed.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from urllib.parse import unquote

from wasm_kernel.core.data import dataclass, field
from wasm_kernel.core.digests import blake2b
from wasm_kernel.notebook.sanitize import sounds, tex, texts
from wasm_kernel.notebook.sanitize.css import Weight, stylesheet
from wasm_kernel.notebook.sanitize.drawing import is_deep, lightly_drawn, with_few_slots
from wasm_kernel.notebook.sanitize.guard import bounded, flattened
from wasm_kernel.notebook.sanitize.images import PIXELS_MAX, image_bytes, raster_image
from wasm_kernel.notebook.sanitize.marks import few_marks
from wasm_kernel.notebook.sanitize.names import NO_MATH
from wasm_kernel.notebook.sanitize.refusal import Refused
from wasm_kernel.notebook.sanitize.rules import CLEANER, WRITERS
from wasm_kernel.notebook.sanitize.svg import svg_picture
from wasm_kernel.notebook.sanitize.tables import known_table
from wasm_kernel.notebook.sanitize.terminal import BIDI
from wasm_kernel.notebook.sanitize.texts import too_large
from wasm_kernel.notebook.sanitize.turns import few_turns_in_html

SCOPE = "wkscope-"
# Whatever the content's own styles say, it is painted inside this box and scrolls in it; a page
# that one output made endless could not be scrolled past it.
_BOX = '<div style="contain:content;overflow:auto;max-height:50000px">'
_APART_MAX = 50
"""Drawings and sounds in one HTML."""

# Where HTML stands in a Markdown file, as nbconvert writes one, a blank line ends it: what comes
# after would be read as Markdown, pictures included. To a page an escaped line end is the same.
_BLANK_LINE = re.compile(r"\n(?=[ \t]*\n)")
_STYLE_START = re.compile(r"<style[^<>]*>", re.IGNORECASE)
_STYLE_END = re.compile(r"</style[^<>]*>", re.IGNORECASE)
_INVISIBLE_BYTES = bytes({*range(32), 127} - {9, 10, 13})
_INVISIBLE = re.compile(rf"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{BIDI}\u2028\u2029\ud800-\udfff]")
_TAG = re.compile(r'<(?:([a-z][a-z0-9]*)((?: [a-z-]+="[^"]*")+)|(h[1-6]))>')
_ATTRIBUTE = re.compile(r' ([a-z-]+)="([^"]*)"')
_HEADING = re.compile(r"h[1-6]")
# JupyterLab's table of contents takes the square of their number: 20,000 keep the tab for minutes.
_NOT_LISTED = "tocSkip"
_ACTIVE = re.compile(
    r"<(?:script|iframe)\b|<[a-z][^<>]{0,2000}?[\s\"'/]on[a-z]{3,30}\s*=", re.IGNORECASE
)
_FRAME = re.compile(r"<iframe\b[^<>]{0,2000}?\ssrc\s*=", re.IGNORECASE)
_PLAYER = re.compile(r"<(?:audio|video)\b", re.IGNORECASE)
_EMBEDDED = re.compile(
    r"<(?:applet|button|canvas|embed|form|frame|input|math|object|select|textarea)\b",
    re.IGNORECASE,
)
# The diagram that scikit-learn shows of every estimator: its script only copies names and adapts
# colours, and a sentence about it after each fit would hide the warnings that matter.
_DIAGRAM = 'class="sk-top-container'
_RASTER = re.compile(r"data:(image/(?:png|jpeg|gif|webp));base64,", re.IGNORECASE)
_DRAWING = re.compile(r"data:image/svg\+xml(?:;charset=[a-z0-9-]{1,20}|;utf8)?(;base64)?,", re.I)
_OWN = "data:image/x-apart,"


@dataclass(frozen=True)
class CleanHtml:
    """HTML for the page and what had to go."""

    html: str
    notes: list[str] = field(default_factory=list)


def needs_script(text: str) -> bool:
    """Whether HTML has parts that only work with script."""
    return _ACTIVE.search(text) is not None


def clean_html(text: str, limit: int) -> CleanHtml:
    """The static part of some HTML, in a box of its own."""
    if len(text) > limit:
        raise Refused(too_large(limit))
    body, styles = _styles_apart(text)
    table = known_table(body)
    notes: list[str] = []
    if table is None:
        rewriter = _Rewriter(limit, notes)
        table = rewriter.rewritten(body)
        if _DIAGRAM not in text:
            notes[:0] = _left_out(text, rewriter.has_lost_players)
    is_free = "display:" in table or any("display" in style.lower() for style in styles)
    shown = few_turns_in_html(_visible(with_few_slots(table, styles)), is_free=is_free)
    return CleanHtml(_typeset(shown, styles, notes), notes)


def boxed(body: str, rules: str = "", classes: str = "") -> str:
    """Something for the page in the box that it does not leave."""
    body, rules = lightly_drawn(body, rules)
    body = _BLANK_LINE.sub("&#10;", body.replace("\r", "&#13;"))
    named = f' class="{classes}"' if classes else ""
    style = f"<style>{rules}</style>" if rules else ""
    return f"{_BOX}<div{named}>{style}{body}</div></div>"


def _left_out(text: str, has_lost_players: bool) -> list[str]:
    """What the page does not get of this HTML, in the one sentence that helps most."""
    without_frames = _FRAME.sub("", text)
    if needs_script(without_frames):
        return [texts.INTERACTIVE_LEFT_OUT]
    if without_frames != text:
        return [texts.FRAMES_LEFT_OUT]
    if has_lost_players:
        return [texts.PLAYERS_LEFT_OUT]
    return [texts.EMBEDDED_LEFT_OUT] if _EMBEDDED.search(text) else []


def _styles_apart(text: str) -> tuple[str, list[str]]:
    """The text without its style elements, and their content.

    Where this and the parser disagree about what is a style element, only looks are lost: the
    parser drops what is left of them, and their content is written anew.
    """
    parts: list[str] = []
    styles: list[str] = []
    position = 0
    while start := _STYLE_START.search(text, position):
        end = _STYLE_END.search(text, start.end())
        parts.append(text[position : start.start()])
        styles.append(text[start.end() : end.start() if end else len(text)])
        position = end.end() if end else len(text)
    return ("".join(parts) + text[position:], styles) if styles else (text, styles)


def _visible(text: str) -> str:
    """The text without control characters and marks that reorder it."""
    if text.isascii():
        return text.encode("ascii").translate(None, _INVISIBLE_BYTES).decode("ascii")
    return few_marks(_INVISIBLE.sub("", text))


def _typeset(body: str, styles: list[str], notes: list[str]) -> str:
    classes = []
    if tex.has_math(body):
        is_too_much = tex.is_too_much_in_html(body)
        defused = tex.defused(body)
        if is_too_much:
            classes.append(NO_MATH)
            notes.append(texts.MATH_NOT_TYPESET)
        elif defused != body:
            notes.append(texts.MATH_COMMANDS_OFF)
        body = defused
    if not styles:
        return boxed(body, classes=" ".join(classes))
    sheet = "\n".join(styles)
    digest = blake2b((sheet + body).encode("utf-8", "replace"), digest_size=6).hexdigest()
    scope = SCOPE + digest
    rules = stylesheet(sheet, scope, Weight.of(body))
    return boxed(body, rules, " ".join([scope, *classes]))


class _Rewriter:
    """Takes one HTML text through the parser and its attributes through our lists."""

    def __init__(self, limit: int, notes: list[str]) -> None:
        self._limit = limit
        self._notes = notes
        self.has_lost_players = False
        self._pixels_left = 2 * PIXELS_MAX
        self._apart: list[str] = []
        self._written: dict[str, str] = {}

    def rewritten(self, text: str) -> str:
        text = self._with_players_apart(self._with_drawings_apart(text))
        self.has_lost_players = _PLAYER.search(text) is not None
        clean = parsed(bounded(text))
        if is_deep(clean):
            clean = parsed(flattened(text))
            if is_deep(clean):
                raise Refused("too many levels")
        return _TAG.sub(self._tag, clean)

    def _with_drawings_apart(self, text: str) -> str:
        """Drawings inside the HTML become pictures, like drawings that come alone."""

        def picture(element: str) -> str:
            try:
                return self._kept_apart(svg_picture(element, self._limit))
            except Refused:
                self._note(texts.EMBEDDED_LEFT_OUT)
                return ""

        return self._replaced(text, "svg", picture)

    def _with_players_apart(self, text: str) -> str:
        """Sounds that the HTML carries get a player of our own; others stay, and are dropped."""

        def player(element: str) -> str:
            try:
                return self._kept_apart(sounds.player(element, self._limit))
            except Refused:
                return element

        return self._replaced(text, "audio", player)

    def _replaced(self, text: str, name: str, replace: Callable[[str], str]) -> str:
        """The text with something else for each element of a kind, as far as there is room."""
        opening, closing = f"<{name}", f"</{name}>"
        parts = []
        position = 0
        while len(self._apart) < _APART_MAX:
            start = text.find(opening, position)
            end = text.find(closing, start) if start >= 0 else -1
            if end < 0:
                break
            end += len(closing)
            parts += [text[position:start], replace(text[start:end])]
            position = end
        return "".join(parts) + text[position:]

    def _kept_apart(self, written: str) -> str:
        """A picture that stands for something of ours while the text around it is parsed."""
        self._apart.append(written)
        return f'<img src="{_OWN}{len(self._apart) - 1}">'

    def _note(self, note: str) -> None:
        if note not in self._notes:
            self._notes.append(note)

    def _tag(self, match: re.Match[str]) -> str:
        if match[3]:
            return f'<{match[3]} class="{_NOT_LISTED}">'
        if match[1] == "img":
            return self._image(match[2])
        known = self._written.get(match[2])
        if known is None:
            known = self._written[match[2]] = _attributes(match[2])
        return f"<{match[1]}{_not_listed(known) if _HEADING.fullmatch(match[1]) else known}>"

    def _image(self, attributes: str) -> str:
        values = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(attributes)}
        picture = self._picture(values.pop("src", "").strip(), _attributes(attributes, "src"))
        if picture is None:
            self._note(texts.EXTERNAL_LEFT_OUT)
            return html.escape(values.get("alt", ""))
        return picture

    def _picture(self, source: str, others: str) -> str | None:
        if source.startswith(_OWN):
            number = source[len(_OWN) :]
            is_known = number.isdecimal() and len(number) < 4 and int(number) < len(self._apart)
            return self._apart[int(number)] if is_known else None
        raster = _RASTER.match(source)
        drawing = None if raster else _DRAWING.match(source)
        try:
            if raster:
                mime = raster[1].lower()
                picture = raster_image(mime, source[raster.end() :], self._limit)
                self._pixels_left -= picture.pixels
                if self._pixels_left < 0:
                    return None
                return f'<img src="data:{mime};base64,{picture.base64}"{others}>'
            if drawing:
                content_of = _drawing_source(source[drawing.end() :], drawing[1])
                return svg_picture(content_of, self._limit, others)
        except Refused:
            pass
        return None


def _drawing_source(text: str, is_base64: str | None) -> bytes | str:
    """The SVG inside a data address."""
    plain = unquote(text)
    return image_bytes(plain, len(plain)) if is_base64 else plain


def _not_listed(attributes: str) -> str:
    """The attributes of a heading that no table of contents lists."""
    if ' class="' in attributes:
        return attributes.replace(' class="', f' class="{_NOT_LISTED} ', 1)
    return f'{attributes} class="{_NOT_LISTED}"'


def _attributes(text: str, skipped: str = "") -> str:
    written = []
    for name, value in _ATTRIBUTE.findall(text):
        writer: Callable[[str], str | None] | None = WRITERS.get(name)
        if writer is not None and name != skipped:
            safe = writer(html.unescape(value) if "&" in value else value)
            if safe:
                written.append(safe)
    return "".join(written)


def parsed(text: str) -> str:
    """The text as nh3 writes it: known elements, balanced, attributes quoted, text escaped."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    try:
        return CLEANER.clean(text)
    except BaseException as error:
        # A panic of the Rust side is not an Exception.
        if isinstance(error, Exception | KeyboardInterrupt | SystemExit):
            raise
        raise Refused("the HTML could not be parsed") from None
