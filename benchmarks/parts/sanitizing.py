"""What it costs to make outputs safe: the outputs of ``benchmarks.sanitize``, in turns."""

from __future__ import annotations

import functools
import importlib
import time
from collections.abc import Callable
from typing import Any

from benchmarks.bench import Bench
from benchmarks.samples import interleave


def run(bench: Bench) -> None:
    """Time each of ``benchmarks.sanitize.cases()``."""
    try:
        cases: dict[str, Callable[[], Any]] = importlib.import_module("benchmarks.sanitize").cases()
    except (ImportError, AttributeError) as error:
        bench.results.problems.append(f"sanitize: {error}")
        return
    calls = {name: functools.partial(_milliseconds, case) for name, case in cases.items()}
    for name, entry in interleave(calls, bench.rounds(31)).items():
        if entry.failure:
            bench.results.problems.append(f"sanitize, {name}: {entry.failure}")
        else:
            bench.keep(f"sanitize.{name}", name, entry.values)


def _milliseconds(case: Callable[[], Any]) -> float:
    started = time.perf_counter()
    case()
    return (time.perf_counter() - started) * 1000
