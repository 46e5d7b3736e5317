"""Run Python that nobody has read: a Jupyter kernel and a sandbox on Wasmtime."""

from __future__ import annotations

import contextlib
import gc
import importlib
from collections.abc import Iterator

TYPE_CHECKING = False  # a kernel starts with this module: it imports what Python has loaded by then
if TYPE_CHECKING:
    from typing import Any

    from wasm_kernel.core.base import BaseSandbox
    from wasm_kernel.core.errors import (
        CacheError,
        CheckpointError,
        DigestMismatchError,
        GuestProtocolError,
        InvalidRuntimeError,
        PolicyValidationError,
        RuntimeNotReadyError,
        SandboxExecutionError,
        SavedSessionError,
        SessionClosedError,
        VariableTransferError,
        WasmKernelError,
        WorkspaceError,
    )
    from wasm_kernel.core.factory import create_sandbox
    from wasm_kernel.core.logging import SandboxLogger, configure_logging
    from wasm_kernel.core.models import (
        CellError,
        ExecutionPolicy,
        FileChange,
        Limit,
        RuntimeType,
        SandboxResult,
    )
    from wasm_kernel.core.policies import DEFAULT_POLICY, NOTEBOOK_POLICY, load_policy
    from wasm_kernel.runtimes.python import PythonSandbox
    from wasm_kernel.session import Session
    from wasm_kernel.session_files import (
        PruneResult,
        delete_session_path,
        delete_session_workspace,
        list_session_files,
        prune_sessions,
        read_session_file,
        write_session_file,
    )

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_POLICY",
    "NOTEBOOK_POLICY",
    "BaseSandbox",
    "CacheError",
    "CellError",
    "CheckpointError",
    "DigestMismatchError",
    "ExecutionPolicy",
    "FileChange",
    "GuestProtocolError",
    "InvalidRuntimeError",
    "Limit",
    "PolicyValidationError",
    "PruneResult",
    "PythonSandbox",
    "RuntimeNotReadyError",
    "RuntimeType",
    "SandboxExecutionError",
    "SandboxLogger",
    "SandboxResult",
    "SavedSessionError",
    "Session",
    "SessionClosedError",
    "VariableTransferError",
    "WasmKernelError",
    "WorkspaceError",
    "configure_logging",
    "create_sandbox",
    "delete_session_path",
    "delete_session_workspace",
    "list_session_files",
    "load_policy",
    "prune_sessions",
    "read_session_file",
    "write_session_file",
]

_HOMES = {
    "core.base": ["BaseSandbox"],
    "core.factory": ["create_sandbox"],
    "core.logging": ["SandboxLogger", "configure_logging"],
    "core.models": [
        "CellError",
        "ExecutionPolicy",
        "FileChange",
        "Limit",
        "RuntimeType",
        "SandboxResult",
    ],
    "core.policies": ["DEFAULT_POLICY", "NOTEBOOK_POLICY", "load_policy"],
    "runtimes.python.sandbox": ["PythonSandbox"],
    "session": ["Session"],
    "session_files": [
        "PruneResult",
        "delete_session_path",
        "delete_session_workspace",
        "list_session_files",
        "prune_sessions",
        "read_session_file",
        "write_session_file",
    ],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first used: the kernel's start needs few of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _quick_imports():
        module = importlib.import_module(f"{__name__}.{_HOME_OF.get(name, 'core.errors')}")
    value = globals()[name] = getattr(module, name)
    return value


@contextlib.contextmanager
def _quick_imports() -> Iterator[None]:
    """Leave out the search for garbage among new modules, which takes long and finds nothing."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            if not gc.get_freeze_count():
                # Nothing is looked at: everything that is there counts as old from now on.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: object) -> None:
    """``%load_ext wasm_kernel``: adds ``%%sandbox`` to any IPython."""
    from wasm_kernel.notebook import magic

    magic.load(shell)


def unload_ipython_extension(shell: object) -> None:
    """``%unload_ext wasm_kernel``: closes every sandbox session."""
    from wasm_kernel.notebook import magic

    magic.unload(shell)
