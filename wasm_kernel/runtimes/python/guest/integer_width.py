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


def is_for_library():
    """Whether the caller of the function that asks belongs to a library."""
    return sys._getframe(2).f_code.co_filename.startswith(_LIBRARIES)


def is_plain_integer(dtype):
    """Whether a type is ``int``, by whatever name."""
    return dtype is int or (type(dtype) is str and dtype == "int")


def widened(result):
    """The same numbers with 64 bits, if they have those of the machine."""
    if isinstance(result, np.ndarray):
        return result.astype(np.int64) if result.dtype.char == NARROW else result
    return np.int64(result) if type(result) is NARROW_TYPE else result


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
