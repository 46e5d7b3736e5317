"""64-bit integers for the user's code, where NumPy's objects make them: methods, draws, pandas."""

import functools

import numpy as np
from wasm_guest.float_errors import change_type, tell_cast
from wasm_guest.integer_width import (
    NARROW_TYPE,
    all_widened,
    array_of,
    is_for_library,
    is_plain_integer,
    wide_sum,
    wide_type,
    widened,
)

SUMS = ("sum", "prod", "cumsum", "cumprod")
_FINDERS = ("argmax", "argmin", "argsort", "argpartition", "nonzero")
_DRAWS = (
    *("choice", "permutation", "binomial", "poisson", "geometric", "hypergeometric", "zipf"),
    *("negative_binomial", "logseries", "multinomial"),
)
_COMBINERS = {"reduce": 1, "accumulate": 1, "outer": 2}
"""What functions of one element at a time do with more, and how many arguments are numbers."""
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
            "view": _view(array.view),
            "choose": _choose(array.choose),
            "searchsorted": _searchsorted(array.searchsorted),
        },
    )
    change_type(
        np.ufunc,
        {
            "reduceat": _reduceat(np.ufunc.reduceat),
            **{name: _combining(getattr(np.ufunc, name)) for name in _COMBINERS},
        },
    )
    for kind in (np.dtype("l").type, np.dtype("i").type):
        names = [f"__{side}{name}__" for name in _OPERATIONS for side in ("", "r")]
        change_type(kind, {name: _retried(kind, name) for name in names})
    names = [f"__{side}{name}__" for name in _OPERATIONS for side in ("", "r")]
    change_type(np.bool, {name: _counted(name) for name in names})
    _name_wide_types()
    _widen_draws()
    _show_no_width()


def _summing(plain):
    @functools.wraps(plain)
    def add_up(self, *args, **kwargs):
        if len(args) < 2 and kwargs.get("dtype") is None and kwargs.get("out") is None:
            kind = wide_sum(self)
            if kind is not None and not is_for_library():
                kwargs["dtype"] = kind
        elif kwargs.get("dtype") is int and not is_for_library():
            kwargs["dtype"] = np.int64
        return plain(self, *args, **kwargs)

    return add_up


def finding(plain):
    """A function of the same name, and of wide results where it finds or counts for the user."""

    @functools.wraps(plain)
    def find(*args, **kwargs):
        result = plain(*args, **kwargs)
        return result if is_for_library() else all_widened(result)

    return find


def _name_wide_types():
    """``np.int_`` and ``np.uint``, and what ``dtype == int`` says of 64 bits."""
    plain = np.__getattr__
    types = {"int_": (NARROW_TYPE, np.int64), "uint": (np.uint, np.uint64)}

    def __getattr__(name):
        if name in types:
            return types[name][not is_for_library()]
        return plain(name)

    np.__getattr__ = __getattr__
    del np.int_, np.uint
    kind = type(np.dtype(np.int64))
    is_equal, is_other = kind.__eq__, kind.__ne__

    def __eq__(self, value, /):
        return is_plain_integer(value) or is_equal(self, value)

    def __ne__(self, value, /):
        return not is_plain_integer(value) and is_other(self, value)

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


def _combining(plain):
    count = _COMBINERS[plain.__name__]

    @functools.wraps(plain)
    def combine(self, *args, **kwargs):
        if not is_for_library():
            args = (*map(array_of, args[:count]), *args[count:])
        return plain(self, *args, **kwargs)

    return combine


def _reduceat(plain):
    @functools.wraps(plain)
    def reduceat(self, array, /, indices, *args, **kwargs):
        return plain(self, array, _index(indices), *args, **kwargs)

    return reduceat


def _view(plain):
    @functools.wraps(plain)
    def view(self, *args, **kwargs):
        if args and (args[0] is int or type(args[0]) in (str, list)) and not is_for_library():
            args = (wide_type(args[0]), *args[1:])
        return plain(self, *args, **kwargs)

    return view


def _astype(plain):
    @functools.wraps(plain)
    def astype(self, *args, **kwargs):
        if args:
            if (args[0] is int or type(args[0]) in (str, list)) and not is_for_library():
                args = (wide_type(args[0]), *args[1:])
        elif kwargs and not is_for_library():
            kwargs["dtype"] = wide_type(kwargs["dtype"])
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


def _counted(name):
    """An operation of a truth value that counts with wide numbers: ``sum(values > 0)``."""
    plain, wide = getattr(np.bool, name), getattr(np.int64, name)

    @functools.wraps(plain)
    def operation(self, value, /, *more):
        return wide(np.int64(self), value) if type(value) is int else plain(self, value, *more)

    return operation


def _show_no_width():
    """An array is shown without its type where that is the usual one, and both widths are."""
    from numpy._core import arrayprint

    arrayprint._typelessdata += [np.int64, np.intc]
