"""pyeryx: ``Sandbox`` for fresh programs, ``Session`` for cells."""

from __future__ import annotations

import eryx
import left
import protocol
from protocol import Answer, Request, Unsupported


class Eryx:
    """The state of this worker: one sandbox, whose every run is fresh, and one session."""

    def __init__(self) -> None:
        self._sandbox = eryx.Sandbox()
        self._session: eryx.Session | None = None

    def hello(self, _: Request) -> Answer:
        """Versions."""
        from importlib import metadata

        return {"versions": {"pyeryx": metadata.version("pyeryx")}}

    def _fresh(self, request: Request) -> str:
        sandbox = eryx.Sandbox() if request.get("new") else self._sandbox
        return _text(sandbox.execute(request["code"]).stdout)

    def fresh(self, request: Request) -> Answer:
        """One fresh interpreter; where asked for, in a sandbox that is made for it."""
        _refuse_packages(request["code"])
        return protocol.timed_text(lambda: self._fresh(request))

    def many(self, request: Request) -> Answer:
        """The same, one after the other."""
        return protocol.repeat_for(lambda: self._fresh(request), request)

    def open(self, _: Request) -> Answer:
        """A new session in place of the old one, up to its first answer."""

        def make() -> str:
            self._session = eryx.Session()
            return _text(self._session.execute("print(1+1)").stdout)

        return protocol.timed_text(make)

    def cell(self, request: Request) -> Answer:
        """A cell of the live session."""
        _refuse_packages(request["code"])
        if self._session is None:
            self._session = eryx.Session()
        session = self._session
        return protocol.timed_text(lambda: _text(session.execute(request["code"]).stdout))

    def left(self, request: Request) -> Answer:
        """What a limit leaves."""
        return left.ask(_Limited(), request["limit"])


class _Limited:
    """Sessions under small limits."""

    def open(self, limit: str) -> None:
        if limit == "interrupt":
            raise Unsupported("a session has no way to be interrupted from outside")
        if limit == "time":
            self._session = eryx.Session(execution_timeout_ms=1000, vfs=eryx.VfsStorage())
            return
        limits = {
            "fuel": eryx.ResourceLimits(max_fuel=2_000_000_000),
            "memory": eryx.ResourceLimits(max_memory_bytes=256 * 1024 * 1024),
            "exit": eryx.ResourceLimits(),
        }[limit]
        factory = eryx.SandboxFactory()
        self._session = factory.create_session(resource_limits=limits, vfs=eryx.VfsStorage())

    def cell(self, code: str) -> str:
        return _text(self._session.execute(_in_folder(code)).stdout)

    def hit(self, limit: str, code: str) -> None:
        del limit
        self._session.execute(_in_folder(code))

    def close(self) -> None:
        self._session = None


def _in_folder(code: str) -> str:
    """The only folder it may write is /data."""
    return code.replace("half.txt", "/data/half.txt")


def _text(out: bytes | str) -> str:
    return out.decode() if isinstance(out, bytes) else out


def _refuse_packages(code: str) -> None:
    if "numpy" in code or "pandas" in code:
        raise Unsupported("no numpy or pandas: they would need builds for WASI that PyPI lacks")


def cold_fresh(code: str) -> str:
    """Cold: one fresh interpreter."""
    return _text(eryx.Sandbox().execute(code).stdout)


def cold_session(code: str) -> str:
    """Cold: one session and one cell."""
    return _text(eryx.Session().execute(code).stdout)


if __name__ == "__main__":
    worker = Eryx()
    names = ("hello", "fresh", "many", "open", "cell", "left")
    protocol.serve(
        {name: getattr(worker, name) for name in names},
        {"fresh": cold_fresh, "session": cold_session},
    )
