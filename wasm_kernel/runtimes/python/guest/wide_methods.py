"""64-bit integers for the user's code, where NumPy's objects make them: methods, draws, pandas."""

import functools
import types

import numpy as np
from wasm_guest.float_errors import change_type, tell_cast
from wasm_guest.integer_width import (
    NARROW_TYPE,
    all_widened,
    is_for_library,
    is_plain_integer,
    wide_sum,
    widened,
)

SUMS = ("sum", "prod", "cumsum", "cumprod")
_FINDERS = ("argmax", "argmin", "argsort", "argpartition", "nonzero")
_DRAWS = (
    *("choice", "permutation", "binomial", "poisson", "geometric", "hypergeometric", "zipf"),
    *("negative_binomial", "logseries", "multinomial"),
)
_OPERATIONS = ("add", "sub", "mul", "floordiv", "mod", "pow")


def install():
    """Widen what methods make, and accept wide integers where NumPy wants its own."""
    array = np.ndarray
    change_type(
        array,
        {
            "astype": _astype(array.astype),
            **{name: _indexed(getattr(array, name)) for name in ("repeat", "put")},
            **{name: _summing(getattr(array, name)) for name in SUMS},
            **{name: finding(getattr(array, name)) for name in _FINDERS},
            "choose": _choose(array.choose),
            "searchsorted": _searchsorted(array.searchsorted),
        },
    )
    change_type(np.ufunc, {"reduceat": _reduceat(np.ufunc.reduceat)})
    for kind in (np.dtype("l").type, np.dtype("i").type):
        names = [f"__{side}{name}__" for name in _OPERATIONS for side in ("", "r")]
        change_type(kind, {name: _retried(kind, name) for name in names})
    _name_wide_type()
    _widen_draws()
    _show_no_width()


def _summing(plain):
    @functools.wraps(plain)
    def add_up(self, *args, **kwargs):
        if len(args) < 2 and kwargs.get("dtype") is None and kwargs.get("out") is None:
            kind = wide_sum(self)
            if kind is not None and not is_for_library():
                kwargs["dtype"] = kind
        return plain(self, *args, **kwargs)

    return add_up


def finding(plain):
    """A function of the same name, and of wide results where it finds or counts for the user."""

    @functools.wraps(plain)
    def find(*args, **kwargs):
        result = plain(*args, **kwargs)
        return result if is_for_library() else all_widened(result)

    return find


def _name_wide_type():
    """``np.int_``, and what ``dtype == int`` says of 64 bits."""
    plain = np.__getattr__

    def __getattr__(name):
        if name == "int_":
            return NARROW_TYPE if is_for_library() else np.int64
        return plain(name)

    np.__getattr__ = __getattr__
    del np.int_
    kind = type(np.dtype(np.int64))
    is_equal = kind.__eq__

    def __eq__(self, value, /):
        return is_plain_integer(value) or is_equal(self, value)

    def __ne__(self, value, /):
        return not __eq__(self, value)

    change_type(kind, {"__eq__": __eq__, "__ne__": __ne__})


def _widen_draws():
    kind = np.random.RandomState
    change_type(
        kind,
        {
            "randint": _randint(kind.randint),
            **{name: _drawing(getattr(kind, name)) for name in _DRAWS},
        },
    )
    for name in ("randint", *_DRAWS):
        setattr(np.random, name, getattr(np.random.mtrand._rand, name))


def _randint(plain):
    @functools.wraps(plain)
    def randint(self, *args, **kwargs):
        if is_for_library() or len(args) > 3 or not is_plain_integer(kwargs.get("dtype", int)):
            return plain(self, *args, **kwargs)
        kwargs["dtype"] = np.int64
        result = plain(self, *args, **kwargs)
        return int(result) if type(result) is np.int64 else result

    return randint


def _drawing(plain):
    is_counted = plain.__name__ in ("binomial", "hypergeometric")

    @functools.wraps(plain)
    def draw(self, *args, **kwargs):
        if is_counted:
            args = tuple(map(_index, args))
        result = plain(self, *args, **kwargs)
        return result if is_for_library() else widened(result)

    return draw


def _index(value):
    """What is to be counted by, in the machine's width: wider integers are refused as unsafe."""
    if type(value) in (int, str, float, type(None)):
        return value
    array = np.asarray(value)
    return array.astype(np.intp) if array.dtype.kind == "i" and array.itemsize == 8 else value


def _indexed(plain):
    @functools.wraps(plain)
    def method(self, indexes, *args, **kwargs):
        return plain(self, _index(indexes), *args, **kwargs)

    return method


def _choose(plain):
    @functools.wraps(plain)
    def choose(self, *args, **kwargs):
        return plain(_index(self), *args, **kwargs)

    return choose


def _searchsorted(plain):
    @functools.wraps(plain)
    def searchsorted(self, v, side="left", sorter=None):
        result = plain(self, v, side, _index(sorter))
        return result if is_for_library() else widened(result)

    return searchsorted


def _reduceat(plain):
    @functools.wraps(plain)
    def reduceat(self, array, /, indices, *args, **kwargs):
        return plain(self, array, _index(indices), *args, **kwargs)

    return reduceat


def _astype(plain):
    @functools.wraps(plain)
    def astype(self, *args, **kwargs):
        if args:
            if is_plain_integer(args[0]) and not is_for_library():
                args = (np.int64, *args[1:])
        elif is_plain_integer(kwargs.get("dtype")) and not is_for_library():
            kwargs["dtype"] = np.int64
        if kwargs.get("casting") == "safe" and self.dtype.char == "q" and NARROW_TYPE in args:
            # A library asks for positions: elsewhere these have its width already.
            kwargs["casting"] = "same_kind"
        result = plain(self, *args, **kwargs)
        tell_cast(self, result)
        return result

    return astype


def _retried(kind, name):
    """An operation of a narrow number that begins again with a wide one, if the other needs it."""
    plain = getattr(kind, name)

    @functools.wraps(plain)
    def operation(self, value, /, *more):
        try:
            return plain(self, value, *more)
        except OverflowError:
            return getattr(np.int64(self), name)(value, *more)

    return operation


def _show_no_width():
    """An array is shown without its type where that is the usual one, and both widths are."""
    from numpy._core import arrayprint

    arrayprint._typelessdata += [np.int64, np.intc]


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
