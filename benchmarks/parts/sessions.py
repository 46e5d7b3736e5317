"""What only live sessions of ours have: start from an image, fork, undo, rollback, commit."""

from __future__ import annotations

from typing import Any

from benchmarks.bench import Bench
from benchmarks.targets import ENDINGS
from benchmarks.worker import WorkerFailed

LIMITS = ("fuel", "time", "interrupt", "memory")
BYTES = 100_000_000


def run(bench: Bench) -> None:
    """All of it, one of each per round."""
    worker = bench.own("own.py")
    rounds = bench.rounds(25).repeats
    requests: dict[str, dict[str, Any]] = {
        "cell": {"do": "cell", "code": "x = 1"},
        "new": {"do": "new"},
        "fork": {"do": "fork"},
        "undo": {"do": "undo"},
        **{limit: {"do": "rollback", "limit": limit} for limit in LIMITS},
    }
    heavy = {"dirty": {"do": "dirty", "bytes": BYTES}, "copy": {"do": "copy", "bytes": BYTES}}
    answers: dict[str, list[dict[str, Any]]] = {name: [] for name in (*requests, *heavy)}
    for number in range(rounds + 1):
        turn = requests | (heavy if number <= (3 if bench.quick else 9) else {})
        for name, request in turn.items():
            answer = worker.ask(request)
            if answer.get("intact") is False:
                raise WorkerFailed(f"{name}: earlier variables are not as they were")
            if number:
                answers[name].append(answer)
    _keep(bench, answers)


def _keep(bench: Bench, answers: dict[str, list[dict[str, Any]]]) -> None:
    def values(name: str, key: str = "ms", minus: str = "") -> list[float]:
        return [row[key] - (row[minus] if minus else 0.0) for row in answers[name]]

    bench.keep("session.cell", "Session.execute('x = 1'), transaction included", values("cell"))
    bench.keep("session.cell.guest", "of it inside the guest", values("cell", "guest_ms"))
    pages = values("cell", "pages")
    bench.keep("session.cell.pages", "Pages a small cell commits", pages, unit="pages")
    bench.keep("session.made", "Session() in a warm process", values("new", "made_ms"))
    bench.keep("session.new", "New session to the answer of its first cell", values("new"))
    bench.keep(
        "session.new.extra",
        "New session: its first cell over its second, and Session() itself",
        values("new", "ms", minus="warm_ms"),
    )
    bench.keep("fork.made", "fork() of a small session", values("fork", "made_ms"))
    bench.keep("fork.first", "fork() to the answer of its first cell", values("fork"))
    bench.keep(
        "fork.extra",
        "Fork: its first cell over its second, and fork() itself",
        values("fork", "ms", minus="warm_ms"),
    )
    bench.keep("undo.call", "undo() of a small cell", values("undo", "call_ms"))
    bench.keep("undo.next", "undo() to the answer of the next cell", values("undo"))
    for limit in LIMITS:
        rolled_back = all(row["rolled_back"] for row in answers[limit])
        how = "rolled back" if rolled_back else "MemoryError inside the cell, nothing to roll back"
        bench.keep(
            f"rollback.{limit}",
            f"Next cell after {ENDINGS[limit]} ended one",
            values(limit),
            note=how,
        )
    for limit in ("time", "interrupt"):
        late = values(limit, "late_ms")
        bench.keep(f"late.{limit}", f"{limit}: until the endless loop had ended", late)
    bench.keep("dirty.cell", "A cell that writes 100 MB", values("dirty"))
    bench.keep("dirty.host", "of it outside the guest: the commit", values("dirty", "host_ms"))
    bench.keep("dirty.after", "The small cell after it", values("dirty", "after_ms"))
    bench.keep("copy.new", "A plain copy of 100 MB into new memory", values("copy"))
    bench.keep("copy.again", "The same into memory touched before", values("copy", "again_ms"))
