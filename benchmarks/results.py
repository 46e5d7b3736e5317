"""What was measured, as plain data: written as JSON, read again by the report."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.samples import Entry, Sample

FOLDER = Path(__file__).parent / "results"


def latest(*, quick: bool) -> Path:
    """Where the newest results lie; those of quick runs stay apart."""
    return FOLDER / ("latest-quick.json" if quick else "latest.json")


@dataclass
class Measure:
    """One question, with the answer of each peer: a sample, or the reason why there is none."""

    title: str
    unit: str = "ms"
    is_less_better: bool = True
    samples: dict[str, Sample] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    note: str = ""


@dataclass
class Results:
    """A run of the suite."""

    about: dict[str, Any] = field(default_factory=dict)
    peers: dict[str, dict[str, Any]] = field(default_factory=dict)
    measures: dict[str, Measure] = field(default_factory=dict)
    tables: dict[str, Any] = field(default_factory=dict)
    load: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(
        self, name: str, title: str, entries: dict[str, Entry], *, note: str = "", unit: str = "ms"
    ) -> Measure:
        """A measurement of interleaved repeats."""
        measure = self.measures.setdefault(name, Measure(title, unit, note=note))
        for peer, entry in entries.items():
            if entry.values:
                measure.samples[peer] = Sample.of(entry.values, entry.failure)
            else:
                measure.reasons[peer] = entry.failure or "not measured"
        return measure

    def median(self, name: str, peer: str = "ours") -> float | None:
        """The median of one peer in one measurement; None where there is none."""
        measure = self.measures.get(name)
        sample = measure.samples.get(peer) if measure is not None else None
        return None if sample is None else sample.median

    def merge(self, newer: Results) -> None:
        """Take over what a later, partial run measured."""
        self.about.update(newer.about)
        for name in ("peers", "measures", "tables"):
            getattr(self, name).update(getattr(newer, name))
        renewed = {row["part"] for row in newer.load}
        self.load = [row for row in self.load if row["part"] not in renewed] + newer.load
        self.problems = newer.problems

    def write(self, path: Path) -> None:
        """Write the results as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(dataclasses.asdict(self), indent=1)
        path.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Results:
        """Read results that were written before."""
        raw = json.loads(path.read_text(encoding="utf-8"))
        measures = {}
        for name, fields in raw.pop("measures").items():
            samples = {peer: Sample(**sample) for peer, sample in fields.pop("samples").items()}
            measures[name] = Measure(samples=samples, **fields)
        return cls(measures=measures, **raw)
