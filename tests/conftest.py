"""What every test may use: a prepared runtime, its own workspace, sandboxes that get closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from host_shell import HostShell
from hypothesis import settings

from wasm_kernel.core.errors import WasmKernelError
from wasm_kernel.core.models import ExecutionPolicy
from wasm_kernel.host.guest import Program
from wasm_kernel.notebook.install import Spec, install
from wasm_kernel.runtimes.python.prepare import prepare
from wasm_kernel.runtimes.python.ready import Pool
from wasm_kernel.runtimes.python.ready import pool as shared_pool
from wasm_kernel.runtimes.python.sandbox import PythonSandbox

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session", autouse=True)
def runtime() -> Program:
    """The Python of the sandbox; without it no test means anything, so the run ends here."""
    try:
        return prepare()
    except (WasmKernelError, OSError) as error:
        pytest.exit(f"the runtime is not set up, run: wasm-kernel setup\n{error}", returncode=3)


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A Jupyter of the test run's own: our kernelspec and no settings of the user."""
    root = tmp_path_factory.mktemp("jupyter")
    install(Spec(), prefix=str(root / "prefix"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(root / "prefix" / "share" / "jupyter"))
        for name in ("config", "data", "runtime"):
            (root / name).mkdir(mode=0o700)
            patch.setenv(f"JUPYTER_{name.upper()}_DIR", str(root / name))
        patch.setenv("JUPYTER_PLATFORM_DIRS", "1")
        patch.setenv("IPYTHONDIR", str(root / "ipython"))
        for name in ("POLICY", "WORKSPACE", "DATA", "METRICS"):
            patch.delenv(f"WASM_KERNEL_{name}", raising=False)
        yield root


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """The workspace of the test, not made yet."""
    return tmp_path / "workspace"


@pytest.fixture
def make_sandbox(workspace: Path) -> Iterator[Callable[..., PythonSandbox]]:
    """``make_sandbox(**policy_fields)`` on the test's workspace; closed when the test ends."""
    made: list[PythonSandbox] = []

    def make(**policy_fields: Any) -> PythonSandbox:
        sandbox = PythonSandbox(ExecutionPolicy(**policy_fields), workspace)
        made.append(sandbox)
        return sandbox

    yield make
    for sandbox in made:
        sandbox.close()


@pytest.fixture
def pool() -> Iterator[Pool]:
    """The interpreters that wait in this process: at first none, and none is left behind."""
    shared_pool.close()
    yield shared_pool
    shared_pool.close()


@pytest.fixture(scope="module")
def host_shell() -> Iterator[HostShell]:
    """One IPython for the tests of a module."""
    made = HostShell()
    yield made
    made.close()


@pytest.fixture
def host(
    host_shell: HostShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HostShell]:
    """An ordinary IPython with ``%%sandbox``, in the test's folder, with no variables yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WASM_KERNEL_METRICS", raising=False)
    with host_shell.loaded():
        yield host_shell
