"""64-bit integers for the user's code, as NumPy makes them on every other machine.

Here are NumPy's functions; ``integer_width`` says for whom, ``wide_methods`` does the same for
what arrays and random generators make.
"""

import functools

import numpy as np
from wasm_guest import wide_methods
from wasm_guest.integer_width import (
    NARROW,
    all_widened,
    is_for_library,
    is_plain_integer,
    wide_sum,
    widened,
)
from wasm_guest.wide_methods import SUMS, finding

# What makes arrays of numbers that are given one by one.
_MAKERS = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "copy", "full")
_RANGES = ("arange", "indices")
# What finds and counts.
_FINDERS = (
    *("argmax", "argmin", "argsort", "argpartition", "argwhere", "nanargmax", "nanargmin"),
    *("nonzero", "flatnonzero", "searchsorted", "digitize", "bincount", "count_nonzero", "lexsort"),
    *("histogram", "unravel_index", "ravel_multi_index", "diag_indices", "triu_indices"),
    "tril_indices",
)
# What is given a type, if anything.
_TYPED = (
    *("zeros", "ones", "empty", "eye", "identity", "tri", "linspace", "logspace", "geomspace"),
    *("zeros_like", "ones_like", "empty_like", "full_like", "fromiter", "fromfunction"),
    *("frombuffer", "fromfile", "fromstring", "loadtxt", "genfromtxt"),
)
# What adds up or combines the numbers of a list.
_REDUCERS = (*SUMS, "dot", "outer", "diff", "cross", "inner", "vdot")
_KEEPERS = (
    *("unique", "sort", "concatenate", "append", "insert", "tile", "repeat", "reshape", "stack"),
    *("vstack", "hstack", "column_stack", "flip", "roll", "ravel", "transpose", "max", "min"),
)


def install():
    """Give the user's code wide integers."""
    if hasattr(np.array, "__wrapped__"):
        return
    for names, wider in (
        (_MAKERS, _making),
        (_RANGES, _keeping),
        (_FINDERS, finding),
        (_TYPED, _typed),
        (_REDUCERS, _reducing),
        (_KEEPERS, _keeping_lists),
    ):
        for name in names:
            setattr(np, name, wider(getattr(np, name)))
    np.where = _where(np.where)
    np.select = _select(np.select)
    np.issubdtype = _issubdtype(np.issubdtype)
    _widen_grids()
    wide_methods.install()


def _with_wide_type(args, kwargs):
    """The arguments of a call, with ``int`` as a type of 64 bits."""
    if "dtype" in kwargs and is_plain_integer(kwargs["dtype"]):
        kwargs["dtype"] = np.int64
    if any(value is int for value in args[1:]):
        args = (args[0], *(np.int64 if value is int else value for value in args[1:]))
    return args, kwargs


def _is_of_python(value):
    """Whether numbers are Python's own, and have no width of their own."""
    while type(value) in (list, tuple) and value:
        value = value[0]
    return type(value) in (int, range)


def _has_type(args, kwargs):
    return kwargs.get("dtype") is not None or (len(args) > 1 and args[1] is not None)


def _making(plain):
    @functools.wraps(plain)
    def make(*args, **kwargs):
        if is_for_library():
            return plain(*args, **kwargs)
        args, kwargs = _with_type_of_full(plain, *_with_wide_type(args, kwargs))
        result = plain(*args, **kwargs)
        if args and not _has_type(args, kwargs) and _is_of_python(args[0]):
            return widened(result)
        return result

    return make


def _with_type_of_full(plain, args, kwargs):
    """``full`` has its numbers where the others have the type."""
    if plain.__name__ == "full" and len(args) == 2 and kwargs.get("dtype") is None:
        return (args[0], _array_of(args[1])), kwargs
    return args, kwargs


def _array_of(value):
    """An array with wide integers of what is Python's; the value itself, if it is not."""
    return widened(_plain_array(value)) if _is_of_python(value) else value


_plain_array = np.array


def _keeping(plain):
    @functools.wraps(plain)
    def keep(*args, **kwargs):
        if is_for_library():
            return plain(*args, **kwargs)
        args, kwargs = _with_wide_type(args, kwargs)
        has_type = kwargs.get("dtype") is not None or len(args) > 3
        result = plain(*args, **kwargs)
        return result if has_type else widened(result)

    return keep


def _typed(plain):
    @functools.wraps(plain)
    def make(*args, **kwargs):
        if not is_for_library():
            args, kwargs = _with_wide_type(args, kwargs)
        return plain(*args, **kwargs)

    return make


def _reducing(plain):
    is_sum = plain.__name__ in SUMS
    # The second argument of the others is an axis, or how often.
    count = 1 if is_sum or plain.__name__ == "diff" else 2

    @functools.wraps(plain)
    def reduce(*args, **kwargs):
        if is_for_library():
            return plain(*args, **kwargs)
        args, kwargs = _with_wide_type(args, kwargs)
        args = (*map(_array_of, args[:count]), *args[count:])
        if is_sum and type(args[0] if args else None) is np.ndarray:
            kind = wide_sum(args[0])
            if kind is not None and len(args) < 3 and not (kwargs.keys() & {"dtype", "out"}):
                kwargs["dtype"] = kind
        return plain(*args, **kwargs)

    return reduce


def _keeping_lists(plain):
    @functools.wraps(plain)
    def keep(*args, **kwargs):
        result = plain(*args, **kwargs)
        if is_for_library() or not args:
            return result
        if type(result) is tuple and plain.__name__ == "unique":
            # What is unique, and then where it is and how often.
            first = widened(result[0]) if _is_of_python(args[0]) else result[0]
            return type(result)((first, *map(widened, result[1:])))
        if not _is_of_python(args[0]):
            return result
        return all_widened(result)

    return keep


def _where(plain):
    @functools.wraps(plain)
    def where(*args, **kwargs):
        if len(args) == 3 and not is_for_library():
            # With an array that has a width of its own, a number of Python takes that.
            kinds = {type(value) for value in args[1:]}
            if kinds <= {int, list, tuple, bool}:
                args = (args[0], *map(_array_of, args[1:]))
        result = plain(*args, **kwargs)
        if len(args) == 1 and not is_for_library():
            return all_widened(result)
        return result

    return where


def _select(plain):
    @functools.wraps(plain)
    def select(condlist, choicelist, default=0):
        if not is_for_library():
            choicelist = [_array_of(choice) for choice in choicelist]
        return plain(condlist, choicelist, default)

    return select


def _issubdtype(plain):
    @functools.wraps(plain)
    def issubdtype(arg1, arg2):
        return plain(arg1, arg2) or (arg2 is int and plain(arg1, np.int64))

    return issubdtype


def _widen_grids():
    """``np.r_[0:3]``, ``np.mgrid[0:3]`` and their like; what ``np.vectorize`` finds out."""
    for kind in (type(np.r_).__mro__[1], type(np.mgrid).__mro__[1]):
        kind.__getitem__ = _grid(kind.__getitem__)
    plain = np.vectorize._get_ufunc_and_otypes
    narrow, wide = type(np.dtype(NARROW)), type(np.dtype("q"))

    @functools.wraps(plain)
    def types_of_results(self, *args, **kwargs):
        function, kinds = plain(self, *args, **kwargs)
        if isinstance(kinds, str):
            return function, kinds.replace(NARROW, "q")
        return function, [wide if kind is narrow else kind for kind in kinds]

    np.vectorize._get_ufunc_and_otypes = types_of_results


def _grid(plain):
    @functools.wraps(plain)
    def item(self, key):
        result = plain(self, key)
        if is_for_library():
            return result
        return all_widened(result)

    return item
