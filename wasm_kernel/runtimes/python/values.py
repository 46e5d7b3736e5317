"""Variables on their way to the guest, as data only: the host's side of the guest's ``transfer``.

``decoding`` is the way back. numpy, pandas and Pillow are used if installed.
"""

from __future__ import annotations

import io
import json
import sys
from typing import Any

from wasm_kernel.core.errors import VariableTransferError

CAN_CROSS = (
    "None, bool, int, float, str, bytes, lists and dicts of those, numpy arrays without objects, "
    "pandas DataFrame, Series and Index, and PIL images"
)
_ARRAY_KINDS = frozenset("biufcmMSU")
_SAMPLE = 2_000
"""Rows of a text column by which its repetitions are judged."""


def check_name(name: object) -> str:
    """A variable name, or an error that says what one is."""
    import keyword

    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise VariableTransferError(f"{name!r} is not a variable name")
    if name.startswith("__") and name.endswith("__"):
        raise VariableTransferError(f"{name!r} is a name of Python's own and cannot be passed")
    return name


def cannot_cross(kind: str) -> VariableTransferError:
    """The error for a type that stays where it is."""
    return VariableTransferError(f"{kind} cannot cross the border; what can: {CAN_CROSS}")


def encode(value: Any) -> tuple[dict[str, Any], list[bytes]]:
    """A value of the host as a description and buffers."""
    buffers: list[bytes] = []
    return _encode(value, buffers), buffers


def _encode(value: Any, buffers: list[bytes]) -> dict[str, Any]:
    if isinstance(value, bytes | bytearray):
        return {"kind": "bytes", "buffer": _add(buffers, bytes(value))}
    for module, encoder in (
        ("pandas", _encode_pandas),
        ("numpy", _encode_numpy),
        ("PIL.Image", _encode_picture),
    ):
        # A type of a package that was never imported cannot be this value's type.
        if module in sys.modules:
            encoded = encoder(value, buffers)
            if encoded is not None:
                return encoded
    if isinstance(value, int) and not isinstance(value, bool):
        return {"kind": "int", "value": hex(value)}
    if isinstance(value, float):
        return {"kind": "float", "value": float(value).hex()}
    return {"kind": "json", "buffer": _add(buffers, json.dumps(_json(value)).encode())}


def _add(buffers: list[bytes], content: bytes) -> int:
    buffers.append(content)
    return len(buffers) - 1


def _json(value: Any, depth: int = 0) -> Any:
    """The value as plain JSON data; raises where JSON would change it."""
    if depth > 100:
        raise cannot_cross("a value nested deeper than 100 levels")
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        if value.bit_length() > 10_000:
            raise cannot_cross("a list or dict with an int of more than 10,000 bits")
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, list | tuple):
        return [_json(item, depth + 1) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, dict):
        raise cannot_cross("a dict whose keys are not all str")
    raise cannot_cross(f"a {type(value).__module__}.{type(value).__qualname__}")


def _encode_numpy(value: Any, buffers: list[bytes]) -> dict[str, Any] | None:
    import numpy

    if isinstance(value, numpy.generic) and not isinstance(value, numpy.void):
        item = value.item()
        if isinstance(item, numpy.generic):
            raise cannot_cross(f"a numpy.{type(value).__name__}")
        return _encode(item, buffers)
    if isinstance(value, numpy.ma.MaskedArray):
        raise cannot_cross("a numpy masked array (pass .filled(...) or two arrays)")
    if not isinstance(value, numpy.ndarray):
        return None
    if not is_plain(value.dtype):
        raise cannot_cross(f"a numpy array of {value.dtype}")
    return {
        "kind": "array",
        "dtype": value.dtype.str,
        "shape": list(value.shape),
        "buffer": _add(buffers, numpy.ascontiguousarray(value).tobytes()),
    }


def is_plain(dtype: Any) -> bool:
    """Types that mean the same on every machine; a long double does not."""
    if dtype.hasobject or dtype.kind not in _ARRAY_KINDS:
        return False
    return not (
        (dtype.kind == "f" and dtype.itemsize > 8) or (dtype.kind == "c" and dtype.itemsize > 16)
    )


def _encode_picture(value: Any, buffers: list[bytes]) -> dict[str, Any] | None:
    from PIL import Image

    if not isinstance(value, Image.Image):
        return None
    content = io.BytesIO()
    value.save(content, format="PNG")
    return {"kind": "picture", "buffer": _add(buffers, content.getvalue())}


def _encode_pandas(value: Any, buffers: list[bytes]) -> dict[str, Any] | None:
    import pandas

    if isinstance(value, pandas.DataFrame):
        _refuse_levels(value.columns, value.index)
        return {
            "kind": "frame",
            "columns": [_label(label) for label in value.columns],
            "data": [_encode_column(value.iloc[:, i], buffers) for i in range(value.shape[1])],
            "index": _encode_index(value.index, buffers),
        }
    if isinstance(value, pandas.Series):
        _refuse_levels(value.index)
        return {
            "kind": "series",
            "name": _label(value.name),
            "data": _encode_column(value, buffers),
            "index": _encode_index(value.index, buffers),
        }
    if isinstance(value, pandas.Index):
        _refuse_levels(value)
        return {"kind": "index", "value": _encode_index(value, buffers)}
    return None


def _refuse_levels(*indexes: Any) -> None:
    import pandas

    if any(isinstance(index, pandas.MultiIndex) for index in indexes):
        raise cannot_cross("a MultiIndex (call reset_index() first)")


def _label(label: Any) -> Any:
    if label is None or isinstance(label, str | int | float | bool):
        return label
    if getattr(getattr(label, "dtype", None), "kind", "none") in "biufU":
        return label.item()
    raise cannot_cross(f"a label of type {type(label).__name__}")


def _encode_index(index: Any, buffers: list[bytes]) -> dict[str, Any]:
    import pandas

    name = _label(index.name)
    if isinstance(index, pandas.RangeIndex):
        return {"kind": "range", "span": [index.start, index.stop, index.step], "name": name}
    column = _encode_column(index.to_series().reset_index(drop=True), buffers)
    return {"kind": "values", "data": column, "name": name}


def _encode_column(series: Any, buffers: list[bytes]) -> dict[str, Any]:
    import numpy
    import pandas

    dtype = series.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        codes = numpy.ascontiguousarray(series.cat.codes.to_numpy(), dtype="<i4")
        return {
            "kind": "category",
            "codes": _add(buffers, codes.tobytes()),
            "categories": _encode_column(pandas.Series(dtype.categories), buffers),
            "ordered": bool(dtype.ordered),
        }
    if isinstance(dtype, pandas.DatetimeTZDtype):
        values = series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        return {**_plain(values, buffers), "tz": str(dtype.tz)}
    if isinstance(dtype, numpy.dtype) and dtype.kind in "biufcmM":
        return _plain(series.to_numpy(), buffers)
    if pandas.api.types.is_extension_array_dtype(dtype) and dtype.kind in "biuf":
        mask = numpy.ascontiguousarray(series.isna().to_numpy())
        values = series.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        place = _add(buffers, mask.tobytes())
        return {**_plain(values, buffers), "mask": place, "extension": str(dtype)}
    return _encode_strings(series, buffers)


def _plain(values: Any, buffers: list[bytes]) -> dict[str, Any]:
    import numpy

    flat = numpy.ascontiguousarray(values)
    return {"kind": "plain", "dtype": flat.dtype.str, "buffer": _add(buffers, flat.tobytes())}


def _encode_strings(series: Any, buffers: list[bytes]) -> dict[str, Any]:
    """Text with nulls: each value, or the different ones and where they stand."""
    import numpy
    import pandas

    if _repeats(series):
        codes, different = pandas.factorize(series)
        return {
            "kind": "repeated",
            "dtype": str(series.dtype),
            "codes": _add(buffers, codes.astype("<i4").tobytes()),
            "values": _encode_texts(numpy.asarray(different, dtype=object), buffers),
        }
    values = series.to_numpy(dtype=object, na_value=None)
    return {"kind": "strings", "dtype": str(series.dtype), **_encode_texts(values, buffers)}


def _repeats(series: Any) -> bool:
    """Whether a sample of a column shows values more than once, often enough to be worth it."""
    import numpy

    if len(series) < 2 * _SAMPLE:
        return False
    places = numpy.random.default_rng(0).integers(0, len(series), _SAMPLE)
    return bool(series.take(places).nunique() < 0.9 * _SAMPLE)


def _encode_texts(values: Any, buffers: list[bytes]) -> dict[str, Any]:
    """All texts in one, and how many characters each has: -1 for a null."""
    import numpy
    import pandas

    is_null = pandas.isna(values)
    if is_null.any():
        values = numpy.where(is_null, "", values)
    kinds = set(map(type, values)) - {str}
    if kinds:
        raise cannot_cross(f"a column of {min(kind.__name__ for kind in kinds)} objects")
    lengths = numpy.fromiter(map(len, values), "<i4", len(values))
    lengths[is_null] = -1
    text = "".join(values).encode("utf-8", "surrogatepass")
    return {"lengths": _add(buffers, lengths.tobytes()), "buffer": _add(buffers, text)}
