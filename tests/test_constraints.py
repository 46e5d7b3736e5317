"""The pinned versions: what anybody with the oldest Python that we promise can install."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distribution, distributions
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PINS = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines())


def oldest_python() -> str:
    """The first release of the oldest Python: distributions stay with an early one for years."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = re.fullmatch(r">=(3\.\d+)", project["requires-python"])
    assert found is not None
    return f"{found[1]}.0"


def installed(name: str) -> bool:
    return canonicalize_name(name) in {canonicalize_name(found.name) for found in distributions()}


@pytest.mark.parametrize("name", sorted(filter(installed, PINS)))
def test_a_pinned_version_is_here_and_takes_the_oldest_python(name: str) -> None:
    found = distribution(name)
    assert found.version == PINS[name]
    assert SpecifierSet(found.metadata.get("Requires-Python", "")).contains(oldest_python())


def test_every_dependency_is_pinned() -> None:
    """A range alone would give each user other versions than the tests had."""
    pinned = {canonicalize_name(name) for name in PINS}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    wanted = {re.split(r"[^\w.-]", line, maxsplit=1)[0] for lines in lists for line in lines}
    assert {canonicalize_name(name) for name in wanted} - pinned <= {"pip"}
