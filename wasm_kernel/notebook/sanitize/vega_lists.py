"""The lists for Vega and Vega-Lite charts: what their members may be called and may say."""

from __future__ import annotations

import re

from wasm_kernel.notebook.sanitize.words import words

SCHEMA = re.compile(r"https://vega\.github\.io/schema/vega(?:-lite)?/v[0-9]{1,2}[0-9.]{0,8}\.json")
# Embedding options inside the chart itself: loaders, patches and HTML of the page around it.
DROPPED = frozenset({"usermeta"})
REFUSED_KEYS = words(
    """
    url href src baseURL loader element trigger pivot events patch __proto__ constructor prototype
    """
)
EXPRESSIONS = words(
    """
    expr signal calculate labelExpr test update init filter and or not insert remove modify
    groupfilter
    """
)
EVENTS = words(
    """
    click dblclick mouseover mouseout mousedown mouseup mousemove pointerover pointerout pointerdown
    pointerup pointermove touchstart touchend wheel
    """
)
TOGGLES = frozenset({"true", "false", "event.shiftKey", "event.ctrlKey", "event.altKey"})
CURSORS = frozenset({"default", "pointer", "crosshair", "text", "move", "grab", "help", "none"})
PARAMETER = re.compile(r"(?!cursor\Z)[A-Za-z_][A-Za-z0-9_]{0,60}")
"""A parameter called "cursor" is obeyed as CSS, whatever its value was computed from."""
LOADS = re.compile(
    r"url\s*\(|^\s*(?:(?:javascript|vbscript)\s*:|(?:data|blob|file):\S)", re.IGNORECASE
)
# Vega gives every key of such a mapping to the input it makes: a handler as readily as a step.
INPUT_TYPES = words("checkbox color date number radio range select text")
INPUT_KEYS = words("debounce input labels max min name options placeholder step")
BINDINGS = frozenset({"scales", "legend"})
# Vega-Lite writes names, formats and titles into expressions as they stand, between quotes.
NAME = re.compile(r"[\w .:-]{1,200}")
FORMATS = words("format numberFormat normalizedNumberFormat timeFormat")
FORMAT = re.compile(r"(?!.*[0-9]{4})[^'\"`\\\n]{0,100}")
PARSER = re.compile(r"number|boolean|string|date|utc|flatten|(?:date|utc):'?[^'\"`\\\n]{0,60}'?")
BREAKS_QUOTES = re.compile(r"[\"`\n]|\\(?![.\[\]])")
TITLES = words("title subtitle text description")
INTERVALS = frozenset({"day", "week", "month", "year"})
# Not here: what names fields after values (pivot), loads, or grows without bounds (cross, force).
TRANSFORMS = words(
    """
    aggregate bin collect density dotbin extent filter flatten fold formula geojson geopath geopoint
    geoshape identifier impute joinaggregate kde linkpath loess lookup nest pack partition pie
    project quantile regression sample sequence stack stratify timeunit tree treelinks treemap
    voronoi window
    """
)
BOUNDED = {
    "width": 10_000,
    "height": 10_000,
    "maxbins": 5_000,
    "steps": 10_000,
    "tickCount": 5_000,
    "columns": 1_000,
    "resolution": 10_000,
    "precision": 1_000,
    "iterations": 1_000,
    "nice": 1_000,
    "count": 10_000,
}
