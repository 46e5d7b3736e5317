"""The one entry: an untrusted MIME bundle in, a bundle that is safe to show and some notes out.

Pure and total: the same input gives the same output, and no input raises. Whatever goes wrong
inside ends in plain text.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from wasm_kernel.core.data import dataclass, field
from wasm_kernel.core.patterns import pattern
from wasm_kernel.notebook.sanitize import texts
from wasm_kernel.notebook.sanitize.images import RASTER_READERS
from wasm_kernel.notebook.sanitize.refusal import Refused
from wasm_kernel.notebook.sanitize.terminal import one_kind_of_line_end, sanitize_text
from wasm_kernel.notebook.sanitize.treatments import (
    BECOME_HTML,
    HTML,
    TREATMENTS,
    Given,
    treatment,
)

HtmlMode = Literal["safe", "isolated", "text"]
TEXT = "text/plain"
TEXT_MAX = 2_000_000
TYPES_MAX = 64
NOTES_MAX = 8
SIDE_MAX = 10_000
"""Pixels that metadata may ask for."""

_UNSEEN = pattern(r"<(script|style)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG = pattern(r"<[^<>]*>")
_BLANK_LINES = pattern(r"\n[ \t]*(?:\n[ \t]*)+")


@dataclass(frozen=True)
class Sanitized:
    """What a page may receive, and one sentence for each thing that was left out."""

    data: dict[str, Any]
    metadata: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def sanitize(
    data: dict[str, Any],
    metadata: dict[str, Any],
    *,
    html: HtmlMode,
    max_bytes: int = 10_000_000,
) -> Sanitized:
    """Make one output of a cell safe to show; docs/security.md says what that means."""
    try:
        return _Bundle(data, metadata, html, max_bytes).sanitized()
    except Exception:
        return Sanitized({TEXT: _fallback(data, max_bytes)}, {}, [texts.FAILED])


def _fallback(data: Any, max_bytes: int) -> str:
    try:
        text = data[TEXT]
        kept = text[: max(min(max_bytes, TEXT_MAX), 0)] if isinstance(text, str) else ""
        return sanitize_text(kept) or texts.FAILED
    except Exception:
        return texts.FAILED


class _Bundle:
    def __init__(self, data: Any, metadata: Any, mode: str, max_bytes: int) -> None:
        self._given: dict[Any, Any] = data if isinstance(data, dict) else {}
        self._metadata: dict[Any, Any] = metadata if isinstance(metadata, dict) else {}
        self._mode = mode
        self._limit = max(max_bytes, 0)
        self._left = self._limit
        self._data: dict[str, Any] = {}
        self._notes: list[str] = []

    def sanitized(self) -> Sanitized:
        if TEXT in self._given:
            self._text(self._given[TEXT])
        known = [mime for mime in self._given if treatment(mime)]
        if self._mode not in ("safe", "isolated"):
            self._notes.extend([texts.HTML_AS_TEXT] if known else [])
        else:
            order = {mime: place for place, mime in enumerate(TREATMENTS)}
            known.sort(key=lambda mime: order.get(mime, len(order)))
            for mime in known[:TYPES_MAX]:
                self._show(mime)
        unknown = [mime for mime in self._given if mime != TEXT and not treatment(mime)]
        if unknown:
            names = [mime if isinstance(mime, str) else "" for mime in unknown]
            self._notes.append(texts.types_left_out(names))
        if not self._data:
            self._data[TEXT] = self._said_by_html() or f"<{texts.NOTHING_LEFT}>"
        notes = list(dict.fromkeys(self._notes))[:NOTES_MAX]
        return Sanitized(self._data, self._safe_metadata(), notes)

    def _text(self, value: Any) -> None:
        if not isinstance(value, str):
            self._notes.append(texts.left_out(TEXT, "it is not text"))
            return
        room = min(self._left, TEXT_MAX)
        if len(value) > room:
            self._notes.append(texts.TEXT_CUT)
        self._data[TEXT] = sanitize_text(one_kind_of_line_end(value[:room]))
        self._left -= len(self._data[TEXT])

    def _show(self, mime: str) -> None:
        if mime in BECOME_HTML and HTML in self._data:
            return
        show = treatment(mime)
        try:
            if self._left <= 0 or show is None:
                raise Refused(texts.too_large(self._limit))
            given = Given(mime, self._given[mime], self._left, self._mode == "isolated")
            shown = show(given)
            size = len(shown.value if isinstance(shown.value, str) else json.dumps(shown.value))
            if size > self._left:
                raise Refused(texts.too_large(self._limit))
        except Refused as refusal:
            self._notes.append(texts.left_out(mime, str(refusal)))
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
            self._notes.append(texts.left_out(mime, "it could not be checked"))
        else:
            self._left -= size
            self._data[shown.mime] = shown.value
            # Pages show HTML rather than LaTeX: what the LaTeX lost is missed by nobody.
            if mime != "text/latex" or HTML not in self._data:
                self._notes.extend(shown.notes)

    def _said_by_html(self) -> str:
        """The words of some HTML, for an output that has no other form."""
        for mime in (HTML, "text/markdown", "text/latex"):
            value = self._given.get(mime)
            if isinstance(value, str):
                text = value[: min(self._limit, TEXT_MAX)]
                if mime != "text/latex":
                    import html as entities

                    text = entities.unescape(_TAG.sub("", _UNSEEN.sub("", text)))
                return sanitize_text(_BLANK_LINES.sub("\n\n", text).strip())
        return ""

    def _safe_metadata(self) -> dict[str, Any]:
        safe: dict[str, Any] = {}
        images = [mime for mime in self._data if mime in RASTER_READERS]
        for mime in images:
            given = self._metadata.get(mime)
            if isinstance(given, dict):
                kept = {
                    name: round(given[name])
                    for name in ("width", "height")
                    if _is_length(given.get(name))
                }
                if kept:
                    safe[mime] = kept
        background = self._metadata.get("needs_background")
        if images and isinstance(background, str) and background in ("light", "dark"):
            safe["needs_background"] = background
        return safe


def _is_length(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 1 <= value <= SIDE_MAX
