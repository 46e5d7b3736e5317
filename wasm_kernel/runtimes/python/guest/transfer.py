"""Variables in and out, as data: JSON, raw arrays, frames column by column. Never pickle."""

import io
import json
import keyword

_SAMPLE = 2_000


def put(namespace, request, buffers):
    """Bind a value that came as data."""
    name = _checked(request["name"])
    namespace[name] = _decode(request["value"], buffers)
    return {}


def get(namespace, request):
    """A variable as data, or the reason why it cannot leave."""
    name = _checked(request["name"])
    if name not in namespace:
        return {"missing": name}
    buffers = []
    try:
        value = _encode(namespace[name], buffers)
    except _CannotCross as error:
        return {"type": error.args[0]}
    return {"value": value}, buffers


class _CannotCross(Exception):
    pass


def _checked(name):
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"{name!r} is not a variable name")
    return name


def _encode(value, buffers):
    if isinstance(value, int) and not isinstance(value, bool):
        return {"kind": "int", "value": hex(value)}
    if isinstance(value, float):
        return {"kind": "float", "value": float(value).hex()}
    if isinstance(value, (bytes, bytearray)):
        return {"kind": "bytes", "buffer": _add(buffers, bytes(value))}
    encoder = None if value is None or isinstance(value, (bool, str)) else _encoder(value)
    if encoder is not None:
        return encoder(value, buffers)
    if value is None or isinstance(value, (bool, str, list, tuple, dict)):
        _require_json(value)
        text = json.dumps(value).encode()
        return {"kind": "json", "buffer": _add(buffers, text)}
    raise _CannotCross(f"{type(value).__module__}.{type(value).__qualname__}")


def _require_json(value, depth=0):
    """Raise unless JSON can carry the value without changing it."""
    if depth > 100:
        raise _CannotCross("a value nested deeper than 100 levels")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise _CannotCross(f"a dict with {type(key).__name__} keys")
            _require_json(item, depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _require_json(item, depth + 1)
    elif isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 10_000:
        raise _CannotCross("a list or dict with an int of more than 10,000 bits")
    elif value is not None and not isinstance(value, (bool, int, float, str)):
        raise _CannotCross(f"a {type(value).__name__} inside a list or dict")


def _encoder(value):
    import numpy
    import pandas

    if isinstance(value, numpy.generic):
        if isinstance(value.item(), numpy.generic):
            raise _CannotCross(f"numpy.{type(value).__name__}")
        return lambda v, b: _encode(v.item(), b)
    if isinstance(value, numpy.ma.MaskedArray):
        raise _CannotCross("numpy masked array; pass .filled(...) or two arrays")
    if isinstance(value, numpy.ndarray):
        return _encode_array
    if isinstance(value, pandas.DataFrame):
        return _encode_frame
    if isinstance(value, pandas.Series):
        return _encode_series
    if isinstance(value, pandas.Index):
        return _encode_index_value
    try:
        from PIL import Image
    except ImportError:
        return None
    if isinstance(value, Image.Image):
        return _encode_picture
    return None


def _add(buffers, content):
    buffers.append(content)
    return len(buffers) - 1


def _encode_array(value, buffers):
    import numpy

    if not _is_plain(value.dtype):
        raise _CannotCross(f"numpy array of {value.dtype}")
    return {
        "kind": "array",
        "dtype": value.dtype.str,
        "shape": list(value.shape),
        "buffer": _add(buffers, numpy.ascontiguousarray(value).tobytes()),
    }


def _is_plain(dtype):
    """Types that mean the same on every machine; a long double does not."""
    if dtype.hasobject or dtype.kind not in "biufcmMSU":
        return False
    return not (
        (dtype.kind == "f" and dtype.itemsize > 8) or (dtype.kind == "c" and dtype.itemsize > 16)
    )


def _encode_index_value(value, buffers):
    import pandas

    if isinstance(value, pandas.MultiIndex):
        raise _CannotCross("a MultiIndex")
    return {"kind": "index", "value": _encode_index(value, buffers)}


def _encode_picture(value, buffers):
    content = io.BytesIO()
    value.save(content, format="PNG")
    return {"kind": "picture", "buffer": _add(buffers, content.getvalue())}


def _encode_frame(value, buffers):
    import pandas

    if isinstance(value.columns, pandas.MultiIndex) or isinstance(value.index, pandas.MultiIndex):
        raise _CannotCross("DataFrame with a MultiIndex; call reset_index() first")
    return {
        "kind": "frame",
        "columns": [_label(label) for label in value.columns],
        "data": [_encode_column(value.iloc[:, i], buffers) for i in range(value.shape[1])],
        "index": _encode_index(value.index, buffers),
    }


def _encode_series(value, buffers):
    import pandas

    if isinstance(value.index, pandas.MultiIndex):
        raise _CannotCross("Series with a MultiIndex; call reset_index() first")
    return {
        "kind": "series",
        "name": _label(value.name),
        "data": _encode_column(value, buffers),
        "index": _encode_index(value.index, buffers),
    }


def _label(label):
    if label is None or isinstance(label, (str, int, float, bool)):
        return label
    if hasattr(label, "item"):
        return label.item()
    raise _CannotCross(f"a label of type {type(label).__name__}")


def _encode_index(index, buffers):
    import pandas

    if isinstance(index, pandas.RangeIndex):
        span = [index.start, index.stop, index.step]
        return {"kind": "range", "span": span, "name": _label(index.name)}
    column = _encode_column(index.to_series().reset_index(drop=True), buffers)
    return {"kind": "values", "data": column, "name": _label(index.name)}


def _encode_column(series, buffers):
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
        mask = series.isna().to_numpy()
        values = series.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        mask_buffer = _add(buffers, numpy.ascontiguousarray(mask).tobytes())
        return {**_plain(values, buffers), "mask": mask_buffer, "extension": str(dtype)}
    return _encode_strings(series, buffers)


def _plain(values, buffers):
    import numpy

    values = numpy.ascontiguousarray(values)
    return {"kind": "plain", "dtype": values.dtype.str, "buffer": _add(buffers, values.tobytes())}


def _encode_strings(series, buffers):
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


def _repeats(series):
    """Whether a sample of a column shows values more than once, often enough to be worth it."""
    import numpy

    if len(series) < 2 * _SAMPLE:
        return False
    places = numpy.random.default_rng(0).integers(0, len(series), _SAMPLE)
    return series.take(places).nunique() < 0.9 * _SAMPLE


def _encode_texts(values, buffers):
    """All texts in one, and how many characters each has: -1 for a null."""
    import numpy
    import pandas

    is_null = pandas.isna(values)
    if is_null.any():
        values = numpy.where(is_null, "", values)
    kinds = set(map(type, values)) - {str}
    if kinds:
        raise _CannotCross(f"a column of {min(kind.__name__ for kind in kinds)} objects")
    lengths = numpy.fromiter(map(len, values), "<i4", len(values))
    lengths[is_null] = -1
    text = "".join(values).encode("utf-8", "surrogatepass")
    return {"lengths": _add(buffers, lengths.tobytes()), "buffer": _add(buffers, text)}


def _decode(value, buffers):
    kind = value["kind"]
    if kind == "int":
        return int(value["value"], 16)
    if kind == "float":
        return float.fromhex(value["value"])
    if kind == "json":
        return json.loads(bytes(buffers[value["buffer"]]))
    if kind == "bytes":
        return bytes(buffers[value["buffer"]])
    if kind == "array":
        import numpy

        flat = numpy.frombuffer(buffers[value["buffer"]], dtype=value["dtype"])
        return flat.reshape(value["shape"]).copy()
    if kind == "picture":
        from PIL import Image

        return Image.open(io.BytesIO(buffers[value["buffer"]])).copy()
    import pandas

    if kind == "frame":
        index = _decode_index(value["index"], buffers)
        columns = [_decode_column(column, buffers) for column in value["data"]]
        frame = pandas.DataFrame(dict(enumerate(columns)), copy=False)
        frame.columns = pandas.Index(value["columns"]) if value["columns"] else pandas.Index([])
        frame.index = index
        return frame
    if kind == "series":
        series = pandas.Series(_decode_column(value["data"], buffers), name=value["name"])
        series.index = _decode_index(value["index"], buffers)
        return series
    if kind == "index":
        return _decode_index(value["value"], buffers)
    raise ValueError(f"{kind!r} is not a kind of value")


def _decode_index(index, buffers):
    import pandas

    if index["kind"] == "range":
        return pandas.RangeIndex(*index["span"], name=index["name"])
    return pandas.Index(_decode_column(index["data"], buffers), name=index["name"])


def _decode_column(column, buffers):
    import numpy
    import pandas

    kind = column["kind"]
    if kind == "category":
        codes = numpy.frombuffer(buffers[column["codes"]], dtype="<i4")
        categories = pandas.Index(_decode_column(column["categories"], buffers))
        return pandas.Categorical.from_codes(codes, categories, ordered=column["ordered"])
    if kind == "strings":
        return _text_array(_decode_texts(column, buffers), column)
    if kind == "repeated":
        codes = numpy.frombuffer(buffers[column["codes"]], dtype="<i4")
        # The null stands last, where -1 finds it.
        values = numpy.array([*_decode_texts(column["values"], buffers), None], dtype=object)
        return _text_array(values[codes], column)
    values = numpy.frombuffer(buffers[column["buffer"]], dtype=column["dtype"]).copy()
    if "tz" in column:
        return pandas.Series(values).dt.tz_localize("UTC").dt.tz_convert(column["tz"]).array
    if "mask" in column:
        mask = numpy.frombuffer(buffers[column["mask"]], dtype=bool)
        series = pandas.Series(values).astype(column["extension"])
        series[mask] = pandas.NA
        return series.array
    return values


def _decode_texts(column, buffers):
    import numpy

    lengths = numpy.frombuffer(buffers[column["lengths"]], dtype="<i4")
    text = buffers[column["buffer"]].decode("utf-8", "surrogatepass")
    ends = numpy.cumsum(numpy.maximum(lengths, 0), dtype="int64")
    starts = ends - numpy.maximum(lengths, 0)
    values = [text[start:end] for start, end in zip(starts.tolist(), ends.tolist())]
    for place in numpy.flatnonzero(lengths < 0).tolist():
        values[place] = None
    return values


def _text_array(values, column):
    import pandas

    return pandas.array(values, dtype=object if column["dtype"] == "object" else "str")
