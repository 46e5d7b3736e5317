"""Where the milliseconds of one warm cell through the kernel go."""

from __future__ import annotations

from benchmarks import profile_cell
from benchmarks.bench import Bench


def run(bench: Bench) -> None:
    """Take the profile with the client that drives all kernels."""
    client = bench.prepared("ipykernel")
    if not client.is_ready:
        bench.results.problems.append(f"profile: {client.reason}")
        return
    bench.prepared("ours")
    table = profile_cell.measure(client, 40 if bench.quick else 200)
    bench.results.tables["profile"] = table
    bench.say(f"  one warm cell through the kernel: {table['ms']:.2f} ms")
