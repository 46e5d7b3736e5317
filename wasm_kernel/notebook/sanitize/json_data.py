"""Plain data: copied piece by piece, bounded in depth and size, fit for any JSON encoder."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from wasm_kernel.notebook.sanitize.marks import few_marks
from wasm_kernel.notebook.sanitize.refusal import Refused
from wasm_kernel.notebook.sanitize.terminal import BIDI
from wasm_kernel.notebook.sanitize.texts import too_large
from wasm_kernel.notebook.sanitize.turns import few_turns
from wasm_kernel.notebook.sanitize.words import words

DEPTH_MAX = 40
NODES_MAX = 300_000
KEY_MAX = 1_000
_UNWANTED = re.compile(rf"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{BIDI}\u2028\u2029\ud800-\udfff]")
_SAFE_INTEGER = 2**63


def clean_string(text: str) -> str:
    """A string without characters that hide or reorder text or that UTF-8 cannot hold."""
    return (
        text
        if text.isascii() and text.isprintable()
        else few_turns(few_marks(_UNWANTED.sub("", text)))
    )


def json_data(value: Any, limit: int, on_string: Callable[[str], str] = clean_string) -> Any:
    """A copy of JSON data; text is read as JSON first."""
    if isinstance(value, str | bytes | bytearray):
        if len(value) > limit:
            raise Refused(too_large(limit))
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise Refused("it is not valid JSON") from None
    return _Copy(limit, on_string).of(value, 0)


class _Copy:
    def __init__(self, limit: int, on_string: Callable[[str], str]) -> None:
        self._limit = limit
        self._bytes = limit
        self._nodes = NODES_MAX
        self._on_string = on_string

    def of(self, value: Any, depth: int) -> Any:
        self._nodes -= 1
        if self._nodes < 0 or depth > DEPTH_MAX:
            raise Refused(f"more than {NODES_MAX:,} values or {DEPTH_MAX} levels")
        if isinstance(value, str):
            return self._text(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            # JavaScript keeps 53 bits, and Python refuses to write thousands of digits.
            return int(value) if abs(value) < _SAFE_INTEGER else None
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else None
        if isinstance(value, list | tuple):
            return [self.of(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return {
                self._text(key[:KEY_MAX]): self.of(item, depth + 1)
                for key, item in value.items()
                if isinstance(key, str)
            }
        raise Refused("it is not JSON data")

    def _text(self, value: str) -> str:
        self._bytes -= len(value)
        if self._bytes < 0:
            raise Refused(too_large(self._limit))
        return self._on_string(str(value))


def _as_shown_text(text: str) -> str:
    return clean_string(text).replace("<", "&lt;")


_GEOJSON_TYPES = words(
    """
    Feature FeatureCollection Point MultiPoint LineString MultiLineString Polygon MultiPolygon
    GeometryCollection
    """
)


def geojson_data(value: Any, limit: int) -> Any:
    """GeoJSON whose strings are text: JupyterLab's map puts properties into its popups as HTML."""
    data = json_data(value, limit, _as_shown_text)
    if not isinstance(data, dict) or data.get("type") not in _GEOJSON_TYPES:
        raise Refused("it is not GeoJSON")
    return data
