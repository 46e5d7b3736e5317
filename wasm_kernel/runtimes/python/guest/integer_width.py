"""Who asks NumPy for integers, and how wide they are for whom: the rules of ``wide_integers``.

The guest is a 32-bit machine, and NumPy's own integers are as wide as the machine. The libraries
are compiled for it and go on with those; what a cell or a script asks NumPy for has 64 bits. Who
asks is told by the file of the calling code.
"""

import sys

import numpy as np

_LIBRARIES = "/usr/"
NARROW = "l"
"""The machine's integers, by NumPy's letter."""
NARROW_TYPE = np.dtype(NARROW).type
_WIDE_NAMES = {
    **dict.fromkeys(("int", "int_", "l"), np.int64),
    **dict.fromkeys(("uint", "L"), np.uint64),
}


def is_for_library():
    """Whether the caller of the function that asks belongs to a library."""
    return sys._getframe(2).f_code.co_filename.startswith(_LIBRARIES)


def is_plain_integer(dtype):
    """Whether a type is ``int``, by whatever name."""
    return dtype is int or (type(dtype) is str and dtype == "int")


def wide_type(dtype):
    """The type that is meant elsewhere by the same words, also where they name fields."""
    if dtype is int:
        return np.int64
    kind = type(dtype)
    if kind is str:
        return _WIDE_NAMES.get(dtype, dtype)
    if kind is list and dtype and all(map(_is_field, dtype)):
        return [(name, wide_type(of), *shape) for name, of, *shape in dtype]
    if kind is tuple and len(dtype) == 2 and dtype[0] is int:
        return np.int64, dtype[1]
    if kind is dict and "formats" in dtype:
        return {**dtype, "formats": list(map(wide_type, dtype["formats"]))}
    return dtype


def _is_field(value):
    return type(value) is tuple and 2 <= len(value) <= 3 and type(value[0]) in (str, tuple)


def with_wide_type(args, kwargs):
    """The arguments of a call, with ``int`` as a type of 64 bits."""
    if "dtype" in kwargs:
        kwargs["dtype"] = wide_type(kwargs["dtype"])
    if any(value is int or type(value) in _NAMES_OF_TYPES for value in args[1:]):
        args = (args[0], *map(wide_type, args[1:]))
    return args, kwargs


_NAMES_OF_TYPES = frozenset({str, list, tuple, dict})


def is_of_python(value):
    """Whether numbers are Python's own, and have no width of their own."""
    while type(value) in (list, tuple) and value:
        value = value[0]
    return type(value) in (int, range)


def widened(result):
    """The same numbers with 64 bits, if they have those of the machine."""
    if isinstance(result, np.ndarray):
        return result.astype(np.int64) if result.dtype.char == NARROW else result
    if type(result) is NARROW_TYPE:
        return np.int64(result)
    # A column or an index of pandas.
    is_narrow = getattr(getattr(result, "dtype", None), "char", None) == NARROW
    return result.astype(np.int64) if is_narrow else result


def array_of(value):
    """An array with wide integers of what is Python's; the value itself, if it is not."""
    return widened(_plain_array(value)) if is_of_python(value) else value


_plain_array = np.array


def all_widened(result):
    """The same for what may be several arrays."""
    if type(result) in (tuple, list):
        return type(result)(map(widened, result))
    return widened(result)


def wide_sum(array):
    """The type that the numbers of an array are added up in, where it is not the machine's."""
    kind = array.dtype
    if kind.itemsize > 4 or kind.kind not in "biu":
        return None
    return np.uint64 if kind.kind == "u" else np.int64
