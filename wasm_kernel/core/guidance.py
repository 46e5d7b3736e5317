"""What a program that reads results can do about one: an agent, for instance.

``error_guidance`` and ``fuel_analysis`` in the metadata of a result are made here. The sentences
are those that a person reads: of limits from ``texts``, of packages and files from the guest.
"""

from __future__ import annotations

from typing import Any

from wasm_kernel.core import texts
from wasm_kernel.core.data import dataclass
from wasm_kernel.core.models import WASM_MEMORY_MAX_BYTES, CellError, ExecutionPolicy, Limit
from wasm_kernel.core.units import format_bytes

SENTENCE_MAX = 1_000

_FUEL_MAX = 2**62
_ROOMY: int = ExecutionPolicy.model_fields["memory_bytes"].default
_RAISED: dict[Limit, dict[str, tuple[int, float | None]]] = {
    Limit.FUEL: {"fuel_budget": (5, _FUEL_MAX)},
    Limit.TIME: {"timeout_seconds": (5, None)},
    Limit.MEMORY: {"memory_bytes": (2, WASM_MEMORY_MAX_BYTES)},
    # Which of the two was full, the result does not say.
    Limit.WORKSPACE: {"workspace_max_bytes": (2, None), "workspace_max_files": (2, None)},
}
"""How far a limit is raised after it ended something, and the most that it can be."""


def raised(
    limit: Limit, policy: ExecutionPolicy, ceiling: ExecutionPolicy | None = None
) -> dict[str, Any]:
    """The fields of a policy that give more of what ran out; empty where there is no more."""
    fields: dict[str, Any] = {}
    for name, (factor, most) in _RAISED.get(limit, {}).items():
        present = getattr(policy, name)
        if present is None:
            return {}
        limits = [most, getattr(ceiling, name) if ceiling is not None else None]
        fields[name] = max(present, min([present * factor, *filter(None, limits)]))
    is_more = any(value > getattr(policy, name) for name, value in fields.items())
    return fields if is_more else {}


@dataclass(frozen=True)
class _Kind:
    """What is always said of one kind of failure."""

    causes: tuple[str, ...]
    page: str
    title: str = ""
    instead: str = ""
    """What the code could do, beside what its environment could."""


_FILES = "docs/differences.md#files-and-the-system"
_OF_LIMIT: dict[Limit, _Kind] = {
    Limit.FUEL: _Kind(
        ("a loop that does not end", "more work than the budget is for"),
        "docs/api.md#limits",
        instead="do less in Python's loops: NumPy and pandas work on whole columns for less fuel",
    ),
    Limit.TIME: _Kind(
        ("a wait for something that does not come", "more work than fits into the time"),
        "docs/api.md#limits",
        instead="sleep less, and wait for nothing from outside: it does not reach the sandbox",
    ),
    Limit.MEMORY: _Kind(
        ("a large file that is read whole", "many objects, or copies of large ones"),
        "docs/api.md#limits",
        instead="work on parts of the data (pandas reads files by chunksize), and del what is done",
    ),
    Limit.STACK: _Kind(("a function that calls itself without an end",), "docs/api.md#limits"),
    Limit.WORKSPACE: _Kind(
        ("files of earlier runs that are still there", "a loop that writes files"),
        "docs/api.md#limits",
        instead="delete files that nobody needs any more",
    ),
}
_OF_ERROR: dict[str, _Kind] = {
    "MissingPackage": _Kind(
        ("the sandbox has packages of its own, and not those of the computer it runs on",),
        "docs/differences.md#packages",
        "a package or a module is not in the sandbox",
    ),
    "MissingCodec": _Kind(
        ("a picture in a format that the sandbox's Pillow was built without",),
        "docs/differences.md#pictures",
        "a format of pictures is not in the sandbox",
    ),
    "MissingFile": _Kind(
        ("the file has another name or folder", "an earlier run did not write it"),
        _FILES,
        "a file is not there",
    ),
    "PathRestriction": _Kind(
        ("a path that exists on another computer, or outside of the sandbox",),
        _FILES,
        "a path leads out of the folders that the code may use",
    ),
    "NoNetwork": _Kind(
        ("a download, a request or a name of a server",),
        "docs/differences.md#network",
        "there is no network in the sandbox",
    ),
    "NoProcess": _Kind(
        ("a command of an operating system",),
        "docs/differences.md#threads-and-processes",
        "there are no processes in the sandbox",
    ),
}
"""The kinds that the guest tells of its own errors; see ``missing.py`` there."""

_SYNTAX = _Kind(
    (
        "a bracket, a quote or an indentation that does not match",
        "text around the code that is no Python, such as a Markdown fence",
    ),
    "docs/api.md#one-run",
    "the code is not valid Python",
    "correct the line that the traceback shows, and hand over the code alone",
)
_SYNTAX_ERRORS = ("SyntaxError", "IndentationError", "TabError")


def error_guidance(
    limit: Limit, error: CellError | None, told: object, policy: ExecutionPolicy
) -> dict[str, Any] | None:
    """What is known of a failed run beyond its traceback; None where that says it all.

    ``told`` is what the guest says of its error: a kind, and what to do. It has passed through
    the hands of the code, as stderr has.
    """
    if limit in _OF_LIMIT:
        return limit_guidance(limit, texts.limit_advice(limit, policy), policy)
    if error is None:
        return None
    if error.name in _SYNTAX_ERRORS:
        return _guidance("SyntaxError", _SYNTAX, _SYNTAX.title, [_SYNTAX.instead])
    if error.name == "RecursionError":
        advice = texts.limit_advice(Limit.STACK, policy)
        return _guidance(error.name, _OF_LIMIT[Limit.STACK], advice.happened, [advice.do])
    if isinstance(told, list) and len(told) == 2 and all(isinstance(item, str) for item in told):
        name, sentence = told
        kind = _OF_ERROR.get(name)
        if kind is not None:
            said = sentence[:SENTENCE_MAX].encode("utf-8", "replace").decode("utf-8")
            return _guidance(name, kind, kind.title, [said])
    return None


def limit_guidance(limit: Limit, advice: texts.Advice, policy: ExecutionPolicy) -> dict[str, Any]:
    """What a limit's advice comes to, with the fields that follow it."""
    kind = _OF_LIMIT[limit]
    steps = [advice.do, *filter(None, [kind.instead])]
    found = _guidance(texts.LIMIT_NAMES[limit], kind, advice.happened, steps)
    if limit is Limit.FUEL and policy.memory_bytes < _ROOMY:
        found["likely_causes"].append("an import of pandas or its like, which takes much fuel")
        found["actionable_guidance"].append(
            f"raise memory_bytes to {format_bytes(_ROOMY)}: with less, libraries are not loaded "
            "before the code begins"
        )
    more = raised(limit, policy)
    return {**found, "raise_to": more} if more else found


def _guidance(name: str, kind: _Kind, title: str, steps: list[str]) -> dict[str, Any]:
    return {
        "error_type": name,
        "title": title,
        "likely_causes": list(kind.causes),
        "actionable_guidance": steps,
        "related_docs": [kind.page],
    }


def fuel_analysis(consumed: int, limit: Limit, policy: ExecutionPolicy) -> dict[str, Any]:
    """How far the fuel of a run went, and what to give the next one like it."""
    budget = policy.fuel_budget
    used = consumed / budget
    suggested = budget
    causes: list[str] = []
    if limit is Limit.FUEL or used >= 1:
        status = "exhausted"
        suggested = raised(Limit.FUEL, policy).get("fuel_budget", budget)
        recommendation = (
            f"increase fuel_budget to {suggested:_} if the code needs more; "
            "a loop that does not end would use that up as well"
        )
        causes = list(_OF_LIMIT[Limit.FUEL].causes)
    elif used >= 0.75:
        status = "critical" if used >= 0.9 else "warning"
        suggested = min(_rounded_up(2 * consumed), _FUEL_MAX)
        recommendation = f"increase fuel_budget to {suggested:_} for runs that may need more"
        causes = [_OF_LIMIT[Limit.FUEL].causes[1]]
    elif used >= 0.5:
        status = "moderate"
        recommendation = "the budget is sufficient for this run, and not for twice its work"
    else:
        status = "efficient"
        recommendation = "the budget is sufficient"
    return {
        "consumed": consumed,
        "budget": budget,
        "utilization_percent": round(100 * used, 2),
        "status": status,
        "recommendation": recommendation,
        "suggested_budget": suggested,
        "likely_causes": causes,
    }


def _rounded_up(number: int) -> int:
    """To two digits that say something."""
    unit: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // unit) * unit
