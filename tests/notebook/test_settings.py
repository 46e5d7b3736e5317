"""The folders that a kernel takes from its environment and from where the notebook is."""

from __future__ import annotations

from pathlib import Path

import pytest

from wasm_kernel.notebook.settings import ENV_DATA, ENV_WORKSPACE, Settings


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The notebook's folder, with data in it."""
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_data_beside_the_notebook_may_be_read(here: Path) -> None:
    settings = Settings.from_environment({})
    assert settings.policy.mount_data_dir == str(here / "data")
    assert settings.workspace == here / "workspace"


def test_data_in_the_workspace_is_not_mounted_a_second_time(here: Path) -> None:
    assert Settings.from_environment({ENV_WORKSPACE: "."}).policy.mount_data_dir is None


def test_data_that_was_named_is_left_to_be_refused(here: Path) -> None:
    settings = Settings.from_environment({ENV_WORKSPACE: ".", ENV_DATA: str(here / "data")})
    assert settings.policy.mount_data_dir == str(here / "data")
