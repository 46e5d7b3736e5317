"""The policy, the result and the runtime's name, as data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from wasm_kernel import (
    CellError,
    ExecutionPolicy,
    FileChange,
    Limit,
    PolicyValidationError,
    PythonSandbox,
    RuntimeType,
    SandboxResult,
)

LIMITS = [
    "fuel_budget",
    "memory_bytes",
    "stdout_max_bytes",
    "stderr_max_bytes",
    "display_max_bytes",
    "display_max_count",
    "code_max_bytes",
    "timeout_seconds",
    "workspace_max_bytes",
    "workspace_max_files",
]


# Requirement: Execution Policy Model


def test_create_policy_with_default_values() -> None:
    policy = ExecutionPolicy()
    assert policy.fuel_budget == 2_000_000_000
    assert policy.memory_bytes == 128_000_000
    assert policy.stdout_max_bytes == 2_000_000
    assert policy.stderr_max_bytes == 1_000_000
    assert policy.mount_host_dir == "workspace"
    assert policy.guest_mount_path == "/app"
    assert policy.env["PYTHONUTF8"] == "1"
    assert policy.env["LC_ALL"] == "C.UTF-8"
    assert policy.env["PYTHONIOENCODING"] == "utf-8"
    assert policy.mount_data_dir is None
    assert policy.guest_data_path is None
    assert policy.timeout_seconds is None


@pytest.mark.parametrize("field", LIMITS)
@pytest.mark.parametrize("value", [0, -1000])
def test_validate_positive_resource_limits(field: str, value: int) -> None:
    with pytest.raises(ValidationError, match=rf"(?s){field}.*greater than 0"):
        ExecutionPolicy(**{field: value})


def test_support_optional_data_mount() -> None:
    policy = ExecutionPolicy(mount_data_dir="datasets")
    assert policy.mount_data_dir == "datasets"
    assert policy.guest_data_path == "/data"
    named = ExecutionPolicy(mount_data_dir="datasets", guest_data_path="/sets")
    assert named.guest_data_path == "/sets"


def test_unknown_key_is_an_error_that_names_the_key() -> None:
    with pytest.raises(PolicyValidationError, match="fuel_bugdet"):
        ExecutionPolicy(fuel_bugdet=1)


@pytest.mark.parametrize("field", ["guest_mount_path", "guest_data_path"])
@pytest.mark.parametrize(
    "path", ["", "/", "app", "./app", "/app/", "/app/..", "/a//b", "/./a", "/usr/local/lib", "/a\0"]
)
def test_guest_path_must_be_plain_and_outside_usr(field: str, path: str) -> None:
    with pytest.raises(PolicyValidationError, match=field):
        ExecutionPolicy(**{field: path})


def test_both_mounts_must_not_be_at_the_same_place() -> None:
    with pytest.raises(PolicyValidationError, match="must differ"):
        ExecutionPolicy(mount_data_dir="datasets", guest_data_path="/app")


@pytest.mark.parametrize("env", [{"": "x"}, {"A=B": "x"}, {"A\0": "x"}, {"A": "x\0"}])
def test_unusable_environment_is_refused(env: dict[str, str]) -> None:
    with pytest.raises(PolicyValidationError, match="not a usable environment variable"):
        ExecutionPolicy(env=env)


def test_argument_with_nul_is_refused() -> None:
    with pytest.raises(PolicyValidationError, match="argv"):
        ExecutionPolicy(argv=["python", "a\0b"])


def test_timeout_that_is_no_number_is_refused() -> None:
    with pytest.raises(PolicyValidationError, match="timeout_seconds"):
        ExecutionPolicy(timeout_seconds=float("nan"))


def test_memory_beyond_four_gibibytes_is_refused() -> None:
    with pytest.raises(PolicyValidationError, match="memory_bytes"):
        ExecutionPolicy(memory_bytes=4 * 1024**3 + 1)


def test_policy_cannot_be_changed_in_place() -> None:
    policy = ExecutionPolicy()
    with pytest.raises(ValidationError, match="frozen"):
        policy.fuel_budget = 5  # type: ignore[misc]
    assert policy.fuel_budget == 2_000_000_000


def test_replace_validates_anew_and_leaves_the_original() -> None:
    policy = ExecutionPolicy()
    assert policy.replace(fuel_budget=7).fuel_budget == 7
    assert policy.fuel_budget == 2_000_000_000
    with pytest.raises(PolicyValidationError, match="fuel_budget"):
        policy.replace(fuel_budget=-7)


def test_default_environment_is_not_shared_between_policies() -> None:
    first = ExecutionPolicy()
    first.env["LEAK"] = "x"
    assert "LEAK" not in ExecutionPolicy().env


TEXT = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=20)


@given(
    fuel=st.integers(1, 2**62),
    memory=st.integers(1, 4 * 1024**3),
    timeout=st.none() | st.floats(0.001, 10_000),
    env=st.dictionaries(TEXT.filter(lambda name: name != "" and "=" not in name), TEXT),
    argv=st.lists(TEXT, max_size=4),
    data=st.none() | TEXT.filter(bool),
)
def test_policy_survives_a_json_round_trip(
    fuel: int,
    memory: int,
    timeout: float | None,
    env: dict[str, str],
    argv: list[str],
    data: str | None,
) -> None:
    policy = ExecutionPolicy(
        fuel_budget=fuel,
        memory_bytes=memory,
        timeout_seconds=timeout,
        env=env,
        argv=argv,
        mount_data_dir=data,
    )
    assert ExecutionPolicy.model_validate_json(policy.model_dump_json()) == policy


# Requirement: Sandbox Result Model


def test_capture_successful_execution_result(make_sandbox: Callable[..., PythonSandbox]) -> None:
    result = make_sandbox().execute("print('captured')")
    assert result.success is True
    assert result.stdout == "captured\n"
    assert result.stderr == ""
    assert result.exit_code == 0
    assert isinstance(result.fuel_consumed, int)
    assert result.fuel_consumed > 0
    assert result.memory_used_bytes > 0
    assert result.duration_ms > 0
    assert result.limit is Limit.NONE


def test_capture_failed_execution_result(make_sandbox: Callable[..., PythonSandbox]) -> None:
    result = make_sandbox(fuel_budget=5_000_000).execute("while True: pass")
    assert result.success is False
    assert "OutOfFuel" in result.stderr
    assert result.fuel_consumed is not None
    assert result.fuel_consumed >= 5_000_000
    assert result.exit_code != 0
    assert result.limit is Limit.FUEL


def test_track_filesystem_changes(
    make_sandbox: Callable[..., PythonSandbox], workspace: Path
) -> None:
    workspace.mkdir()
    (workspace / "input.txt").write_text("before")
    result = make_sandbox().execute(
        "open('/app/output.csv', 'w').write('a,b')\nopen('/app/input.txt', 'a').write(' and after')"
    )
    assert result.files_created == ["output.csv"]
    assert result.files_modified == ["input.txt"]
    assert [(file.path, file.change, file.size, file.type) for file in result.files] == [
        ("input.txt", "modified", 16, "text/plain"),
        ("output.csv", "created", 3, "text/csv"),
    ]


def test_include_workspace_path(
    make_sandbox: Callable[..., PythonSandbox], workspace: Path
) -> None:
    assert make_sandbox().execute("pass").workspace_path == str(workspace)


# Requirement: Runtime Type Enum


def test_support_python_runtime() -> None:
    assert RuntimeType.PYTHON.value == "python"
    assert RuntimeType("python") is RuntimeType.PYTHON


def test_support_javascript_runtime_future() -> None:
    assert RuntimeType.JAVASCRIPT.value == "javascript"
    assert RuntimeType("javascript") is RuntimeType.JAVASCRIPT


def test_enum_values_are_strings() -> None:
    for member in RuntimeType:
        assert isinstance(member, str)
        assert json.loads(json.dumps({"runtime": member})) == {"runtime": member.value}


# Requirement: SandboxResult JSON Serialization


def test_serialize_result_to_json() -> None:
    result = SandboxResult(
        success=True, stdout="Hello", fuel_consumed=1_000_000, workspace_path="w"
    )
    data = json.loads(result.model_dump_json())
    assert data["stdout"] == "Hello"
    assert data["fuel_consumed"] == 1_000_000
    assert set(data) == set(SandboxResult.model_fields)


def test_deserialize_result_from_json() -> None:
    original = SandboxResult(
        success=False,
        stdout="out\n\u2028\x1b[31m",
        stderr="err",
        exit_code=3,
        fuel_consumed=12,
        fuel_overhead=3,
        memory_used_bytes=65536,
        duration_ms=1.25,
        files_created=["a", "b/c"],
        files_deleted=["d"],
        files=[FileChange(path="a", change="created", size=1)],
        workspace_path="/tmp/sandbox-abc123",
        limit=Limit.TIME,
        error=CellError(name="E", value="v", traceback=["t"]),
        metadata={"nested": {"list": [1, None, "x"]}},
    )
    again = SandboxResult.model_validate_json(original.model_dump_json())
    assert again == original
    assert again.limit is Limit.TIME
    assert again.error == CellError(name="E", value="v", traceback=["t"])


@given(
    stdout=st.text(),
    stderr=st.text(),
    exit_code=st.integers(-(2**31), 2**31 - 1),
    fuel=st.none() | st.integers(0, 2**62),
    duration=st.floats(0, 1e9),
    paths=st.lists(st.text(max_size=20), max_size=5),
    limit=st.sampled_from(Limit),
)
def test_result_survives_a_json_round_trip(
    stdout: str,
    stderr: str,
    exit_code: int,
    fuel: int | None,
    duration: float,
    paths: list[str],
    limit: Limit,
) -> None:
    result = SandboxResult(
        success=exit_code == 0,
        stdout=stdout,
        stderr=stderr,
        exit_code=exit_code,
        fuel_consumed=fuel,
        duration_ms=duration,
        files_created=paths,
        workspace_path="w",
        limit=limit,
    )
    assert SandboxResult.model_validate_json(result.model_dump_json()) == result
