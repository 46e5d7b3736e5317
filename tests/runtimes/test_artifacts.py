"""The runtime files of a checkout: the link that a fresh clone gets, and what is left alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from wasm_kernel.runtimes.python import artifacts

ROOT = Path(__file__).parents[2]
SET_UP = """
from wasm_kernel.runtimes.python.artifacts import default_binary
from wasm_kernel.runtimes.python.prepare import prepare
prepare()
print(default_binary())
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What ``git clone`` brings, as far as the set-up looks at it: no link in bin/ yet."""
    root = tmp_path / "clone"
    shutil.copytree(
        ROOT, root, ignore=lambda folder, names: _left_out(Path(folder).relative_to(ROOT), names)
    )
    return root


def _left_out(folder: Path, names: list[str]) -> list[str]:
    if folder == Path("."):
        return sorted(set(names) - {"wasm_kernel", "bin", "pyproject.toml"})
    return [name for name in names if name.endswith(".wasm") or name == "__pycache__"]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with nothing in its bin/."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(artifacts, "checkout_root", lambda: tmp_path)
    return tmp_path


def test_bin_is_part_of_the_repository() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is not a clone")
    tracked = subprocess.run(
        ["git", "ls-files", "bin", "scripts"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert {"bin/README.md", "scripts/fetch_python_312.py", "scripts/install-chromium"} <= {
        *tracked
    }
    assert not [name for name in tracked if name.endswith(".wasm")]


def test_fresh_clone_gets_the_link_and_uses_it(clone: Path) -> None:
    link = clone / "bin" / "python.wasm"
    assert not link.exists()
    done = subprocess.run(
        [sys.executable, "-c", SET_UP],
        cwd=clone,
        env={**os.environ, "PYTHONPATH": str(clone), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(link)
    assert link.is_symlink()
    assert link.samefile(artifacts.artifact_folder() / "python.wasm")


def test_link_follows_the_runtime_that_is_pinned_now(checkout: Path) -> None:
    old, new = checkout / "old.wasm", checkout / "new.wasm"
    for file in (old, new):
        file.write_bytes(b"\0asm")
        artifacts.link_into_checkout("python.wasm", file)
    assert artifacts.default_binary() == checkout / "bin" / "python.wasm"
    assert artifacts.default_binary().samefile(new)


def test_link_to_nothing_is_not_used(checkout: Path) -> None:
    (checkout / "bin" / "python.wasm").symlink_to(checkout / "gone.wasm")
    assert artifacts.default_binary() == artifacts.artifact_folder() / "python.wasm"


def test_file_of_the_users_own_is_left_alone(checkout: Path) -> None:
    mine, fetched = checkout / "bin" / "python.wasm", checkout / "fetched.wasm"
    mine.write_bytes(b"mine")
    fetched.write_bytes(b"\0asm")
    artifacts.link_into_checkout("python.wasm", fetched)
    assert mine.read_bytes() == b"mine"
    assert artifacts.default_binary() == mine
