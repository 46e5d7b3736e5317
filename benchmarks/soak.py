"""``python benchmarks/soak.py``: 10,000 small cells in one session, with a rollback every 100.

Prints what the process holds while it goes on: private memory, mappings, descriptors, threads and
temporary files. None of them may grow once the undo budget is full.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from wasm_kernel import NOTEBOOK_POLICY, Session

CELLS = (
    "x = {n}",
    "x + {n}",
    "print('cell', {n})",
    "data = [{n}] * 1000",
    "sum(data)",
    "open('file', 'w').write('{n}')",
    "def f(y): return y * {n}",
    "f(2)",
    "import math; math.sqrt({n})",
    "text = 'cell {n}'; len(text)",
)
ENDS = ("while True: pass", "import os; os.abort()", "import os; os._exit(1)")
COLUMNS = ("private MB", "mappings", "descriptors", "threads", "temporary", "undo cells", "undo MB")


def held(session: Session, temporary: Path) -> list[float]:
    """What the process holds now, in the order of the columns."""
    gc.collect()
    with open("/proc/self/smaps_rollup") as rollup:
        fields = dict(line.split(":", 1) for line in rollup if ":" in line)
    private = int(fields["Private_Dirty"].split()[0]) + int(fields["Private_Clean"].split()[0])
    with open("/proc/self/maps") as maps:
        mappings = sum(1 for _ in maps)
    return [
        private / 1000,
        mappings,
        sum(1 for _ in Path("/proc/self/fd").iterdir()),
        threading.active_count(),
        sum(1 for _ in temporary.rglob("*")),
        session.undo_depth,
        session._timeline.held_bytes / 1e6,
    ]


def soak(session: Session, cells: int, rollback_every: int, temporary: Path) -> list[list[float]]:
    """Run the cells; the rows that were held after every tenth of them."""
    rows: list[list[float]] = []
    times: list[float] = []
    report_every = max(cells // 10, 1)
    print(f"{'cells':>7} {'median ms':>10} " + " ".join(f"{name:>11}" for name in COLUMNS))
    for n in range(1, cells + 1):
        started = time.perf_counter()
        if n % rollback_every == 0:
            result = session.execute(ENDS[n // rollback_every % len(ENDS)])
            if not result.rolled_back:
                raise SystemExit(f"cell {n} was not rolled back: {result}")
        else:
            result = session.execute(CELLS[n % len(CELLS)].format(n=n))
            if not result.success:
                raise SystemExit(f"cell {n} failed: {result.error}")
            times.append(time.perf_counter() - started)
        if n % report_every == 0:
            rows.append(held(session, temporary))
            shown = " ".join(f"{value:>11.0f}" for value in rows[-1])
            print(f"{n:>7} {statistics.median(times) * 1000:>10.2f} {shown}", flush=True)
            times.clear()
    return rows


def main() -> int:
    """Soak, and compare the second half with its beginning."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=10_000)
    parser.add_argument("--rollback-every", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wasm-kernel-soak-") as name:
        temporary = Path(name, "temporary")
        temporary.mkdir()
        tempfile.tempdir = str(temporary)
        policy = NOTEBOOK_POLICY.replace(fuel_budget=20_000_000)
        with Session(policy, Path(name, "workspace")) as session:
            session.execute("x, data, f, text = 0, [], abs, ''")
            rows = soak(session, options.cells, options.rollback_every, temporary)
            value = session.get("x")
        tempfile.tempdir = None
    middle, last = rows[len(rows) // 2], rows[-1]
    growth = ", ".join(
        f"{name} {after - before:+.0f}"
        for name, before, after in zip(COLUMNS, middle, last, strict=True)
    )
    print(f"soak: {options.cells} cells, x == {value}; growth over the second half: {growth}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
