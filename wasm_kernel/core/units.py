"""Human units for sizes, fuel and times, in both directions. Knows nothing else."""

from __future__ import annotations

from wasm_kernel.core.patterns import pattern

_DECIMAL = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_NUMBER = pattern(r"^\s*([0-9][0-9_]*(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*$")
_SECONDS = {"": 1.0, "s": 1.0, "ms": 0.001, "m": 60.0, "min": 60.0, "h": 3600.0}


def parse_bytes(text: str) -> int:
    """``512MB``, ``1GiB``, ``64000000`` as a number of bytes."""
    return _scaled(text, suffix="B", what="a size such as 512MB or 1GiB")


def parse_fuel(text: str) -> int:
    """``5G``, ``200M``, ``2_000_000_000`` as a number of instructions."""
    return _scaled(text, suffix="", what="an amount of fuel such as 5G or 200M")


def parse_seconds(text: str) -> float:
    """``30s``, ``1.5m``, ``250ms`` as seconds."""
    found = _NUMBER.match(text)
    if not found or found[2] not in _SECONDS:
        raise ValueError(f"{text!r} is not a time such as 30s, 250ms or 2m")
    return float(found[1].replace("_", "")) * _SECONDS[found[2]]


def write_bytes(number: float) -> str:
    """``1GiB``: a size as ``parse_bytes`` takes it."""
    return _written(number, _BYTE_UNITS)


def write_fuel(number: float) -> str:
    """``5G``: a count as ``parse_fuel`` takes it."""
    return _written(number, _COUNT_UNITS)


def write_seconds(seconds: float) -> str:
    """``30s``: a time as ``parse_seconds`` takes it."""
    if seconds == int(seconds):
        return f"{seconds:.0f}s"
    return f"{seconds * 1000:.3f}".rstrip("0").rstrip(".") + "ms"


_BYTE_UNITS = {"GiB": 2**30, "MiB": 2**20, "GB": 10**9, "MB": 10**6, "KiB": 2**10, "B": 1}
_COUNT_UNITS = {"T": 10**12, "G": 10**9, "M": 10**6, "": 1}


def _written(number: float, units: dict[str, int]) -> str:
    """A number, exactly, in the largest unit that it is a multiple of."""
    whole = int(number)
    fitting = (item for item in units.items() if whole >= item[1] and whole % item[1] == 0)
    unit, scale = next(fitting, ("", 1))
    return f"{whole // scale}{unit}"


def _scaled(text: str, *, suffix: str, what: str) -> int:
    found = _NUMBER.match(text)
    if found:
        unit = found[2].upper()
        if suffix and unit.endswith(suffix):
            unit = unit[: -len(suffix)]
        scale = _BINARY.get(unit) or _DECIMAL.get(unit)
        if scale:
            from decimal import Decimal

            return int(Decimal(found[1].replace("_", "")) * scale)
    raise ValueError(f"{text!r} is not {what}")


def format_count(number: float) -> str:
    """``1.8 M``: a count with three significant digits."""
    for scale, unit in ((10**12, " T"), (10**9, " G"), (10**6, " M"), (10**3, " k")):
        # What rounds up to a unit is shown in that unit: 999,600 is 1 M, not 1e+03 k.
        if number >= scale * 0.9995:
            return f"{number / scale:.3g}{unit}"
    return f"{number:.0f}"


def format_bytes(number: float) -> str:
    """``63.2 MB``: a size in decimal units, as policies are written."""
    return format_count(number) + ("B" if number >= 1000 else " B")


def format_seconds(seconds: float) -> str:
    """``1.4 ms``, ``2.35 s``, ``3 min 20 s``."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"
