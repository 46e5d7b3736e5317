"""64-bit integers for the user's code, where NumPy's own classes make them: matrices, grids."""

import functools

import numpy as np
from wasm_guest.integer_width import (
    NARROW,
    all_widened,
    array_of,
    is_for_library,
    is_of_python,
    widened,
    with_wide_type,
)


def install():
    """Widen what is made by a class."""
    _widen_grids()
    _widen_classes()


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


def _widen_classes():
    """What is made by calling a class of NumPy's own Python."""
    masked = np.ma.MaskedArray
    np.matrix.__new__ = _new(np.matrix.__new__)
    masked.__new__ = _new(masked.__new__)
    for name in ("array", "asarray", "asanyarray", "arange", "masked_equal", "masked_where"):
        setattr(np.ma, name, _made_masked(getattr(np.ma, name)))
    core, plain = np.ma.core, np.ma.core._check_fill_value

    @functools.wraps(plain)
    def check_fill_value(fill_value, ndtype):
        value = plain(fill_value, ndtype)
        # The one for all integers is as wide as Python's are.
        return widened(value) if fill_value is None else value

    core._check_fill_value = check_fill_value
    start = np.poly1d.__init__

    @functools.wraps(start)
    def __init__(self, c_or_r, *args, **kwargs):
        start(self, c_or_r if is_for_library() else array_of(c_or_r), *args, **kwargs)

    np.poly1d.__init__ = __init__


def _new(plain):
    @functools.wraps(plain)
    def __new__(cls, data=None, *args, **kwargs):
        if is_for_library():
            return plain(cls, data, *args, **kwargs)
        if type(data) is str:
            # The rows of a matrix.
            return all_widened(plain(cls, data, *args, **kwargs))
        return plain(cls, array_of(data), *with_wide_type((data, *args), kwargs)[0][1:], **kwargs)

    return __new__


def _made_masked(plain):
    @functools.wraps(plain)
    def make(*args, **kwargs):
        if is_for_library():
            return plain(*args, **kwargs)
        args, kwargs = with_wide_type(args, kwargs)
        result = plain(*args, **kwargs)
        if kwargs.get("dtype") is None and any(map(is_of_python, args)):
            return widened(result)
        return result

    return make


def _grid(plain):
    @functools.wraps(plain)
    def item(self, key):
        result = plain(self, key)
        if is_for_library():
            return result
        return all_widened(result)

    return item
