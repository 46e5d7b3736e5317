"""The process that waits to become a kernel: when there is one, what it becomes, how it ends."""

from __future__ import annotations

import json
import os
import signal
import site
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from wasm_kernel.notebook import spare
from wasm_kernel.notebook.install import KERNEL_ARGUMENTS, KERNEL_NAME
from wasm_kernel.notebook.settings import ENV_SPARE, ENV_WORKSPACE
from wasm_kernel.notebook.spare import Launch, Spares, spares
from wasm_kernel.notebook.waiting import receive

from .conftest import GUARD_SECONDS

Starting = Callable[..., KernelManager]

COMMAND = [sys.executable, *KERNEL_ARGUMENTS[:3]]
SPECS = [str(Path(sys.prefix, "share", "jupyter", "kernels"))]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starting]:
    """``start(**options)``: a kernel as the wheel has it; there is no spare of an earlier test."""
    managers: list[KernelManager] = []

    def started(transport: str = "tcp", **options: object) -> KernelManager:
        specs = KernelSpecManager(kernel_dirs=SPECS, ensure_native_kernel=False)
        manager = KernelManager(
            kernel_name=KERNEL_NAME, kernel_spec_manager=specs, transport=transport
        )
        if transport == "ipc":
            manager.ip = str(tmp_path / f"k{len(managers)}")
        managers.append(manager)
        manager.start_kernel(**{"cwd": str(tmp_path), **options})
        return manager

    spares.close()
    yield started
    for manager in managers:
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
    spares.close()


def value_of(manager: KernelManager, code: str) -> str:
    """What a cell of a kernel shows as its value."""
    client = manager.client()
    client.hb_channel.time_to_dead = GUARD_SECONDS
    client.start_channels()
    try:
        client.wait_for_ready(timeout=GUARD_SECONDS)
        client.execute(code)
        while True:
            message = client.get_iopub_msg(timeout=GUARD_SECONDS)
            assert message["msg_type"] != "error", message["content"]
            if message["msg_type"] == "execute_result":
                assert client.hb_channel.is_beating()
                return str(message["content"]["data"]["text/plain"])
    finally:
        client.stop_channels()


def waiting() -> subprocess.Popen[bytes]:
    """The process that waits, when there is one."""
    end = time.monotonic() + GUARD_SECONDS
    while (process := spares.waiting) is None:
        assert time.monotonic() < end
        time.sleep(0.02)
    return process


@pytest.fixture
def spare_process(start: Starting) -> subprocess.Popen[bytes]:
    """The process that waits after this process has started kernels."""
    for _ in range(spare.LAUNCHES_OF_A_TOOL):
        start()
    return waiting()


def launch_in(folder: Path, **env: str) -> Launch:
    options = {"cwd": str(folder), "env": {**os.environ, **env}, "kernel_id": "k"}
    launch = Launch.of([*COMMAND, "-f", "connection.json"], options)
    assert launch is not None
    return launch


# What it becomes.


def test_a_later_kernel_is_the_process_that_waited(
    start: Starting, spare_process: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    folder = tmp_path / "notebook"
    folder.mkdir()
    manager = start(cwd=str(folder))
    assert manager.provisioner.process is spare_process
    assert value_of(manager, "open('here.txt', 'w').write('x')") == "1"
    assert (folder / "workspace" / "here.txt").read_text() == "x"
    assert waiting() is not spare_process


def test_settings_come_with_the_launch(
    start: Starting, spare_process: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    manager = start(env={**os.environ, ENV_WORKSPACE: str(tmp_path / "elsewhere")})
    assert manager.provisioner.process is spare_process
    assert value_of(manager, "open('here.txt', 'w').write('x')") == "1"
    assert (tmp_path / "elsewhere" / "here.txt").exists()


def test_a_restart_takes_it_as_well(
    start: Starting, spare_process: subprocess.Popen[bytes]
) -> None:
    manager = start()
    assert value_of(manager, "kept = 1; kept") == "1"
    following = waiting()
    manager.restart_kernel(now=True)
    assert manager.provisioner.process is following
    assert value_of(manager, "'kept' in globals()") == "False"


def test_two_that_waited_draw_different_numbers(
    start: Starting, spare_process: subprocess.Popen[bytes]
) -> None:
    drawn = []
    for _ in range(2):
        process = waiting()
        manager = start()
        assert manager.provisioner.process is process
        drawn.append(value_of(manager, "import random, uuid; random.random(), uuid.uuid4()"))
    assert drawn[0] != drawn[1]


def test_it_is_interrupted_like_any_kernel(
    start: Starting, spare_process: subprocess.Popen[bytes]
) -> None:
    manager = start()
    assert manager.provisioner.process is spare_process
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=GUARD_SECONDS)
        asked = client.execute("print('on', flush=True)\nwhile True: pass")
        while client.get_iopub_msg(timeout=GUARD_SECONDS)["msg_type"] != "stream":
            pass
        manager.interrupt_kernel()
        while (reply := client.get_shell_msg(timeout=GUARD_SECONDS)) is not None:
            if reply["parent_header"]["msg_id"] == asked:
                break
        assert reply["content"]["ename"] == "KeyboardInterrupt"
    finally:
        client.stop_channels()


def test_it_can_be_reached_through_files(
    start: Starting, spare_process: subprocess.Popen[bytes]
) -> None:
    manager = start(transport="ipc")
    assert manager.provisioner.process is spare_process
    assert value_of(manager, "1 + 1") == "2"


# When there is none.


def test_a_tool_that_starts_one_kernel_has_none(tmp_path: Path) -> None:
    with_one = Spares()
    with_one.launched(launch_in(tmp_path))
    assert not with_one._is_due
    assert with_one.waiting is None


def test_a_server_has_one_from_its_first_kernel_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, spare.SERVER_MODULE, sys)
    of_server = Spares()
    of_server.launched(launch_in(tmp_path))
    assert of_server._is_due
    end = time.monotonic() + GUARD_SECONDS
    while of_server.waiting is None:
        assert time.monotonic() < end
        time.sleep(0.02)
    of_server.close()


def test_none_is_kept_where_the_user_says_so(tmp_path: Path) -> None:
    env = {**os.environ, ENV_SPARE: "off"}
    assert Launch.of(COMMAND, {"cwd": str(tmp_path), "env": env}) is None


@pytest.mark.parametrize("option", ["independent", "stdout", "preexec_fn"])
def test_an_unusual_launch_takes_none(tmp_path: Path, option: str) -> None:
    assert Launch.of(COMMAND, {"cwd": str(tmp_path), option: 1}) is None


def test_another_command_takes_none(tmp_path: Path) -> None:
    assert Launch.of(["python", "-m", "other"], {"cwd": str(tmp_path)}) is None


def test_another_environment_takes_none(
    start: Starting, spare_process: subprocess.Popen[bytes]
) -> None:
    manager = start(env={**os.environ, "PYTHONHASHSEED": "1"})
    assert manager.provisioner.process is not spare_process
    assert value_of(manager, "1 + 1") == "2"
    assert spare_process.wait(GUARD_SECONDS) == 0


def test_newly_installed_packages_are_not_missed(
    start: Starting,
    spare_process: subprocess.Popen[bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(tmp_path)])
    assert start().provisioner.process is not spare_process


def test_a_folder_that_is_gone_is_said_as_without_it(
    start: Starting, spare_process: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError):
        start(cwd=str(tmp_path / "gone"))


def test_one_that_died_is_not_taken(
    start: Starting, spare_process: subprocess.Popen[bytes]
) -> None:
    spare_process.kill()
    # Dead, and not yet collected by anybody.
    os.waitid(os.P_PID, spare_process.pid, os.WEXITED | os.WNOWAIT)
    manager = start()
    assert manager.provisioner.process is not spare_process
    assert value_of(manager, "1 + 1") == "2"


# How it ends.

SERVER = f"""
import signal, sys, time
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager
from wasm_kernel.notebook.spare import spares

managers = []
for _ in range(2):
    specs = KernelSpecManager(kernel_dirs={SPECS!r}, ensure_native_kernel=False)
    manager = KernelManager(kernel_name={KERNEL_NAME!r}, kernel_spec_manager=specs)
    manager.start_kernel()
    managers.append(manager)
while spares.waiting is None:
    time.sleep(0.02)
for manager in managers:
    manager.shutdown_kernel(now=True)
print(spares.waiting.pid, flush=True)
if sys.argv[1] == "wait":
    signal.pause()
"""


def server(folder: Path, how: str) -> tuple[subprocess.Popen[str], int]:
    """A process with a spare, and the spare's number."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, how], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def until_gone(number: int) -> None:
    end = time.monotonic() + GUARD_SECONDS
    while is_there(number):
        assert time.monotonic() < end
        time.sleep(0.02)


def is_there(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def test_it_has_ended_when_the_server_has(tmp_path: Path) -> None:
    process, number = server(tmp_path, "end")
    with process:
        assert process.wait(GUARD_SECONDS) == 0
    assert not is_there(number)


def test_it_ends_with_a_server_that_is_killed(tmp_path: Path) -> None:
    process, number = server(tmp_path, "wait")
    with process:
        assert is_there(number)
        process.send_signal(signal.SIGKILL)
    until_gone(number)


def test_what_comes_in_the_last_moment_is_read() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            socket.send_fds(ours, [b"{}"], [listener.fileno()])
        ours.close()
        content, listeners = receive(theirs, patience=0.0)
        assert content == b"{}"
        with socket.socket(fileno=listeners[0]) as received:
            assert received.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_copy_of_the_server_does_not_hold_it_up(
    start: Starting, spare_process: subprocess.Popen[bytes]
) -> None:
    """What a server forks has its sockets: the order must end while they are open there."""
    ended, end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(end)
        os.read(ended, 1)
        os._exit(0)
    try:
        os.close(ended)
        manager = start()
        assert manager.provisioner.process is spare_process
        assert value_of(manager, "1 + 1") == "2"
    finally:
        os.close(end)
        os.waitpid(child, 0)


def test_after_its_patience_nothing_can_be_sent_to_it() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert receive(theirs, patience=0.0) == (b"", [])
        with pytest.raises(BrokenPipeError):
            ours.send(json.dumps({}).encode())
