"""The contract every runtime's sandbox keeps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

from wasm_kernel.core.logging import SandboxLogger
from wasm_kernel.core.models import ExecutionPolicy, SandboxResult
from wasm_kernel.core.policies import DEFAULT_POLICY, check_policy


class BaseSandbox(ABC):
    """Runs untrusted code under a policy, with one folder of the host as its workspace."""

    def __init__(
        self,
        policy: ExecutionPolicy | None = None,
        workspace: str | Path | None = None,
        logger: SandboxLogger | None = None,
        *,
        session_id: str | None = None,
    ) -> None:
        self.policy = policy if policy is not None else DEFAULT_POLICY
        check_policy(self.policy)
        self.workspace = Path(workspace if workspace is not None else self.policy.mount_host_dir)
        self.logger = logger if logger is not None else SandboxLogger()
        self.session_id = session_id

    @abstractmethod
    def execute(self, code: str) -> SandboxResult:
        """Run untrusted code and say what it did; a failure of the code is a result."""

    @abstractmethod
    def validate_code(self, code: str) -> bool:
        """Whether the code is syntactically valid; never executes it."""

    def close(self) -> None:  # noqa: B027 - most runtimes hold nothing
        """Free what is kept for the next run; the sandbox can still be used."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _log_execution_metrics(self, result: SandboxResult, *runtime: str) -> None:
        session: dict[str, Any] = {}
        if self.session_id is not None:
            session["session_id"] = self.session_id
        self.logger.log_execution_complete(result, *runtime, **session)
