"""The exception tree: as it is drawn, and what its members can be caught as."""

from __future__ import annotations

import inspect
import pickle
import re
from pathlib import Path

import pydantic
import pytest

from wasm_kernel import (
    DigestMismatchError,
    ExecutionPolicy,
    InvalidRuntimeError,
    PolicyValidationError,
    RuntimeNotReadyError,
    SandboxExecutionError,
    WasmKernelError,
    load_policy,
)
from wasm_kernel.core import errors

_DRAWN = re.compile(r"^(?P<lines>[│├└─ ]*)(?P<name>[A-Z]\w+) {2,}\S.*?(?:\(also (?P<also>\S+)\))?$")


def drawn_tree() -> tuple[dict[str, str | None], dict[str, str]]:
    """Each drawn class with its drawn parent, and with its second base where one is named."""
    parents: dict[str, str | None] = {}
    seconds: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = _DRAWN.match(line)
        if found is None:
            continue
        depth = len(found["lines"]) // 4
        del path[depth:]
        parents[found["name"]] = path[-1] if path else None
        path.append(found["name"])
        if found["also"]:
            seconds[found["name"]] = found["also"].rpartition(".")[2]
    return parents, seconds


def real_classes() -> dict[str, type[BaseException]]:
    # The one that is pydantic's too is defined where pydantic is, and found here all the same.
    own = {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value)
        and issubclass(value, BaseException)
        and value.__module__ == errors.__name__
    }
    return {**own, "PolicyValidationError": errors.PolicyValidationError}


def test_drawn_tree_has_exactly_the_classes_of_the_module() -> None:
    parents, _ = drawn_tree()
    assert set(parents) == set(real_classes())


def test_every_class_has_the_parent_it_is_drawn_under() -> None:
    parents, _ = drawn_tree()
    for name, value in real_classes().items():
        ours = [base.__name__ for base in value.__bases__ if base.__name__ in parents]
        assert ours == ([parents[name]] if parents[name] else []), name


def test_every_second_base_is_drawn() -> None:
    _, seconds = drawn_tree()
    for name, value in real_classes().items():
        others = [
            base.__name__
            for base in value.__bases__
            if base.__module__ != errors.__name__ and base is not Exception
        ]
        assert others == ([seconds[name]] if name in seconds else []), name


def test_every_exception_has_a_sentence_of_its_own() -> None:
    documents = [inspect.cleandoc(value.__doc__ or "") for value in real_classes().values()]
    assert all(documents)
    assert len(set(documents)) == len(documents)


# Requirement: Policy Validation Error


def test_raise_validation_error_for_invalid_policy(tmp_path: Path) -> None:
    with pytest.raises(PolicyValidationError) as caught:
        ExecutionPolicy(fuel_budget=-1, memory_bytes=-2)
    text = str(caught.value)
    assert "fuel_budget" in text
    assert "memory_bytes" in text
    assert "greater than 0" in text
    file = tmp_path / "policy.toml"
    file.write_text("stdout_max_bytes = 0\n")
    with pytest.raises(PolicyValidationError, match="stdout_max_bytes"):
        load_policy(file)


def test_distinguish_from_execution_errors() -> None:
    assert not issubclass(PolicyValidationError, SandboxExecutionError)
    assert not issubclass(SandboxExecutionError, PolicyValidationError)
    with pytest.raises(PolicyValidationError):
        try:
            ExecutionPolicy(fuel_budget=0)
        except SandboxExecutionError:
            pytest.fail("a policy error was taken for an execution error")


def test_policy_error_is_caught_as_pydantic_and_as_ours() -> None:
    with pytest.raises(pydantic.ValidationError) as caught:
        ExecutionPolicy(fuel_budget=-1)
    assert isinstance(caught.value, PolicyValidationError)
    assert isinstance(caught.value, WasmKernelError)
    assert caught.value.error_count() == 1
    (found,) = caught.value.errors()
    assert found["loc"] == ("fuel_budget",)
    assert found["input"] == -1


def test_model_validate_raises_our_error_too() -> None:
    with pytest.raises(PolicyValidationError, match="memory_bytes"):
        ExecutionPolicy.model_validate({"memory_bytes": "much"})
    with pytest.raises(PolicyValidationError, match="memory_bytes"):
        ExecutionPolicy.model_validate_json('{"memory_bytes": "much"}')
    with pytest.raises(PolicyValidationError, match="Invalid JSON"):
        ExecutionPolicy.model_validate_json("{")


def test_error_of_a_validator_keeps_its_sentence() -> None:
    with pytest.raises(PolicyValidationError, match="must be an absolute path such as /app"):
        ExecutionPolicy(guest_mount_path="app")


def test_missing_runtime_is_a_file_that_was_not_found() -> None:
    with pytest.raises(FileNotFoundError, match="run: wasm-kernel setup"):
        raise RuntimeNotReadyError("there is nothing; run: wasm-kernel setup")


def test_wrong_digest_is_an_invalid_runtime() -> None:
    assert issubclass(DigestMismatchError, InvalidRuntimeError)


def test_policy_error_can_be_raised_with_a_sentence() -> None:
    """As an application does that refuses a policy for a reason of its own."""
    with pytest.raises(PolicyValidationError) as caught:
        raise PolicyValidationError("tenants may not have more than 5 G of fuel")
    assert str(caught.value) == "tenants may not have more than 5 G of fuel"
    (found,) = caught.value.errors()
    assert found["msg"].endswith("tenants may not have more than 5 G of fuel")


def test_findings_of_a_policy_error_survive_pickling() -> None:
    with pytest.raises(PolicyValidationError) as caught:
        ExecutionPolicy(fuel_budget=0, memory_bytes="much")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is PolicyValidationError
    assert str(again) == str(caught.value)
    assert str(again).startswith("invalid execution policy: fuel_budget: ")


@pytest.mark.parametrize("name", real_classes())
def test_message_survives_pickling(name: str) -> None:
    """An error that crosses a process pool must say the same on the other side."""
    error = real_classes()[name]("what happened")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == "what happened"
