"""Variables across the border, as data only: the host's side of the guest's ``transfer``.

What comes out of a guest is untrusted: every shape, length and type is checked, nothing is
unpickled, and an array of objects is refused. numpy, pandas and Pillow are used if installed.
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
_ITEMS_MAX = 1 << 31
_TEXTS_MAX = 20_000_000
"""Texts of one value: each is an object of its own, however short it is."""
_CHARACTERS_MAX = 1 << 31
"""Characters of the text columns of one value when each row has its own."""
JSON_MAX_BYTES = 50_000_000
PICTURE_PIXELS_MAX = 50_000_000
_CODE_POINT_MAX = 0x10FFFF
_REASON_MAX = 500
_SAMPLE = 2_000
"""Rows of a text column by which its repetitions are judged."""
_EXTENSIONS = frozenset(
    [f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)]
    + ["Float32", "Float64", "boolean"]
)


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


# To the guest.


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
    if not _is_plain(value.dtype):
        raise cannot_cross(f"a numpy array of {value.dtype}")
    return {
        "kind": "array",
        "dtype": value.dtype.str,
        "shape": list(value.shape),
        "buffer": _add(buffers, numpy.ascontiguousarray(value).tobytes()),
    }


def _is_plain(dtype: Any) -> bool:
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
    if hasattr(label, "item"):
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


# From the guest: nothing of it is believed.


def decode(value: Any, buffers: list[bytes]) -> Any:
    """A value of the guest, rebuilt from its description; a crafted one is an error."""
    try:
        return _Decoder(buffers).value(value)
    except VariableTransferError:
        raise
    except ImportError as error:
        raise VariableTransferError(
            f"this value needs {error.name} on the host; run: pip install {error.name}"
        ) from error
    except Exception as error:
        # numpy and pandas answer damaged data with nearly every type of exception there is.
        raise VariableTransferError(
            f"the guest sent a damaged value: {str(error)[:_REASON_MAX]}"
        ) from error


class _Decoder:
    def __init__(self, buffers: list[bytes]) -> None:
        self._buffers: list[bytes | None] = [*buffers]
        self._texts_left = _TEXTS_MAX
        self._characters_left = _CHARACTERS_MAX

    def value(self, value: Any) -> Any:
        kind = value["kind"]
        if kind == "int":
            return int(value["value"], 16)
        if kind == "float":
            return float.fromhex(value["value"])
        if kind == "json":
            return self._json(value["buffer"])
        if kind == "bytes":
            return self._buffer(value["buffer"])
        if kind == "array":
            return self._array(value)
        if kind == "picture":
            return self._picture(value)
        if kind == "frame":
            return self._frame(value)
        if kind == "series":
            return self._series(value)
        if kind == "index":
            return self._index(value["value"])
        raise ValueError(f"{str(kind)[:40]!r} is not a kind of value")

    def _buffer(self, place: Any) -> bytes:
        if not isinstance(place, int) or isinstance(place, bool) or place < 0:
            raise ValueError("a buffer has no number")
        content, self._buffers[place] = self._buffers[place], None
        if content is None:
            # Ten thousand columns of one buffer would be ten thousand copies of it.
            raise ValueError("a buffer is used twice")
        return content

    def _json(self, place: Any) -> Any:
        content = self._buffer(place)
        if len(content) > JSON_MAX_BYTES:
            raise ValueError(f"JSON of more than {JSON_MAX_BYTES:,} bytes is not taken")
        return json.loads(content.decode("utf-8"))

    def _dtype(self, text: Any) -> Any:
        import numpy

        if not isinstance(text, str) or len(text) > 32:
            raise ValueError("a type has no name")
        dtype = numpy.dtype(text)
        if not _is_plain(dtype):
            raise ValueError(f"an array of {dtype} is not taken")
        return dtype

    def _array(self, value: Any) -> Any:

        shape = value["shape"]
        if not isinstance(shape, list) or len(shape) > 32:
            raise ValueError("an array has no shape")
        if any(not isinstance(n, int) or isinstance(n, bool) or n < 0 for n in shape):
            raise ValueError("an array has no shape")
        return self._flat(value).reshape(shape).copy()

    def _flat(self, value: Any) -> Any:
        """The items of an array or a column, one after the other."""
        import numpy

        flat = numpy.frombuffer(self._buffer(value["buffer"]), dtype=self._dtype(value["dtype"]))
        if flat.dtype.kind == "U":
            points = flat.view(flat.dtype.byteorder.replace("|", "=") + "u4")
            if points.size and int(points.max()) > _CODE_POINT_MAX:
                raise ValueError("an array of text holds what is no character")
        if flat.dtype.kind == "b" and flat.size and int(flat.view("u1").max()) > 1:
            # numpy takes it for true, pandas for a third value.
            raise ValueError("an array of truth values holds another one")
        return flat

    def _picture(self, value: Any) -> Any:
        from PIL import Image

        content = self._buffer(value["buffer"])
        if not content.startswith(b"\x89PNG\r\n\x1a\n"):
            raise ValueError("a picture is not PNG")
        try:
            picture = Image.open(io.BytesIO(content), formats=["PNG"])
            if picture.width * picture.height > PICTURE_PIXELS_MAX:
                raise ValueError(f"{picture.width} x {picture.height} pixels are too many")
            picture.load()
        except (OSError, Image.DecompressionBombError, SyntaxError) as error:
            raise ValueError(f"a picture cannot be read: {error}") from error
        return picture

    def _frame(self, value: Any) -> Any:
        import pandas

        columns = [self._column(column) for column in value["data"]]
        names = [self._name(name) for name in value["columns"]]
        index = self._index(value["index"])
        if len(names) != len(columns) or any(len(column) != len(index) for column in columns):
            raise ValueError("the columns of a frame differ in length")
        frame = pandas.DataFrame(dict(enumerate(columns)))
        frame.columns = pandas.Index(names)
        frame.index = index
        return frame

    def _series(self, value: Any) -> Any:
        import pandas

        series = pandas.Series(self._column(value["data"]), name=self._name(value["name"]))
        series.index = self._index(value["index"])
        return series

    def _name(self, name: Any) -> Any:
        if name is None or isinstance(name, str | int | float | bool):
            return name
        raise ValueError("a column has no name")

    def _index(self, index: Any) -> Any:
        import pandas

        name = self._name(index["name"])
        if index["kind"] == "range":
            start, stop, step = (int(n) for n in index["span"])
            if len(range(start, stop, step)) > _ITEMS_MAX:
                raise ValueError("an index is too long")
            return pandas.RangeIndex(start, stop, step, name=name)
        return pandas.Index(self._column(index["data"]), name=name)

    def _column(self, column: Any) -> Any:
        import numpy
        import pandas

        kind = column["kind"]
        if kind == "category":
            codes = numpy.frombuffer(self._buffer(column["codes"]), dtype="<i4")
            categories = pandas.Index(self._column(column["categories"]))
            return pandas.Categorical.from_codes(codes, categories, ordered=bool(column["ordered"]))
        if kind == "strings":
            return self._strings(column)
        if kind == "repeated":
            return self._repeated(column)
        values = self._flat(column).copy()
        if "tz" in column:
            zone = self._zone(column["tz"])
            return pandas.Series(values).dt.tz_localize("UTC").dt.tz_convert(zone).array
        if "mask" in column:
            mask = numpy.frombuffer(self._buffer(column["mask"]), dtype=numpy.uint8) != 0
            if len(mask) != len(values):
                raise ValueError("a mask differs in length")
            extension = column.get("extension")
            if extension not in _EXTENSIONS:
                raise ValueError("an unknown nullable type")
            series = pandas.Series(values).astype(extension)
            series[mask] = pandas.NA
            return series.array
        return values

    def _zone(self, name: Any) -> Any:
        import zoneinfo

        try:
            return zoneinfo.ZoneInfo(str(name)[:64])
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError("an unknown time zone") from error

    def _repeated(self, column: Any) -> Any:
        import numpy

        different = self._texts(column["values"])
        codes = numpy.frombuffer(self._buffer(column["codes"]), dtype="<i4")
        if codes.size and not (int(codes.min()) >= -1 and int(codes.max()) < len(different)):
            raise ValueError("a text column names a value that is not there")
        lengths = numpy.array([*(0 if text is None else len(text) for text in different), 0])
        # Where the texts of a column lie one after the other, each row takes its own.
        self._characters_left -= int(lengths[codes].sum())
        if self._characters_left < 0:
            raise ValueError("the text columns are too long")
        # The null stands last, where -1 finds it.
        values = numpy.array([*different, None], dtype=object)
        return self._text_array(values[codes], column)

    def _strings(self, column: Any) -> Any:
        return self._text_array(self._texts(column), column)

    def _texts(self, column: Any) -> list[str | None]:
        import numpy

        lengths = numpy.frombuffer(self._buffer(column["lengths"]), dtype="<i4")
        self._texts_left -= lengths.size
        if self._texts_left < 0:
            raise ValueError(f"more than {_TEXTS_MAX:,} texts are too many")
        text = self._buffer(column["buffer"]).decode("utf-8", "surrogatepass")
        ends = numpy.cumsum(numpy.maximum(lengths, 0), dtype="int64")
        if int(ends[-1] if ends.size else 0) != len(text):
            raise ValueError("the lengths of a text column do not add up")
        starts = ends - numpy.maximum(lengths, 0)
        values: list[str | None] = [
            text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]
        for place in numpy.flatnonzero(lengths < 0).tolist():
            values[place] = None
        return values

    def _text_array(self, values: Any, column: Any) -> Any:
        import pandas

        if column.get("dtype") == "object":
            return pandas.Series(values, dtype=object)
        return pandas.array(values, dtype="str" if pandas.__version__ >= "3" else "string")
