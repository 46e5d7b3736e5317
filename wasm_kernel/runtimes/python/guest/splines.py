"""SciPy's ``bisplrep``, whose compiled part takes the bytes of any numbers for those of floats."""

import functools

import numpy as np


def install(module):
    """Hand floats to it, as SciPy's other splines do."""
    compiled = module._fitpack
    plain = compiled.surfit

    @functools.wraps(plain)
    def surfit(*args):
        return plain(*map(_as_floats, args))

    compiled.surfit = surfit


def _as_floats(value):
    return np.ascontiguousarray(value, float) if isinstance(value, np.ndarray) else value
