"""wasm_kernel itself: fresh runs, a live session, and what limits leave of it."""

from __future__ import annotations

import atexit
import os
import threading
import time
from pathlib import Path

import left
import protocol
import usage
from protocol import Answer, Request

from wasm_kernel import NOTEBOOK_POLICY, Session, create_sandbox
from wasm_kernel.core.base import BaseSandbox
from wasm_kernel.core.events import StreamEvent

FOLDER = Path(os.environ.get("TMPDIR", "/tmp"), f"wasm-kernel-bench-{os.getpid()}")


def clean() -> None:
    """Remove what the sessions have left."""
    import shutil

    shutil.rmtree(FOLDER, ignore_errors=True)


def new_session(name: str = "session", **changes: object) -> Session:
    """A session on a folder of its own."""
    return Session(NOTEBOOK_POLICY.replace(**changes), FOLDER / name)


def run_cell(session: Session, code: str) -> str:
    """Run a cell and give what it printed; an error of the cell is an error here."""
    result = session.execute(code)
    if result.error is not None:
        raise RuntimeError(f"{result.error.name}: {result.error.value}")
    return result.stdout


def run_fresh(sandbox: BaseSandbox, code: str) -> str:
    """Run a program and give what it printed; its failure is an error here."""
    result = sandbox.execute(code)
    if not result.success:
        raise RuntimeError(result.stderr[-300:])
    return result.stdout


class Ours:
    """The state of this worker: one sandbox, one session."""

    def __init__(self) -> None:
        self._sandbox = create_sandbox(workspace=FOLDER / "oneshot")
        self._session: Session | None = None
        self._held: list[Session] = []

    def hello(self, _: Request) -> Answer:
        """Versions."""
        from importlib import metadata

        names = ("wasm-kernel", "wasmtime")
        return {"versions": {name: metadata.version(name) for name in names}}

    def _fresh(self, request: Request) -> str:
        if not request.get("new"):
            return run_fresh(self._sandbox, request["code"])
        with create_sandbox(workspace=FOLDER / "new") as sandbox:
            return run_fresh(sandbox, request["code"])

    def fresh(self, request: Request) -> Answer:
        """One fresh interpreter; where asked for, in a sandbox that is made for it."""
        return protocol.timed_text(lambda: self._fresh(request))

    def many(self, request: Request) -> Answer:
        """The same, one after the other."""
        return protocol.repeat_for(lambda: self._fresh(request), request)

    def threads(self, request: Request) -> Answer:
        """The same number of runs in one thread and in two; the time of each."""
        count, code = request["count"], request["code"]
        sandboxes = [create_sandbox(workspace=FOLDER / f"thread-{n}") for n in range(2)]

        def work(place: int, runs: int) -> None:
            for _ in range(runs):
                if not sandboxes[place].execute(code).success:
                    raise RuntimeError("a run in a thread failed")

        for place in range(2):
            work(place, 1)
        one, _ = protocol.timed(lambda: work(0, count))
        pair = [threading.Thread(target=work, args=(n, count // 2)) for n in range(2)]
        started = time.perf_counter()
        for thread in pair:
            thread.start()
        for thread in pair:
            thread.join()
        two = (time.perf_counter() - started) * 1000
        for sandbox in sandboxes:
            sandbox.close()
        return {"one": one, "two": two}

    def open(self, _: Request) -> Answer:
        """A new session in place of the old one, up to its first answer."""

        def make() -> str:
            if self._session is not None:
                self._session.close()
            self._session = new_session()
            return run_cell(self._session, "print(1+1)")

        return protocol.timed_text(make)

    def cell(self, request: Request) -> Answer:
        """A cell of the live session."""
        if self._session is None:
            self._session = new_session()
        session = self._session
        return protocol.timed_text(lambda: run_cell(session, request["code"]))

    def hold(self, request: Request) -> Answer:
        """Keep some sessions in which cells ran; what each of them costs, in use and at rest."""
        before, before_share = usage.private_bytes(), usage.proportional_bytes()
        for number in range(request["count"]):
            session = new_session(f"held-{number}")
            for code in request["cells"]:
                run_cell(session, code)
            self._held.append(session)
        used = (usage.private_bytes() - before) / request["count"]
        for session in self._held:
            # As each does by itself when nobody has used it for half a minute.
            session.rest()
        each = (usage.private_bytes() - before) / request["count"]
        share = (usage.proportional_bytes() - before_share) / request["count"]
        whole = usage.private_bytes()
        for session in self._held:
            session.close()
        self._held.clear()
        return {"bytes": each, "share": share, "used": used, "process": whole}

    def left(self, request: Request) -> Answer:
        """What a limit leaves."""
        return left.ask(_Limited(), request["limit"])


class _Limited:
    """Sessions under small limits."""

    def open(self, limit: str) -> None:
        changes: dict[str, object] = {
            "time": {"timeout_seconds": 0.5},
            "fuel": {"fuel_budget": 500_000_000},
            "memory": {"memory_bytes": 256 * 1024 * 1024},
        }.get(limit, {})
        self._session = new_session(f"left-{limit}", **changes)

    def cell(self, code: str) -> str:
        return run_cell(self._session, code)

    def hit(self, limit: str, code: str) -> None:
        timer = threading.Timer(0.3, self._session.interrupt)
        if limit == "interrupt":
            timer.start()
        run_cell(self._session, code)

    def close(self) -> None:
        self._session.close()


def cold_fresh(code: str) -> str:
    """Cold: one fresh interpreter."""
    sandbox = create_sandbox(workspace=FOLDER / "cold")
    atexit.register(sandbox.close)
    result = sandbox.execute(code)
    if not result.success:
        raise SystemExit(result.stderr)
    return str(result.stdout)


def cold_session(code: str) -> str:
    """Cold: a notebook session and one cell; what it shows is the result."""
    shown: list[str] = []

    def collect(event: object) -> None:
        if isinstance(event, StreamEvent):
            shown.append(event.text)
        elif hasattr(event, "data"):
            shown.append(str(event.data.get("text/plain", "")))

    session = new_session()
    atexit.register(session.close)
    # As in a notebook: the result is there while the commit goes on, and the exit waits for that.
    result = session.execute(code, on_event=collect, settle=False)
    if result.error is not None:
        raise SystemExit(result.error.value)
    return "".join(shown)


if __name__ == "__main__":
    ours = Ours()
    names = ("hello", "fresh", "many", "threads", "open", "cell", "hold", "left")
    try:
        protocol.serve(
            {name: getattr(ours, name) for name in names},
            {"fresh": cold_fresh, "session": cold_session},
        )
    finally:
        clean()
