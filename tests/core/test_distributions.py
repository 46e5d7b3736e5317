"""Versions by the names of folders, beside what importlib.metadata says."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from wasm_kernel.core.distributions import version_of
from wasm_kernel.runtimes.python.bundle import DISTRIBUTIONS


@pytest.mark.parametrize("name", [*DISTRIBUTIONS, "wasmtime", "wasm-kernel", "Jupyter.Client"])
def test_the_version_is_the_one_of_importlib_metadata(name: str) -> None:
    assert version_of(name) == importlib.metadata.version(name)


def test_the_first_folder_of_the_path_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, version in (("one", "1.0"), ("two", "2.0")):
        (tmp_path / place / f"Some_Thing-{version}.dist-info").mkdir(parents=True)
    monkeypatch.setattr("sys.path", [str(tmp_path / "two"), str(tmp_path / "one")])
    assert version_of("some-thing") == "2.0"


def test_a_distribution_that_is_not_there_is_an_error() -> None:
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        version_of("there-is-no-such-distribution")
