"""The contract that every sandbox keeps."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from wasm_kernel import (
    DEFAULT_POLICY,
    BaseSandbox,
    ExecutionPolicy,
    PythonSandbox,
    SandboxLogger,
    SandboxResult,
)


class EchoSandbox(BaseSandbox):
    """The smallest sandbox there can be."""

    def execute(self, code: str, **options: Any) -> SandboxResult:
        result = SandboxResult(success=True, stdout=code, workspace_path=str(self.workspace))
        self._log_execution_metrics(result)
        return result

    def validate_code(self, code: str) -> bool:
        return bool(code)


class RecordingLogger(SandboxLogger):
    """A logger of an application: it keeps what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.completed: list[SandboxResult] = []
        self.runtimes: list[str] = []

    def log_execution_complete(
        self, result: SandboxResult, runtime: str = "python", session_id: str | None = None
    ) -> None:
        self.completed.append(result)
        self.runtimes.append(runtime)


def test_define_abstract_execute_method() -> None:
    class WithoutExecute(BaseSandbox):
        def validate_code(self, code: str) -> bool:
            return True

    with pytest.raises(TypeError, match="execute"):
        WithoutExecute()  # type: ignore[abstract]
    assert "execute" in BaseSandbox.__abstractmethods__
    for kind in (BaseSandbox, PythonSandbox):
        signature = inspect.signature(kind.execute)
        assert list(signature.parameters)[:2] == ["self", "code"]
        assert signature.parameters["code"].annotation == "str"
        assert signature.return_annotation == "SandboxResult"
    assert isinstance(EchoSandbox().execute("hello"), SandboxResult)


def test_define_abstract_validate_code_method() -> None:
    class WithoutValidation(BaseSandbox):
        def execute(self, code: str, **options: Any) -> SandboxResult:
            return SandboxResult(success=True, workspace_path="")

    with pytest.raises(TypeError, match="validate_code"):
        WithoutValidation()  # type: ignore[abstract]
    assert inspect.signature(BaseSandbox.validate_code).return_annotation == "bool"


def test_provide_shared_initialization(tmp_path: Path) -> None:
    policy, logger = ExecutionPolicy(fuel_budget=5), SandboxLogger()
    sandbox = EchoSandbox(policy, tmp_path, logger)
    assert sandbox.policy is policy
    assert sandbox.workspace == tmp_path
    assert sandbox.logger is logger


def test_defaults_are_the_documented_ones() -> None:
    sandbox = EchoSandbox()
    assert sandbox.policy == DEFAULT_POLICY
    assert sandbox.workspace == Path("workspace")
    assert isinstance(sandbox.logger, SandboxLogger)


def test_workspace_of_the_policy_is_used_where_none_is_given() -> None:
    assert EchoSandbox(ExecutionPolicy(mount_host_dir="else/where")).workspace == Path("else/where")


def test_provide_log_helper_method() -> None:
    logger = RecordingLogger()
    result = EchoSandbox(logger=logger).execute("x")
    assert logger.completed == [result]
    assert logger.completed[0] is result
    EchoSandbox(logger=logger)._log_execution_metrics(result, "javascript")
    assert logger.runtimes == ["python", "javascript"]


def test_sandbox_refuses_what_is_no_policy() -> None:
    with pytest.raises(TypeError, match="policy must be an ExecutionPolicy, not dict"):
        EchoSandbox(policy={"fuel_budget": 3})  # type: ignore[arg-type]
