"""Our kernel with stopwatches: the same code, with marks taken where a cell passes by.

After each cell a line of JSON goes to the file that ``BENCH_MARKS`` names: moments on the clock
that all processes share, and the time spent in some functions.
"""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wasm_kernel.host import differ, guest, mapped
from wasm_kernel.notebook import cells, publish, render
from wasm_kernel.notebook.__main__ import main
from wasm_kernel.notebook.kernel import WasmKernel
from wasm_kernel.runtimes.python import conversation
from wasm_kernel.session import Session

MARKS: dict[str, float] = {}
SPENT: dict[str, float] = {}


def mark(name: str) -> None:
    """A moment; the last one of a name counts."""
    MARKS[name] = time.perf_counter()


def spend(owner: Any, name: str, label: str) -> None:
    """Sum up the time that a function takes."""
    inner = getattr(owner, name, None)
    if inner is None:
        return

    @functools.wraps(inner)
    def timed(*args: Any, **options: Any) -> Any:
        started = time.perf_counter()
        try:
            return inner(*args, **options)
        finally:
            SPENT[label] = SPENT.get(label, 0.0) + time.perf_counter() - started

    setattr(owner, name, timed)


def around(owner: Any, name: str, before: str, after: str) -> None:
    """Marks when a function is entered and when it is left."""
    inner = getattr(owner, name)

    @functools.wraps(inner)
    def marked(*args: Any, **options: Any) -> Any:
        mark(before)
        try:
            return inner(*args, **options)
        finally:
            mark(after)

    setattr(owner, name, marked)


def around_async(owner: Any, name: str, before: str, after: str) -> None:
    """The same for a coroutine."""
    inner = getattr(owner, name)

    @functools.wraps(inner)
    async def marked(*args: Any, **options: Any) -> Any:
        mark(before)
        try:
            return await inner(*args, **options)
        finally:
            mark(after)

    setattr(owner, name, marked)


def watch_guest_thread() -> None:
    """Marks on the guest's own thread."""
    inner = guest.guest_threads.run

    def run(call: Callable[[], Any], **options: Any) -> Any:
        def marked() -> Any:
            mark("guest entered")
            try:
                return call()
            finally:
                mark("guest left")

        mark("guest asked")
        try:
            return inner(marked, **options)
        finally:
            mark("guest answered")

    guest.guest_threads.run = run  # type: ignore[method-assign]


def watch_fuel() -> None:
    """Marks when the user's code begins and ends."""
    inner = conversation.Fuel.switch

    def switch(self: Any, running: Any, *, to_user: bool) -> None:
        mark("code begins" if to_user else "code ends")
        inner(self, running, to_user=to_user)

    conversation.Fuel.switch = switch  # type: ignore[method-assign]


def write_after_each(file: Path) -> None:
    """Write a line when the kernel is idle again."""
    inner = WasmKernel.dispatch_shell

    async def dispatch(self: Any, *args: Any, **options: Any) -> None:
        MARKS.clear()
        SPENT.clear()
        mark("dispatched")
        await inner(self, *args, **options)
        mark("idle sent")
        if "session entered" in MARKS:
            with file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"marks": MARKS, "spent": SPENT}) + "\n")

    WasmKernel.dispatch_shell = dispatch


def install() -> None:
    """Put all marks in place."""
    memory = mapped.strategy()
    around_async(WasmKernel, "execute_request", "request read", "reply sent")
    around_async(WasmKernel, "do_execute", "cell begins", "cell answered")
    around(cells.Cells, "execute", "worker begins", "worker ends")
    around(Session, "execute", "session entered", "session left")
    watch_guest_thread()
    watch_fuel()
    spend(guest.Guest, "at_rest", "commit: descriptors")
    spend(memory, "_dirty", "commit: find written pages")
    spend(memory, "_take_mapped", "commit: long runs written again")
    spend(memory, "_take_long", "commit: long runs of new pages")
    spend(differ.Differ, "take", "commit: compare and copy pages")
    spend(memory, "_settle", "commit: put pages away")
    spend(Session, "_settle", "session: wait for the last commit")
    spend(conversation.Conversation, "_answer", "guest: door calls answered by the host")
    spend(render, "as_metadata", "kernel: metrics for the reply")
    spend(publish.Publisher, "finish", "kernel: flush outputs")
    spend(WasmKernel, "_publish_status", "kernel: publish busy and idle")
    spend(WasmKernel, "_publish_execute_input", "kernel: publish the input")
    write_after_each(Path(os.environ["BENCH_MARKS"]))


if __name__ == "__main__":
    install()
    main()
