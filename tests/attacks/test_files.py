"""Attacks through files: names that lead out, links, read-only mounts, odd files, hostile names."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import wasmtime

from wasm_kernel import Limit, SandboxResult, configure_logging, create_sandbox
from wasm_kernel.core.logging import LOGGER_NAME
from wasm_kernel.host import second_names
from wasm_kernel.host.wasi import WasiGuard
from wasm_kernel.host.wasi_abi import SUCCESS
from wasm_kernel.host.workspace import Workspace
from wasm_kernel.runtimes.python import artifacts
from wasm_kernel.runtimes.python.image import Layout

from .conftest import Canary, Runner, fingerprint, held
from .guest_code import ATTEMPT, TOUCH_EVERYTHING, attempts, done

MEGABYTE = 1_000_000


def links(workspace: Path) -> list[str]:
    """Symbolic links, and files that have a second name."""
    return sorted(
        path.name
        for path in workspace.rglob("*")
        if path.is_symlink() or (path.is_file() and path.stat().st_nlink > 1)
    )


# Names that lead out.


def escapes(canary: Canary) -> list[str]:
    """Names of the canary's file and folder as a guest might spell them."""
    host = str(canary.file)
    climb = "../" * 40
    return [
        "../outside",
        "../outside/",
        "../outside/.",
        "../outside/secret.txt",
        "../outside/secret.txt/",
        "..//outside///secret.txt",
        "./.././outside/secret.txt",
        "inner/../../outside/secret.txt",
        "missing/../../outside/secret.txt",
        "own.txt/../../outside/secret.txt",
        "inner/" + climb + host.lstrip("/"),
        "/app/../outside/secret.txt",
        "//app//..//outside//secret.txt",
        "/app/inner/../../outside/secret.txt",
        "/data/../outside/secret.txt",
        "/usr/local/lib/" + climb + host.lstrip("/"),
        host,
        "/" + host,
        host + "/",
        str(canary.folder),
    ]


def test_no_name_leads_out_of_the_workspace(run: Runner, canary: Canary, workspace: Path) -> None:
    result = run(TOUCH_EVERYTHING + f"for path in {escapes(canary)!r}: touch(path)")
    assert result.success, result.stderr
    assert len(attempts(result)) == 16 * len(escapes(canary))
    assert done(result) == []
    assert canary.changed() == []
    assert canary.traces(result, workspace) == []


def test_no_name_relative_to_a_descriptor_leads_out(
    run: Runner, canary: Canary, workspace: Path
) -> None:
    result = run(
        ATTEMPT
        + f"""
import os
os.mkdir("inner")
folders = [*range(3, 9), os.open("inner", os.O_RDONLY), os.open(".", os.O_RDONLY)]
for folder in folders:
    for path in {escapes(canary)!r}:
        attempt(f"open {{folder}} {{path}}", lambda: os.open(path, os.O_RDONLY, dir_fd=folder))
        attempt(f"stat {{folder}} {{path}}", lambda: os.stat(path, dir_fd=folder))
        attempt(f"mkdir {{folder}} {{path}}", lambda: os.mkdir(path + "/made", dir_fd=folder))
        attempt(f"unlink {{folder}} {{path}}", lambda: os.unlink(path, dir_fd=folder))
        attempt(f"move {{folder}} {{path}}",
                lambda: os.rename("inner", path + "/m", src_dir_fd=6, dst_dir_fd=folder))
"""
    )
    assert result.success, result.stderr
    assert len(attempts(result)) == 8 * 5 * len(escapes(canary))
    assert done(result) == []
    assert canary.changed() == []
    assert canary.traces(result, workspace) == []


def test_control_a_mounted_canary_is_found(run: Runner, canary: Canary, workspace: Path) -> None:
    result = run(
        TOUCH_EVERYTHING + "touch('/data/secret.txt')\n"
        "open('copy', 'w').write(open('/data/secret.txt').read())",
        mount_data_dir=str(canary.folder),
    )
    assert "read /data/secret.txt" in done(result)
    assert "stdout" in canary.traces(result, workspace)
    assert "copy" in canary.traces(result, workspace)


def test_control_a_changed_canary_is_noticed(run: Runner, canary: Canary) -> None:
    run("open('secret.txt', 'w').close()", workspace=canary.folder)
    assert "secret.txt" in canary.changed()


# Links that the guest makes.

MAKE_LINKS = (
    ATTEMPT
    + """
import os, pathlib
open("own.txt", "w").write("own")
for target in ("own.txt", ".", "..", "../outside/secret.txt", "/etc/passwd", TARGET, "missing"):
    attempt(f"symlink {target}", lambda: os.symlink(target, "made-" + str(len(target))))
    attempt(f"path symlink {target}", lambda: pathlib.Path("also").symlink_to(target))
    attempt(f"link {target}", lambda: os.link(target, "hard-" + str(len(target))))
    attempt(f"at {target}", lambda: os.symlink(target, "at", dir_fd=6))
for number in range(3, 8):
    attempt(f"link of mount {number}", lambda: os.link("own.txt", "hard", src_dir_fd=number))
attempt("link of library", lambda: os.link("/usr/local/lib/python315.zip", "library"))
"""
)


def test_the_guest_makes_no_links(run: Runner, canary: Canary, workspace: Path) -> None:
    result = run(f"TARGET = {str(canary.file)!r}\n" + MAKE_LINKS)
    assert result.success, result.stderr
    assert len(attempts(result)) == 34
    assert done(result) == []
    assert links(workspace) == []


def test_control_a_symlink_that_is_let_through_is_found(
    run: Runner, canary: Canary, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(*_: Any) -> int:
        os.symlink(canary.file, workspace / f"made-{len(links(workspace))}")
        return SUCCESS

    monkeypatch.setattr(WasiGuard, "path_symlink", careless)
    result = run(f"TARGET = {str(canary.file)!r}\n" + MAKE_LINKS)
    assert any(name.startswith("symlink") for name in done(result))
    assert links(workspace) != []


def test_control_a_hard_link_that_is_let_through_is_found(
    run: Runner, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(*_: Any) -> int:
        os.link(workspace / "own.txt", workspace / f"hard-{len(links(workspace))}")
        return SUCCESS

    monkeypatch.setattr(WasiGuard, "path_link", careless)
    run("TARGET = 'own.txt'\n" + MAKE_LINKS)
    assert links(workspace) != []


# Links that the user has put there.

USER_LINKS: dict[str, Callable[[Canary], str]] = {
    "file": lambda canary: str(canary.file),
    "relative file": lambda _: "../outside/secret.txt",
    "folder": lambda canary: str(canary.folder),
    "relative folder": lambda _: "../outside",
    "parent": lambda _: "..",
    "root": lambda _: "/",
    "dangling": lambda canary: str(canary.folder / "not-there"),
    "dangling in a folder": lambda canary: str(canary.folder / "inner" / "not-there"),
    "loop": lambda _: "link",
}


@pytest.mark.parametrize("kind", USER_LINKS)
def test_a_link_of_the_user_is_not_followed(
    run: Runner, canary: Canary, workspace: Path, kind: str
) -> None:
    target = USER_LINKS[kind](canary)
    (workspace / "link").symlink_to(target)
    (workspace / "chain").symlink_to("link")
    names = ["link", "link/", "link/.", "link/secret.txt", "link/inner", "link/not-there"]
    names += ["link/outside/secret.txt", "link" + str(canary.file), "chain", "chain/secret.txt"]
    result = run(
        TOUCH_EVERYTHING + f"for path in {names!r}: touch(path)\n"
        "print([entry.name for entry in os.scandir('.') if entry.is_symlink()])\n"
        "print([files for _, _, files in os.walk('.', followlinks=True)])"
    )
    assert result.success, result.stderr
    assert done(result) == []
    assert canary.changed() == []
    assert canary.traces(result, workspace) == []
    assert os.readlink(workspace / "link") == target
    assert result.files_deleted == []


def test_control_a_folder_in_the_place_of_the_link_is_found(
    run: Runner, canary: Canary, workspace: Path
) -> None:
    shutil.copytree(canary.folder, workspace / "link")
    result = run(TOUCH_EVERYTHING + "touch('link/secret.txt')")
    assert "read link/secret.txt" in done(result)
    assert canary.traces(result, workspace) != []


def test_the_quota_does_not_count_what_lies_behind_a_link(
    run: Runner, canary: Canary, workspace: Path
) -> None:
    (canary.folder / "large").write_bytes(bytes(2 * MEGABYTE))
    (workspace / "folder").symlink_to(canary.folder)
    (workspace / "file").symlink_to(canary.folder / "large")
    write = "with open('new', 'wb') as file: file.write(bytes(100_000))"
    assert run(write, workspace_max_bytes=MEGABYTE).success
    with Workspace(workspace) as opened:
        assert opened.usage().size < MEGABYTE
    (workspace / "folder").unlink()
    shutil.copytree(canary.folder, workspace / "folder")
    assert run(write, workspace_max_bytes=MEGABYTE).limit is Limit.WORKSPACE


def test_the_host_does_not_write_its_script_through_a_link(
    run: Runner, canary: Canary, workspace: Path
) -> None:
    (workspace / "user_code.py").symlink_to(canary.file)
    result = run("print('ran')")
    assert result.stdout == "ran\n"
    assert canary.changed() == []
    assert not (workspace / "user_code.py").is_symlink()


def test_links_in_the_place_of_our_own_folders_lead_nowhere(
    run: Runner, canary: Canary, workspace: Path
) -> None:
    (workspace / ".wasm_kernel").symlink_to(canary.folder)
    (workspace / "site-packages").symlink_to(canary.folder)
    result = run(
        ATTEMPT
        + """
import tempfile
attempt("import", lambda: __import__("secret").VALUE)
with tempfile.NamedTemporaryFile(delete=False) as file:
    file.write(b"x")
"""
    )
    assert result.success, result.stderr
    assert done(result) == []
    assert canary.changed() == []
    assert canary.traces(result) == []


def test_a_workspace_that_is_a_link_is_refused(tmp_path: Path, canary: Canary) -> None:
    (tmp_path / "named").symlink_to(canary.folder)
    sandbox = create_sandbox(workspace=tmp_path / "named")
    with pytest.raises(Exception, match="symbolic link"):
        sandbox.execute("print(1)")
    assert canary.changed() == []


CHANGE_SHARED = (
    ATTEMPT
    + """
import os
attempt("write", lambda: open("shared", "w").write("harm"))
attempt("append", lambda: open("shared", "a").write("harm"))
attempt("write in place", lambda: os.write(os.open("shared", os.O_WRONLY), b"harm"))
attempt("truncate", lambda: os.truncate("shared", 0))
attempt("set times", lambda: os.utime("shared", (1, 1)))
"""
)


def test_a_file_with_a_second_name_elsewhere_is_not_changed(
    run: Runner, canary: Canary, workspace: Path
) -> None:
    """Package managers hard-link what they install from a cache of theirs."""
    os.link(canary.file, workspace / "shared")
    result = run(CHANGE_SHARED)
    assert len(attempts(result)) == 5
    assert done(result) == []
    assert canary.changed() == []
    # The name is the workspace's own.
    assert run("import os; os.unlink('shared'); open('shared', 'w').write('own')").success
    assert canary.changed() == []
    assert (workspace / "shared").read_text() == "own"


def test_control_a_guard_that_does_not_count_names(
    run: Runner, canary: Canary, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WasiGuard, "_refuse_shared", staticmethod(lambda _: None))
    os.link(canary.file, workspace / "shared")
    run(CHANGE_SHARED)
    assert canary.changed() == ["secret.txt"]


def test_a_linked_folder_inside_the_workspace_does_not_lift_the_quota(
    run: Runner, workspace: Path
) -> None:
    (workspace / "real").mkdir()
    (workspace / "linked").symlink_to("real")
    result = run(
        ATTEMPT
        + """
for number in range(8):
    attempt(str(number), lambda: open(f"linked/{number}", "wb").write(bytes(400_000)))
""",
        workspace_max_bytes=MEGABYTE,
    )
    assert held(workspace) <= MEGABYTE, result.files


def test_what_is_removed_through_a_linked_folder_is_reported(run: Runner, workspace: Path) -> None:
    (workspace / "real").mkdir()
    (workspace / "real" / "kept.txt").write_text("kept")
    (workspace / "linked").symlink_to("real")
    result = run(ATTEMPT + "import os\nattempt('unlink', lambda: os.unlink('linked/kept.txt'))")
    gone = not (workspace / "real" / "kept.txt").exists()
    assert gone == bool(result.files_deleted)


def test_the_text_of_a_link_does_not_tell_where_the_host_keeps_things(
    run: Runner, canary: Canary, workspace: Path
) -> None:
    (workspace / "link").symlink_to(canary.file)
    result = run(ATTEMPT + "import os\nattempt('read the link', lambda: os.readlink('link'))")
    assert done(result) == []
    assert "outside" not in result.stdout + result.stderr


def test_a_file_that_is_swapped_for_a_link_while_the_guest_runs(
    run: Runner, canary: Canary, workspace: Path
) -> None:
    stop = threading.Event()
    swaps = 0

    def swap() -> None:
        nonlocal swaps
        while not stop.is_set():
            os.symlink(canary.file, workspace / "next")
            os.replace(workspace / "next", workspace / "swapped")
            (workspace / "plain").write_text("plain")
            os.replace(workspace / "plain", workspace / "swapped")
            swaps += 1

    (workspace / "swapped").write_text("plain")
    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        result = run(
            """
import os
seen = set()
for _ in range(1500):
    for mode in ("r", "a", "r+"):
        try:
            with open("swapped", mode) as file:
                seen.add(file.read()[:40] if mode != "a" else file.write("z"))
        except OSError as error:
            seen.add(type(error).__name__)
    try:
        os.utime("swapped", (1, 1))
        os.truncate("swapped", 1)
    except OSError:
        pass
print(seen)
"""
        )
    finally:
        stop.set()
        swapper.join()
    assert swaps > 10
    assert result.success, result.stderr
    assert canary.changed() == []
    assert canary.traces(result, workspace) == []


def test_the_host_reads_no_link_where_a_plain_open_would(canary: Canary, workspace: Path) -> None:
    (workspace / "swapped").symlink_to(canary.file)
    assert canary.secret in (workspace / "swapped").read_text()  # the positive control
    with Workspace(workspace) as opened, pytest.raises(OSError):
        opened.read("swapped", 100)


CLOSE_MOUNTS = {
    "a folder below it": """
inner = os.open("inner", os.O_RDONLY)
os.close(6)
attempt("open", lambda: os.open("new", os.O_CREAT | os.O_WRONLY, dir_fd=inner))
attempt("mkdir", lambda: os.mkdir("made", dir_fd=inner))
""",
    "a file below it": """
data = os.open("/data/file", os.O_RDONLY)
os.close(7)
os.rename("inner", "moved")
os.rename("moved", "inner")
""",
    "all mounts": """
for number in range(3, 8):
    os.close(number)
attempt("open", lambda: open("own.txt"))
attempt("import", lambda: __import__("turtledemo"))
""",
    "standard streams": """
for number in range(3):
    os.close(number)
opened = [os.open("own.txt", os.O_RDWR) for _ in range(3)]
for number in opened:
    os.write(number, b"written to a file")
""",
}


@pytest.mark.parametrize("how", CLOSE_MOUNTS)
def test_closing_its_mounts_hurts_only_the_guest(
    run: Runner, canary: Canary, tmp_path: Path, how: str
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").write_text("data")
    sandbox = run.sandbox(mount_data_dir=str(tmp_path / "data"))
    sandbox.execute(TOUCH_EVERYTHING + CLOSE_MOUNTS[how])
    result = sandbox.execute("print(open('/data/file').read(), open('own.txt').read())")
    assert result.success, result.stderr


# Read-only mounts.

CHANGE_READ_ONLY = (
    ATTEMPT
    + """
import os, shutil

def change(file, folder):
    flags = {"truncate": os.O_TRUNC, "create": os.O_CREAT, "both": os.O_CREAT | os.O_TRUNC}
    for name, flag in flags.items():
        for access in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
            if access or name == "truncate":
                attempt(f"open {name} {access}", lambda: os.open(file, access | flag))
    attempt("create", lambda: os.open(folder + "/made", os.O_RDONLY | os.O_CREAT))
    attempt("append", lambda: open(file, "ab").write(b"x"))
    attempt("utime", lambda: os.utime(file, (1, 1)))
    attempt("utime folder", lambda: os.utime(folder, (1, 1)))
    attempt("truncate by name", lambda: os.truncate(file, 0))
    attempt("unlink", lambda: os.unlink(file))
    attempt("rmdir", lambda: os.rmdir(folder + "/inner"))
    attempt("rmtree", lambda: shutil.rmtree(folder))
    attempt("mkdir", lambda: os.mkdir(folder + "/made"))
    attempt("rename inside", lambda: os.rename(file, folder + "/moved"))
    attempt("rename out", lambda: os.rename(file, "/app/moved"))
    attempt("rename folder out", lambda: os.rename(folder + "/inner", "/app/moved"))
    open("/app/own", "w").close()
    attempt("rename in", lambda: os.rename("/app/own", folder + "/own"))
    attempt("rename over", lambda: os.rename("/app/own", file))
    attempt("link out", lambda: os.link(file, "/app/linked"))
    attempt("link in", lambda: os.link("/app/own", folder + "/linked"))
    attempt("symlink in", lambda: os.symlink("x", folder + "/linked"))
    opened = os.open(file, os.O_RDONLY)
    attempt("ftruncate", lambda: os.ftruncate(opened, 0))
    attempt("futime", lambda: os.utime(opened, (1, 1)))
    attempt("write", lambda: os.write(opened, b"x"))
    attempt("pwrite", lambda: os.pwrite(opened, b"x", 0))
    attempt("allocate", lambda: os.posix_fallocate(opened, 0, 10**6))
    below = os.open(folder, os.O_RDONLY)
    attempt("unlink at", lambda: os.unlink(os.path.basename(file), dir_fd=below))
    attempt("create at", lambda: os.open("made", os.O_CREAT | os.O_WRONLY, dir_fd=below))
    attempt("mkdir at", lambda: os.mkdir("made", dir_fd=below))
    attempt("rename at", lambda: os.rename(os.path.basename(file), "m", src_dir_fd=below))
"""
)


# The same folder as a guest may spell it, ways around included.
DATA_FOLDER = {
    "plain": "/data",
    "around inside": "/data/inner/..",
    "around twice": "/data/inner/.././inner/..",
    "slashes": "//data//",
}


@pytest.mark.parametrize("spelling", DATA_FOLDER)
def test_a_data_folder_cannot_be_changed(
    run: Runner, canary: Canary, workspace: Path, spelling: str
) -> None:
    folder = DATA_FOLDER[spelling]
    result = run(
        CHANGE_READ_ONLY + f"change('{folder}/secret.txt', '{folder}')",
        mount_data_dir=str(canary.folder),
    )
    assert result.success, result.stderr
    assert len(attempts(result)) > 30
    assert done(result) == []
    assert canary.changed() == []
    assert not (workspace / "moved").exists()


def test_the_library_of_the_guest_cannot_be_changed(run: Runner, workspace: Path) -> None:
    mounts = Layout(artifacts.default_binary()).mounts(workspace)
    ours = [mount.host for mount in mounts if not mount.is_workspace]
    before = [fingerprint(folder) for folder in ours]
    result = run(
        CHANGE_READ_ONLY
        + "change('/usr/local/lib/wasm_kernel/wasm_guest/driver.py', '/usr/local/lib/wasm_kernel')"
    )
    assert result.success, result.stderr
    assert done(result) == []
    result = run(CHANGE_READ_ONLY + "change('/usr/local/lib/python315.zip', '/usr/local/lib')")
    assert done(result) == []
    assert [fingerprint(folder) for folder in ours] == before


@pytest.mark.parametrize("spelling", DATA_FOLDER)
def test_control_a_writable_data_folder_is_noticed(
    run: Runner, canary: Canary, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    folder = DATA_FOLDER[spelling]
    plain = wasmtime.WasiConfig.preopen_dir

    def writable(config: Any, host: str, guest: str, _mutable: bool) -> None:
        plain(config, host, guest, host == str(canary.folder) or guest == "/app")

    monkeypatch.setattr(wasmtime.WasiConfig, "preopen_dir", writable)
    result = run(
        CHANGE_READ_ONLY + f"change('{folder}/secret.txt', '{folder}')",
        mount_data_dir=str(canary.folder),
    )
    assert done(result) != []
    assert canary.changed() != []


# Files that are no files.


@contextlib.contextmanager
def unblocked(fifo: Path, seconds: float = 5.0) -> Iterator[threading.Event]:
    """Opens the other end of a FIFO if somebody still waits for it after some seconds.

    The event says that it came to that: whoever opened the FIFO was stuck.
    """
    stuck = threading.Event()
    opened: list[int] = []

    def release() -> None:
        stuck.set()
        opened.append(os.open(fifo, os.O_RDWR | os.O_NONBLOCK))

    timer = threading.Timer(seconds, release)
    timer.start()
    try:
        yield stuck
    finally:
        timer.cancel()
        timer.join()
        for descriptor in opened:
            os.close(descriptor)


OPEN_ODD_FILE = (
    ATTEMPT
    + """
import os, shutil
for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
    attempt(f"open {flags}", lambda: os.open(PATH, flags))
attempt("read", lambda: open(PATH, "rb").read(10))
attempt("copy", lambda: shutil.copyfile(PATH, "copy"))
attempt("truncate", lambda: os.truncate(PATH, 0))
attempt("rename", lambda: os.rename(PATH, "moved"))
attempt("unlink", lambda: os.unlink(PATH))
print("listed", sorted(os.listdir(os.path.dirname(PATH))))
"""
)


def test_a_fifo_in_the_workspace_blocks_nobody(run: Runner, workspace: Path) -> None:
    os.mkfifo(workspace / "fifo")
    with unblocked(workspace / "fifo") as stuck:
        result = run("PATH = '/app/fifo'\n" + OPEN_ODD_FILE)
    assert not stuck.is_set()
    assert result.success, result.stderr
    assert done(result) == []
    assert stat.S_ISFIFO((workspace / "fifo").lstat().st_mode)


def test_a_fifo_behind_a_linked_folder_blocks_nobody(run: Runner, workspace: Path) -> None:
    (workspace / "real").mkdir()
    (workspace / "linked").symlink_to("real")
    os.mkfifo(workspace / "real" / "fifo")
    with unblocked(workspace / "real" / "fifo") as stuck:
        run("import os\nos.open('/app/linked/fifo', os.O_RDONLY)", timeout_seconds=1)
    assert not stuck.is_set(), "the run did not end at its time limit"


def test_a_fifo_in_the_data_folder_blocks_nobody(run: Runner, canary: Canary) -> None:
    os.mkfifo(canary.folder / "fifo")
    with unblocked(canary.folder / "fifo") as stuck:
        run(
            "import os\nos.open('/data/fifo', os.O_RDONLY)",
            mount_data_dir=str(canary.folder),
            timeout_seconds=1,
        )
    assert not stuck.is_set(), "the run did not end at its time limit"


def test_control_the_fifo_check_notices_who_waits(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with unblocked(tmp_path / "fifo", seconds=0.1) as stuck:
        os.close(os.open(tmp_path / "fifo", os.O_RDONLY))
    assert stuck.is_set()


@pytest.mark.parametrize(("major", "minor"), [(1, 3), (1, 5), (1, 8)])
def test_a_device_in_the_workspace_is_refused(
    run: Runner, workspace: Path, major: int, minor: int
) -> None:
    try:
        os.mknod(workspace / "device", stat.S_IFCHR | 0o666, os.makedev(major, minor))
    except PermissionError:
        pytest.skip("making a device file needs more rights")
    result = run("PATH = '/app/device'\n" + OPEN_ODD_FILE)
    assert result.success, result.stderr
    assert done(result) == []


def test_a_socket_in_the_workspace_is_refused(run: Runner, workspace: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        with contextlib.chdir(workspace):
            listener.bind("socket")
        result = run("PATH = '/app/socket'\n" + OPEN_ODD_FILE)
    assert result.success, result.stderr
    assert done(result) == []


def test_a_folder_in_the_place_of_the_script_does_not_stop_the_next_run(run: Runner) -> None:
    sandbox = run.sandbox()
    made = sandbox.execute("import os\nos.remove('user_code.py')\nos.makedirs('user_code.py/x')")
    assert made.success
    assert sandbox.execute("print('ran')").stdout == "ran\n"


# Names as data.

HOSTILE_NAMES = [
    "<script>alert(1)</script>".replace("/", ":"),
    "<img src=x onerror=alert(1)>.html",
    "two\nlines",
    "return\rhere",
    "\x1b[31mred\x1b[0m",
    "\x1b]8;;http:example.invalid\x07click\x1b]8;;\x07",
    "\u202etxt.exe",
    "\u2066isolated\u2069",
    "tab\tname",
    " leading and trailing ",
    "-rf",
    "--option=value",
    "$(touch oops)",
    "`touch oops`",
    "%s%n{0}",
    "quote'\"quote",
    "back\\slash",
    "*?[x]",
    "~",
    "é" * 100,
    "x" * 255,
    "\U0001f600",
    "zero\u200bwidth",
    "\x7f\x01control",
    "con.aux",
    "a:stream",
    "data:text",
]


def test_hostile_names_are_reported_as_plain_data(run: Runner, workspace: Path) -> None:
    result = run(f"for name in {HOSTILE_NAMES!r}:\n    open(name, 'w').close()")
    assert result.success, result.stderr
    assert result.files_created == sorted(HOSTILE_NAMES)
    assert {entry.path for entry in result.files} == set(HOSTILE_NAMES)
    assert SandboxResult.model_validate_json(result.model_dump_json()) == result
    assert sorted(os.listdir(workspace)) == sorted([*HOSTILE_NAMES, "user_code.py"])


def test_hostile_names_cannot_forge_a_log_line(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    import logging

    logger = logging.getLogger(LOGGER_NAME)
    before = logger.handlers, logger.level, logger.propagate
    stream = io.StringIO()
    configure_logging(stream)
    try:
        run(
            f"for name in {HOSTILE_NAMES!r}:\n    open(name, 'w').close()\n"
            'print(\'\\n{"event": "forged"}\\n\')'
        )
    finally:
        logger.handlers, logger.level, logger.propagate = before
    events = [json.loads(line)["event"] for line in stream.getvalue().splitlines()]
    assert events
    assert "forged" not in events


def test_the_type_of_a_file_is_never_taken_from_a_name_like_an_address(run: Runner) -> None:
    result = run(
        """
import os
for folder in ("data:text", "data:application"):
    os.mkdir(folder)
open("data:text/html,x.bin", "w").close()
open("data:application/javascript;base64,x.bin", "w").close()
"""
    )
    assert {entry.type for entry in result.files} == {"application/octet-stream"}


def test_names_of_four_kilobytes_are_refused(run: Runner, workspace: Path) -> None:
    result = run(
        ATTEMPT
        + """
import os
for size in (256, 4095, 4096, 4097, 5000, 50_000):
    for name in ("x" * size, "/app/" + "x" * size, "../" * (size // 3), "a/" * (size // 2)):
        attempt(f"create {size} {name[:8]}", lambda: open(name, "w"))
        attempt(f"mkdir {size} {name[:8]}", lambda: os.mkdir(name))
        attempt(f"rename {size} {name[:8]}", lambda: os.rename("user_code.py", name))
        attempt(f"stat {size} {name[:8]}", lambda: os.stat(name))
        attempt(f"unlink {size} {name[:8]}", lambda: os.unlink(name))
open("still", "w").write("works")
"""
    )
    assert result.success, result.stderr
    assert done(result) == []
    assert result.files_created == ["still"]
    assert sorted(os.listdir(workspace)) == ["still", "user_code.py"]


def test_names_that_are_not_text_are_refused_or_reported(run: Runner, workspace: Path) -> None:
    (workspace / "folder").mkdir()
    Path(os.fsdecode(bytes(workspace / "folder") + b"/\xff\xfe")).write_bytes(b"")
    result = run(
        ATTEMPT
        + """
import os
attempt("create", lambda: open(b"\\xff\\xfe", "w"))
attempt("mkdir", lambda: os.mkdir(b"\\xff\\xfe"))
os.rename("folder", "moved")
"""
    )
    assert done(result) == []
    result.model_dump_json()


# The second name of the temporary folder.

CLIMB = """
import os
os.mkdir("/tmp/inner")
open("/app/own.txt", "w").close()
"""


def second_name_escapes(canary: Canary) -> list[str]:
    """Names that would lead out of ``/tmp``: to the host, or to other folders of the workspace."""
    climb = "../" * 40
    return [
        "/tmp/../home/x",
        "/tmp/../../own.txt",
        "//tmp//..//..//own.txt",
        "/tmp/inner/../../x",
        "/tmp/inner/../../../own.txt",
        "/tmp/inner/../../../../outside/secret.txt",
        "/tmp/missing/../../../../outside/secret.txt",
        "/tmp/" + climb + str(canary.file).lstrip("/"),
        "/" + str(canary.file),
        "/x",
        "/usr/x",
        "/etc/passwd",
    ]


def test_no_name_leads_out_of_the_temporary_folder(
    run: Runner, canary: Canary, workspace: Path
) -> None:
    names = second_name_escapes(canary)
    result = run(TOUCH_EVERYTHING + CLIMB + f"for path in {names!r}: touch(path)")
    assert result.success, result.stderr
    assert len(attempts(result)) == 16 * len(names)
    assert done(result) == []
    assert canary.changed() == []
    assert canary.traces(result, workspace) == []


def test_control_a_second_name_that_is_only_put_in_front_lets_names_climb(
    run: Runner, canary: Canary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(second_names, "_from_the_last_root", lambda text: text)
    names = second_name_escapes(canary)
    result = run(TOUCH_EVERYTHING + CLIMB + f"for path in {names!r}: touch(path)")
    assert any("/tmp/../../own.txt" in what for what in done(result))
    # The workspace is the end of it all the same.
    assert canary.changed() == []
    assert canary.traces(result) == []


@pytest.mark.parametrize("where", [".wasm_kernel", ".wasm_kernel/tmp", ".wasm_kernel/tmp/inner"])
def test_a_link_in_the_place_of_the_temporary_folder_leads_nowhere(
    run: Runner, canary: Canary, workspace: Path, where: str
) -> None:
    place = workspace / where
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(canary.folder)
    names = ["secret.txt", "inner", "inner/secret.txt", "tmp/secret.txt", "inner/../secret.txt"]
    result = run(TOUCH_EVERYTHING + f"for name in {names!r}: touch('/tmp/' + name)")
    assert result.success, result.stderr
    assert canary.changed() == []
    assert canary.traces(result) == []
    assert place.is_symlink()


def test_the_temporary_folder_itself_stays(run: Runner) -> None:
    result = run(
        ATTEMPT
        + """
import os, shutil
open("/app/own", "w").close()
attempt("rmdir", lambda: os.rmdir("/tmp"))
attempt("remove", lambda: os.remove("/tmp"))
attempt("rename", lambda: os.rename("/tmp", "/app/t"))
attempt("rename over", lambda: os.rename("/app/own", "/tmp"))
attempt("rename root", lambda: os.rename("/", "/app/t"))
attempt("mkdir", lambda: os.mkdir("/tmp"))
attempt("times", lambda: os.utime("/tmp"))
attempt("link", lambda: os.symlink("/app", "/tmp/link"))
attempt("hard link", lambda: os.link("/app/own", "/tmp/link"))
attempt("out of the root", lambda: os.mkdir("/new"))
attempt("a mount point", lambda: os.rmdir("/usr/local"))
"""
    )
    assert result.success, result.stderr
    assert len(attempts(result)) == 11
    assert done(result) == []


def test_a_second_name_without_its_workspace_is_none(run: Runner, canary: Canary) -> None:
    """The number of a closed workspace may be given to another folder."""
    result = run(
        ATTEMPT
        + """
import os
os.close(6)
folder = os.open("/data", os.O_RDONLY)
attempt("open", lambda: os.open("/tmp/secret.txt", os.O_RDONLY))
attempt("create", lambda: os.open("/tmp/new", os.O_RDWR | os.O_CREAT))
attempt("stat", lambda: os.stat("/tmp/secret.txt"))
print("at six:", folder == 6)
""",
        mount_data_dir=str(canary.folder),
    )
    assert "at six: True" in result.stdout, result.stderr
    assert done(result) == []
    assert canary.changed() == []
