"""Plotly charts: traces that draw with what they bring along; maps and pictures that load, not."""

from __future__ import annotations

import re
from typing import Any

from wasm_kernel.notebook.sanitize.images import raster_image
from wasm_kernel.notebook.sanitize.json_data import clean_string, json_data
from wasm_kernel.notebook.sanitize.refusal import Refused
from wasm_kernel.notebook.sanitize.words import words

SIDE_MAX = 10_000

_TRACES = words(
    """
    bar barpolar box candlestick carpet cone contour contourcarpet funnel funnelarea heatmap
    histogram histogram2d histogram2dcontour icicle image indicator isosurface mesh3d ohlc parcats
    parcoords pie sankey scatter scatter3d scattercarpet scattergl scatterpolar scatterpolargl
    scattersmith scatterternary splom streamtube sunburst surface table treemap violin volume
    waterfall
    """
)
# These fetch map tiles or outlines from a server.
_MAP_TRACES = words(
    """
    choropleth choroplethmap choroplethmapbox densitymap densitymapbox scattergeo scattermap
    scattermapbox
    """
)
_MAP_KEY = re.compile(r"(?:mapbox|map|geo)[0-9]{0,3}")
_ADDRESS_KEYS = words(
    """
    url href src accesstoken topojsonURL plotlyServerURL sourceattribution __proto__ constructor
    prototype
    """
)
# A button may set an attribute later, by its path: "images[0].source".
_PATH = re.compile(
    r"(?<![A-Za-z])(?:images|mapbox|map|geo|source|url|href|src|accesstoken)(?![A-Za-z])"
)
_LABEL_TAG = re.compile(r"</?(?:b|i|em|strong|sub|sup|u|s|br|span|extra)\s*/?>")
_DATA_IMAGE = re.compile(r"data:(image/(?:png|jpeg|gif|webp));base64,")
_LOADS = re.compile(r"url\s*\(|^\s*(?:javascript|vbscript|blob|file)\s*:", re.IGNORECASE)


def plotly_chart(value: Any, limit: int) -> Any:
    """The figure without its configuration, which can name servers; or a refusal."""
    figure = json_data(value, limit, _label)
    if not isinstance(figure, dict) or not isinstance(figure.get("data"), list):
        raise Refused("it is not a figure")
    layout = figure.get("layout")
    kept: dict[str, Any] = {"data": figure["data"]}
    kept["layout"] = layout if isinstance(layout, dict) else {}
    if isinstance(figure.get("frames"), list):
        kept["frames"] = figure["frames"]
    _without_unused_maps(kept["layout"])
    for trace in kept["data"]:
        if not isinstance(trace, dict) or trace.get("type", "scatter") not in _TRACES:
            raise Refused("the figure has a trace that loads, or one that is not known")
    _check(kept, limit)
    return kept


def _label(text: str) -> str:
    """Labels may hold simple tags; an attribute there can link or style, so none is left."""
    text = clean_string(text)
    if "<" not in text:
        return text
    parts = []
    position = 0
    for match in re.finditer("<", text):
        start = match.start()
        if start < position:
            continue
        parts.append(text[position:start])
        tag = _LABEL_TAG.match(text, start)
        parts.append(tag[0] if tag else "&lt;")
        position = tag.end() if tag else start + 1
    return "".join(parts) + text[position:]


def _without_unused_maps(layout: dict[str, Any]) -> None:
    """Every default template speaks of maps; without a map trace that has no use."""
    template = layout.get("template")
    inner = template.get("layout") if isinstance(template, dict) else None
    traces = template.get("data") if isinstance(template, dict) else None
    for part in (layout, inner):
        if isinstance(part, dict):
            for key in [key for key in part if _MAP_KEY.fullmatch(key)]:
                del part[key]
    if isinstance(traces, dict):
        for key in [key for key in traces if key not in _TRACES]:
            del traces[key]


def _check(value: Any, limit: int) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if key in _ADDRESS_KEYS or _MAP_KEY.fullmatch(key) or _is_late_path(key):
                raise Refused(f"the figure uses {_shown(key)}")
            if key in ("args", "args2"):
                _check_arguments(item)
            if key == "source":
                _check_source(item, limit)
            elif key in ("width", "height") and isinstance(item, int | float) and item > SIDE_MAX:
                raise Refused("the figure is too large")
            else:
                _check(item, limit)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict | list):
                _check(item, limit)
            elif isinstance(item, str):
                _check_string(item)
    elif isinstance(value, str):
        _check_string(value)


def _check_arguments(value: Any) -> None:
    arguments = value if isinstance(value, list) else []
    if any(isinstance(argument, str) and _is_live_path(argument) for argument in arguments):
        raise Refused("a button of the figure loads something")


def _check_string(text: str) -> None:
    if text in _MAP_TRACES or _LOADS.search(text):
        raise Refused("the figure names something that loads")


def _check_source(value: Any, limit: int) -> None:
    """Numbers in a Sankey diagram, a picture elsewhere."""
    if isinstance(value, str):
        match = _DATA_IMAGE.match(value)
        if not match:
            raise Refused("the figure loads a picture")
        raster_image(match[1], value[match.end() :], limit)
    elif isinstance(value, dict):
        _check(value, limit)
    elif not isinstance(value, list) or any(isinstance(item, str) for item in value):
        raise Refused("the figure loads a picture")


def _is_live_path(text: str) -> bool:
    """Whether a path names something that loads; a text with blanks is a label, not a path."""
    return " " not in text and _PATH.search(text) is not None


def _is_late_path(key: str) -> bool:
    return ("." in key or "[" in key) and _PATH.search(key) is not None


def _shown(key: str) -> str:
    """A key for a sentence; a spelling a stranger chose is not repeated."""
    return repr(key) if re.fullmatch(r"[A-Za-z_]{1,30}", key) else "an address"
