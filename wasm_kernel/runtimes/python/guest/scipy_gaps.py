"""What SciPy 1.18 cannot do any more, and the versions that notebooks were written for can."""

import functools

import numpy as np


def convert_surfaces(module):
    """The compiled part of ``bisplrep`` takes the bytes of any numbers for those of floats."""
    compiled = module._fitpack
    plain = compiled.surfit

    @functools.wraps(plain)
    def surfit(*args):
        return plain(*map(_as_floats, args))

    compiled.surfit = surfit


def _as_floats(value):
    return np.ascontiguousarray(value, float) if isinstance(value, np.ndarray) else value


def complete_operators(module):
    """An operator of one's own that does not call ``LinearOperator.__init__`` works on arrays."""
    module.LinearOperator._xp = module.np_compat
