"""What is there, what is not, and the command that mends it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wasm_kernel.core.errors import CacheError
from wasm_kernel.core.units import format_bytes
from wasm_kernel.host import cache
from wasm_kernel.host.engine import compiled_path, wasmtime_version
from wasm_kernel.host.mapped import MappedMemory, strategy
from wasm_kernel.runtimes.python import artifacts
from wasm_kernel.runtimes.python.bundle import bundle_folder
from wasm_kernel.runtimes.python.image import IMAGES, Layout, is_built

SETUP = "wasm-kernel setup"
_NEEDED_BYTES = 1_500_000_000


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's report."""

    what: str
    is_good: bool
    detail: str
    remedy: str | None = None


def examine(*, verify: bool = False) -> Iterator[Finding]:
    """Look at everything a cell needs, in the order in which it is made."""
    yield Finding("Python", True, f"{platform.python_version()} on {sys.platform}")
    yield Finding("wasmtime", True, wasmtime_version())
    try:
        root = cache.cache_root()
    except CacheError as error:
        yield Finding(
            "cache folder",
            False,
            str(error),
            f"mend that, or set {cache.ENV_CACHE_DIR} to another folder",
        )
        return
    free = shutil.disk_usage(root).free
    yield Finding("cache folder", True, f"{root} ({format_bytes(free)} free)")
    if not artifacts.is_fetched():
        if free < _NEEDED_BYTES:
            needed = format_bytes(_NEEDED_BYTES)
            yield Finding("disk", False, f"the set-up needs {needed}", "free some space")
        yield Finding("runtime", False, "CPython for WASI is not fetched yet", SETUP)
        return
    try:
        yield from _examine_runtime(verify)
    except CacheError as error:
        yield Finding("cache folder", False, str(error), f"then again: {SETUP}")


def _examine_runtime(verify: bool) -> Iterator[Finding]:
    binary = artifacts.default_binary()
    size = format_bytes(binary.stat().st_size)
    yield Finding("runtime", True, f"{binary} ({size})")
    compiled = compiled_path(cache.known_sha256(binary))
    if not cache.is_sealed(compiled):
        yield Finding("compiled module", False, _lacking(compiled, "compiled"), SETUP)
        return
    yield Finding("compiled module", True, format_bytes(compiled.stat().st_size))
    if not bundle_folder().is_dir():
        yield Finding("guest packages", False, "not collected yet", SETUP)
        return
    yield Finding("guest packages", True, bundle_folder().name)
    layout = Layout(binary)
    for name in IMAGES:
        built = is_built(layout, name)
        path = layout.path(name)
        detail = format_bytes(path.stat().st_size) if built else _lacking(path, "built")
        yield Finding(f"{name} image", built, detail, None if built else SETUP)
    mapped = strategy() is MappedMemory
    detail = "copy-on-write mappings" if mapped else "copies (no /proc/self/pagemap here: slower)"
    yield Finding("memory", True, detail)
    yield _examine_kernelspecs()
    if verify:
        for path in [compiled, *(layout.path(name) for name in IMAGES if is_built(layout, name))]:
            recorded = cache.read_json(cache.manifest_of(path)).get("sha256")
            good = recorded == cache.sha256_file(path)
            detail = "digest as sealed" if good else "damaged"
            remedy = None if good else f"rm '{path}' && {SETUP}"
            yield Finding(os.path.basename(path), good, detail, remedy)  # noqa: PTH119


def _lacking(path: Path, made: str) -> str:
    """Why a large file cannot be used: it is not there, or not as it was sealed."""
    if path.exists():
        return "damaged: not the file that was sealed"
    return f"not {made} for this machine yet"


def _examine_kernelspecs() -> Finding:
    from wasm_kernel.notebook import install

    names = ", ".join(sorted(install.ours()))
    if not names:
        return Finding("Jupyter kernel", False, "no kernelspec is installed", "wasm-kernel install")
    return Finding("Jupyter kernel", True, names)
