"""A session that runs for long holds no more than one that just began."""

from __future__ import annotations

import gc
import os
import tempfile
import threading
from pathlib import Path

import pytest

from wasm_kernel import NOTEBOOK_POLICY, Session, timeline

MAPPINGS_OF_A_SESSION = 4000
"""Linux allows some 65,000 for a process; twenty sessions must have room."""


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else's temporary files are counted."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))


def held() -> dict[str, int]:
    """What this process holds."""
    gc.collect()
    with open("/proc/self/maps") as maps:
        mappings = sum(1 for _ in maps)
    temporary = list(Path(tempfile.gettempdir()).rglob("*"))
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "mappings": mappings,
        "threads": threading.active_count(),
        "temporary files": len(temporary),
    }


def resident_bytes() -> int:
    """Memory of this process that no file stands behind."""
    with open("/proc/self/smaps_rollup") as rollup:
        fields = dict(line.split(":", 1) for line in rollup if ":" in line)
    return int(fields["Private_Dirty"].split()[0]) * 1024


def work(session: Session, first: int, last: int) -> None:
    """Small cells of every kind, and a bad end every fifty."""
    kinds = (
        "x = {n}",
        "x + {n}",
        "print({n})",
        "open('f', 'w').write('{n}')",
        "data = [{n}] * 1000",
        "len(data)",
    )
    for n in range(first, last):
        if n % 50 == 0:
            assert session.execute("import os\nopen('f', 'w').close()\nos.abort()").rolled_back
        elif n % 75 == 10:
            session.undo()
        else:
            assert session.execute(kinds[n % len(kinds)].format(n=n)).success


def test_three_hundred_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "UNDO_MEMORY_BYTES", 5_000_000)
    with Session(workspace=tmp_path / "w") as first:
        # What a process opens once, whatever number of sessions it has.
        first.execute("import os\nos.abort()")
    before = held()
    with Session(workspace=tmp_path / "w") as session:
        session.execute("x, data = 0, []")
        work(session, 1, 150)
        early, early_bytes = held(), resident_bytes()
        work(session, 150, 300)
        late, late_bytes = held(), resident_bytes()
        for what in ("descriptors", "threads"):
            assert late[what] <= early[what], what
        assert late["temporary files"] <= early["temporary files"] + 40
        assert late["mappings"] - before["mappings"] < MAPPINGS_OF_A_SESSION
        assert late_bytes < early_bytes + 30_000_000
        assert session.undo_depth < 200
    after = held()
    for what in ("descriptors", "temporary files"):
        assert after[what] <= before[what] + 1, what
    assert after["mappings"] < before["mappings"] + 100


def test_sessions_come_and_go(tmp_path: Path) -> None:
    def life() -> None:
        with Session(workspace=tmp_path / "w") as session:
            session.execute("x = 1")
            session.fork().close()

    life()
    before = held()
    for _ in range(30):
        life()
    after = held()
    assert after["descriptors"] <= before["descriptors"]
    assert after["threads"] <= before["threads"] + 1
    assert after["mappings"] < before["mappings"] + 60
    assert after["temporary files"] <= before["temporary files"]


def test_bad_ends_come_and_go(tmp_path: Path) -> None:
    policy = NOTEBOOK_POLICY.replace(fuel_budget=5_000_000)
    with Session(policy, tmp_path / "w") as session:
        session.execute("import os\nx = 1")
        codes = (
            "while True: pass",
            "os.abort()",
            "os._exit(1)",
            "import json\njson.loads('[' * 10**5)",
        )
        for code in codes:
            session.execute(code)
        before = held()
        for n in range(40):
            assert session.execute(codes[n % len(codes)]).rolled_back
        after = held()
        assert after["descriptors"] <= before["descriptors"]
        assert after["threads"] <= before["threads"]
        assert after["mappings"] < before["mappings"] + 200
        assert session.get("x") == 1
