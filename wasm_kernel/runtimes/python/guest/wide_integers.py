"""64-bit integers for the user's code, as NumPy makes them on every other machine.

Here are NumPy's functions; ``integer_width`` says for whom. ``wide_methods`` does the same for what
arrays and random generators make, ``wide_classes``, ``wide_libraries`` and
``wide_results`` for what their names say.
"""

import functools

import numpy as np
from wasm_guest import wide_classes, wide_methods
from wasm_guest.float_errors import change_implementation
from wasm_guest.integer_width import (
    all_widened,
    array_of,
    is_for_library,
    is_of_python,
    wide_sum,
    widened,
    with_wide_type,
)
from wasm_guest.wide_methods import SUMS, finding

# What makes arrays of numbers that are given one by one.
_MAKERS = (
    *("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "copy", "full"),
    *("zeros_like", "ones_like", "empty_like"),
)
_RANGES = ("arange", "indices")
# What finds and counts.
_FINDERS = (
    *("argmax", "argmin", "argsort", "argpartition", "argwhere", "nanargmax", "nanargmin"),
    *("nonzero", "flatnonzero", "searchsorted", "digitize", "bincount", "count_nonzero", "lexsort"),
    *("histogram", "unravel_index", "ravel_multi_index", "diag_indices", "triu_indices"),
    *("tril_indices", "triu_indices_from", "tril_indices_from", "diag_indices_from"),
    "mask_indices",
)
# What is given a type, if anything.
_TYPED = (
    *("zeros", "ones", "empty", "eye", "identity", "tri", "linspace", "logspace", "geomspace"),
    *("full_like", "fromiter", "fromfunction", "frombuffer", "fromfile", "fromstring", "loadtxt"),
    "genfromtxt",
)
# What adds up or combines the numbers of a list, and how many arguments are such.
_REDUCERS = {
    **dict.fromkeys((*SUMS, "diff", "ediff1d", "trace", "vander", "polyder", "ptp", "round"), 1),
    **dict.fromkeys(("nansum", "nanprod", "nancumsum", "nancumprod", "around"), 1),
    **dict.fromkeys(("dot", "outer", "cross", "inner", "vdot", "kron", "tensordot"), 2),
    **dict.fromkeys(("convolve", "correlate", "polyval", "polyadd", "polysub", "polymul"), 2),
    **dict.fromkeys(("intersect1d", "union1d", "setdiff1d", "setxor1d"), 2),
    **dict.fromkeys(("einsum", "meshgrid", "ix_", "broadcast_arrays"), None),
}
_KEEPERS = (
    *("unique", "sort", "concatenate", "append", "insert", "tile", "repeat", "reshape", "stack"),
    *("vstack", "hstack", "column_stack", "flip", "roll", "ravel", "transpose", "max", "min"),
    *("tril", "triu", "pad", "broadcast_to", "split", "array_split", "hsplit", "take", "delete"),
    *("atleast_1d", "atleast_2d", "atleast_3d", "squeeze", "expand_dims", "swapaxes", "moveaxis"),
    *("rot90", "fliplr", "flipud", "block", "dstack", "diag", "diagonal", "diagflat", "partition"),
    *("resize", "nan_to_num", "clip", "nanmax", "nanmin", "asmatrix", "rollaxis"),
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
            _replace(np, name, wider)
    _replace(np.linalg, "matrix_power", _reducing)
    _replace(np, "where", _where)
    _replace(np, "select", _select)
    _replace(np, "issubdtype", _issubdtype)
    wide_classes.install()
    wide_methods.install()


def _replace(module, name, wider):
    function = getattr(module, name)
    if hasattr(function, "_implementation"):
        change_implementation(function, wider(function._implementation))
    else:
        setattr(module, name, wider(function))


def _first(args, kwargs):
    """What an array is made of, by whatever name."""
    if args:
        return args[0]
    return next((kwargs[name] for name in ("object", "a", "fill_value") if name in kwargs), None)


def _has_type(args, kwargs):
    return kwargs.get("dtype") is not None or (len(args) > 1 and args[1] is not None)


def _making(plain):
    @functools.wraps(plain)
    def make(*args, **kwargs):
        if is_for_library():
            return plain(*args, **kwargs)
        args, kwargs = _with_type_of_full(plain, *with_wide_type(args, kwargs))
        result = plain(*args, **kwargs)
        if not _has_type(args, kwargs) and is_of_python(_first(args, kwargs)):
            return widened(result)
        return result

    return make


def _with_type_of_full(plain, args, kwargs):
    """``full`` has its numbers where the others have the type."""
    if plain.__name__ == "full" and kwargs.get("dtype") is None:
        if len(args) == 2:
            return (args[0], array_of(args[1])), kwargs
        if "fill_value" in kwargs:
            kwargs["fill_value"] = array_of(kwargs["fill_value"])
    return args, kwargs


def _keeping(plain):
    is_range = plain.__name__ == "arange"

    @functools.wraps(plain)
    def keep(*args, **kwargs):
        if is_for_library():
            return plain(*args, **kwargs)
        args, kwargs = with_wide_type(args, kwargs)
        has_type = kwargs.get("dtype") is not None or len(args) > 3
        if is_range and not has_type and all(type(value) is int for value in args):
            # At once: a long one should not need the memory of a short one as well.
            kwargs["dtype"] = np.int64
        result = plain(*args, **kwargs)
        return result if has_type else widened(result)

    return keep


def _typed(plain):
    @functools.wraps(plain)
    def make(*args, **kwargs):
        if not is_for_library():
            args, kwargs = with_wide_type(args, kwargs)
        return plain(*args, **kwargs)

    return make


def _reducing(plain):
    is_sum = plain.__name__ in SUMS
    # What comes after these is an axis, or how often.
    count = _REDUCERS.get(plain.__name__, 1)

    @functools.wraps(plain)
    def reduce(*args, **kwargs):
        if is_for_library():
            return plain(*args, **kwargs)
        args, kwargs = with_wide_type(args, kwargs)
        if count is None:
            args = tuple(map(array_of, args))
        else:
            args = (*map(array_of, args[:count]), *args[count:])
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
            first = widened(result[0]) if is_of_python(args[0]) else result[0]
            return type(result)((first, *map(widened, result[1:])))
        if not is_of_python(args[0]):
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
                args = (args[0], *map(array_of, args[1:]))
        result = plain(*args, **kwargs)
        if len(args) == 1 and not is_for_library():
            return all_widened(result)
        return result

    return where


def _select(plain):
    @functools.wraps(plain)
    def select(condlist, choicelist, default=0):
        if not is_for_library():
            choicelist = [array_of(choice) for choice in choicelist]
        return plain(condlist, choicelist, default)

    return select


def _issubdtype(plain):
    @functools.wraps(plain)
    def issubdtype(arg1, arg2):
        return plain(arg1, arg2) or (arg2 is int and plain(arg1, np.int64))

    return issubdtype
