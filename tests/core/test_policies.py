"""Where policies come from: defaults, presets, files, and a ceiling over all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from wasm_kernel import (
    DEFAULT_POLICY,
    NOTEBOOK_POLICY,
    ExecutionPolicy,
    PolicyValidationError,
    load_policy,
)
from wasm_kernel.core.policies import PRESETS, check_policy, merge_policy, within_ceiling


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    folder = tmp_path / "config"
    folder.mkdir()
    return folder / "policy.toml"


def test_merge_environment_variables() -> None:
    assert DEFAULT_POLICY.env["PYTHONUTF8"] == "1"
    merged = merge_policy(DEFAULT_POLICY, {"env": {"CUSTOM_VAR": "value"}})
    assert merged.env["PYTHONUTF8"] == "1"
    assert merged.env["CUSTOM_VAR"] == "value"
    assert "CUSTOM_VAR" not in DEFAULT_POLICY.env


# Requirement: Policy Loading with Validation


def test_load_policy_from_toml_file(policy_file: Path) -> None:
    policy_file.write_text("fuel_budget = 1000000000\n")
    policy = load_policy(str(policy_file))
    assert isinstance(policy, ExecutionPolicy)
    assert policy.fuel_budget == 1_000_000_000
    assert policy.memory_bytes == DEFAULT_POLICY.memory_bytes


def test_load_default_policy_when_file_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_policy("config/policy.toml") == ExecutionPolicy()
    assert load_policy() == ExecutionPolicy()


def test_validate_toml_fields_at_load_time(policy_file: Path) -> None:
    policy_file.write_text("memory_bytes = -1000\n")
    with pytest.raises(PolicyValidationError, match="memory_bytes") as caught:
        load_policy(policy_file)
    assert [found["loc"] for found in caught.value.errors()] == [("memory_bytes",)]


def test_deep_merge_environment_variables(policy_file: Path) -> None:
    policy_file.write_text('[env]\nCUSTOM = "value"\n')
    env = load_policy(policy_file).env
    assert env["PYTHONUTF8"] == "1"
    assert env["LC_ALL"] == "C.UTF-8"
    assert env["CUSTOM"] == "value"


def test_file_overrides_a_variable_of_the_base(policy_file: Path) -> None:
    policy_file.write_text('[env]\nLC_ALL = "C"\n')
    assert load_policy(policy_file).env["LC_ALL"] == "C"


def test_unknown_key_of_a_file_is_an_error_that_names_the_key(policy_file: Path) -> None:
    policy_file.write_text("fuel = 5\n")
    with pytest.raises(PolicyValidationError, match="fuel") as caught:
        load_policy(policy_file)
    (found,) = caught.value.errors()
    assert (found["loc"], found["type"]) == (("fuel",), "extra_forbidden")


def test_bad_toml_syntax_is_an_error_that_names_the_file_and_the_line(policy_file: Path) -> None:
    policy_file.write_text("fuel_budget = 1\nmemory_bytes = = 2\n")
    with pytest.raises(PolicyValidationError, match=r"not valid TOML.*line 2") as caught:
        load_policy(policy_file)
    assert str(caught.value).count(policy_file.name) == 1
    assert caught.value.errors()[0]["input"] == str(policy_file)


def test_file_that_is_not_utf8_is_an_error(policy_file: Path) -> None:
    policy_file.write_bytes(b"# \xff\n")
    with pytest.raises(PolicyValidationError, match="cannot be read"):
        load_policy(policy_file)


def test_folder_in_place_of_the_file_is_an_error(policy_file: Path) -> None:
    policy_file.mkdir()
    with pytest.raises(PolicyValidationError, match="cannot be read"):
        load_policy(policy_file)


@pytest.mark.parametrize("text", ['env = "x"', "env = 5", "[env]\nA = 5"])
def test_environment_of_the_wrong_type_is_an_error(policy_file: Path, text: str) -> None:
    policy_file.write_text(text + "\n")
    with pytest.raises(PolicyValidationError, match="env"):
        load_policy(policy_file)


def test_file_is_laid_over_the_given_base(policy_file: Path) -> None:
    policy_file.write_text("stdout_max_bytes = 5\n")
    policy = load_policy(policy_file, base=NOTEBOOK_POLICY)
    assert policy == NOTEBOOK_POLICY.replace(stdout_max_bytes=5)


def test_presets_are_the_two_documented_policies() -> None:
    assert PRESETS == {"one-shot": DEFAULT_POLICY, "notebook": NOTEBOOK_POLICY}
    assert ExecutionPolicy() == DEFAULT_POLICY
    assert NOTEBOOK_POLICY.fuel_budget > DEFAULT_POLICY.fuel_budget
    assert NOTEBOOK_POLICY.timeout_seconds is None


LIMITS = (
    "fuel_budget",
    "memory_bytes",
    "stdout_max_bytes",
    "stderr_max_bytes",
    "display_max_bytes",
    "display_max_count",
    "code_max_bytes",
    "workspace_max_bytes",
    "workspace_max_files",
    "timeout_seconds",
)


def test_ceiling_knows_every_limit_of_the_model() -> None:
    """A limit added to the model must be lowered by a ceiling too."""
    numbers = {
        name
        for name, value in ExecutionPolicy(timeout_seconds=1).model_dump().items()
        if isinstance(value, int | float) and not isinstance(value, bool) and name != "seed"
    }
    assert numbers == set(LIMITS)


@pytest.mark.parametrize("limit", LIMITS)
def test_ceiling_lowers_a_looser_limit_and_keeps_a_stricter_one(limit: str) -> None:
    loose, strict = ExecutionPolicy(**{limit: 1000}), ExecutionPolicy(**{limit: 10})
    assert getattr(within_ceiling(loose, strict), limit) == 10
    assert getattr(within_ceiling(strict, loose), limit) == 10


def test_ceiling_gives_a_policy_without_a_time_limit_the_ceilings() -> None:
    bounded = within_ceiling(ExecutionPolicy(), ExecutionPolicy(timeout_seconds=3))
    assert bounded.timeout_seconds == 3
    assert within_ceiling(ExecutionPolicy(), ExecutionPolicy()).timeout_seconds is None


@pytest.mark.parametrize("policy", [{"fuel_budget": 3}, "policy.toml", ExecutionPolicy])
def test_what_is_no_policy_is_refused_and_says_how_to_make_one(policy: object) -> None:
    with pytest.raises(TypeError, match=r"policy must be an ExecutionPolicy, not .*load_policy"):
        check_policy(policy)
