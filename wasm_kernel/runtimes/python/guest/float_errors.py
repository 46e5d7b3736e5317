"""NumPy's floating-point warnings, which it cannot give by itself: WebAssembly has no status flags.

What the flags would say is read from the results: ``nan`` of numbers, and ``inf`` of finite ones.
NumPy's operators call its functions from C, so the functions themselves have to come by here.
Those that may fail lose their quick way of being called, and what is left is ``__call__``: ours.
This is written into NumPy's objects where they lie in memory, and each place is checked beforehand.
"""

import math
import operator
import types
import warnings

import numpy as np
from wasm_guest.integer_width import array_of, is_for_library

# For a function that has poles which of its arguments lies on one, and where they are.
_POLES = {
    "divide": (1, lambda value: value == 0),
    **dict.fromkeys(("power", "float_power"), (0, lambda value: value == 0)),
    **dict.fromkeys(("reciprocal", "log", "log2", "log10"), (0, lambda value: value == 0)),
    "log1p": (0, lambda value: value == -1),
    "arctanh": (0, lambda value: np.abs(value) == 1),
}
# Sums and products are left as quick as they are: they seldom fail before something else has.
# What NumPy warns of itself (integers // 0) must be called by the line that it is to blame.
_WATCHED = (
    *_POLES,
    *("sqrt", "exp", "exp2", "expm1", "sinh", "cosh", "sin", "cos", "tan"),
    *("arcsin", "arccos", "arccosh"),
)
_TEXTS = {
    "divide": ("divide by zero", 1),
    "over": ("overflow", 2),
    "invalid": ("invalid value", 8),
}

# Where CPython and NumPy keep what is changed, in words of four bytes.
_TYPE_OFFSET_OF_CALL, _TYPE_FLAGS, _TYPE_WORDS = 7, 21, 22
_IS_IMMUTABLE, _HAS_QUICK_CALL = 1 << 8, 1 << 11
_HEAD_WORDS = 2

_copies = {}
"""For each function that is watched one that is called as before, on plain arrays and numbers."""
_quick_calls = {}
"""For each of them the word that says how it was called, and what that was."""
_kept = []
"""What lies in NumPy's memory without being counted there, or may be in use still."""
_numbers = {np.dtype(code).type for code in "?bhilqBHILQefdgFDG"}
_plain_types = frozenset({np.ndarray, bool, int, float, complex, list, tuple, *_numbers})
_plain_call = np.ufunc.__call__
_sum = np.add.reduce


def install():
    """Watch NumPy's functions and the division of its numbers."""
    if _copies:
        return
    _watch_functions()
    for kind in sorted({np.dtype(code).type for code in "bhilqBHILQefd"}, key=str):
        _watch_division(kind)


def _words(owner, count):
    """Some words of an object's memory, which can be written."""
    place = types.SimpleNamespace(
        __array_interface__={
            "data": (id(owner), False),
            "shape": (count,),
            "typestr": "<u4",
            "version": 3,
        }
    )
    return np.asarray(place)


def change_type(kind, names):
    """Set attributes of a type that Python takes for unchangeable."""
    words = _words(kind, _TYPE_WORDS)
    flags = kind.__flags__
    if words[_TYPE_FLAGS] != flags or not flags & _IS_IMMUTABLE:
        raise RuntimeError(f"{kind.__name__} does not lie in memory as it should")
    words[_TYPE_FLAGS] = flags & ~_IS_IMMUTABLE
    try:
        for name, value in names.items():
            setattr(kind, name, value)
    finally:
        words[_TYPE_FLAGS] = flags


def change_implementation(function, implementation):
    """Let a function of NumPy's do something else, and stay what it is.

    Whoever overrides NumPy's functions for a class of their own is given the function, and looks
    it up among those that they know.
    """
    plain = function._implementation
    words = _words(function, type(function).__basicsize__ // 4)
    places = [place for place, word in enumerate(words.tolist()) if word == id(plain)]
    if len(places) != 1:
        raise RuntimeError(f"{plain.__name__} does not lie in memory as it should")
    _kept.extend((plain, implementation))
    words[places[0]] = id(implementation)


def _watch_functions():
    kind = np.ufunc
    size = kind.__basicsize__ // 4
    place = int(_words(kind, _TYPE_WORDS)[_TYPE_OFFSET_OF_CALL]) // 4
    functions = {name: getattr(np, name) for name in _WATCHED}
    usual = {int(_words(function, size)[place]) for function in functions.values()}
    if not kind.__flags__ & _HAS_QUICK_CALL or not _HEAD_WORDS < place < size or len(usual) != 1:
        raise RuntimeError("NumPy's functions do not lie in memory as they should")
    for function in functions.values():
        words = _words(function, size)
        copy = np.frompyfunc(operator.pos, function.nin, function.nout)
        # All but the count of references and the type.
        _words(copy, size)[_HEAD_WORDS:] = words[_HEAD_WORDS:]
        _copies[function] = copy
    change_type(kind, {"__call__": _call})
    for function in functions.values():
        words = _words(function, size)
        _quick_calls[function] = (words[place : place + 1], int(words[place]))
        words[place] = 0


def _call(self, /, *args, **kwargs):
    """Call self as a function."""
    copy = _copies.get(self)
    if copy is None:
        return _plain_call(self, *args, **kwargs)
    if self is np.power and not is_for_library():
        args = (*map(array_of, args[:2]), *args[2:])
    for value in args:
        if type(value) not in _plain_types:
            break
    else:
        if not kwargs or type(kwargs.get("out")) in (np.ndarray, type(None)):
            result = copy(*args, **kwargs)
            kind = type(result)
            if kind is np.ndarray:
                # One pass instead of two; what is finite may overflow here, and is told apart.
                if result.dtype.kind == "f" and not math.isfinite(_sum(result, axis=None)):
                    _tell(self, args, kwargs, result)
            elif kind is np.float64 or isinstance(result, np.floating):
                if not math.isfinite(result):
                    _tell(self, args, kwargs, result)
            return result
    # A subclass, or what has its own idea of the function, must be given the function itself.
    word, usual = _quick_calls[self]
    word[0] = usual
    try:
        result = _plain_call(self, *args, **kwargs)
    finally:
        word[0] = 0
    if isinstance(result, np.ndarray) and not isinstance(result, np.ma.MaskedArray):
        values = np.asarray(result)
        if values.dtype.kind == "f" and not math.isfinite(_sum(values, axis=None)):
            _tell(self, args, kwargs, values)
    return result


def _tell(function, args, kwargs, result):
    """Say what went wrong, if somebody wants to know it."""
    modes = np.geterr()
    if modes["divide"] == modes["over"] == modes["invalid"] == "ignore":
        return
    inputs = [_as_array(value) for value in args[: function.nin]]
    out = kwargs.get("out", args[function.nin :])
    targets = [place for place in (out if isinstance(out, tuple) else (out,)) if place is not None]
    is_lost = [any(np.may_share_memory(value, place) for place in targets) for value in inputs]
    for fault in _faults(function.__name__, inputs, is_lost, result, kwargs.get("where", True)):
        _report(fault, function.__name__, modes)


def _as_array(value):
    # An integer of Python may be too long for any of NumPy's, and was taken as a float.
    return np.asarray(float(value) if type(value) is int else value)


def _faults(name, inputs, is_lost, result, where):
    """The kinds of faults that made a result what it is, in NumPy's order.

    Of an input that is lost, since the result was written over it, nothing is known.
    """
    if any(value.dtype.kind not in "biuf" for value in inputs):
        return []
    nan, inf = np.isnan(result), np.isinf(result)
    if result.dtype == np.float16:
        # Of what is too large for these NumPy has said so itself.
        inf = inf & (name in _POLES)
    if where is not True:
        nan, inf = nan & where, inf & where
    pole = np.False_
    if name in _POLES:
        place, is_pole = _POLES[name]
        pole = pole if is_lost[place] else is_pole(inputs[place])
    if any(is_lost):
        found = {"divide": inf & pole, "over": False, "invalid": nan & pole}
    else:
        was_nan, was_finite = np.False_, np.True_
        for value in inputs:
            was_nan = was_nan | np.isnan(value)
            was_finite = was_finite & np.isfinite(value)
        inf = inf & was_finite
        found = {
            "divide": inf & pole,
            "over": inf & np.logical_not(pole),
            "invalid": nan & np.logical_not(was_nan),
        }
    return [fault for fault, places in found.items() if np.any(places)]


def _report(fault, name, modes):
    mode = modes[fault]
    kind, flag = _TEXTS[fault]
    text = f"{kind} encountered in {name}"
    if mode == "warn":
        warnings.warn(text, RuntimeWarning, stacklevel=4)
    elif mode == "raise":
        raise FloatingPointError(text)
    elif mode == "print":
        print(f"Warning: {text}")
    elif mode == "call":
        np.geterrcall()(kind, flag)
    elif mode == "log":
        np.geterrcall().write(f"Warning: {text}\n")


def tell_cast(values, result):
    """Say that numbers became integers that have none for them, and let those be the usual ones."""
    if values.dtype.kind != "f" or result.dtype.kind not in "iu":
        return
    if math.isfinite(_sum(values, axis=None)):
        return
    is_finite = np.isfinite(values)
    if not is_finite.all():
        if result.dtype.kind == "i" and result.itemsize >= 4:
            result[~is_finite] = np.iinfo(result.dtype).min
        _report("invalid", "cast", np.geterr())


def _watch_division(kind):
    divide, divided = kind.__truediv__, kind.__rtruediv__

    def __truediv__(self, value, /):
        """Return self/value."""
        try:
            result = divide(self, value)
        except OverflowError:
            # Integers of the machine have 32 bits, and would have 64 elsewhere.
            result = np.float64(self) / value
        if isinstance(result, np.floating) and not math.isfinite(result):
            _tell_division(self, value, result)
        return result

    def __rtruediv__(self, value, /):
        """Return value/self."""
        try:
            result = divided(self, value)
        except OverflowError:
            result = value / np.float64(self)
        if isinstance(result, np.floating) and not math.isfinite(result):
            _tell_division(value, self, result)
        return result

    change_type(kind, {"__truediv__": __truediv__, "__rtruediv__": __rtruediv__})


def _tell_division(one, other, result):
    modes = np.geterr()
    inputs = [_as_array(one), _as_array(other)]
    for fault in _faults("divide", inputs, [False, False], result, True):
        _report(fault, "scalar divide", modes)
