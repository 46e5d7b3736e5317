"""The corpus in our kernel: cell by cell as under ipykernel, or listed as different with a reason.

ipykernel's side is a record (``corpus/ipykernel.json``): running it needs every package that the
sandbox has on the host. ``python -m tests.notebook.compare --record`` makes it anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from . import compare

DOCUMENT = Path(__file__).parents[2] / "docs" / "differences.md"
CELLS_MIN = 150
FILE_SECONDS = 600.0
"""For all cells of a file; the slowest takes a tenth of it on an idle machine."""

Outcomes = dict[str, "Future[dict[str, compare.Outcome]]"]


@pytest.fixture(scope="module")
def outcomes() -> Iterator[Outcomes]:
    """Every file in a kernel of its own, two at a time."""
    pool = ThreadPoolExecutor(2, thread_name_prefix="corpus")
    try:
        names = compare.corpus_names()
        yield {name: pool.submit(compare.run_file, "ours", name) for name in names}
    finally:
        pool.shutdown(cancel_futures=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", compare.corpus_names())
def test_every_cell_is_as_under_ipykernel_or_listed(name: str, outcomes: Outcomes) -> None:
    wrong = compare.problems(name, outcomes[name].result(FILE_SECONDS))
    assert not wrong, "\n" + "\n".join(wrong)


def test_the_corpus_is_large_and_wholly_recorded() -> None:
    record = compare.read_record()
    cells = {name: compare.read_corpus(name) for name in compare.corpus_names()}
    assert sum(map(len, cells.values())) >= CELLS_MIN
    assert set(record) == set(cells)
    for name, of_file in cells.items():
        assert list(record[name]) == [cell.name for cell in of_file]


def test_every_difference_has_its_reason_in_the_docs() -> None:
    known = compare.read_differences()
    assert set(known) <= set(compare.corpus_names())
    used = {difference.reason for cells in known.values() for difference in cells.values()}
    headings = re.findall(r"^#+ (.+)$", DOCUMENT.read_text(), flags=re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    assert used <= anchors, f"no heading in {DOCUMENT.name} for {sorted(used - anchors)}"


@pytest.mark.parametrize(
    ("theirs", "ours", "listed", "is_wrong"),
    [
        (["ok"], ["ok"], None, False),
        (["ok"], ["ok", "stdout"], None, True),
        (["ok"], ["KeyError", "error"], ["KeyError", "error"], False),
        (["ok"], ["KeyError", "error"], ["ValueError", "error"], True),
        (["ok"], ["ok"], ["KeyError", "error"], True),
    ],
    ids=["same", "unlisted", "listed", "listed otherwise", "listed and gone"],
)
def test_an_unlisted_difference_and_a_listed_one_that_is_gone_are_found(
    theirs: list[str],
    ours: list[str],
    listed: list[str] | None,
    is_wrong: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cell = compare.Cell("cell", "1")
    known = {} if listed is None else {"cell": compare.Difference("reason", listed)}
    monkeypatch.setattr(compare, "read_corpus", lambda _: [cell])
    monkeypatch.setattr(compare, "read_record", lambda: {"file": {"cell": [cell.digest, *theirs]}})
    monkeypatch.setattr(compare, "read_differences", lambda: {"file": known})
    outcome = compare.Outcome(ours[0], ours[1:])
    assert bool(compare.problems("file", {"cell": outcome})) is is_wrong


def test_a_changed_cell_asks_for_a_new_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "read_corpus", lambda _: [compare.Cell("cell", "2")])
    old = compare.Cell("cell", "1")
    monkeypatch.setattr(compare, "read_record", lambda: {"file": {"cell": [old.digest, "ok"]}})
    monkeypatch.setattr(compare, "read_differences", dict)
    (line,) = compare.problems("file", {"cell": compare.Outcome()})
    assert "--record" in line
