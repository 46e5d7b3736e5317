"""Who may use a session, when, and what happens to it at the end."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wasm_kernel import (
    NOTEBOOK_POLICY,
    Limit,
    SandboxExecutionError,
    Session,
    SessionClosedError,
    WorkspaceError,
    create_sandbox,
)
from wasm_kernel.core.events import Event, StreamEvent
from wasm_kernel.host.threads import guest_threads

from .conftest import HANG_GUARD_SECONDS, Cell, MakeSession, Running

RunCell = Callable[..., Cell]
Background = Callable[..., Running]


# One at a time.

USES: dict[str, Callable[[Session], object]] = {
    "execute": lambda session: session.execute("1"),
    "complete": lambda session: session.complete("a"),
    "inspect": lambda session: session.inspect("a"),
    "is_complete": lambda session: session.is_complete("a"),
    "history": lambda session: session.history("range"),
    "put": lambda session: session.put("a", 1),
    "get": lambda session: session.get("a"),
    "undo": lambda session: session.undo(),
    "checkpoint": lambda session: session.checkpoint("a"),
    "restore": lambda session: session.restore("a"),
    "checkpoints": lambda session: session.checkpoints(),
    "fork": lambda session: session.fork(),
    "save": lambda session: session.save(session.workspace / "saved"),
}


def test_a_busy_session_says_so(session: Session, background: Background) -> None:
    session.execute("a = 1")
    session.checkpoint("a")
    running = background(session, "print('ready')\nwhile True: pass")
    running.until_printed()
    for name, use in USES.items():
        with pytest.raises(SandboxExecutionError, match="busy"):
            use(session)
            pytest.fail(f"{name} was not refused")
    assert not running.is_done
    session.interrupt()
    assert running.result().limit is Limit.INTERRUPTED
    for use in USES.values():
        use(session)


def test_a_listener_cannot_use_the_session_it_listens_to(session: Session) -> None:
    errors: list[str] = []

    def on_event(_: Event) -> None:
        for use in USES.values():
            with pytest.raises(SandboxExecutionError) as caught:
                use(session)
            errors.append(str(caught.value))

    assert session.execute("print(1)", on_event=on_event).success
    assert len(errors) == len(USES) and all("busy" in error for error in errors)


def test_a_closed_session_says_so(make_session: MakeSession) -> None:
    session = make_session()
    session.execute("a = 1")
    session.close()
    session.close()
    session.interrupt()
    for name, use in USES.items():
        with pytest.raises(SessionClosedError, match="closed"):
            use(session)
            pytest.fail(f"{name} was not refused")


def test_a_session_is_a_context_manager(tmp_path: Path) -> None:
    with Session(workspace=tmp_path / "w") as session:
        assert session.execute("1").success
    with pytest.raises(SessionClosedError):
        session.execute("1")


def test_a_session_that_never_ran_can_be_closed(make_session: MakeSession) -> None:
    make_session().close()


def test_close_interrupts_what_runs(session: Session, background: Background) -> None:
    running = background(session, "print('ready')\nwhile True: pass")
    running.until_printed()
    session.close()
    assert running.result().limit is Limit.INTERRUPTED
    with pytest.raises(SessionClosedError):
        session.execute("1")


def test_no_cell_gets_in_before_a_close(session: Session, background: Background) -> None:
    """Whoever runs one cell after another is not faster than whoever waits to close."""
    running = background(session, "print('ready')\nwhile True: pass")
    running.until_printed()
    closing = threading.Thread(target=session.close)
    closing.start()
    assert running.result().limit is Limit.INTERRUPTED
    with pytest.raises(SandboxExecutionError, match=r"closed|busy"):
        session.execute("while True: pass")
    closing.join(HANG_GUARD_SECONDS)
    assert not closing.is_alive()


def test_close_ends_a_prompt(session: Session, background: Background) -> None:
    running = background(session, "input()", allow_stdin=True)
    running.until_asked()
    session.close()
    assert running.result().rolled_back


def test_close_from_two_threads(session: Session, background: Background) -> None:
    running = background(session, "print('ready')\nwhile True: pass")
    running.until_printed()
    threads = [threading.Thread(target=session.close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_GUARD_SECONDS)
        assert not thread.is_alive()
    assert running.result().rolled_back


CLOSE_FROM_A_LISTENER = """
import sys
from wasm_kernel import SandboxExecutionError, Session

session = Session(workspace=sys.argv[1])

def on_event(event):
    try:
        session.close()
    except SandboxExecutionError as error:
        sys.stdout.write(f"refused: {error} ")

session.execute("print(1)", on_event=on_event)
sys.stdout.write("came back")
"""


def test_close_from_a_listener_does_not_hang(tmp_path: Path) -> None:
    """In a process of its own: a deadlock would take this one along."""
    ended = subprocess.run(
        [sys.executable, "-c", CLOSE_FROM_A_LISTENER, str(tmp_path / "w")],
        capture_output=True,
        timeout=HANG_GUARD_SECONDS,
        text=True,
        check=False,
    )
    assert ended.stdout.endswith("came back"), ended.stderr


LEFT_OPEN = """
import sys, threading
from wasm_kernel import Session

session = Session(workspace=sys.argv[1])
started = threading.Event()
thread = threading.Thread(
    target=session.execute,
    args=("print(1)\\nwhile True: pass",),
    kwargs={"on_event": lambda event: started.set()},
    daemon=True,
)
thread.start()
started.wait()
sys.stdout.write("ends")
"""


def test_a_process_ends_with_a_cell_still_running(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LEFT_OPEN, str(tmp_path / "w")],
        capture_output=True,
        timeout=HANG_GUARD_SECONDS,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ends", "")


CTRL_C = """
import os, signal, sys
from wasm_kernel import Session

session = Session(workspace=sys.argv[1])
session.execute("x = 1")
try:
    session.execute(
        "x = 2\\nopen('made', 'w').close()\\nprint(1)\\nwhile True: pass",
        on_event=lambda event: os.kill(os.getpid(), signal.SIGINT),
    )
except KeyboardInterrupt:
    sys.stdout.write(f"{session.get('x')} {os.path.exists(sys.argv[1] + '/made')}")
"""


def test_ctrl_c_on_the_host_stops_the_cell_and_keeps_the_session(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", CTRL_C, str(tmp_path / "w")],
        capture_output=True,
        timeout=HANG_GUARD_SECONDS,
        text=True,
        check=False,
    )
    assert (ended.stdout, ended.stderr) == ("1 False", "")


def test_closing_gives_everything_back(
    make_session: MakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    first = make_session()
    first.execute("1")
    assert first.committed_pages, "waits for the commit"

    def held() -> tuple[int, int, int]:
        temporary = os.listdir(tmp_path / "tmp")
        with open("/proc/self/maps") as maps:
            mapped = sum("wasm-session" in line for line in maps)
        return len(os.listdir("/proc/self/fd")), mapped, len(temporary)

    before = held()
    for _ in range(5):
        session = make_session()
        session.execute("open('f', 'w').write('1')")
        session.execute("open('f', 'w').write('2')\nx = bytearray(10**7)")
        session.fork().close()
        session.close()
    assert held() == before


# Workspaces.


def test_two_sessions_on_one_workspace(make_session: MakeSession, cell: RunCell) -> None:
    first, second = make_session(), make_session()
    first.execute("open('shared.txt', 'w').write('from the first')")
    assert cell(second, "open('shared.txt').read()").value == "'from the first'"
    ran = cell(second, "open('shared.txt', 'w').write('from the second')")
    assert ran.result.files_modified == ["shared.txt"]
    assert cell(first, "open('shared.txt').read()").value == "'from the second'"


def test_undo_does_not_take_back_what_another_session_wrote(make_session: MakeSession) -> None:
    first, second = make_session(), make_session()
    first.execute("open('shared.txt', 'w').write('first')")
    second.execute("open('shared.txt', 'w').write('second, later')")
    assert first.undo() == ["shared.txt"]
    assert (first.workspace / "shared.txt").read_text() == "second, later"


def test_two_sessions_at_the_same_time(make_session: MakeSession, background: Background) -> None:
    sessions = [make_session() for _ in range(2)]
    code = "for i in range(200):\n    open(f'{name}-{i}', 'w').write(name)\nprint(name)"
    for name, session in zip("ab", sessions, strict=True):
        session.put("name", name)
    running = [background(session, code) for session in sessions]
    results = [run.result() for run in running]
    assert [result.stdout for result in results] == ["a\n", "b\n"]
    assert [len(result.files_created) for result in results] == [200, 200]


@pytest.mark.parametrize("name", ["execute", "complete", "get", "put", "fork"])
@pytest.mark.parametrize("is_live", [True, False], ids=["live", "at-rest"])
def test_a_workspace_that_was_removed(session: Session, name: str, is_live: bool) -> None:
    session.execute("a = 1")
    if not is_live:
        session.execute("b = 1")
        session.undo()
    shutil.rmtree(session.workspace)
    try:
        made = USES[name](session)
    except WorkspaceError as error:
        assert "removed" in str(error)
    else:
        assert name in ("complete", "get", "put") and is_live, f"{name} gave {made!r}"


def test_a_workspace_that_was_replaced(session: Session) -> None:
    session.execute("a = 1")
    session.workspace.rename(session.workspace.with_name("moved"))
    session.workspace.mkdir()
    with pytest.raises(WorkspaceError, match="replaced"):
        session.execute("a")


def test_a_workspace_that_comes_back(session: Session, cell: RunCell) -> None:
    session.execute("a = 1")
    aside = session.workspace.rename(session.workspace.with_name("aside"))
    with pytest.raises(WorkspaceError, match="removed"):
        session.execute("a")
    aside.rename(session.workspace)
    assert cell(session, "a").value == "1"


def test_a_workspace_removed_while_a_cell_runs(session: Session, background: Background) -> None:
    running = background(session, "open('f', 'w').write('x')\nprint('ready')\nwhile True: pass")
    running.until_printed()
    shutil.rmtree(session.workspace)
    session.interrupt()
    assert running.result().rolled_back
    with pytest.raises(WorkspaceError, match="removed"):
        session.execute("1")


@pytest.mark.parametrize("kind", ["file", "link", "missing parent of a file"])
def test_a_workspace_that_is_none(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "place"
    if kind == "link":
        place.symlink_to(tmp_path)
    else:
        place.write_text("a file")
    with pytest.raises(WorkspaceError):
        Session(workspace=place / "below" if "parent" in kind else place)


# Starting.


def test_too_little_memory_says_how_much_is_needed(tmp_path: Path) -> None:
    policy = NOTEBOOK_POLICY.replace(memory_bytes=70_000_000)
    with pytest.raises(SandboxExecutionError, match=r"needs at least .* memory_bytes is 70 MB"):
        Session(policy, tmp_path)


def test_a_session_that_cannot_start_leaves_nothing_open(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")
    with pytest.raises(WorkspaceError):
        Session(workspace=place)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with pytest.raises(WorkspaceError):
            Session(workspace=place)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("image", ["core", "science"])
def test_an_image_without_a_shell_is_refused_or_runs_cells(tmp_path: Path, image: str) -> None:
    try:
        session = Session(workspace=tmp_path / "w", image=image)
    except SandboxExecutionError:
        return
    with session:
        result = session.execute("1/0")
        assert not result.success, "a cell that was never run was called a success"


def test_an_unknown_image_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: object) -> None:
        pytest.fail("an image of an unknown name would be built into the user's cache")

    monkeypatch.setattr("wasm_kernel.runtimes.python.image._build", build)
    with pytest.raises((SandboxExecutionError, ValueError), match="image"):
        Session(workspace=tmp_path / "w", image="not-an-image")


# Other limits in a live session.


def test_limits_can_be_changed_between_cells(make_session: MakeSession, cell: RunCell) -> None:
    session = make_session(fuel_budget=100_000_000)
    cell(session, "x = 1")
    assert cell(session, "for _ in range(10**7): pass").result.limit is Limit.FUEL
    session.change_policy(session.policy.replace(fuel_budget=10**11, memory_bytes=2 * 10**9))
    assert cell(session, "for _ in range(10**6): pass\nx").value == "1"
    session.undo(2)
    with pytest.raises(SandboxExecutionError, match="guest_mount_path"):
        session.change_policy(session.policy.replace(guest_mount_path="/other"))
    with pytest.raises(SandboxExecutionError, match="already has"):
        session.change_policy(session.policy.replace(memory_bytes=80_000_000))


def test_less_memory_can_be_given_later(make_session: MakeSession, cell: RunCell) -> None:
    session = make_session()
    cell(session, "x = 1")
    with pytest.raises(TypeError, match="policy must be an ExecutionPolicy, not dict"):
        session.change_policy({})  # type: ignore[arg-type]
    session.change_policy(session.policy.replace(memory_bytes=250_000_000))
    ran = cell(session, "big = bytearray(300_000_000)")
    assert ran.result.limit is Limit.MEMORY and ran.error.name == "MemoryError"


# Nobody closes it, or something fails on the way.


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells what is open")
def test_what_is_dropped_without_being_closed_is_freed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undo_folder = tmp_path / "temporary"
    undo_folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(undo_folder))

    def use() -> None:
        session = Session(workspace=tmp_path / "session")
        session.execute("open('kept', 'w').write('first')")
        session.execute("open('kept', 'w').write('second')")
        sandbox = create_sandbox(workspace=tmp_path / "sandbox")
        assert sandbox.execute("print(1)").stdout == "1\n"

    def use_often(times: int) -> int:
        for _ in range(times):
            use()
        gc.collect()
        return descriptors()

    before = use_often(3)
    after = use_often(12)
    end = time.monotonic() + HANG_GUARD_SECONDS
    # A few instances are kept for whoever runs next, and a thread that is about to wait again holds
    # what it did last.
    while after > before + 3 or list(undo_folder.glob("wasm-kernel-undo-*")):
        assert time.monotonic() < end
        after = use_often(1)


def test_a_session_whose_commit_failed_is_lost_and_can_be_closed(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = make_session()
    session.execute("x = 1")

    def fail(memory: object) -> None:
        raise OSError("no memory is left")

    monkeypatch.setattr(session._live.memory, "commit", fail)
    with pytest.raises(SandboxExecutionError, match=r"no memory is left.*start a new one"):
        session.execute("x = 2")
    with pytest.raises(SandboxExecutionError, match="the session is lost"):
        session.execute("x")
    session.close()
    with pytest.raises(SessionClosedError):
        session.execute("x")
    assert session._live.memory._address == 0


@pytest.mark.parametrize("use", ["put", "complete"])
def test_a_transfer_that_is_cut_off_leaves_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    session.execute("x = 1")
    with monkeypatch.context() as patch:
        request = session._live.request

        def cut_off(*arguments: Any, **options: Any) -> None:
            request(*arguments, **options)
            raise KeyboardInterrupt

        patch.setattr(session._live, "request", cut_off)
        with pytest.raises(KeyboardInterrupt):
            session.put("x", 2) if use == "put" else session.complete("x")
    assert session.get("x") == 1
    assert session.undo_depth == 1


def test_a_fork_that_cannot_be_copied_leaves_nothing(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute("open('a', 'w').write('a')")
    target = tmp_path / "twin"

    def half(source: Path, target: Path, **_: object) -> None:
        target.mkdir()
        (target / "a").touch()
        raise shutil.Error([(str(source), str(target), "[Errno 28] No space left on device")])

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copytree", half)
        with pytest.raises(WorkspaceError, match=r"could not be copied .* No space left"):
            session.fork(workspace=target)
    assert not target.exists()
    with session.fork(workspace=target) as twin:
        assert twin.execute("print(open('a').read())").stdout == "a\n"


def test_a_fork_whose_workspace_is_refused_frees_its_memory(
    session: Session, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    session.execute("x = 1")
    before = descriptors() if Path("/proc/self/fd").exists() else 0
    for _ in range(5):
        with pytest.raises(WorkspaceError):
            session.fork(workspace=tmp_path / "file")
    assert not before or descriptors() <= before


def test_an_impatient_second_interrupt_still_waits_for_the_guest() -> None:
    ended = threading.Event()
    causes: list[str] = []

    def work() -> None:
        ended.wait(HANG_GUARD_SECONDS)

    def stop(cause: str) -> None:
        causes.append(cause)
        if len(causes) < 3:
            raise KeyboardInterrupt
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        guest_threads.run(work, timeout=0.01, stop=stop)
    assert ended.is_set()
    assert causes == ["time", "interrupted", "interrupted"]


def test_a_handler_that_wants_to_exit_ends_its_cell(session: Session) -> None:
    session.execute("x = 1")

    def leave(event: Event) -> None:
        if isinstance(event, StreamEvent):
            raise SystemExit(3)

    result = session.execute("x = 2; print('told', flush=True)", on_event=leave)
    assert result.rolled_back
    assert result.error is not None and "SystemExit(3)" in result.error.value
    assert session.get("x") == 1
