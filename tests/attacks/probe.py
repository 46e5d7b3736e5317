"""A tiny WebAssembly guest that calls any host function with any numbers."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from pathlib import Path

import wasmtime

from wasm_kernel.host.engine import shared_engine
from wasm_kernel.host.guest import Guest, GuestSettings, Mount, Outcome, Program
from wasm_kernel.host.journal import Journal, Quota
from wasm_kernel.host.streams import OutputStream
from wasm_kernel.host.workspace import Workspace
from wasm_kernel.runtimes.python.image import root_mount

DOOR = "call"
FUNCTIONS: dict[str, str] = {
    DOOR: "iiii",
    "args_get": "ii",
    "args_sizes_get": "ii",
    "environ_get": "ii",
    "environ_sizes_get": "ii",
    "clock_res_get": "ii",
    "clock_time_get": "iIi",
    "fd_advise": "iIIi",
    "fd_allocate": "iII",
    "fd_close": "i",
    "fd_datasync": "i",
    "fd_fdstat_get": "ii",
    "fd_fdstat_set_flags": "ii",
    "fd_fdstat_set_rights": "iII",
    "fd_filestat_get": "ii",
    "fd_filestat_set_size": "iI",
    "fd_filestat_set_times": "iIIi",
    "fd_pread": "iiiIi",
    "fd_prestat_get": "ii",
    "fd_prestat_dir_name": "iii",
    "fd_pwrite": "iiiIi",
    "fd_read": "iiii",
    "fd_readdir": "iiiIi",
    "fd_renumber": "ii",
    "fd_seek": "iIii",
    "fd_sync": "i",
    "fd_tell": "ii",
    "fd_write": "iiii",
    "path_create_directory": "iii",
    "path_filestat_get": "iiiii",
    "path_filestat_set_times": "iiiiIIi",
    "path_link": "iiiiiii",
    "path_open": "iiiiiIIii",
    "path_readlink": "iiiiii",
    "path_remove_directory": "iii",
    "path_rename": "iiiiii",
    "path_symlink": "iiiii",
    "path_unlink_file": "iii",
    "poll_oneoff": "iiii",
    "proc_raise": "i",
    "random_get": "ii",
    "sched_yield": "",
    "sock_accept": "iii",
    "sock_recv": "iiiiii",
    "sock_send": "iiiii",
    "sock_shutdown": "ii",
}
"""The host functions and their parameters: ``i`` for 32 bits, ``I`` for 64."""

_NUMBERS = {name: number for number, name in enumerate(FUNCTIONS)}
_REQUEST = 1024
_TYPES = {"i": "i32", "I": "i64"}

ALLOCATE = "(i32.const 1024)"
"""What ``host_alloc`` answers by default: where the requests of the host are put."""


@functools.cache
def probe_program(later_alloc: str = ALLOCATE) -> Program:
    """The program; ``later_alloc`` is what ``host_alloc`` does inside a call of the guest."""
    imports, calls = [], []
    for name, parameters in FUNCTIONS.items():
        module = "host" if name == DOOR else "wasi_snapshot_preview1"
        types = f"(param {' '.join(_TYPES[kind] for kind in parameters)})" if parameters else ""
        imports.append(f'(import "{module}" "{name}" (func ${name} {types} (result i32)))')
        loads = []
        for index, kind in enumerate(parameters):
            load = f"(i64.load offset={8 + 8 * index} (local.get $request))"
            loads.append(load if kind == "I" else f"(i32.wrap_i64 {load})")
        calls.append(
            f"(if (i32.eq (i32.load (local.get $request)) (i32.const {_NUMBERS[name]}))"
            f" (then (return (call ${name} {' '.join(loads)}))))"
        )
    text = f"""(module {" ".join(imports)}
      (memory (export "memory") 4 16)
      (global $inside (mut i32) (i32.const 0))
      (func (export "host_alloc") (param i32) (result i32)
        (if (global.get $inside) (then (return (block (result i32) {later_alloc}))))
        (i32.const {_REQUEST}))
      (func (export "turn") (param $request i32) (param i32) (result i32)
        (global.set $inside (i32.const 1))
        (call $dispatch (local.get $request))
        (global.set $inside (i32.const 0)))
      (func $dispatch (param $request i32) (result i32)
        {" ".join(calls)} (i32.const -99)))"""
    compiled = wasmtime.Module(shared_engine(), text)
    return Program.of(Path(f"probe-{abs(hash(later_alloc))}.wasm"), compiled)


class Probe:
    """A guest that does what it is told. Whoever makes it closes it."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        virtual: bool = False,
        later_alloc: str = ALLOCATE,
        door: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self.guest = Guest(
            probe_program(later_alloc),
            GuestSettings(
                mounts=(Mount(workspace.root, "/app", is_workspace=True), root_mount("/app")),
                memory_bytes=1 << 20,
                virtual=virtual,
            ),
            stdout=OutputStream(1000),
            stderr=OutputStream(1000),
            journal=Journal(workspace, Quota(1 << 20, 100)),
            door=door or (lambda request: b"answer"),
        )

    def call(self, name: str, *numbers: int) -> Outcome:
        """Call a host function from inside the guest."""
        words = [(number + (1 << 63)) % (1 << 64) - (1 << 63) for number in numbers]
        request = struct.pack(f"<I4x{len(words)}q", _NUMBERS[name], *words)
        return self.guest.turn(request, fuel=1_000_000, timeout=20)

    def __enter__(self) -> Probe:
        return self

    def __exit__(self, *_: object) -> None:
        self.guest.close()
