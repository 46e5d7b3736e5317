"""The exceptions of wasm_kernel. This module knows nothing of Wasmtime or Jupyter.

WasmKernelError                    everything this package raises on purpose
├── PolicyValidationError          a policy has an invalid field   (also pydantic.ValidationError)
├── SandboxExecutionError          the host could not run the guest
│   ├── SessionClosedError         a closed session was used
│   └── GuestProtocolError         the guest answered with something that is not an answer
├── RuntimeNotReadyError           a runtime file is missing       (also FileNotFoundError)
├── InvalidRuntimeError            a runtime file is not what it should be
│   └── DigestMismatchError        a file does not have its pinned SHA-256
├── CacheError                     the cache folder is not private, or could not be written
├── WorkspaceError                 the workspace cannot be used
├── CheckpointError                an unknown, dropped or impossible checkpoint or undo
├── SavedSessionError              a saved session cannot be opened
└── VariableTransferError          a variable cannot cross the sandbox's border
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wasm_kernel.core.validation import PolicyValidationError as PolicyValidationError


class WasmKernelError(Exception):
    """Everything this package raises on purpose."""


class SandboxExecutionError(WasmKernelError):
    """The host could not run the guest."""


class SessionClosedError(SandboxExecutionError):
    """A closed session was used."""


class GuestProtocolError(SandboxExecutionError):
    """The guest answered with something that is not an answer."""


class RuntimeNotReadyError(WasmKernelError, FileNotFoundError):
    """A runtime file is missing; the message says which command fetches it."""


class InvalidRuntimeError(WasmKernelError):
    """A runtime file is not what it should be."""


class DigestMismatchError(InvalidRuntimeError):
    """A file does not have its pinned SHA-256."""


class CacheError(WasmKernelError):
    """The cache folder is not private, or could not be written."""


class WorkspaceError(WasmKernelError):
    """The workspace cannot be used."""


class CheckpointError(WasmKernelError):
    """An unknown, dropped or impossible checkpoint or undo."""


class SavedSessionError(WasmKernelError):
    """A saved session cannot be opened."""


class VariableTransferError(WasmKernelError):
    """A variable cannot cross the sandbox's border."""


def __getattr__(name: str) -> Any:
    """``PolicyValidationError`` is one of pydantic's, which is imported when it is needed."""
    if name != "PolicyValidationError":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from wasm_kernel.core.validation import PolicyValidationError

    return PolicyValidationError
