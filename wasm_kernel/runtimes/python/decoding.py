"""Variables on their way out of the guest, as data only.

Nothing of it is believed: every shape, length and type is checked, nothing is unpickled, and an
array of objects is refused. numpy, pandas and Pillow are used if installed.
"""

from __future__ import annotations

import io
import json
from typing import Any

from wasm_kernel.core.errors import VariableTransferError
from wasm_kernel.runtimes.python.values import is_plain

JSON_MAX_BYTES = 50_000_000
PICTURE_PIXELS_MAX = 50_000_000
_ITEMS_MAX = 1 << 31
_TEXTS_MAX = 20_000_000
"""Texts of one value: each is an object of its own, however short it is."""
_CHARACTERS_MAX = 1 << 31
"""Characters of the text columns of one value when each row has its own."""
_CODE_POINT_MAX = 0x10FFFF
_REASON_MAX = 500
_EXTENSIONS = frozenset(
    [f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)]
    + ["Float32", "Float64", "boolean"]
)


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
        if not is_plain(dtype):
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
        has_str = int(pandas.__version__.partition(".")[0]) >= 3
        return pandas.array(values, dtype="str" if has_str else "string")
