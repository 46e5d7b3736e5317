"""Vega and Vega-Lite charts: data and drawing stay; what loads, links or reaches out is refused.

A chart is refused as a whole: a chart without its data or its link would not say what it meant.
"""

from __future__ import annotations

from typing import Any

from wasm_kernel.notebook.sanitize import vega_lists as lists
from wasm_kernel.notebook.sanitize.expressions import is_safe_expression
from wasm_kernel.notebook.sanitize.json_data import json_data
from wasm_kernel.notebook.sanitize.refusal import Refused

STEPS_MAX = 100_000


def vega_chart(value: Any, limit: int) -> Any:
    """The chart, or a refusal that says what it wanted."""
    chart = json_data(value, limit)
    if not isinstance(chart, dict):
        raise Refused("it is not a chart")
    for key in lists.DROPPED:
        chart.pop(key, None)
    schema = chart.pop("$schema", None)
    _Check(_parameter_names(chart)).value(chart)
    if isinstance(schema, str) and lists.SCHEMA.fullmatch(schema):
        chart["$schema"] = schema
    return chart


def _parameter_names(chart: dict[str, Any]) -> frozenset[str]:
    """Names that the chart itself gives to parameters, at any level."""
    names: set[str] = set()
    stack: list[Any] = [chart]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            for key in ("params", "signals"):
                for parameter in value.get(key) or () if isinstance(value.get(key), list) else ():
                    if isinstance(parameter, dict) and isinstance(parameter.get("name"), str):
                        if not lists.PARAMETER.fullmatch(parameter["name"]):
                            raise Refused("a parameter has an unusual name")
                        names.add(parameter["name"])
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return frozenset(names)


class _Rows:
    """Looks at data: what no row may hold, wherever a chart puts it."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def value(self, value: Any) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                if key in lists.REFUSED_KEYS or key in lists.DROPPED:
                    raise Refused(f"the chart uses {key!r}")
                self.text(key)
                if key in lists.EXPRESSIONS:
                    self._expressions(item)
                self.member(key, item)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict | list):
                    self.value(item)
                elif isinstance(item, str):
                    self.text(item)
        elif isinstance(value, str):
            self.text(value)

    def member(self, _: str, value: Any) -> None:
        self.value(value)

    def text(self, text: str) -> None:
        # A field of that name becomes a picture in a tooltip, a mark of that name loads one.
        if text == "image":
            raise Refused("the chart uses 'image'")
        if ("url" in text.lower() or ":" in text) and lists.LOADS.search(text):
            raise Refused("the chart names an address")

    def _expressions(self, value: Any) -> None:
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str) and not is_safe_expression(item, self._names):
                raise Refused("the chart uses an expression that is not on the list")


class _Check(_Rows):
    """Looks at everything that is not data."""

    def value(self, value: Any) -> None:
        if isinstance(value, dict):
            for key in lists.TITLES & value.keys():
                value[key] = _without_straight_quotes(value[key])
        super().value(value)
        if isinstance(value, dict):
            self._steps(value)

    def member(self, key: str, value: Any) -> None:
        if key in ("values", "datasets"):
            self._inline(value)
            _Rows(self._names).value(value)
            return
        if key in lists.EXPRESSIONS and isinstance(value, str):
            return
        if key in ("on", "clear"):
            self._one_of(lists.EVENTS, value, "listens to events of the page")
        elif key in ("toggle", "translate", "zoom"):
            self._one_of(lists.TOGGLES, value, "listens to events of the page")
        elif key == "bind":
            self._bind(value)
        elif key == "cursor":
            self._cursor(value)
        elif key == "formatType" and value not in ("number", "time", "utc"):
            raise Refused("the chart uses a formatter of its own")
        elif key == "parse":
            self._parse(value)
        elif key == "transform":
            self._transforms(value)
        elif key == "interval" and value not in lists.INTERVALS:
            raise Refused("the chart counts in too small steps")
        elif key in ("bins", "graticule", "as") and isinstance(value, dict):
            raise Refused(f"the chart computes its {key!r}")
        elif key in lists.FORMATS or key == "name":
            pattern = lists.NAME if key == "name" else lists.FORMAT
            if isinstance(value, str) and not pattern.fullmatch(value):
                raise Refused(f"the chart has an unusual {key!r}")
            if isinstance(value, dict) and not {"expr", "signal"}.isdisjoint(value):
                raise Refused(f"the chart computes its {key!r}")
        self._number(key, value)
        self.value(value)

    def text(self, text: str) -> None:
        super().text(text)
        if lists.BREAKS_QUOTES.search(text):
            raise Refused("the chart has a quote or a backslash in an unusual place")

    def _one_of(self, allowed: frozenset[str], value: Any, deed: str) -> None:
        is_listed = isinstance(value, str) and value in allowed
        if not (is_listed or value is True or value is False or value is None):
            raise Refused(f"the chart {deed}")

    def _bind(self, value: Any) -> None:
        """An input element below the chart, one for each of some fields, or a word for a place."""
        if isinstance(value, str):
            self._one_of(lists.BINDINGS, value, "listens to events of the page")
        elif isinstance(value, dict) and "input" in value:
            if value["input"] not in lists.INPUT_TYPES or value.keys() - lists.INPUT_KEYS:
                raise Refused("the chart has an input that is not on the list")
            if any(isinstance(item, dict) for item in value.values()):
                raise Refused("the chart has an input that is not on the list")
        elif isinstance(value, dict):
            for item in value.values():
                if not isinstance(item, dict) or "input" not in item:
                    raise Refused("the chart has an input that is not on the list")
                self._bind(item)
        elif value is not None:
            raise Refused("the chart has an input that is not on the list")

    def _cursor(self, value: Any) -> None:
        plain = value.get("value") if isinstance(value, dict) and len(value) == 1 else value
        if not (isinstance(plain, str) and plain in lists.CURSORS):
            raise Refused("the chart uses a cursor of its own")

    def _parse(self, value: Any) -> None:
        for parser in value.values() if isinstance(value, dict) else [value]:
            if isinstance(parser, str) and not (parser == "auto" or lists.PARSER.fullmatch(parser)):
                raise Refused("the chart parses its data in an unusual way")

    def _transforms(self, value: Any) -> None:
        for step in value if isinstance(value, list) else [value]:
            kind = step.get("type") if isinstance(step, dict) else None
            if kind is not None and kind not in lists.TRANSFORMS:
                raise Refused("the chart has a transform that is not on the list")
            if isinstance(step, dict) and step.get("cross"):
                raise Refused("the chart joins everything with everything")

    def _inline(self, value: Any) -> None:
        """Data as text would be parsed in the page, past everything that is checked here."""
        tables = list(value.values()) if isinstance(value, dict) else [value]
        if any(isinstance(table, str) for table in tables):
            raise Refused("the chart holds data as text")

    def _number(self, key: str, value: Any) -> None:
        bound = lists.BOUNDED.get(key)
        if bound is None:
            return
        if isinstance(value, dict) and not {"expr", "signal"}.isdisjoint(value):
            raise Refused(f"the chart computes its {key!r}")
        if isinstance(value, int | float) and value > bound:
            raise Refused(f"the chart asks for too large a {key!r}")

    def _steps(self, value: dict[str, Any]) -> None:
        """A sequence is written with two numbers and may have billions of rows."""
        stop = value.get("stop")
        if isinstance(stop, int | float):
            start, step = value.get("start", 0), value.get("step", 1)
            if not isinstance(start, int | float) or not isinstance(step, int | float) or not step:
                raise Refused("the chart counts in an unusual way")
            if abs((stop - start) / step) > STEPS_MAX:
                raise Refused("the chart counts too far")
        elif stop is not None and "start" in value:
            raise Refused("the chart counts in an unusual way")


def _without_straight_quotes(value: Any) -> Any:
    """Words for people; what they are put between in an expression is a straight quote."""
    if isinstance(value, list):
        return [_without_straight_quotes(item) for item in value]
    return value.replace('"', "”").replace("\n", " ") if isinstance(value, str) else value
