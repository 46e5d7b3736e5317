"""Calls into and out of WebAssembly through the C API's raw values.

wasmtime-py asks for the type of a function at each call and wraps every number in an object: 50
microseconds, several times a cell. Here the types are known, so numbers are laid out as the
engine wants them. A function is only ever called with the parameters it declares: the C API does
not check them.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from operator import and_
from typing import Any

import wasmtime
from wasmtime import _ffi as ffi

I32, I64 = "i32", "i64"
_KINDS = {I32: wasmtime.ValType.i32, I64: wasmtime.ValType.i64}
_LAYOUT = {I32: "i12x", I64: "q8x"}
_UNSIGNED = {I32: ("I12x", 2**32 - 1), I64: ("Q8x", 2**64 - 1)}
_SLOT = 16

_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t
)
# The library's own bindings of these two insist on pointer types that take microseconds to make.
_define = ctypes.CDLL(ffi.dll._name).wasmtime_linker_define_func_unchecked
_define.restype = ctypes.POINTER(ffi.wasmtime_error_t)
_define.argtypes = [
    ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t,
    ctypes.c_void_p, _CALLBACK, ctypes.c_void_p, ctypes.c_void_p,
]  # fmt: skip
_call = ctypes.CDLL(ffi.dll._name).wasmtime_func_call_unchecked
_call.restype = ctypes.POINTER(ffi.wasmtime_error_t)
_call.argtypes = [
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p,
]  # fmt: skip

_kept: list[Any] = []
"""Callbacks live as long as the process: linkers are shared, and few are made."""


def function_type(parameters: list[str]) -> wasmtime.FuncType:
    """Some numbers in, one 32-bit number out."""
    return wasmtime.FuncType([_KINDS[kind]() for kind in parameters], [wasmtime.ValType.i32()])


def define(
    linker: wasmtime.Linker,
    module: str,
    name: str,
    parameters: list[str],
    function: Callable[..., int],
) -> None:
    """Put a host function into a linker; ``function`` must not raise."""
    layout = struct.Struct("<" + "".join(_LAYOUT[kind] for kind in parameters))
    slots = ctypes.c_char * max(layout.size, _SLOT)
    answer = struct.Struct("<i")

    def callback(_data: int, _caller: int, values: int, _count: int) -> int:
        raw = slots.from_address(values)
        answer.pack_into(raw, 0, function(*layout.unpack_from(raw)))
        return 0

    wrapped = _CALLBACK(callback)
    _kept.append(wrapped)
    kind = function_type(parameters)
    error = _define(
        ctypes.cast(linker.ptr(), ctypes.c_void_p),
        module.encode(), len(module.encode()), name.encode(), len(name.encode()),
        ctypes.cast(kind.ptr(), ctypes.c_void_p), wrapped, None, None,
    )  # fmt: skip
    if error:
        raise wasmtime.WasmtimeError._from_ptr(error)


class Export:
    """An exported function of one instance, ready to be called."""

    def __init__(self, store: wasmtime.Store, function: wasmtime.Func) -> None:
        kind = function.type(store)
        parameters = [str(parameter) for parameter in kind.params]
        self._layout = struct.Struct("<" + "".join(_UNSIGNED[name][0] for name in parameters))
        self._masks = [_UNSIGNED[name][1] for name in parameters]
        self._count = max(len(parameters), len(kind.results))
        self._has_result = bool(kind.results)
        self._store = store
        self._context = ctypes.cast(store._context(), ctypes.c_void_p)
        self._function = function._func
        self._address = ctypes.addressof(self._function)

    def __call__(self, *arguments: int) -> int | None:
        """Call it, with numbers cut to their size; raises what wasmtime-py raises."""
        # A call may come back here before it returns (an allocator, asked from a host function).
        raw = ctypes.create_string_buffer(self._count * _SLOT)
        self._layout.pack_into(raw, 0, *map(and_, arguments, self._masks))
        trap = ctypes.POINTER(ffi.wasm_trap_t)()
        error = _call(self._context, self._address, raw, self._count, ctypes.addressof(trap))
        if error:
            raise wasmtime.WasmtimeError._from_ptr(error)
        if trap:
            raise wasmtime.Trap._from_ptr(trap)
        return struct.unpack_from("<i", raw)[0] if self._has_result else None
