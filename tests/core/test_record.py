"""Records: plain objects that behave as the pydantic models of the same fields would."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from wasm_kernel import CellError, ExecutionPolicy, FileChange, Limit, SandboxResult
from wasm_kernel.core.record import Record, field

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**64), 2**64),
    st.floats(),
    st.sampled_from(["", "5", "x", "/app", "/data", "app", "/usr/x", "safe", "loud", "true"]),
    st.lists(st.text(max_size=3), max_size=2),
    st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
)


@given(
    st.dictionaries(st.sampled_from([*ExecutionPolicy.model_fields, "unknown"]), VALUES, max_size=4)
)
def test_a_record_takes_and_refuses_what_its_pydantic_model_does(data: dict[str, Any]) -> None:
    try:
        expected = ExecutionPolicy.model_twin()(**data)
    except ValidationError as refusal:
        with pytest.raises(ValidationError) as caught:
            ExecutionPolicy(**data)
        assert [found["loc"] for found in caught.value.errors()] == [
            found["loc"] for found in refusal.errors()
        ]
    else:
        made = ExecutionPolicy(**data).__dict__
        assert repr(made) == repr(expected.__dict__)


@given(
    st.dictionaries(st.sampled_from([*ExecutionPolicy.model_fields, "unknown"]), VALUES, max_size=3)
)
def test_replacing_checks_as_making_does(changes: dict[str, Any]) -> None:
    base = ExecutionPolicy(fuel_budget=7, mount_data_dir="sets", env={"A": "b"})
    try:
        expected = ExecutionPolicy(**{**base.model_dump(), **changes})
    except ValidationError:
        with pytest.raises(ValidationError):
            base.replace(**changes)
    else:
        assert repr(base.replace(**changes)) == repr(expected)
    assert base == ExecutionPolicy(fuel_budget=7, mount_data_dir="sets", env={"A": "b"})


def test_replaced_policy_shares_nothing_that_can_change() -> None:
    base = ExecutionPolicy()
    changed = base.replace(fuel_budget=7)
    changed.env["LEAK"] = "x"
    changed.argv.append("leak")
    assert base == ExecutionPolicy()


def test_pydantic_is_not_imported_for_a_run_that_checks_nothing() -> None:
    code = (
        "import sys, wasm_kernel\n"
        "policy = wasm_kernel.NOTEBOOK_POLICY.replace(fuel_budget=7, mount_data_dir='sets')\n"
        "wasm_kernel.SandboxResult.model_construct(success=True, workspace_path='w').model_dump()\n"
        "assert wasm_kernel.ExecutionPolicy(memory_bytes=64_000_000).memory_bytes == 64_000_000\n"
        "print('pydantic' in sys.modules)\n"
        "wasm_kernel.ExecutionPolicy(memory_bytes='64_000_000')\n"
        "print('pydantic' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


class Job(BaseModel):
    policy: ExecutionPolicy
    result: SandboxResult | None = None


def test_records_are_fields_of_somebodys_model() -> None:
    result = SandboxResult(
        success=False,
        workspace_path="w",
        files=[FileChange(path="a", change="created", size=1)],
        limit=Limit.FUEL,
        error=CellError(name="E", value="v"),
    )
    job = Job.model_validate({"policy": {"fuel_budget": "5", "mount_data_dir": "x"}})
    assert isinstance(job.policy, ExecutionPolicy)
    assert (job.policy.fuel_budget, job.policy.guest_data_path) == (5, "/data")
    job.result = result
    again = Job.model_validate_json(job.model_dump_json())
    assert again == job
    assert again.result == result
    assert again.model_dump()["result"] == result.model_dump()
    with pytest.raises(ValidationError, match=r"policy\.fuel_budget"):
        Job.model_validate({"policy": {"fuel_budget": 0}})
    assert "fuel_budget" in str(Job.model_json_schema())


def test_a_dump_is_pydantics_with_and_without_options() -> None:
    result = SandboxResult(
        success=True, workspace_path="w", files=[FileChange(path="a", change="created")]
    )
    assert result.model_dump() == result.model_dump(mode="python")
    assert result.model_dump(include={"files"}) == {"files": [result.files[0].model_dump()]}
    assert result.model_dump(mode="json")["limit"] == "none"


def test_schema_and_signature_name_every_field() -> None:
    assert set(ExecutionPolicy.model_json_schema()["properties"]) == set(
        ExecutionPolicy.model_fields
    )
    signature = inspect.signature(ExecutionPolicy)
    assert list(signature.parameters) == list(ExecutionPolicy.model_fields)
    assert signature.parameters["fuel_budget"].default == 2_000_000_000
    assert inspect.signature(FileChange).parameters["path"].default is inspect.Parameter.empty


def test_a_record_has_its_fields_and_no_others() -> None:
    result = SandboxResult(success=True, workspace_path="w")
    result.stdout = "changed"
    assert result.stdout == "changed"
    with pytest.raises(ValueError, match="no field"):
        result.stduot = "typo"
    with pytest.raises(ValidationError, match="workspace_path"):
        SandboxResult(success=True)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        _ = result.stduot


def test_a_frozen_record_can_be_hashed_and_not_changed() -> None:
    change = FileChange(path="a", change="created")
    assert {change: 1}[FileChange(path="a", change="created")] == 1
    with pytest.raises(ValidationError, match="frozen"):
        change.path = "b"  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        del change.path
    with pytest.raises(TypeError, match="unhashable"):
        hash(SandboxResult(success=True, workspace_path="w"))


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))]
)
def test_a_copy_is_equal_and_another(again: Any) -> None:
    policy = ExecutionPolicy(fuel_budget=7)
    assert again(policy) == policy
    assert again(policy) is not policy
    assert policy.model_copy(update={"seed": 3}).seed == 3
    assert policy.model_copy(deep=True).env is not policy.env
    assert policy != policy.model_copy(update={"seed": 3})
    assert policy != "policy"


def test_a_record_says_what_it_holds() -> None:
    class Point(Record):
        x: int
        y: int = field(default=2, ge=0)

    assert repr(Point(x=1)) == "Point(x=1, y=2)"
    assert Point.model_fields["y"].default == 2
