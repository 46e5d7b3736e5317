"""CPython in a sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wasm_kernel.runtimes.python.sandbox import PythonSandbox

__all__ = ["PythonSandbox"]


def __getattr__(name: str) -> Any:
    # A session uses these modules as well, and has no use for one-shot runs.
    if name != "PythonSandbox":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from wasm_kernel.runtimes.python.sandbox import PythonSandbox

    return PythonSandbox
