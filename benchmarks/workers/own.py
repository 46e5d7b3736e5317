"""What only wasm_kernel has: sessions from an image, fork, undo, rollback, commits."""

from __future__ import annotations

import ctypes
import itertools
import threading
import time

import protocol
from ours import clean, new_session, run_cell
from protocol import Answer, Request

from wasm_kernel import Session

LIMITS: dict[str, dict[str, object]] = {
    "fuel": {"fuel_budget": 300_000_000},
    "time": {"timeout_seconds": 0.3},
    "interrupt": {},
    "memory": {"memory_bytes": 256 * 1024 * 1024},
}
ENDLESS = {"memory": "held = []\nwhile True: held.append(bytearray(16_000_000))"}
STARTED = "kept = 41"
_numbers = itertools.count()


def committed(session: Session, code: str) -> Answer:
    """A cell with its transaction."""
    result = session.execute(code)
    if not result.success:
        raise RuntimeError(str(result.error))
    return {"guest_ms": result.guest_ms, "pages": result.pages_committed}


class Own:
    """The state of this worker: one warm session and a source of bytes."""

    def __init__(self) -> None:
        self._session = new_session("warm")
        run_cell(self._session, STARTED)
        self._limited: dict[str, Session] = {}

    def cell(self, request: Request) -> Answer:
        """A warm cell, with what the host and the guest took of it."""
        ms, answer = protocol.timed(lambda: committed(self._session, request["code"]))
        return {"ms": ms, **answer}

    def new(self, _: Request) -> Answer:
        """A session from the notebook image: made, and up to the answer of its first cell."""
        started = time.perf_counter()
        session = new_session(f"new-{next(_numbers)}")
        made = time.perf_counter()
        run_cell(session, "x = 1")
        first = time.perf_counter()
        run_cell(session, "x = 2")
        second = time.perf_counter()
        session.close()
        return {
            "made_ms": (made - started) * 1000,
            "ms": (first - started) * 1000,
            "warm_ms": (second - first) * 1000,
        }

    def fork(self, _: Request) -> Answer:
        """A fork of the warm session: made, and up to the answer of its first cell."""
        started = time.perf_counter()
        twin = self._session.fork()
        made = time.perf_counter()
        out = run_cell(twin, "print(kept)")
        first = time.perf_counter()
        run_cell(twin, "x = 2")
        second = time.perf_counter()
        twin.close()
        return {
            "made_ms": (made - started) * 1000,
            "ms": (first - started) * 1000,
            "warm_ms": (second - first) * 1000,
            "intact": out.strip() == "41",
        }

    def undo(self, _: Request) -> Answer:
        """Take back a small cell: the call, and up to the answer of the next cell."""
        run_cell(self._session, "kept = 42")
        started = time.perf_counter()
        self._session.undo()
        undone = time.perf_counter()
        out = run_cell(self._session, "print(kept)")
        answered = time.perf_counter()
        return {
            "call_ms": (undone - started) * 1000,
            "ms": (answered - started) * 1000,
            "intact": out.strip() == "41",
        }

    def rollback(self, request: Request) -> Answer:
        """End a cell by a limit; how late it ended, and when the next cell was answered."""
        limit = request["limit"]
        if limit not in self._limited:
            session = self._limited[limit] = new_session(f"limit-{limit}", **LIMITS[limit])
            run_cell(session, STARTED)
        session = self._limited[limit]
        asked: list[float] = []

        def interrupt() -> None:
            asked.append(time.perf_counter())
            session.interrupt()

        if limit == "interrupt":
            threading.Timer(0.2, interrupt).start()
        elif limit == "time":
            asked.append(time.perf_counter() + 0.3)
        result = session.execute("kept = 99\n" + ENDLESS.get(limit, "while True: pass"))
        ended = time.perf_counter()
        out = run_cell(session, "print(kept)")
        answered = time.perf_counter()
        return {
            "ms": (answered - ended) * 1000,
            "late_ms": (ended - asked[0]) * 1000 if asked else None,
            "limit": result.limit.value,
            "rolled_back": result.rolled_back,
            "intact": out.strip() == ("41" if result.rolled_back else "99"),
        }

    def dirty(self, request: Request) -> Answer:
        """A cell that writes many new bytes, and what the host needed to commit them."""
        size = request["bytes"]
        with new_session(f"dirty-{next(_numbers)}") as session:
            run_cell(session, "x = 1")
            code = f"data = b'\\x01' * {size}"
            ms, answer = protocol.timed(lambda: committed(session, code))
            small, _ = protocol.timed(lambda: run_cell(session, "x = 2"))
            return {
                "ms": ms,
                "host_ms": ms - answer["guest_ms"],
                "pages": answer["pages"],
                "after_ms": small,
            }

    def copy(self, request: Request) -> Answer:
        """A plain copy of as many bytes: into new memory, and into memory touched before."""
        source = bytes([1]) * request["bytes"]
        new, target = protocol.timed(lambda: bytearray(source))
        place = (ctypes.c_char * len(target)).from_buffer(target)
        again, _ = protocol.timed(lambda: ctypes.memmove(place, source, len(source)))
        return {"ms": new, "again_ms": again}


if __name__ == "__main__":
    own = Own()
    names = ("cell", "new", "fork", "undo", "rollback", "dirty", "copy")
    try:
        protocol.serve({name: getattr(own, name) for name in names}, {})
    finally:
        clean()
