"""What is done with each MIME type. A type without a line here is never shown.

Each treatment is imported when it is first needed: a kernel starts with none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wasm_kernel.core.data import dataclass, field
from wasm_kernel.core.patterns import pattern
from wasm_kernel.notebook.sanitize.images import RASTER_READERS, raster_image
from wasm_kernel.notebook.sanitize.refusal import Refused

HTML = "text/html"
_PLOTLY = "application/vnd.plotly.v1+json"
_VEGA = pattern(r"application/vnd\.vega(?:lite)?\.v[1-9][0-9]?(?:\.[0-9]{1,2}){0,2}\+json")


@dataclass(frozen=True)
class Given:
    """A value of the guest and the conditions under which it may be shown."""

    mime: str
    value: Any
    limit: int
    is_isolated: bool

    @property
    def text(self) -> str:
        """The value, which must be text."""
        if not isinstance(self.value, str):
            raise Refused("it is not text")
        return self.value


@dataclass(frozen=True)
class Shown:
    """What the page receives instead, under which type."""

    mime: str
    value: Any
    notes: list[str] = field(default_factory=list)


def _html(given: Given) -> Shown:
    from wasm_kernel.notebook.sanitize.html import clean_html, needs_script

    if given.is_isolated and needs_script(given.text):
        from wasm_kernel.notebook.sanitize.isolate import isolated_html

        return Shown(HTML, isolated_html(given.text, given.limit))
    clean = clean_html(given.text, given.limit)
    return Shown(HTML, clean.html, clean.notes)


def _markdown(given: Given) -> Shown:
    from wasm_kernel.notebook.sanitize.markup import clean_markdown

    clean = clean_markdown(given.text, given.limit)
    return Shown(HTML, clean.html, clean.notes)


def _latex(given: Given) -> Shown:
    from wasm_kernel.notebook.sanitize.markup import clean_latex

    safe, notes = clean_latex(given.text)
    return Shown(given.mime, safe, notes)


def _raster(given: Given) -> Shown:
    return Shown(given.mime, raster_image(given.mime, given.value, given.limit).base64)


def _drawing(given: Given) -> Shown:
    from wasm_kernel.notebook.sanitize.html import boxed
    from wasm_kernel.notebook.sanitize.svg import svg_picture

    # What the drawing says of its own height counts, were it ten million pixels.
    return Shown(HTML, boxed(svg_picture(given.value, given.limit)))


def _data(given: Given) -> Shown:
    from wasm_kernel.notebook.sanitize.json_data import json_data

    return Shown(given.mime, json_data(given.value, given.limit))


def _geojson(given: Given) -> Shown:
    from wasm_kernel.notebook.sanitize.json_data import geojson_data

    return Shown(given.mime, geojson_data(given.value, given.limit))


def _plotly(given: Given) -> Shown:
    from wasm_kernel.notebook.sanitize.plotly import plotly_chart

    return Shown(given.mime, plotly_chart(given.value, given.limit))


def _vega(given: Given) -> Shown:
    from wasm_kernel.notebook.sanitize.vega import vega_chart

    return Shown(given.mime, vega_chart(given.value, given.limit))


# In this order: the first that becomes HTML is the HTML of the output.
TREATMENTS: dict[str, Callable[[Given], Shown]] = {
    HTML: _html,
    "text/markdown": _markdown,
    "image/svg+xml": _drawing,
    "text/latex": _latex,
    **dict.fromkeys(RASTER_READERS, _raster),
    "application/json": _data,
    "application/geo+json": _geojson,
    _PLOTLY: _plotly,
}
BECOME_HTML = frozenset({HTML, "text/markdown", "image/svg+xml"})


def treatment(mime: Any) -> Callable[[Given], Shown] | None:
    """How to show a type; the name counts as it is written, to the letter."""
    if not isinstance(mime, str):
        return None
    return TREATMENTS.get(mime) or (_vega if _VEGA.fullmatch(mime) else None)
