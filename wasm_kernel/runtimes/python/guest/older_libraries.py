"""What notebooks of the year before expect of NumPy and networkx, and newer versions have not."""

import functools
import warnings

import numpy as np
from wasm_guest.float_errors import change_implementation


def complete_numpy(module):
    """Stacks of rows by their former name, and products of vectors in the plane."""

    def row_stack(tup, *, dtype=None, casting="same_kind"):
        """Stack rows on each other; ``np.vstack`` does the same."""
        _warn("row_stack was taken out of NumPy in 2.5; use np.vstack.", 3)
        return module.vstack(tup, dtype=dtype, casting=casting)

    row_stack.__module__ = "numpy"
    module.row_stack = row_stack
    change_implementation(module.cross, _cross(module.cross._implementation))


def _cross(plain):
    @functools.wraps(plain)
    def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
        if axis is not None:
            axisa = axisb = axisc = axis
        one, other = np.asarray(a), np.asarray(b)
        if one.ndim and other.ndim:
            sizes = one.shape[axisa], other.shape[axisb]
            if sizes in ((2, 2), (2, 3), (3, 2)):
                # Between this function and its caller is the one that widens its numbers.
                _warn("cross products in the plane were taken out of NumPy in 2.5.", 4)
                one, other = np.moveaxis(one, axisa, -1), np.moveaxis(other, axisb, -1)
                if sizes == (2, 2):
                    return one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0]
                return plain(_in_space(one), _in_space(other), axisc=axisc)
        return plain(a, b, axisa, axisb, axisc)

    return cross


def _in_space(vectors):
    missing = 3 - vectors.shape[-1]
    return np.pad(vectors, [(0, 0)] * (vectors.ndim - 1) + [(0, missing)])


def complete_networkx(module):
    """A graph whose maker has another name now."""
    module.random_lobster = module.random_lobster_graph


def _warn(text, level):
    warnings.warn(text, DeprecationWarning, stacklevel=level)
