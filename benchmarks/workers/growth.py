"""How the costs of wasm_kernel grow: sessions, cells, files, live data, executions, frames."""

from __future__ import annotations

import contextlib
import pickle
import resource
import statistics
import time
from pathlib import Path

import protocol
import usage
from ours import FOLDER, clean, new_session, run_cell
from protocol import Answer, Request

from wasm_kernel import NOTEBOOK_POLICY, Session, create_sandbox
from wasm_kernel.runtimes.python.ready import pool

LARGEST_MEMORY = 4 * 1024**3 - 65536


def _available_bytes() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable"):
            return int(line.split()[1]) * 1024
    return 0


def _cells(session: Session, count: int, code: str = "x = 1") -> list[float]:
    return [protocol.timed(lambda: run_cell(session, code))[0] for _ in range(count)]


def sessions(request: Request) -> Answer:
    """Many sessions in one process: what the last of them cost, at each of some numbers."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    keep_free = _available_bytes() // 4
    with new_session("first") as session:
        # What a process pays once is not part of any session.
        run_cell(session, request["code"])
    before, held, rows, note = usage.private_bytes(), [], [], ""
    recent: list[float] = []
    with contextlib.ExitStack() as stack:
        for number in range(1, max(request["counts"]) + 1):
            if _available_bytes() < keep_free:
                note = f"stopped at {number - 1}: memory of the machine is running out"
                break

            def make(name: str = f"many-{number}") -> Session:
                session = stack.enter_context(new_session(name))
                run_cell(session, request["code"])
                return session

            try:
                ms, session = protocol.timed(make)
            except Exception as error:
                note = f"stopped at {number - 1}: {type(error).__name__}: {error}"[:300]
                break
            held.append(session)
            recent = [*recent[-19:], ms]
            if number in request["counts"]:
                each = (usage.private_bytes() - before) / number
                rows.append(
                    {
                        "sessions": number,
                        "new_ms": statistics.median(recent),
                        "newest_ms": statistics.median(_cells(held[-1], 9)),
                        "oldest_ms": statistics.median(_cells(held[0], 9)),
                        "bytes": each,
                        **usage.counts(),
                    }
                )
        ms, _ = protocol.timed(stack.close)
    return {"rows": rows, "note": note, "close_ms": ms / max(1, len(held))}


def cells(request: Request) -> Answer:
    """Many cells in one session: the time of a cell early and late, and the memory."""
    rows: list[dict[str, float]] = []
    window: list[float] = []
    with new_session("cells") as session:
        for number in range(1, max(request["counts"]) + 1):
            ms, _ = protocol.timed(lambda n=number: run_cell(session, f"x = {n}"))
            window = [*window[-99:], ms]
            if number in request["counts"]:
                rows.append(
                    {
                        "cells": number,
                        "ms": statistics.median(window),
                        "bytes": usage.private_bytes(),
                        **usage.counts(),
                    }
                )
    return {"rows": rows}


def files(request: Request) -> Answer:
    """Cells that touch no file, beside more and more files; sessions take turns."""
    counts: list[int] = request["counts"]
    times: dict[int, list[float]] = {count: [] for count in counts}
    first: dict[int, float] = {}
    with contextlib.ExitStack() as stack:
        live = {}
        for count in counts:
            folder = FOLDER / f"files-{count}"
            for number in range(count):
                place = folder / f"folder-{number // 1000}"
                place.mkdir(parents=True, exist_ok=True)
                (place / f"{number}.txt").write_text("some text\n")
            session = stack.enter_context(Session(NOTEBOOK_POLICY, folder))
            first[count], _ = protocol.timed(lambda s=session: run_cell(s, "x = 1"))
            live[count] = session
        for _ in range(request["repeats"]):
            for count, session in live.items():
                times[count] += _cells(session, 1)
    rows = [
        {"files": count, "ms": statistics.median(times[count]), "first_ms": first[count]}
        for count in counts
    ]
    return {"rows": rows}


def data(request: Request) -> Answer:
    """Small cells, forks, undos and rollbacks beside more and more live data."""
    rows, note = [], ""
    for megabytes in request["megabytes"]:
        if _available_bytes() < 4 * megabytes * 1_000_000:
            note = f"stopped before {megabytes} MB: memory of the machine is running out"
            break
        with new_session(f"data-{megabytes}", memory_bytes=LARGEST_MEMORY) as session:
            make, _ = protocol.timed(
                lambda s=session, n=megabytes: run_cell(s, f"data = b'\\x01' * {n * 1_000_000}")
            )
            small = statistics.median(_cells(session, request["repeats"]))

            def fork_and_run(parent: Session = session) -> None:
                with parent.fork() as twin:
                    run_cell(twin, "x = 1")

            def undo_and_run(parent: Session = session) -> None:
                parent.undo()
                run_cell(parent, "x = 1")

            def fail_and_run(parent: Session = session) -> None:
                parent.execute("import os; os._exit(1)")
                run_cell(parent, "x = 1")

            rows.append(
                {
                    "megabytes": megabytes,
                    "make_ms": make,
                    "cell_ms": small,
                    "fork_ms": statistics.median(protocol.timed(fork_and_run)[0] for _ in range(3)),
                    "undo_ms": statistics.median(protocol.timed(undo_and_run)[0] for _ in range(3)),
                    "rollback_ms": statistics.median(
                        protocol.timed(fail_and_run)[0] for _ in range(3)
                    ),
                }
            )
    return {"rows": rows, "note": note}


def executions(request: Request) -> Answer:
    """Many fresh executions in one process: what is left behind."""
    with create_sandbox(workspace=FOLDER / "executions") as sandbox:
        for _ in range(50):
            sandbox.execute("print(1+1)")
        _until_interpreters_wait()
        before, counts = usage.private_bytes(), usage.counts()
        for _ in range(request["count"]):
            if sandbox.execute("print(1+1)").stdout != "2\n":
                raise RuntimeError("a run failed")
        _until_interpreters_wait()
        after = usage.counts()
        return {
            "bytes": usage.private_bytes() - before,
            **{name: after[name] - counts[name] for name in counts},
        }


def _until_interpreters_wait() -> None:
    """One that has just run still has its folders open, for as long as it is made ready again."""
    deadline = time.monotonic() + 10
    while not all(one.is_waiting for one in pool.idle):
        if time.monotonic() > deadline:
            raise RuntimeError("the interpreters are not ready for another run")
        time.sleep(0.001)


def frame(request: Request) -> Answer:
    """A DataFrame of many kinds of columns, into the guest and out again."""
    import numpy as np
    import pandas as pd

    rows = request["rows"]
    random = np.random.default_rng(1)
    numbers = random.normal(size=rows)
    numbers[::7] = np.nan
    words = pd.Series([f"word {n % 5000}" for n in range(rows)])
    words[::11] = None
    made = pd.DataFrame(
        {
            "int": random.integers(0, 10**9, rows),
            "float": numbers,
            "string": words,
            "datetime": pd.date_range("2020-01-01", periods=rows, freq="s"),
            "category": pd.Categorical.from_codes(
                random.integers(0, 4, rows), ["north", "east", "south", "west"]
            ),
        }
    )
    with new_session("frame", memory_bytes=LARGEST_MEMORY) as session:
        run_cell(session, "x = 1")
        put, _ = protocol.timed(lambda: session.put("frame", made))
        run_cell(session, f"assert len(frame) == {rows}")
        get, back = protocol.timed(lambda: session.get("frame"))
    pd.testing.assert_frame_equal(made, back, check_dtype=False, check_freq=False)
    dumped, text = protocol.timed(lambda: pickle.dumps(made, protocol=5))
    loaded, _ = protocol.timed(lambda: pickle.loads(text))
    return {
        "put_ms": put,
        "get_ms": get,
        "pickle_ms": dumped + loaded,
        "bytes": int(made.memory_usage(deep=True).sum()),
    }


if __name__ == "__main__":
    handlers = (sessions, cells, files, data, executions, frame)
    try:
        protocol.serve({handler.__name__: handler for handler in handlers}, {})
    finally:
        clean()
