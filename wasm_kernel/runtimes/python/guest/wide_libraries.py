"""64-bit integers for the user's code, where libraries make them for it."""

import functools
import types

import numpy as np
from wasm_guest.integer_width import NARROW_TYPE, is_for_library, wide_sum, wide_type, widened


def widen_pandas():
    """``astype(int)`` and the like; pandas' own integers have 64 bits as it is."""
    from pandas.core.dtypes import common

    if hasattr(common, "_plain_pandas_dtype"):
        return
    function = common.pandas_dtype
    common._plain_pandas_dtype = types.FunctionType(
        function.__code__, function.__globals__, function.__name__
    )

    def pandas_dtype(dtype):
        if dtype is int or (dtype.__class__ is str and dtype == "int"):
            dtype = "int64"
        return _plain_pandas_dtype(dtype)  # noqa: F821 (in the module that it becomes a part of)

    # Others have the function already, and shall have what it does now.
    function.__code__ = pandas_dtype.__code__
    _widen_arithmetic()
    _widen_arrays()
    _widen_running_sums()


def _widen_arithmetic():
    """Truth values with numbers of Python: ``(frame > 1) * 1``."""
    from pandas.core import ops
    from pandas.core.ops import array_ops

    plain = array_ops.arithmetic_op

    @functools.wraps(plain)
    def arithmetic_op(left, right, op):
        if type(right) is int and type(left) is np.ndarray and left.dtype == np.bool:
            right = np.int64(right) if -(1 << 63) <= right < 1 << 63 else right
        return plain(left, right, op)

    ops.arithmetic_op = array_ops.arithmetic_op = arithmetic_op


def _widen_arrays():
    """``to_numpy(dtype=int)``, and the numbers of ``pd.cut(…, labels=False)``."""
    from pandas.core import base, frame
    from pandas.core.reshape import tile

    for kind in (base.IndexOpsMixin, frame.DataFrame):
        kind.to_numpy = _to_numpy(kind.to_numpy)
    plain = tile._bins_to_cuts

    @functools.wraps(plain)
    def bins_to_cuts(*args, **kwargs):
        numbers, bins = plain(*args, **kwargs)
        return widened(numbers), bins

    tile._bins_to_cuts = bins_to_cuts


def _to_numpy(plain):
    @functools.wraps(plain)
    def to_numpy(self, dtype=None, *args, **kwargs):
        return plain(self, wide_type(dtype), *args, **kwargs)

    return to_numpy


def _widen_running_sums():
    from pandas.core import nanops

    plain = nanops.na_accum_func

    @functools.wraps(plain)
    def na_accum_func(values, accum_func, *, skipna):
        if accum_func in (np.cumsum, np.cumprod) and type(values) is np.ndarray:
            values = values.astype(wide_sum(values) or values.dtype, copy=False)
        return plain(values, accum_func, skipna=skipna)

    nanops.na_accum_func = na_accum_func


def let_bars_be_long():
    """Matplotlib tries lengths as dates first, with integers that are the machine's."""
    from matplotlib.axes import Axes

    plain = Axes._convert_dx
    if hasattr(plain, "__wrapped__"):
        return

    @functools.wraps(plain)
    def convert_dx(dx, x0, xconv, convert):
        try:
            return plain(dx, x0, xconv, convert)
        except OverflowError:
            # As it does itself with what cannot be added to a place.
            return convert(dx)

    Axes._convert_dx = staticmethod(convert_dx)


def widen_data_sets(module):
    """What scikit-learn's ``load_…`` and ``make_…`` give: most of it are classes, as integers."""
    for name in module.__all__:
        if name.startswith(("load_", "make_")):
            setattr(module, name, _loading(getattr(module, name)))


def _loading(plain):
    @functools.wraps(plain)
    def load(*args, **kwargs):
        result = plain(*args, **kwargs)
        return result if is_for_library() else _with_wide_members(result)

    return load


def _with_wide_members(value):
    if type(value) is tuple:
        return tuple(map(_with_wide_members, value))
    if isinstance(value, dict):
        for name, member in value.items():
            value[name] = _with_wide_members(member)
        return value
    if type(value) is np.ndarray:
        return widened(value)
    kinds = getattr(value, "dtypes", None)
    if kinds is None:
        return value
    if hasattr(value, "columns"):
        narrow = [name for name, kind in kinds.items() if kind == NARROW_TYPE]
        return value.astype(dict.fromkeys(narrow, np.int64)) if narrow else value
    return value.astype(np.int64) if kinds == NARROW_TYPE else value
