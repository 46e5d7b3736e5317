"""What a program is told to do about a result: kinds, sentences and numbers to act on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from wasm_kernel import DEFAULT_POLICY, CellError, ExecutionPolicy, Limit
from wasm_kernel.core import guidance, texts
from wasm_kernel.core.guidance import error_guidance, fuel_analysis, raised

ROOT = Path(__file__).parents[2]
POLICY = ExecutionPolicy(fuel_budget=1_000_000, timeout_seconds=2, memory_bytes=200_000_000)
LIMITS = sorted(set(Limit) - {Limit.NONE, Limit.INTERRUPTED, Limit.OUTPUT})
KEYS = {"error_type", "title", "likely_causes", "actionable_guidance", "related_docs"}


@pytest.mark.parametrize("limit", LIMITS)
def test_limit_is_told_in_the_words_of_its_sentence(limit: Limit) -> None:
    found = error_guidance(limit, None, None, POLICY)
    assert found is not None and set(found) - {"raise_to"} == KEYS
    assert found["error_type"] == texts.LIMIT_NAMES[limit]
    sentence = f"{found['title']}; {found['actionable_guidance'][0]}"
    assert sentence == texts.limit_sentence(limit, POLICY)
    assert found["likely_causes"]
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize(
    ("limit", "fields"),
    [
        (Limit.FUEL, {"fuel_budget": 5_000_000}),
        (Limit.TIME, {"timeout_seconds": 10}),
        (Limit.MEMORY, {"memory_bytes": 400_000_000}),
        (Limit.WORKSPACE, {"workspace_max_bytes": 2**31, "workspace_max_files": 40_000}),
    ],
)
def test_what_a_limit_can_be_raised_to_is_a_change_of_the_policy(
    limit: Limit, fields: dict[str, float]
) -> None:
    found = error_guidance(limit, None, None, POLICY)
    assert found is not None and found["raise_to"] == fields
    larger = POLICY.replace(**found["raise_to"])
    assert all(getattr(larger, name) == value for name, value in fields.items())


def test_nothing_is_raised_beyond_what_there_is() -> None:
    most = POLICY.replace(memory_bytes=2**32, fuel_budget=2**62)
    assert raised(Limit.MEMORY, most) == raised(Limit.FUEL, most) == {}
    assert raised(Limit.MEMORY, most.replace(memory_bytes=2**32 - 1)) == {"memory_bytes": 2**32}
    assert raised(Limit.STACK, POLICY) == raised(Limit.NONE, POLICY) == {}
    assert raised(Limit.TIME, DEFAULT_POLICY) == {}
    found = error_guidance(Limit.MEMORY, None, None, most)
    assert found is not None and "raise_to" not in found
    assert fuel_analysis(2**62, Limit.FUEL, most)["suggested_budget"] == 2**62


@pytest.mark.parametrize(
    ("name", "kind", "title"),
    [
        ("SyntaxError", "SyntaxError", "the code is not valid Python"),
        ("IndentationError", "SyntaxError", "the code is not valid Python"),
        ("RecursionError", "RecursionError", "the code recursed too deeply"),
    ],
)
def test_error_that_its_name_explains(name: str, kind: str, title: str) -> None:
    found = error_guidance(Limit.NONE, CellError(name=name, value=""), None, POLICY)
    assert found is not None and (found["error_type"], found["title"]) == (kind, title)
    assert found["actionable_guidance"] and set(found) == KEYS


def test_advice_of_the_guest_is_passed_on_under_its_kind() -> None:
    error = CellError(name="ModuleNotFoundError", value="No module named 'x'")
    found = error_guidance(Limit.NONE, error, ["MissingPackage", "x is not here"], POLICY)
    assert found is not None and found["error_type"] == "MissingPackage"
    assert found["actionable_guidance"] == ["x is not here"]


@pytest.mark.parametrize(
    "told",
    [
        None,
        "MissingPackage",
        ["MissingPackage"],
        ["OutOfFuel", "pay"],
        [1, 2],
        {"a": "b"},
        [[], ""],
    ],
)
def test_what_a_guest_makes_up_is_nothing(told: object) -> None:
    error = CellError(name="ValueError", value="")
    assert error_guidance(Limit.NONE, error, told, POLICY) is None


def test_advice_of_a_guest_is_short_and_plain_text() -> None:
    error = CellError(name="ValueError", value="")
    found = error_guidance(Limit.NONE, error, ["MissingFile", "\ud800" + "x" * 10_000], POLICY)
    assert found is not None
    (sentence,) = found["actionable_guidance"]
    assert len(sentence) == guidance.SENTENCE_MAX and sentence.startswith("?xx")


@pytest.mark.parametrize("limit", [Limit.NONE, Limit.INTERRUPTED])
def test_what_the_traceback_says_is_not_said_again(limit: Limit) -> None:
    assert error_guidance(limit, CellError(name="KeyError", value="x"), None, POLICY) is None
    assert error_guidance(limit, None, None, POLICY) is None


@pytest.mark.parametrize(
    ("consumed", "status", "suggested"),
    [
        (0, "efficient", 1_000_000),
        (499_999, "efficient", 1_000_000),
        (500_000, "moderate", 1_000_000),
        (750_001, "warning", 1_600_000),
        (900_000, "critical", 1_800_000),
        (999_999, "critical", 2_000_000),
        (1_000_000, "exhausted", 5_000_000),
    ],
)
def test_fuel_is_judged_by_what_is_left(consumed: int, status: str, suggested: int) -> None:
    found = fuel_analysis(consumed, Limit.NONE, POLICY)
    assert (found["status"], found["suggested_budget"]) == (status, suggested)
    assert (found["consumed"], found["budget"]) == (consumed, 1_000_000)
    assert found["utilization_percent"] == round(consumed / 10_000, 2)
    is_enough = suggested == 1_000_000
    assert ("sufficient" in found["recommendation"]) is is_enough
    assert (f"fuel_budget to {suggested:_}" in found["recommendation"]) is not is_enough
    assert bool(found["likely_causes"]) is not is_enough


def test_every_page_that_is_named_is_there() -> None:
    kinds = [*guidance._OF_LIMIT.values(), *guidance._OF_ERROR.values(), guidance._SYNTAX]
    for page in {kind.page for kind in kinds}:
        path, _, anchor = page.partition("#")
        headings = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(encoding="utf-8"), re.M)
        assert anchor in {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
