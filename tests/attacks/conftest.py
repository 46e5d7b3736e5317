"""A canary that no guest may reach, and one-shot runs beside it."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wasm_kernel import ExecutionPolicy, PythonSandbox, SandboxResult, create_sandbox

HANG_GUARD_SECONDS = 120.0
"""No run of these tests needs a tenth of it; it only keeps a broken sandbox from hanging them."""

SECRET = "canary-7c1f2e5b9d3a48608e44"
SECRET_VARIABLE = "WASM_KERNEL_TEST_CANARY"


def fingerprint(folder: Path) -> dict[str, tuple[int, int, int, str]]:
    """Mode, size, time of change and digest of everything below a folder; links not followed."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(place, name)
            there = path.lstat()
            digest = ""
            if path.is_file() and not path.is_symlink():
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
            elif path.is_symlink():
                digest = os.readlink(path)
            size = 0 if path.is_dir() and not path.is_symlink() else there.st_size
            found[str(path.relative_to(folder))] = (
                there.st_mode,
                size,
                there.st_mtime_ns,
                digest,
            )
    return found


def is_plain(path: Path) -> bool:
    """Whether a path is a file that a guest may have written; the script itself is ours."""
    return path.is_file() and not path.is_symlink() and path.name != "user_code.py"


def held(workspace: Path) -> int:
    """Bytes of all files in a workspace, without the script itself."""
    return sum(path.stat().st_size for path in workspace.rglob("*") if is_plain(path))


class Canary:
    """A secret file, a secret variable and a listening port: all of them outside the sandbox."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.secret = SECRET
        self.file = folder / "secret.txt"
        folder.mkdir()
        (folder / "inner").mkdir()
        self.file.write_text(self.secret)
        (folder / "secret.py").write_text(f"VALUE = {self.secret!r}\n")
        self._before = fingerprint(folder)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]

    def changed(self) -> list[str]:
        """What is no longer as it was in the canary's folder."""
        now = fingerprint(self.folder)
        names = self._before.keys() | now.keys()
        return sorted(name for name in names if self._before.get(name) != now.get(name))

    def traces(self, result: SandboxResult, workspace: Path | None = None) -> list[str]:
        """Where the secret can be seen: in the result, or in a file of the workspace."""
        found = [
            field for field, value in result.model_dump().items() if self.secret in repr(value)
        ]
        for path in workspace.rglob("*") if workspace is not None else ():
            if self.secret in path.name:
                found.append(path.name)
            if is_plain(path) and self.secret.encode() in path.read_bytes():
                found.append(path.name)
        return found

    def connections(self) -> int:
        """How often somebody connected to the port since the last time."""
        count = 0
        while True:
            try:
                accepted, _ = self._listener.accept()
            except BlockingIOError:
                return count
            accepted.close()
            count += 1

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Canary]:
    """The canary of a test, beside its workspace."""
    made = Canary(tmp_path / "outside")
    monkeypatch.setenv(SECRET_VARIABLE, made.secret)
    yield made
    made.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """The workspace of a test."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


class Runner:
    """Runs code once in a sandbox of its own, on the test's workspace."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self._made: list[PythonSandbox] = []

    def sandbox(self, *, workspace: Path | None = None, **fields: Any) -> PythonSandbox:
        """A sandbox that is closed when the test ends."""
        policy = ExecutionPolicy(**{"timeout_seconds": HANG_GUARD_SECONDS, **fields})
        made = create_sandbox(policy=policy, workspace=workspace or self.workspace)
        assert isinstance(made, PythonSandbox)
        self._made.append(made)
        return made

    def __call__(self, code: str, *, workspace: Path | None = None, **fields: Any) -> SandboxResult:
        """The result of some code under a policy with these fields."""
        return self.sandbox(workspace=workspace, **fields).execute(code)

    def close(self) -> None:
        """Close every sandbox."""
        for made in self._made:
            made.close()


@pytest.fixture
def run(workspace: Path) -> Iterator[Runner]:
    """Runs code in a fresh sandbox on the test's workspace."""
    runner = Runner(workspace)
    yield runner
    runner.close()
