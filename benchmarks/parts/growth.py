"""How costs grow: with sessions, cells, files, live data and executions; and large frames."""

from __future__ import annotations

from benchmarks.bench import Bench

SECONDS = 3600.0


def run_growth(bench: Bench) -> None:
    """From one to many of each."""
    quick = bench.quick
    requests = {
        "sessions": {
            "do": "sessions",
            "counts": [1, 10, 100] if quick else [1, 3, 10, 30, 100, 300, 1000],
            "code": "x = 1",
        },
        "cells": {
            "do": "cells",
            "counts": [10, 100, 1000] if quick else [10, 30, 100, 300, 1000, 3000, 10_000],
        },
        "files": {
            "do": "files",
            "counts": [0, 1, 10, 100, 1000, 10_000],
            "repeats": 15 if quick else 61,
        },
        "data": {
            "do": "data",
            "megabytes": [1, 10, 100, 300] if quick else [1, 3, 10, 30, 100, 300, 1000],
            "repeats": 9 if quick else 21,
        },
        "executions": {"do": "executions", "count": 300 if quick else 1000},
    }
    for name, request in requests.items():
        # Each in a process of its own: what one leaves behind must not count for the next.
        bench.drop_workers()
        answer = bench.own("growth.py").ask(request, SECONDS)
        bench.results.tables[f"growth.{name}"] = answer
        bench.say(f"  growth.{name}: {answer}")


def run_frames(bench: Bench) -> None:
    """A DataFrame of a million rows through put and get."""
    rounds = 2 if bench.quick else 5
    request = {"do": "frame", "rows": 1_000_000}
    answers = [bench.own("growth.py").ask(request, 600) for _ in range(rounds + 1)][1:]
    note = f"{answers[0]['bytes'] / 1e6:.0f} MB: int, float, string, datetime, category, nulls"
    for name, title, key in (
        ("frame.put", "Session.put of a DataFrame of 1,000,000 rows", "put_ms"),
        ("frame.get", "Session.get of the same", "get_ms"),
        ("frame.pickle", "Pickling and unpickling the same, for scale", "pickle_ms"),
    ):
        bench.keep(name, title, [answer[key] for answer in answers], note=note)
