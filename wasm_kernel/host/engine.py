"""The one Wasmtime engine of this process, and the cache of compiled modules.

Compiling CPython takes minutes, so it happens once per user, in a child process that a Ctrl-C
ends at once; the result is mapped from the cache in milliseconds.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import stat
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import wasmtime

from wasm_kernel.core.digests import name_of
from wasm_kernel.core.distributions import version_of
from wasm_kernel.core.errors import InvalidRuntimeError, RuntimeNotReadyError
from wasm_kernel.host import cache, interpreter

WASMTIME_MINIMUM = (50, 0, 1)
ENGINE_CONFIGURATION = "fuel-epoch-eh-speed-1"
"""Names every setting that changes generated code; part of a compiled module's key."""

WASM_STACK_BYTES = 2 * 1024 * 1024
"""Stack of guest code, the most Wasmtime takes without its async stacks being raised too.
CPython's own limit (128 KiB of shadow stack) is met long before."""

_WASM_MAGIC = b"\0asm\x01\0\0\0"

CompileProgress = Callable[[float], None]
"""Called about every half second with the seconds a compilation has taken."""


_engine_lock = threading.Lock()


def shared_engine() -> wasmtime.Engine:
    """The engine of this process; made when first asked for, by whichever thread that is."""
    with _engine_lock:
        return _make_engine()


@functools.cache
def _make_engine() -> wasmtime.Engine:
    version = tuple(int(part) for part in wasmtime_version().split(".")[:3])
    if version < WASMTIME_MINIMUM:
        wanted = ".".join(map(str, WASMTIME_MINIMUM))
        raise InvalidRuntimeError(
            f"wasmtime {wasmtime_version()} is too old; run: pip install 'wasmtime>={wanted},<51'"
        )
    config = wasmtime.Config()
    config.wasm_exceptions = True
    config.consume_fuel = True
    config.epoch_interruption = True
    config.cranelift_opt_level = "speed"
    config.max_wasm_stack = WASM_STACK_BYTES
    # Memory images are mapped over a linear memory, which therefore must never move.
    config.memory_may_move = False
    config.memory_reservation = 4 << 30
    return wasmtime.Engine(config)


@functools.cache
def wasmtime_version() -> str:
    """The installed wasmtime's version."""
    return version_of("wasmtime")


def module_key(digest: str) -> str:
    """What a compiled module depends on, as the name of its folder."""
    machine = f"{sys.platform}-{platform.machine()}".lower()
    return f"{digest[:24]}-wasmtime-{wasmtime_version()}-{ENGINE_CONFIGURATION}-{machine}"


def compiled_path(digest: str) -> Path:
    """Where the compiled module of a ``.wasm`` file with this digest lies."""
    folder = cache.private_folder(cache.cache_root() / "modules")
    return folder / f"{module_key(digest)}.cwasm"


def load_module(wasm: Path) -> wasmtime.Module:
    """The compiled module of ``wasm`` from the cache; raises if it was not compiled yet."""
    path = compiled_path(cache.known_sha256(wasm))
    if not cache.is_sealed(path):
        raise RuntimeNotReadyError(
            f"{wasm} is not compiled for this machine yet; run: wasm-kernel setup"
        )
    return _deserialize(path)


@functools.lru_cache(maxsize=8)
def _deserialize(path: Path) -> wasmtime.Module:
    try:
        return wasmtime.Module.deserialize_file(shared_engine(), str(path))
    except wasmtime.WasmtimeError as error:
        path.unlink(missing_ok=True)
        raise InvalidRuntimeError(
            f"the compiled module {path.name} does not fit this machine and was removed; "
            f"run: wasm-kernel setup ({_first_line(error)})"
        ) from error


def ensure_compiled(wasm: Path, progress: CompileProgress | None = None) -> wasmtime.Module:
    """The compiled module of ``wasm``, compiled now if need be; one process does the work."""
    check_wasm_header(wasm)
    digest = cache.known_sha256(wasm)
    path = compiled_path(digest)
    if not cache.is_sealed(path):
        with cache.locked(path.with_suffix(".lock")):
            if not cache.is_sealed(path):
                with cache.new_file(path) as temporary:
                    _compile_in_child(wasm, temporary, progress)
                cache.seal(path, source=digest)
    return _deserialize(path)


@functools.cache
def small_module(source: str) -> wasmtime.Module:
    """A module of our own, from its text; compiled once per user, like the large one.

    That takes longer than everything else a first cell does. A cache that cannot be written is no
    reason not to have the module.
    """
    path = compiled_path(name_of(source))
    if cache.is_sealed(path):
        return _deserialize(path)
    module = wasmtime.Module(shared_engine(), source)
    with contextlib.suppress(OSError), cache.locked(path.with_suffix(".lock")):
        if not cache.is_sealed(path):
            with cache.new_file(path) as temporary:
                temporary.write_bytes(module.serialize())
            cache.seal(path)
    return module


def check_wasm_header(wasm: Path) -> None:
    """Raise unless ``wasm`` can be read and looks like a WebAssembly module."""
    try:
        mode = wasm.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise InvalidRuntimeError(f"{wasm} is not a regular file")
        with wasm.open("rb") as file:
            header = file.read(len(_WASM_MAGIC))
    except FileNotFoundError:
        raise RuntimeNotReadyError(
            f"there is no WebAssembly module at {wasm}; run: wasm-kernel setup"
        ) from None
    except OSError as error:
        raise RuntimeNotReadyError(
            f"the WebAssembly module {wasm} cannot be read ({error.strerror}); "
            "check its permissions, or run: wasm-kernel setup"
        ) from error
    if header != _WASM_MAGIC:
        raise InvalidRuntimeError(f"{wasm} is not a WebAssembly module")


def _compile_in_child(wasm: Path, target: Path, progress: CompileProgress | None) -> None:
    import subprocess

    started = time.monotonic()
    # The child ends at the end of this pipe, and so with this process, however that ends: a module
    # that nobody waits for would cost minutes of all cores, beside the next kernel's.
    reader, writer = os.pipe()
    child = subprocess.Popen(
        interpreter.command("wasm_kernel.host.compile", str(wasm.absolute()), str(target)),
        cwd=target.parent,
        stdin=reader,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=interpreter.environment(),
    )
    try:
        while True:
            try:
                _, stderr = child.communicate(timeout=0.5)
                break
            except subprocess.TimeoutExpired:
                if progress is not None:
                    progress(time.monotonic() - started)
    except BaseException:
        child.kill()
        child.wait()
        raise
    finally:
        os.close(reader)
        os.close(writer)
    if child.returncode:
        reason = stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        raise InvalidRuntimeError(f"{wasm} could not be compiled: {reason[-1]}")


def compile_to(wasm: Path, target: Path) -> None:
    """Compile a module into a file; what the child process does."""
    try:
        module = wasmtime.Module.from_file(shared_engine(), str(wasm))
    except wasmtime.WasmtimeError as error:
        sys.exit(_first_line(error))
    target.write_bytes(module.serialize())


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines)[:300]
