"""``create_sandbox``: a sandbox for a runtime, by name."""

from __future__ import annotations

from pathlib import Path

from wasm_kernel.core.base import BaseSandbox
from wasm_kernel.core.logging import SandboxLogger
from wasm_kernel.core.models import ExecutionPolicy, RuntimeType


def create_sandbox(
    runtime: RuntimeType | str = RuntimeType.PYTHON,
    policy: ExecutionPolicy | None = None,
    workspace: str | Path | None = None,
    logger: SandboxLogger | None = None,
    wasm_binary_path: str | Path | None = None,
    *,
    session_id: str | None = None,
    workspace_root: str | Path | None = None,
) -> BaseSandbox:
    """A sandbox for ``runtime``; each ``execute`` is a fresh interpreter on one workspace.

    With ``session_id`` or ``workspace_root`` the workspace is the folder of a session below the
    root, which is made if it is new; without an id the session is a new one.
    """
    try:
        wanted = RuntimeType(runtime)
    except ValueError:
        known = " or ".join(repr(member.value) for member in RuntimeType)
        raise ValueError(
            f"Invalid runtime type {runtime!r}; give a value of the RuntimeType enum: {known}"
        ) from None
    if wanted is RuntimeType.JAVASCRIPT:
        raise NotImplementedError("the JavaScript runtime is not built yet; use RuntimeType.PYTHON")
    # The factory is the one place of core that names a runtime: imported late, so that core
    # itself stays free of Wasmtime.
    from wasm_kernel.runtimes.python import PythonSandbox

    return PythonSandbox(
        policy=policy,
        workspace=workspace,
        logger=logger,
        wasm_binary_path=wasm_binary_path,
        session_id=session_id,
        workspace_root=workspace_root,
    )
