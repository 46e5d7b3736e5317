"""The calls of WASI: their names, numbers and parameters, and which of them the host answers.

What the host answers is put in front of Wasmtime's own functions, which the guard then calls
through the relay: a tiny module that imports them and re-exports the guest's memory, because
Wasmtime looks for the memory in the calling instance and a host function has none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import wasmtime

from wasm_kernel.host import calls
from wasm_kernel.host.calls import I32, I64
from wasm_kernel.host.engine import small_module
from wasm_kernel.host.watch import current

if TYPE_CHECKING:
    from wasm_kernel.host.guest import Guest

WASI = "wasi_snapshot_preview1"

SUCCESS, ACCES, BADF, DQUOT, EXIST, FAULT, INTR, INVAL, IO = 0, 2, 8, 19, 20, 21, 27, 28, 29
LOOP, MFILE, MLINK, NAMETOOLONG, NOENT, NOTDIR, NOTSUP, NXIO = 32, 33, 34, 37, 44, 54, 58, 60

_RELAYED: dict[str, list[str]] = {
    "clock_time_get": [I32, I64, I32],
    "fd_allocate": [I32, I64, I64],
    "fd_close": [I32],
    "fd_seek": [I32, I64, I32, I32],
    "fd_tell": [I32, I32],
    "fd_filestat_get": [I32, I32],
    "fd_filestat_set_size": [I32, I64],
    "fd_filestat_set_times": [I32, I64, I64, I32],
    "fd_pwrite": [I32, I32, I32, I64, I32],
    "fd_readdir": [I32, I32, I32, I64, I32],
    "fd_write": [I32, I32, I32, I32],
    "path_create_directory": [I32, I32, I32],
    "path_filestat_get": [I32, I32, I32, I32, I32],
    "path_filestat_set_times": [I32, I32, I32, I32, I64, I64, I32],
    "path_open": [I32, I32, I32, I32, I32, I64, I64, I32, I32],
    "path_remove_directory": [I32, I32, I32],
    "path_rename": [I32, I32, I32, I32, I32, I32],
    "path_unlink_file": [I32, I32, I32],
    "random_get": [I32, I32],
}
_VIRTUAL = {
    "clock_time_get",
    "fd_filestat_get",
    "random_get",
}
"""Answered by the host for a deterministic guest alone."""
_ONLY_RELAYED = {"fd_seek", "fd_tell", *_VIRTUAL}
_ANSWERED: dict[str, list[str]] = {
    **{name: kinds for name, kinds in _RELAYED.items() if name not in _ONLY_RELAYED},
    "fd_renumber": [I32, I32],
    "path_link": [I32, I32, I32, I32, I32, I32, I32],
    "path_symlink": [I32, I32, I32, I32, I32],
    "poll_oneoff": [I32, I32, I32, I32],
    "sock_accept": [I32, I32, I32],
    "sock_recv": [I32, I32, I32, I32, I32, I32],
    "sock_send": [I32, I32, I32, I32, I32],
    "sock_shutdown": [I32, I32],
}


class Name(NamedTuple):
    """Where a call has a name among its parameters: the folder, and the text with its length."""

    folder: int
    text: int


NAMES: dict[str, tuple[Name, ...]] = {
    "path_create_directory": (Name(0, 1),),
    "path_filestat_get": (Name(0, 2),),
    "path_filestat_set_times": (Name(0, 2),),
    "path_open": (Name(0, 2),),
    "path_remove_directory": (Name(0, 1),),
    "path_rename": (Name(0, 1), Name(3, 4)),
    "path_unlink_file": (Name(0, 1),),
}


class WasiFailure(Exception):
    """A WASI call is answered with this error number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def define(linker: wasmtime.Linker, *, virtual: bool) -> None:
    """Put the functions of this module in front of Wasmtime's WASI in a linker."""
    linker.define_wasi()
    linker.allow_shadowing = True
    names = dict(_ANSWERED)
    if virtual:
        names |= {name: _RELAYED[name] for name in _VIRTUAL}
    for name, parameters in names.items():
        calls.define(linker, WASI, name, parameters, _answer(name))


def _answer(name: str) -> Callable[..., int]:
    """The host function for one WASI name; it never raises, whatever the guest passes."""
    folders = [place.folder for place in NAMES.get(name, ())]

    def answer(*arguments: int) -> int:
        guest: Guest = current.guest
        try:
            for place in folders:
                if arguments[place] in guest.wasi.second_names:
                    return guest.call_by_second_name(name, arguments)
            number: int = getattr(guest.wasi, name)(*arguments)
        except WasiFailure as failure:
            return failure.number
        except IndexError:
            return FAULT
        except BaseException as error:  # whatever leaves a callback is lost, and the guest goes on
            guest.note_failure(error)
            return IO
        return number

    return answer


@functools.cache
def relay_module() -> wasmtime.Module:
    """The relay to Wasmtime's own functions."""
    imports, exports = [], []
    for name, parameters in _RELAYED.items():
        signature = f"(param {' '.join(parameters)}) (result i32)"
        imports.append(f'(import "{WASI}" "{name}" (func ${name} {signature}))')
        passed = " ".join(f"(local.get {index})" for index in range(len(parameters)))
        exports.append(f'(func (export "{name}") {signature} (call ${name} {passed}))')
    memory = '(import "guest" "memory" (memory 0)) (export "memory" (memory 0))'
    return small_module(f"(module {' '.join(imports)} {memory} {' '.join(exports)})")


def unsigned(number: int) -> int:
    """A 32-bit parameter as the guest meant it: calls hand over signed numbers."""
    return number & 0xFFFFFFFF
