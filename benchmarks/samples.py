"""Repeats that take turns, and what is made of them: medians and quartiles."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sample:
    """What some repeats came to; the spread is the distance between the quartiles."""

    median: float
    low: float
    high: float
    count: int
    note: str = ""

    @classmethod
    def of(cls, values: list[float], note: str = "") -> Sample:
        """The sample of some numbers; at least one."""
        if len(values) < 2:
            return cls(values[0], values[0], values[0], 1, note)
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(statistics.median(values), low, high, len(values), note)


@dataclass
class Rounds:
    """How often something is repeated, and when a slow peer has taken part often enough."""

    repeats: int
    seconds: float
    """What one peer may take of one measurement; it drops out of later rounds then."""
    least: int = 3
    seed: int = 7


@dataclass
class Entry:
    """One peer's part in a measurement."""

    call: Callable[[], float]
    values: list[float] = field(default_factory=list)
    spent: float = 0.0
    failure: str = ""


def interleave(calls: dict[str, Callable[[], float]], rounds: Rounds) -> dict[str, Entry]:
    """Each call once per round, in an order drawn anew for each: A B C, C A B, ...

    A first call of each is not counted unless it took so long that it can hardly be a warm-up.
    Calls return milliseconds; one that raises has failed for this measurement and says why.
    """
    entries = {name: Entry(call) for name, call in calls.items()}
    order = random.Random(rounds.seed)
    for number in range(rounds.repeats + 1):
        names = list(entries)
        order.shuffle(names)
        for name in names:
            entry = entries[name]
            is_tired = entry.spent > rounds.seconds and len(entry.values) >= rounds.least
            if entry.failure or is_tired:
                continue
            started = time.perf_counter()
            try:
                value = entry.call()
            except Exception as error:
                entry.failure = str(error) or type(error).__name__
                continue
            took = time.perf_counter() - started
            entry.spent += took
            if number > 0 or took > rounds.seconds / 2:
                entry.values.append(value)
    return entries
