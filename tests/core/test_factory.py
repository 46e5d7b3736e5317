"""``create_sandbox``: the right sandbox by name, and clear words for what is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from wasm_kernel import (
    BaseSandbox,
    ExecutionPolicy,
    PythonSandbox,
    RuntimeType,
    SandboxLogger,
    create_sandbox,
)


@pytest.mark.parametrize("runtime", [RuntimeType.PYTHON, "python"])
def test_python_is_made_by_name_and_by_member(runtime: RuntimeType | str) -> None:
    sandbox = create_sandbox(runtime)
    assert isinstance(sandbox, PythonSandbox)
    assert isinstance(sandbox, BaseSandbox)


def test_python_is_the_default() -> None:
    assert isinstance(create_sandbox(), PythonSandbox)


def test_everything_given_arrives(tmp_path: Path) -> None:
    policy, logger = ExecutionPolicy(fuel_budget=9), SandboxLogger()
    sandbox = create_sandbox(
        policy=policy, workspace=tmp_path, logger=logger, wasm_binary_path=tmp_path / "x.wasm"
    )
    assert isinstance(sandbox, PythonSandbox)
    assert sandbox.policy is policy
    assert sandbox.workspace == tmp_path
    assert sandbox.logger is logger
    assert sandbox.wasm_binary_path == str(tmp_path / "x.wasm")


def test_making_a_sandbox_touches_no_file(tmp_path: Path) -> None:
    create_sandbox(workspace=tmp_path / "later", wasm_binary_path=tmp_path / "missing.wasm")
    assert list(tmp_path.iterdir()) == []


def test_javascript_says_that_it_is_not_there_yet() -> None:
    with pytest.raises(NotImplementedError, match=r"not built yet; use RuntimeType\.PYTHON"):
        create_sandbox(RuntimeType.JAVASCRIPT)


def test_unknown_runtime_names_the_known_ones() -> None:
    with pytest.raises(
        ValueError,
        match=r"Invalid runtime type 'cobol'; .* RuntimeType enum: 'python' or 'javascript'",
    ):
        create_sandbox("cobol")


def test_made_sandbox_runs(tmp_path: Path) -> None:
    result = create_sandbox(workspace=tmp_path).execute("print(6 * 7)")
    assert result.stdout == "42\n"
