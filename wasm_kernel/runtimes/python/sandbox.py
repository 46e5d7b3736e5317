"""One-shot Python: every ``execute`` is a fresh interpreter on a workspace that stays."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from wasm_kernel.core.base import BaseSandbox
from wasm_kernel.core.events import OnEvent
from wasm_kernel.core.logging import SandboxLogger
from wasm_kernel.core.models import ExecutionPolicy, RuntimeType, SandboxResult
from wasm_kernel.host.workspace import Workspace
from wasm_kernel.host.world import BEGIN_NS
from wasm_kernel.runtimes.python import artifacts
from wasm_kernel.runtimes.python.inputs import check_code
from wasm_kernel.runtimes.python.one_shot import Run, write_user_code
from wasm_kernel.runtimes.python.prepare import ensure_program

if TYPE_CHECKING:
    from wasm_kernel.host.session_folder import SessionFolder

BYTE_ORDER_MARK = "\ufeff"


class PythonSandbox(BaseSandbox):
    """Runs Python scripts that nobody has read, one interpreter each."""

    def __init__(
        self,
        policy: ExecutionPolicy | None = None,
        workspace: str | Path | None = None,
        logger: SandboxLogger | None = None,
        wasm_binary_path: str | Path | None = None,
        *,
        session_id: str | None = None,
        workspace_root: str | Path | None = None,
    ) -> None:
        self._session = session = _session_folder(workspace, session_id, workspace_root)
        if session is None:
            super().__init__(policy, workspace, logger)
        else:
            super().__init__(policy, session.path, logger, session_id=session.id)
            session.enter(self.logger)
        self.workspace_root = None if session is None else session.root
        self.wasm_binary_path = str(
            wasm_binary_path if wasm_binary_path is not None else artifacts.default_binary()
        )

    def execute(
        self, code: str, inject_setup: bool = True, *, on_event: OnEvent | None = None
    ) -> SandboxResult:
        """Run a script; whatever it does, the answer is a result.

        ``inject_setup`` makes the workspace importable, as if the script's folder were on
        ``sys.path``, and ``site-packages`` of the workspace and of the data folder. ``on_event``
        gets the text of stdout and stderr while the script runs, as far as the result keeps it.
        """
        check_code(code, self.policy)
        started = time.perf_counter()
        program = ensure_program(Path(self.wasm_binary_path))
        session = {} if self._session is None else {"session_id": self._session.id}
        self.logger.log_execution_start(
            RuntimeType.PYTHON.value, self.policy, workspace=str(self.workspace), **session
        )
        if self._session is not None:
            self._session.note_use(self.logger)
        with Workspace(self.workspace) as workspace:
            time_ns = BEGIN_NS if self.policy.deterministic else None
            write_user_code(workspace, code, is_needed=not program.is_reactor, time_ns=time_ns)
            run = Run(self.policy, workspace, on_event)
            if program.is_reactor:
                run.reactor(program, code, setup=inject_setup)
            else:
                run.command(program, setup=inject_setup)
            result = run.result(time.perf_counter() - started)
        result.metadata.update(session)
        self._log_execution_metrics(result)
        return result

    def validate_code(self, code: str) -> bool:
        """Whether the code compiles; nothing is executed."""
        try:
            check_code(code, self.policy)
        except (ValueError, TypeError):
            return False
        # The guest compiles it, under its limits: some sources take a compiler minutes, and the
        # grammar that counts is the guest's.
        source = code.removeprefix(BYTE_ORDER_MARK)
        checking = f"compile({source!r}, '<sandbox>', 'exec', dont_inherit=True)"
        program = ensure_program(Path(self.wasm_binary_path))
        import tempfile

        with tempfile.TemporaryDirectory(prefix="wasm-kernel-check-") as folder:
            with Workspace(Path(folder)) as workspace:
                run = Run(self.policy, workspace)
                if not program.is_reactor:
                    write_user_code(workspace, checking, is_needed=True)
                    run.command(program, setup=False)
                else:
                    run.reactor(program, checking, setup=False)
                return run.result(0.0).success


def _session_folder(
    workspace: str | Path | None, session_id: str | None, workspace_root: str | Path | None
) -> SessionFolder | None:
    """The folder of the session that is meant, if one is: a new one where the id is missing."""
    if session_id is None and workspace_root is None:
        return None
    if workspace is not None:
        raise ValueError("give a workspace, or a session_id and a workspace_root, not both")
    from uuid import uuid4

    from wasm_kernel.host.session_folder import SessionFolder

    return SessionFolder(str(uuid4()) if session_id is None else session_id, workspace_root)
