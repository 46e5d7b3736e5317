"""A compiled module and what it is: a Python that takes turns, or one that runs one script."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

import wasmtime

from wasm_kernel.core.data import dataclass, field
from wasm_kernel.core.errors import InvalidRuntimeError
from wasm_kernel.host import calls, wasi_abi
from wasm_kernel.host.engine import load_module, shared_engine
from wasm_kernel.host.watch import current

if TYPE_CHECKING:
    from wasm_kernel.host.guest import Guest

DOOR_FAULT = -2
"""What ``host.call`` answers where the call itself was wrong."""

_MEMORY = "memory"
_REACTOR_EXPORTS = {
    "memory": _MEMORY,
    "turn": "i32, i32 -> i32",
    "host_alloc": "i32 -> i32",
}
_COMMAND_EXPORTS = {"memory": _MEMORY, "_start": "->"}


@dataclass(frozen=True)
class Program:
    """A compiled module and what it is: a reactor that takes turns, or a command."""

    path: Path
    module: wasmtime.Module = field(repr=False)
    is_reactor: bool

    @classmethod
    def load(cls, path: Path) -> Program:
        """The program of a ``.wasm`` file that was compiled before."""
        return cls.of(path, load_module(path))

    @classmethod
    def of(cls, path: Path, module: wasmtime.Module) -> Program:
        """Tell a reactor from a command by what the module exports."""
        return _program(path, module)

    def linked(self, *, virtual: bool) -> wasmtime.InstancePre:
        """The module with its imports resolved, ready to be instantiated many times."""
        return _linked(self.module, virtual)


@functools.lru_cache(maxsize=8)
def _program(path: Path, module: wasmtime.Module) -> Program:
    # Their types as well: they are called without any further check.
    exports = {export.name: _kind(export.type) for export in module.exports}.items()
    if exports >= _REACTOR_EXPORTS.items():
        return Program(path, module, is_reactor=True)
    if exports >= _COMMAND_EXPORTS.items():
        return Program(path, module, is_reactor=False)
    raise InvalidRuntimeError(
        f"{path} is a WebAssembly module, but not a Python we can run: it needs the exports "
        f"{_listed(_REACTOR_EXPORTS)}; or {_listed(_COMMAND_EXPORTS)}"
    )


def _kind(found: object) -> str:
    """What an export is, as far as we use it."""
    if isinstance(found, wasmtime.FuncType):
        parameters, results = (", ".join(map(str, side)) for side in (found.params, found.results))
        return f"{parameters} -> {results}".strip()
    if isinstance(found, wasmtime.MemoryType) and not found.is_64 and not found.is_shared:
        return _MEMORY
    return "something else"


def _listed(exports: dict[str, str]) -> str:
    return ", ".join(
        name if kind == _MEMORY else f"{name} ({kind})" for name, kind in sorted(exports.items())
    )


@functools.lru_cache(maxsize=8)
def _linked(module: wasmtime.Module, virtual: bool) -> wasmtime.InstancePre:
    linker = wasmtime.Linker(shared_engine())
    wasi_abi.define(linker, virtual=virtual)
    calls.define(linker, "host", "call", [calls.I32] * 4, _host_call)
    try:
        return linker.instantiate_pre(module)
    except wasmtime.WasmtimeError as error:
        raise InvalidRuntimeError(f"the module needs an import we do not have: {error}") from error


def _host_call(pointer: int, length: int, out_pointer: int, out_length: int) -> int:
    guest: Guest = current.guest
    try:
        return guest.answer_door(
            wasi_abi.unsigned(pointer),
            wasi_abi.unsigned(length),
            wasi_abi.unsigned(out_pointer),
            wasi_abi.unsigned(out_length),
        )
    except IndexError:
        return DOOR_FAULT
    except BaseException as error:  # whatever leaves a callback is lost, and the guest goes on
        guest.note_failure(error)
        return DOOR_FAULT
