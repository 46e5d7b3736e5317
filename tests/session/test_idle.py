"""Sessions that rest: they take less, and nobody can tell otherwise."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

import wasm_kernel.session
from wasm_kernel import Session
from wasm_kernel.idle import Idle

from .conftest import HANG_GUARD_SECONDS, Cell, MakeSession, Running, state_digest

RunCell = Callable[..., Cell]


def anonymous_bytes() -> int:
    """Memory of this process that no file has."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name == "Anonymous":
            return int(rest.split()[0]) * 1024
    raise AssertionError("no such field")


def test_everything_goes_on_after_a_rest(session: Session, cell: RunCell) -> None:
    cell(session, "x = 1")
    session.checkpoint("one")
    cell(session, "open('a.txt', 'w').write('a'); x = 2")
    state = state_digest(session)
    session.rest()
    assert state_digest(session) == state
    assert cell(session, "print(x)").stdout == "2\n"
    session.rest()
    assert session.undo(2) == []
    session.rest()
    assert session.get("x") == 1
    assert not (session.workspace / "a.txt").exists()
    session.rest()
    with session.fork() as twin:
        twin.rest()
        assert twin.get("x") == 1
    session.restore("one")
    session.rest()
    session.save(session.workspace / "saved")
    assert cell(session, "print(x)").stdout == "1\n"


def test_a_rest_changes_no_random_numbers_and_no_clock(make_session: MakeSession) -> None:
    def draws(*, rests: bool) -> list[object]:
        session = make_session(deterministic=True, seed=7)
        found = []
        for _ in range(3):
            session.execute("import random, time; drawn = [random.random(), time.time()]")
            found.append(session.get("drawn"))
            if rests:
                session.rest()
        session.close()
        return found

    assert draws(rests=True) == draws(rests=False)


def test_a_session_with_an_open_file_does_not_rest(session: Session, cell: RunCell) -> None:
    cell(session, "file = open('log.txt', 'w'); count = file.write('one ')")
    session.rest()
    cell(session, "count = file.write('two'); file.close()")
    assert (session.workspace / "log.txt").read_text() == "one two"
    session.rest()
    assert cell(session, "print(open('log.txt').read())").stdout == "one two\n"


def test_a_running_cell_is_left_alone(session: Session, background: Callable[..., Running]) -> None:
    running = background(session, "print('ready')\nanswer = input()", allow_stdin=True)
    running.until_asked()
    session.rest()
    assert not running.is_done
    session.interrupt()
    assert running.result().rolled_back


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_resting_session_takes_half_the_memory(make_session: MakeSession) -> None:
    sessions = [make_session() for _ in range(4)]
    for session in sessions:
        for number in range(5):
            session.execute(f"import pandas as pd; frame = pd.DataFrame({{'a': [{number}]}})")
        assert session.committed_pages > 0, "waits for the last commit"
    before = anonymous_bytes()
    for session in sessions:
        session.rest()
    assert (before - anonymous_bytes()) / len(sessions) > 3_000_000


def test_a_session_that_nobody_uses_rests_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rested = threading.Event()

    class Watched(Session):
        def rest(self) -> None:
            super().rest()
            rested.set()

    monkeypatch.setattr(wasm_kernel.session, "idle", Idle(0.05))
    with Watched(workspace=tmp_path / "workspace") as session:
        session.execute("x = 1")
        assert rested.wait(HANG_GUARD_SECONDS)
        assert session._live._guest is None


def test_nobody_is_told_that_a_resting_session_is_busy(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wasm_kernel.session, "idle", Idle(0.0))
    session = make_session()
    session.execute("n = 0")
    for _ in range(60):
        session.execute("n += 1", settle=False)
    assert session.get("n") == 60


class Thing:
    """Something that can rest."""

    def __init__(self) -> None:
        self.rested = threading.Event()

    def rest(self) -> None:
        self.rested.set()


def test_who_is_used_again_rests_later_and_once() -> None:
    idle = Idle(0.05)
    early, late = Thing(), Thing()
    for thing in (early, late, early):
        idle.note(thing)
    assert late.rested.wait(HANG_GUARD_SECONDS)
    assert early.rested.wait(HANG_GUARD_SECONDS)
    early.rested.clear()
    third = Thing()
    idle.note(third)
    assert third.rested.wait(HANG_GUARD_SECONDS)
    assert not early.rested.is_set()


def test_who_is_dropped_or_gone_does_not_rest() -> None:
    idle = Idle(0.05)
    dropped, last = Thing(), Thing()
    gone = Thing()
    reference = weakref.ref(gone)
    for thing in (dropped, gone, last):
        idle.note(thing)
    idle.drop(dropped)
    del gone, thing
    gc.collect()
    assert reference() is None
    assert last.rested.wait(HANG_GUARD_SECONDS)
    assert not dropped.rested.is_set()


def test_a_cell_does_not_fail_for_want_of_a_thread(
    session: Session, cell: RunCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session is not left locked either, and rests when there is a thread again."""
    idle = Idle(0.05)
    monkeypatch.setattr(wasm_kernel.session, "idle", idle)
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "wasm-idle":
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", refuse)
        assert cell(session, "x = 1").result.success
        assert session.get("x") == 1
    thing = Thing()
    idle.note(thing)
    assert thing.rested.wait(HANG_GUARD_SECONDS)
