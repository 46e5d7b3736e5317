"""The kernel process: how it is reached, what it imports, how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.connect import write_connection_file
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from wasm_kernel.notebook import connection, listeners
from wasm_kernel.notebook.arguments import parse
from wasm_kernel.notebook.connection import Connection, ConnectionFileError
from wasm_kernel.notebook.install import KERNEL_ARGUMENTS, KERNEL_NAME
from wasm_kernel.notebook.listeners import PORTS

from .conftest import GUARD_SECONDS

Launch = Callable[..., "subprocess.Popen[str]"]
COMMAND = [sys.executable, *KERNEL_ARGUMENTS[:3]]


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """``launch(*arguments, **env)``: a kernel process in the test's folder."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, command: list[str] = COMMAND, **env: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*command, *arguments],
            cwd=tmp_path,
            env={**os.environ, **env},
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def connected(file: Path) -> BlockingKernelClient:
    """A client of a kernel that may be about to start."""
    client = BlockingKernelClient(connection_file=str(file))
    client.load_connection_file()
    client.hb_channel.time_to_dead = GUARD_SECONDS
    client.start_channels()
    return client


def run(file: Path, *codes: str, ended: str = "ok") -> str:
    """What cells print in the kernel of a connection file, which is then told to end."""
    client = connected(file)
    printed: list[str] = []

    def hook(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])

    try:
        client.wait_for_ready(timeout=GUARD_SECONDS)
        for code in codes:
            reply = client.execute_interactive(code, output_hook=hook, timeout=GUARD_SECONDS)
        assert reply["content"]["status"] == ended
        assert client.hb_channel.is_beating()
        client.shutdown(reply=True, timeout=GUARD_SECONDS)
    finally:
        client.stop_channels()
    return "".join(printed)


# The connection file.


@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_it_listens_where_the_connection_file_says(
    launch: Launch, tmp_path: Path, transport: str
) -> None:
    ip = str(tmp_path / "socket") if transport == "ipc" else ""
    name, _ = write_connection_file(
        str(tmp_path / "connection.json"), key=b"secret", ip=ip, transport=transport
    )
    before = Path(name).read_text()
    process = launch("-f", name)
    assert run(Path(name), "print(6 * 7)") == "42\n"
    assert process.wait(timeout=GUARD_SECONDS) == 0
    assert Path(name).read_text() == before


def test_an_encrypted_transport_is_used_where_the_file_has_keys(
    launch: Launch, tmp_path: Path
) -> None:
    name, said = write_connection_file(str(tmp_path / "connection.json"), key=b"secret")
    public, secret = zmq.curve_keypair()
    keys = {"curve_publickey": public.decode(), "curve_secretkey": secret.decode()}
    Path(name).write_text(json.dumps({**said, "key": "secret", **keys}, default=str))
    process = launch("-f", name)
    assert run(Path(name), "print(6 * 7)") == "42\n"
    assert process.wait(timeout=GUARD_SECONDS) == 0


@pytest.mark.usefixtures("jupyter")
def test_a_manager_that_insists_on_encryption_starts_it(tmp_path: Path) -> None:
    """It only hands out keys where the kernelspec says that the kernel can use them."""
    manager = KernelManager(kernel_name=KERNEL_NAME, transport_encryption="required")
    manager.start_kernel(cwd=str(tmp_path))
    try:
        assert manager.get_connection_info()["curve_publickey"]
        assert run(Path(manager.connection_file), "print(6 * 7)") == "42\n"
    finally:
        manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("kind", ["shutdown_request", "interrupt_request"])
def test_requests_to_the_process_before_it_are_not_for_it(
    launch: Launch, tmp_path: Path, kind: str
) -> None:
    """A manager that restarts a dead kernel first asks it to end; the sockets are the same."""
    file = Path(write_connection_file(str(tmp_path / "connection.json"), key=b"secret")[0])
    manager = connected(file)
    try:
        late = manager.session.msg(kind, {"restart": True})
        manager.control_channel.send(late)
        process = launch("-f", str(file))
        # Control requests are served in their order: what came before this one has been seen.
        manager.control_channel.send(manager.session.msg("usage_request", {}))
        answered = manager.get_control_msg(timeout=GUARD_SECONDS)
        assert answered["msg_type"] == "usage_reply"
        assert run(file, "print(6 * 7)") == "42\n"
        assert process.wait(timeout=GUARD_SECONDS) == 0
    finally:
        manager.stop_channels()


def test_ipykernels_own_application_can_serve_it(launch: Launch, tmp_path: Path) -> None:
    """That one opens the channels itself, and does not tell its kernel when it did."""
    file = Path(write_connection_file(str(tmp_path / "connection.json"), key=b"secret")[0])
    program = (
        "from ipykernel.kernelapp import IPKernelApp\n"
        "from wasm_kernel.notebook.kernel import WasmKernel\n"
        "IPKernelApp.launch_instance(kernel_class=WasmKernel)"
    )
    process = launch("-f", str(file), command=[sys.executable, "-c", program])
    client = connected(file)
    try:
        client.wait_for_ready(timeout=GUARD_SECONDS)
        client.control_channel.send(client.session.msg("interrupt_request", {}))
        assert client.get_control_msg(timeout=GUARD_SECONDS)["content"] == {"status": "ok"}
    finally:
        client.stop_channels()
    assert run(file, "print(6 * 7)") == "42\n"
    assert process.wait(timeout=GUARD_SECONDS) == 0


def test_ports_that_it_chose_are_written_into_the_file(launch: Launch, tmp_path: Path) -> None:
    file = tmp_path / "connection.json"
    file.write_text(json.dumps({**dict.fromkeys(PORTS, 0), "ip": "127.0.0.1", "key": "secret"}))
    launch("-f", str(file))
    _until(lambda: all(json.loads(file.read_text() or "{}").get(name) for name in PORTS))
    assert run(file, "print(6 * 7)") == "42\n"


def test_without_a_file_it_makes_one_and_takes_it_away(launch: Launch, tmp_path: Path) -> None:
    process = launch(JUPYTER_RUNTIME_DIR=str(tmp_path / "runtime"))
    assert process.stderr is not None
    assert "jupyter console --existing kernel-" in process.stderr.readline()
    (file,) = (tmp_path / "runtime").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    assert run(file, "print(6 * 7)") == "42\n"
    assert process.wait(timeout=GUARD_SECONDS) == 0
    assert not file.exists()


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"shell_port": "x"}', '{"transport": "pigeon"}', '{"key": 5}']
)
def test_a_file_that_is_not_usable_is_an_error_with_a_reason(tmp_path: Path, text: str) -> None:
    file = tmp_path / "connection.json"
    file.write_text(text)
    with pytest.raises(ConnectionFileError, match="the connection file"):
        Connection.read(file)


def test_a_port_that_is_busy_for_a_moment_is_waited_for() -> None:
    """Another process may be given the number between the front end's choice and this one."""
    other = socket.create_server(("127.0.0.1", 0))
    failures: list[zmq.ZMQError] = []

    class Meeting(zmq.Socket[bytes]):
        def bind(self, address: str) -> Any:
            try:
                return super().bind(address)
            except zmq.ZMQError as error:
                failures.append(error)
                other.close()
                raise

    class Context(zmq.Context[Meeting]):
        _socket_class = Meeting

    wanted = Connection(ports={"shell_port": other.getsockname()[1]})
    with Context() as context, wanted.bind(context, zmq.ROUTER, "shell_port") as bound:
        assert bound.last_endpoint.endswith(b":%d" % wanted.ports["shell_port"])
    assert len(failures) == 1


def test_a_port_that_stays_taken_is_an_error_with_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as other, zmq.Context() as context:
        taken = Connection(ports={"shell_port": other.getsockname()[1]})
        with pytest.raises(zmq.ZMQError, match="Address already in use"):
            taken.bind(context, zmq.ROUTER, "shell_port")


def test_a_kernel_that_cannot_start_says_why(launch: Launch, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    process = launch("-f", "broken.json")
    _, stderr = process.communicate(timeout=GUARD_SECONDS)
    assert process.returncode == 1
    assert stderr.startswith("wasm-python: the connection file broken.json is not usable")
    assert "Traceback" not in stderr


@pytest.mark.parametrize(
    ("arguments", "is_logged"), [((), False), (("--log-level", "info"), True)], ids=["", "info"]
)
def test_a_limit_is_told_in_the_notebook_and_logged_for_whoever_asks(
    launch: Launch, tmp_path: Path, arguments: tuple[str, ...], is_logged: bool
) -> None:
    name, _ = write_connection_file(str(tmp_path / "connection.json"), key=b"secret")
    process = launch("-f", name, *arguments)
    code = "%policy fuel_budget=2_000_000_000"
    run(Path(name), code, "try: exec('while True: pass')\nfinally: pass", ended="error")
    _, stderr = process.communicate(timeout=GUARD_SECONDS)
    assert ("fuel_exhaustion" in stderr) is is_logged
    assert is_logged or stderr == ""


# Its arguments.


def test_arguments_of_a_kernelspec(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse(["-f", "x.json"]).connection_file == "x.json"
    assert parse(["--f=x.json"]).connection_file == "x.json"
    assert parse(["--debug"]).log_level == "DEBUG"
    assert parse([]).log_level == "WARNING"
    assert parse(["-f", "x.json", "--IPKernelApp.quiet=True"]).connection_file == "x.json"
    assert "ignored: --IPKernelApp.quiet=True" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        parse(["--log-level", "loud"])
    assert "takes DEBUG, INFO, WARNING or ERROR" in capsys.readouterr().err


def test_history_in_memory_is_nothing_to_complain_of(capsys: pytest.CaptureFixture[str]) -> None:
    """nbclient gives each kernel this argument, and its user sees what the kernel writes."""
    parse(["-f", "x.json", "--HistoryManager.hist_file=:memory:"])
    assert capsys.readouterr().err == ""
    parse(["-f", "x.json", "--HistoryManager.hist_file=/history.sqlite"])
    assert "ignored: --HistoryManager.hist_file=/history.sqlite" in capsys.readouterr().err


# What it imports.

PLANTED = ("json", "asyncio", "zmq", "traitlets", "platformdirs", "mimetypes", "pandas", "secrets")


@pytest.mark.parametrize("command", [COMMAND, [COMMAND[0], *COMMAND[2:]]], ids=["-P", "without"])
def test_it_imports_nothing_that_lies_beside_the_notebook(
    launch: Launch, tmp_path: Path, command: list[str]
) -> None:
    """The notebook's folder can be the workspace: cells write there."""
    marker = tmp_path / "imported"
    assert ("-P" in command) == (command is COMMAND)
    for name in PLANTED:
        source = f"open({str(marker)!r}, 'a').write({name!r})\nraise ImportError\n"
        (tmp_path / f"{name}.py").write_text(source)
    control = subprocess.run(
        [sys.executable, "-B", "-c", "import asyncio"], cwd=tmp_path, check=False
    )
    assert control.returncode != 0
    assert marker.read_text() == "asyncio"
    marker.unlink()
    name, _ = write_connection_file(str(tmp_path / "connection.json"), key=b"secret")
    process = launch("-f", name, command=command, WASM_KERNEL_WORKSPACE=str(tmp_path))
    printed = run(
        Path(name),
        "open('made.csv', 'w').write('a');\nprint(sorted(__import__('os').listdir('.'))[0])",
    )
    assert printed == "asyncio.py\n"
    assert process.wait(timeout=GUARD_SECONDS) == 0
    assert not marker.exists(), marker.read_text()


LEAN = """
import sys
from wasm_kernel.notebook.lean import defer_package
defer_package("jupyter_client")
defer_package("there_is_no_such_package")
defer_package("json")
import jupyter_client.session
print("jupyter_client.manager" in sys.modules, "there_is_no_such_package" in sys.modules)
try:
    jupyter_client.nonsense
except AttributeError as error:
    print(error)
print(jupyter_client.KernelManager.__name__, bool(jupyter_client.__version__))
print("jupyter_client.manager" in sys.modules, "__getattr__" in vars(jupyter_client))
"""


def test_a_package_comes_whole_when_it_is_asked_for_more() -> None:
    done = subprocess.run([sys.executable, "-c", LEAN], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "False False",
        "module 'jupyter_client' has no attribute 'nonsense'",
        "KernelManager True",
        "True False",
    ]


DATES = """
import sys
from wasm_kernel.notebook.lean import import_jupyter
import_jupyter()
print(*(name for name in ("ssl", "curses", "dateutil", "logging.config") if name in sys.modules))
from jupyter_client import jsonutil
for written in (
    "2026-11-18T06:22:08.123456Z",
    "2026-11-18T06:22:08.1+05:30",
    "2026-11-18T06:22:08-0800",
    "2026-11-18T06:22:08",
    "2026-11-18",
):
    value = jsonutil.parse_date(written)
    print("-" if value == written else jsonutil.json_default(value))
import dateutil.parser, dateutil.tz, logging.config, ssl
print(dateutil.parser.parse("1 May 2026").month, ssl.SSLContext.__name__, dateutil.tz.tzutc())
from traitlets.config import Application
Application().log.warning("shown")
"""


def test_what_jupyter_gets_instead_does_its_work() -> None:
    environment = {**os.environ, "TZ": "UTC"}
    command = [sys.executable, "-W", "ignore", "-c", DATES]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines() == [
        "",
        "2026-11-18T06:22:08.123456Z",
        "2026-11-18T06:22:08.100000+05:30",
        "2026-11-18T06:22:08-08:00",
        "2026-11-18T06:22:08Z",
        "-",
        "5 SSLContext tzutc()",
    ]
    assert "shown" in done.stderr


def test_the_kernel_imports_no_shell_and_no_manager(launch: Launch, tmp_path: Path) -> None:
    """They are half of what another kernel's start takes; nothing here uses them."""
    name, _ = write_connection_file(str(tmp_path / "connection.json"), key=b"secret")
    probe = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*sys.modules, sep='\\n', file=open('modules', 'w')))\n"
        "from wasm_kernel.notebook.__main__ import main\nmain()\n"
    )
    process = launch("-f", name, command=[sys.executable, "-P", "-c", probe])
    run(Path(name), "import pandas; print(pandas.Series([1]).sum())")
    assert process.wait(timeout=GUARD_SECONDS) == 0
    modules = set((tmp_path / "modules").read_text().split())
    assert "wasm_kernel.session" in modules
    unwanted = {"IPython.core.interactiveshell", "jupyter_client.manager", "pydantic", "debugpy"}
    assert modules & (unwanted | {"ssl", "dateutil.parser"}) == set()


def test_the_first_kernel_has_its_imports_kept_and_the_next_one_uses_them(
    launch: Launch, tmp_path: Path
) -> None:
    """They look through a folder that no other kernel does: at first there is nothing for them."""
    folder = tmp_path / "more"
    folder.mkdir()
    place = subprocess.run(
        [sys.executable, "-P", "-c", "from wasm_kernel.notebook import imports, kept\n"
         "print(imports.place_of(kept.own_name()))"],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )  # fmt: skip
    kept = Path(place.stdout.strip())
    probe = (
        "import atexit, sys\n"
        "def loaders():\n"
        "    session = sys.modules['wasm_kernel.session'].__loader__\n"
        "    print(type(session).__module__, file=open('loader', 'w'))\n"
        "atexit.register(loaders)\n"
        "from wasm_kernel.notebook.__main__ import main\nmain()\n"
    )
    used = []
    try:
        for number in range(2):
            name, _ = write_connection_file(str(tmp_path / f"{number}.json"), key=b"secret")
            command = [sys.executable, "-P", "-c", probe]
            process = launch("-f", name, command=command, PYTHONPATH=str(folder))
            assert run(Path(name), "import pandas; print(pandas.Series([1]).sum())") == "1\n"
            assert process.wait(timeout=GUARD_SECONDS) == 0
            used.append((tmp_path / "loader").read_text().strip())
            _until(kept.exists)
    finally:
        kept.unlink(missing_ok=True)
        kept.with_suffix(".lock").unlink(missing_ok=True)
    assert used == ["_frozen_importlib_external", "wasm_kernel.notebook.kept"]


# Its end.


def test_a_kernel_ends_with_its_parent(launch: Launch, tmp_path: Path) -> None:
    name, _ = write_connection_file(str(tmp_path / "connection.json"), key=b"secret")
    parent = (
        "import os, subprocess, sys, time\n"
        "os.environ['JPY_PARENT_PID'] = str(os.getpid())\n"
        "print(subprocess.Popen([sys.executable, *sys.argv[1:]]).pid, file=sys.stderr)\n"
        "time.sleep(600)\n"
    )
    arguments = [*KERNEL_ARGUMENTS[:3], "-f", name]
    process = launch(*arguments, command=[sys.executable, "-c", parent])
    assert process.stderr is not None
    pid = int(process.stderr.readline())
    client = connected(Path(name))
    client.wait_for_ready(timeout=GUARD_SECONDS)
    client.stop_channels()
    process.send_signal(signal.SIGKILL)
    process.wait()
    _until(lambda: not _is_running(pid))


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def _until(condition: Callable[[], bool]) -> None:
    import time

    end = time.monotonic() + GUARD_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


# Ports that were opened for it.


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[KernelManager]:
    """Starts the kernel as the wheel's kernelspec says."""
    specs = KernelSpecManager(
        kernel_dirs=[str(Path(sys.prefix, "share", "jupyter", "kernels"))],
        ensure_native_kernel=False,
    )
    made = KernelManager(kernel_name=KERNEL_NAME, kernel_spec_manager=specs)
    made.start_kernel(cwd=str(tmp_path))
    yield made
    made.shutdown_kernel(now=True)
    made.cleanup_resources()


def refused(manager: KernelManager) -> list[str]:
    """The ports of a kernel where nobody listens."""
    names = []
    for name in PORTS:
        with socket.socket() as probe:
            if probe.connect_ex((manager.ip, getattr(manager, name))):
                names.append(name)
    return names


def sum_in(manager: KernelManager) -> str:
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=GUARD_SECONDS)
        client.execute("1 + 1")
        while True:
            message = client.get_iopub_msg(timeout=GUARD_SECONDS)
            if message["msg_type"] == "execute_result":
                assert client.hb_channel.is_beating()
                return str(message["content"]["data"]["text/plain"])
    finally:
        client.stop_channels()


def test_the_ports_are_open_from_the_first_moment(manager: KernelManager) -> None:
    assert refused(manager) == []
    assert sum_in(manager) == "2"


def test_a_restarted_kernel_has_the_same_open_ports(manager: KernelManager) -> None:
    before = [getattr(manager, name) for name in PORTS]
    assert sum_in(manager) == "2"
    manager.restart_kernel(now=True)
    assert refused(manager) == []
    assert [getattr(manager, name) for name in PORTS] == before
    assert sum_in(manager) == "2"


def test_with_the_kernel_its_ports_are_closed(manager: KernelManager) -> None:
    process = manager.provisioner.process
    process.kill()
    process.wait(GUARD_SECONDS)
    assert refused(manager) == list(PORTS)


def test_a_port_that_is_taken_is_left_to_the_kernel() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = {**dict.fromkeys(PORTS, 0), "shell_port": taken.getsockname()[1]}
        opened = listeners.listen({"transport": "tcp", "ip": "127.0.0.1", **ports})
        for listener in opened.values():
            listener.close()
    assert set(opened) == set(PORTS) - {"shell_port"}


def test_only_tcp_ports_are_opened_for_it(tmp_path: Path) -> None:
    ports = dict.fromkeys(PORTS, 1)
    assert listeners.listen({"transport": "ipc", "ip": str(tmp_path / "k"), **ports}) == {}


def test_what_was_handed_down_is_taken_over_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        os.set_inheritable(server.fileno(), True)
        named = listeners.as_environment({"shell_port": server.fileno()})
        monkeypatch.setenv(listeners.ENV_LISTENERS, named[listeners.ENV_LISTENERS])
        ports = {"shell_port": server.getsockname()[1]}
        assert listeners.inherited(ports) == {"shell_port": server.fileno()}
        assert not server.get_inheritable()
        assert listeners.inherited(ports) == {}


def test_what_is_not_the_kernels_own_port_is_not_taken_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as elsewhere,
        socket.socket() as idle,
        open(tmp_path / "file", "w") as file,
    ):
        idle.bind(("127.0.0.1", 0))
        named = (
            f"shell_port={elsewhere.fileno()} iopub_port={idle.fileno()} "
            f"stdin_port={file.fileno()} control_port=99999 hb_port= nonsense other=1"
        )
        monkeypatch.setenv(listeners.ENV_LISTENERS, named)
        ports = {"shell_port": 1, "iopub_port": idle.getsockname()[1], "stdin_port": 2}
        assert listeners.inherited({**dict.fromkeys(PORTS, 0), **ports}) == {}
        assert file.writable()
