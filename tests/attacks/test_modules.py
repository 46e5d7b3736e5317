"""Attacks by a module that somebody else gave: other types, other memories, growth beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
import wasmtime

import wasm_kernel.host.guest as guest_module
from wasm_kernel import ExecutionPolicy, SandboxResult, create_sandbox
from wasm_kernel.core.errors import InvalidRuntimeError, SandboxExecutionError

MEMORY = '(memory (export "memory") 2)'
ALLOCATE = '(func (export "host_alloc") (param i32) (result i32) (i32.const 1024))'
TURN = '(func (export "turn") (param i32 i32) (result i32) (i32.const 0))'
START = '(func (export "_start"))'
EXIT = '(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))'


def run_module(folder: Path, text: str) -> SandboxResult:
    """Run a module as if it were a Python."""
    binary = folder / "module.wasm"
    binary.write_bytes(wasmtime.wat2wasm(f"(module {text})"))
    policy = ExecutionPolicy(timeout_seconds=20)
    return create_sandbox(
        policy=policy, workspace=folder / "workspace", wasm_binary_path=binary
    ).execute("pass")


OTHER_TYPES = {
    "turn takes floats": f'{MEMORY} {ALLOCATE} (func (export "turn") (param f64 f64))',
    "turn takes three": (
        f'{MEMORY} {ALLOCATE} (func (export "turn") (param i32 i32 i32) (result i32) i32.const 0)'
    ),
    "turn takes a reference": f'{MEMORY} {ALLOCATE} (func (export "turn") (param externref))',
    "the allocator answers 64 bits": (
        f'{MEMORY} (func (export "host_alloc") (param i32) (result i64) (i64.const -1)) {TURN}'
    ),
    "the memory is a number": f'(global (export "memory") i32 (i32.const 0)) {START}',
    "the memory is a function": f'(func (export "memory")) {START}',
    "the memory has 64 bits": f'(memory (export "memory") i64 2) {START}',
    "the start is a table": f'{MEMORY} (table (export "_start") 1 funcref)',
    "the start takes a number": f'{MEMORY} (func (export "_start") (param i32))',
}


@pytest.mark.parametrize("how", OTHER_TYPES)
def test_exports_of_other_types_are_refused(tmp_path: Path, how: str) -> None:
    with pytest.raises(InvalidRuntimeError, match="not a Python we can run: it needs the exports"):
        run_module(tmp_path, OTHER_TYPES[how])


def test_imports_of_other_types_are_refused(tmp_path: Path) -> None:
    imported = '(import "wasi_snapshot_preview1" "fd_write" (func (param i64)))'
    with pytest.raises(InvalidRuntimeError, match="import"):
        run_module(tmp_path, f"{imported} {MEMORY} {START}")


def test_control_a_module_that_does_nothing_runs(tmp_path: Path) -> None:
    assert run_module(tmp_path, f"{MEMORY} {START}").success


def test_code_that_runs_at_the_instantiation_has_no_fuel(tmp_path: Path) -> None:
    with pytest.raises(InvalidRuntimeError, match="it has a start function"):
        run_module(tmp_path, f"{MEMORY} {START} (func $s (loop (br 0))) (start $s)")


def test_many_memories_are_no_way_around_the_limit(tmp_path: Path) -> None:
    with pytest.raises(SandboxExecutionError, match="memory count too high"):
        run_module(tmp_path, f"{MEMORY} {START} {'(memory 1)' * 20}")


GROW_TABLE = f"""{EXIT} {MEMORY} (table $t 1 funcref)
  (func (export "_start")
    (call $exit (i32.ne (i32.const -1)
      (table.grow $t (ref.null func) (i32.const 2000000)))))"""


def test_a_table_grows_so_far_and_no_farther(tmp_path: Path) -> None:
    assert run_module(tmp_path, GROW_TABLE).exit_code == 0


def test_control_a_table_without_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest_module, "_TABLE_ELEMENTS_MAX", 1 << 22)
    assert run_module(tmp_path, GROW_TABLE).exit_code == 1
