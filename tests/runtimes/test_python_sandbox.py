"""One-shot Python: what a script may do, what it may not, and what is left of it afterwards."""

from __future__ import annotations

import ast
import gzip
import importlib.metadata
import io
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import wasmtime

from wasm_kernel import (
    ExecutionPolicy,
    InvalidRuntimeError,
    Limit,
    PythonSandbox,
    RuntimeNotReadyError,
    SandboxExecutionError,
    SandboxLogger,
    SandboxResult,
    WorkspaceError,
    configure_logging,
    create_sandbox,
)
from wasm_kernel.host import cache
from wasm_kernel.host.workspace import Usage, Workspace
from wasm_kernel.runtimes.python import artifacts
from wasm_kernel.runtimes.python.ready import pool

ROOT = Path(__file__).parents[2]
MakeSandbox = Callable[..., PythonSandbox]


def value_of(result: SandboxResult) -> Any:
    """What a script printed as a literal; its traceback where it failed."""
    assert result.success, result.stderr
    return ast.literal_eval(result.stdout)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder for ``mount_data_dir``."""
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with a canary that no guest may reach."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "canary").write_text("canary-of-the-host")
    return folder


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, for modules that nobody needs again."""
    folder = tmp_path / "cache"
    monkeypatch.setenv(cache.ENV_CACHE_DIR, str(folder))
    return folder


# Requirement: Python Sandbox Implementation


def test_execute_python_code_successfully(make_sandbox: MakeSandbox) -> None:
    result = make_sandbox().execute("print('Hello')")
    assert result.success is True
    assert "Hello" in result.stdout
    assert result.fuel_consumed is not None
    assert result.fuel_consumed > 0


def test_execute_with_injected_setup_code(make_sandbox: MakeSandbox, workspace: Path) -> None:
    packages = workspace / "site-packages"
    for file in importlib.metadata.files("urllib3") or []:
        if file.suffix == ".py":
            place = packages / file
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(file.locate()), place)
    code = "import sys, urllib3; print((urllib3.__file__, sys.path[:3]))"
    result = make_sandbox().execute(code)
    assert value_of(result) == (
        "/app/site-packages/urllib3/__init__.py",
        ["/app/site-packages", "/app", "/data/site-packages"],
    )
    assert result.files == []


def test_packages_of_the_data_folder_can_be_imported(make_sandbox: MakeSandbox, data: Path) -> None:
    """Packages that many sandboxes share, where no guest can change them."""
    (data / "site-packages").mkdir()
    (data / "site-packages" / "vendored.py").write_text("value = 7\n")
    sandbox = make_sandbox(mount_data_dir=str(data))
    code = "import vendored; print((vendored.__file__, vendored.value))"
    assert value_of(sandbox.execute(code)) == ("/data/site-packages/vendored.py", 7)
    assert sorted(path.name for path in (data / "site-packages").iterdir()) == ["vendored.py"]
    assert "ModuleNotFoundError" in sandbox.execute(code, False).stderr


@pytest.mark.slow
def test_packages_are_found_where_the_policy_puts_the_folders(
    make_sandbox: MakeSandbox, workspace: Path, data: Path
) -> None:
    for folder, name in ((workspace, "mine"), (data, "ours")):
        (folder / "site-packages").mkdir(parents=True)
        (folder / "site-packages" / f"{name}.py").touch()
    sandbox = make_sandbox(
        mount_data_dir=str(data), guest_mount_path="/work", guest_data_path="/shared"
    )
    result = sandbox.execute("import mine, ours; print([mine.__file__, ours.__file__])")
    assert value_of(result) == [
        "/work/site-packages/mine.py",
        "/shared/site-packages/ours.py",
    ]


def test_execute_without_injected_setup(make_sandbox: MakeSandbox, workspace: Path) -> None:
    (workspace / "site-packages").mkdir(parents=True)
    (workspace / "site-packages" / "helper.py").touch()
    sandbox = make_sandbox()
    plain = value_of(sandbox.execute("import sys; print(sys.path)", inject_setup=False))
    assert not [entry for entry in plain if entry.startswith(("/app", "/data"))]
    assert value_of(sandbox.execute("import sys; print(sys.path)")) == [
        "/app/site-packages",
        "/app",
        "/data/site-packages",
        *plain,
    ]
    assert sandbox.execute("import helper").success
    assert "ModuleNotFoundError" in sandbox.execute("import helper", inject_setup=False).stderr
    # What runs is the script itself: its first line is line 1, and it is what lies on disk.
    sandbox.execute("first = 'line'", inject_setup=False)
    assert (workspace / "user_code.py").read_text() == "first = 'line'"


def test_handle_execution_errors_gracefully(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox()
    result = sandbox.execute("raise ValueError('test')")
    assert result.success is False
    assert result.exit_code == 1
    assert "ValueError: test" in result.stderr
    assert result.error is not None
    assert result.error.name == "ValueError"
    assert sandbox.execute("print('still here')").stdout == "still here\n"


BOUNDARIES = """
import os, socket, subprocess, sys, threading

def listed(path):
    try: return os.listdir(path)
    except OSError: return None

def refused(call, *arguments):
    try: call(*arguments)
    except Exception as error: return type(error).__name__

print({
    "folder": os.getcwd(),
    "arguments": sys.argv,
    "greeting": os.environ["GREETING"],
    "data": listed("/data"),
    "platform": sys.platform,
    "root": sorted(listed("/")),
    "others": [listed(path) for path in ("/etc", "/home", "/proc", "/root", "/sys", "/var")],
    "temporary": listed("/tmp"),
    "leaks": "canary-of-the-host" in repr(os.environ),
    "socket": refused(socket.create_connection, ("127.0.0.1", 80)),
    "process": refused(subprocess.run, ["true"]),
    "thread": refused(threading.Thread(target=print).start),
})
"""


def test_reuse_existing_host_layer_logic(
    make_sandbox: MakeSandbox, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the policy says is what the guest finds, and nothing of the host besides."""
    monkeypatch.setenv("HOST_CANARY", "canary-of-the-host")
    (data / "table.csv").write_text("a,b")
    sandbox = make_sandbox(
        mount_data_dir=str(data), env={"GREETING": "hello"}, argv=["python", "script", "--flag"]
    )
    result = sandbox.execute(BOUNDARIES)
    assert value_of(result) == {
        "folder": "/app",
        "arguments": ["script", "--flag"],
        "greeting": "hello",
        "data": ["table.csv"],
        "platform": "wasi",
        "root": ["app", "data", "dev", "tmp", "usr"],
        "others": [None] * 6,
        "temporary": [],
        "leaks": False,
        "socket": "OSError",
        "process": "OSError",
        "thread": "RuntimeError",
    }
    # The same host counts, for the same policy, the same things.
    again = sandbox.execute(BOUNDARIES)
    assert again.stdout == result.stdout
    assert again.fuel_consumed == pytest.approx(result.fuel_consumed, rel=0.01)


# Requirement: Python Code Validation


def test_validate_syntactically_correct_code(make_sandbox: MakeSandbox) -> None:
    assert make_sandbox().validate_code("x = 1 + 2") is True


def test_reject_syntactically_invalid_code(make_sandbox: MakeSandbox) -> None:
    assert make_sandbox().validate_code("x = 1 +") is False


def test_validation_does_not_execute_code(
    make_sandbox: MakeSandbox, workspace: Path, outside: Path
) -> None:
    code = f"import os; os.unlink({str(outside / 'canary')!r}); os.system('rm -rf /nothing')"
    sandbox = make_sandbox()
    assert sandbox.validate_code(code) is True
    assert (outside / "canary").exists()
    assert not workspace.exists()
    sandbox.execute("print('the last script')")
    assert sandbox.validate_code("open('/app/made', 'w')") is True
    assert (workspace / "user_code.py").read_text() == "print('the last script')"
    assert [path.name for path in workspace.iterdir()] == ["user_code.py"]


@pytest.mark.parametrize(
    ("code", "is_valid"),
    [
        ("", True),
        ("def f():\n\treturn 1\n", True),
        ("'\\d'", True),
        ("return 5", False),
        ("def f(:", False),
        ("\tx = 1\n  y = 2", False),
        ("x = 1\0", False),
        ("x = '\ud800'", False),
        ("(" * 5000 + ")" * 5000, False),
        ("# " + "x" * 2_000_000, False),
        ("x = '" + "\x01" * 900_000 + "'", True),
    ],
    ids=[
        "empty", "function", "odd escape", "return", "def", "indent", "nul", "surrogate", "deep",
        "too large", "just not too large",
    ],
)  # fmt: skip
def test_use_python_compile_for_validation(
    make_sandbox: MakeSandbox, code: str, is_valid: bool
) -> None:
    assert make_sandbox().validate_code(code) is is_valid


def test_what_is_no_text_is_not_valid(make_sandbox: MakeSandbox) -> None:
    assert make_sandbox().validate_code(b"x = 1") is False  # type: ignore[arg-type]


# Requirement: File Delta Detection


def test_detect_created_files(make_sandbox: MakeSandbox) -> None:
    result = make_sandbox().execute("open('/app/output.txt', 'w').write('data')")
    assert result.files_created == ["output.txt"]
    assert (result.files_modified, result.files_deleted) == ([], [])


def test_detect_modified_files(make_sandbox: MakeSandbox, workspace: Path) -> None:
    workspace.mkdir()
    (workspace / "input.txt").write_text("some")
    result = make_sandbox().execute("with open('/app/input.txt', 'a') as f: f.write('more')")
    assert result.files_modified == ["input.txt"]
    assert (result.files_created, result.files_deleted) == ([], [])
    assert (workspace / "input.txt").read_text() == "somemore"


def test_exclude_user_code_py_from_delta(make_sandbox: MakeSandbox, workspace: Path) -> None:
    sandbox = make_sandbox()
    for code in ("pass", "open('/app/user_code.py', 'a').write('#')"):
        result = sandbox.execute(code)
        assert result.success, result.stderr
        assert result.files == []
        assert "user_code.py" not in result.files_created + result.files_modified
    assert (workspace / "user_code.py").exists()


def test_provide_relative_paths(make_sandbox: MakeSandbox) -> None:
    result = make_sandbox().execute(
        "import os\nos.makedirs('/app/subdir/deeper')\n"
        "open('/app/subdir/file.txt', 'w').close()\n"
        "os.chdir('/app/subdir')\nopen('deeper/../deeper/other.txt', 'w').close()"
    )
    assert result.files_created == ["subdir/deeper/other.txt", "subdir/file.txt"]


def test_reading_is_no_change(make_sandbox: MakeSandbox, workspace: Path) -> None:
    workspace.mkdir()
    (workspace / "input.txt").write_text("some")
    result = make_sandbox().execute("print(open('/app/input.txt').read())")
    assert result.stdout == "some\n"
    assert result.files == []


def test_detect_deleted_files(make_sandbox: MakeSandbox, workspace: Path) -> None:
    (workspace / "folder").mkdir(parents=True)
    for name in ("kept", "gone", "folder/gone too"):
        (workspace / name).touch()
    result = make_sandbox().execute(
        "import os, shutil\nos.unlink('/app/gone')\nshutil.rmtree('/app/folder')"
    )
    assert result.success, result.stderr
    assert result.files_deleted == ["folder/gone too", "gone"]
    assert sorted(path.name for path in workspace.iterdir()) == ["kept", "user_code.py"]


def test_renamed_file_is_deleted_and_created(make_sandbox: MakeSandbox, workspace: Path) -> None:
    (workspace / "folder").mkdir(parents=True)
    (workspace / "folder" / "inner").write_text("x")
    (workspace / "old").write_text("y")
    result = make_sandbox().execute(
        "import os\nos.rename('/app/old', '/app/new')\nos.rename('/app/folder', '/app/moved')"
    )
    assert result.files_created == ["moved/inner", "new"]
    assert result.files_deleted == ["folder/inner", "old"]


def test_copied_tree_is_only_created(make_sandbox: MakeSandbox, workspace: Path) -> None:
    (workspace / "folder").mkdir(parents=True)
    (workspace / "folder" / "inner").write_text("x")
    result = make_sandbox().execute("import shutil; shutil.copytree('/app/folder', '/app/copy')")
    assert result.files_created == ["copy/inner"]
    assert (result.files_modified, result.files_deleted) == ([], [])


def test_change_of_the_same_size_right_after_the_last_run_is_seen(
    make_sandbox: MakeSandbox,
) -> None:
    sandbox = make_sandbox()
    sandbox.execute("open('/app/file', 'w').write('0')")
    for number in range(1, 10):
        result = sandbox.execute(f"open('/app/file', 'w').write('{number}')")
        assert result.files_modified == ["file"]


def test_name_that_is_no_text_can_still_be_reported(
    make_sandbox: MakeSandbox, workspace: Path
) -> None:
    """The guest cannot name such a file of the user, but it can move the folder around it."""
    (workspace / "folder").mkdir(parents=True)
    try:
        Path(os.fsdecode(os.fsencode(workspace / "folder") + b"/\xff")).touch()
    except OSError:
        pytest.skip("this file system only takes names that are text")
    result = make_sandbox().execute("import os; os.rename('/app/folder', '/app/moved')")
    assert result.success, result.stderr
    assert len(json.loads(result.model_dump_json())["files_created"]) == 1


# Requirement: Execution Metrics


def test_measure_execution_duration(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox()
    started = time.perf_counter()
    result = sandbox.execute("import time; time.sleep(0.1)")
    outer = (time.perf_counter() - started) * 1000
    assert 100 <= result.duration_ms <= outer
    assert 100 <= result.guest_ms <= result.duration_ms


def test_capture_fuel_consumption(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox()

    def used(rounds: int) -> int:
        result = sandbox.execute(f"for _ in range({rounds}): pass")
        assert result.fuel_consumed is not None
        return result.fuel_consumed

    small, large = used(10_000), used(20_000)
    each = (large - small) / 10_000
    # As many rounds as a million instructions allow use a million instructions.
    rounds = 10_000 + round((1_000_000 - small) / each)
    assert used(rounds) == pytest.approx(1_000_000, rel=0.02)


def test_capture_memory_usage(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox()
    at_rest = sandbox.execute("pass").memory_used_bytes
    result = sandbox.execute("x = bytearray(10_000_000)")
    assert result.memory_used_bytes >= 10_000_000
    large = sandbox.execute("x = bytearray(30_000_000)")
    assert large.memory_used_bytes >= at_rest + 10_000_000
    assert large.memory_used_bytes <= sandbox.policy.memory_bytes


def test_set_workspace_path(tmp_path: Path) -> None:
    with PythonSandbox(workspace=tmp_path / "sandbox-123") as sandbox:
        assert sandbox.execute("pass").workspace_path == str(tmp_path / "sandbox-123")


# Requirement: Security Boundary Preservation


@pytest.mark.parametrize("path", ["/etc/passwd", "../../etc/passwd", "/app/../etc/passwd", "/root"])
def test_enforce_wasi_filesystem_isolation(make_sandbox: MakeSandbox, path: str) -> None:
    result = make_sandbox().execute(f"print(open({path!r}).read())")
    assert result.success is False
    assert result.stdout == ""
    assert any(name in result.stderr for name in ("PermissionError", "FileNotFoundError"))


def test_enforce_fuel_limits(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox(fuel_budget=100_000)
    result = sandbox.execute("while True: pass")
    assert result.success is False
    assert result.stderr == (
        "OutOfFuel: the code used all of its fuel (100 k instructions); "
        "raise fuel_budget if it needs more\n"
    )
    assert result.fuel_consumed == 100_000
    assert result.limit is Limit.FUEL
    assert result.exit_code == 1


def test_enforce_memory_limits(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox(memory_bytes=64_000_000)
    result = sandbox.execute("x = 'a' * 100_000_000")
    assert result.success is False
    assert result.limit is Limit.MEMORY
    assert "MemoryError" in result.stderr
    assert "needed more than its memory (64 MB); raise memory_bytes" in result.stderr
    assert result.memory_used_bytes <= 64_000_000
    assert sandbox.execute("print('still here')").stdout == "still here\n"


def test_enforce_output_capping(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox(stdout_max_bytes=1000, stderr_max_bytes=500)
    result = sandbox.execute("import sys\nprint('x' * 10_000)\nprint('y' * 600, file=sys.stderr)")
    assert result.success
    assert result.stdout == "x" * 1000
    assert result.stdout_truncated
    assert result.stdout_bytes == 10_001
    assert result.stderr == "y" * 500
    assert result.stderr_truncated
    assert result.metadata["stdout_truncated"] is True
    short = sandbox.execute("print('x' * 999)")
    assert not short.stdout_truncated
    assert len(short.stdout) == 1000


def test_capped_output_never_ends_in_half_a_character(make_sandbox: MakeSandbox) -> None:
    result = make_sandbox(stdout_max_bytes=1000).execute("print('€' * 1000)")
    assert result.stdout == "€" * 333


@pytest.mark.parametrize("code", ["while True: pass", "import time; time.sleep(60)"])
def test_time_limit_ends_loops_and_sleeps(make_sandbox: MakeSandbox, code: str) -> None:
    sandbox = make_sandbox(timeout_seconds=0.3, fuel_budget=2**62)
    result = sandbox.execute(code)
    assert result.success is False
    assert result.limit is Limit.TIME
    assert result.stderr == (
        "TimeLimit: the code ran longer than 300 ms and timed out; raise timeout_seconds\n"
    )
    assert result.duration_ms >= 300
    assert sandbox.execute("print('still here')").stdout == "still here\n"


def run_python(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A Python of the host in a process of its own, for what might take the process down."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("seconds", ["1e10", "1e300", "inf"])
def test_time_limit_too_large_for_a_clock_is_refused_or_no_limit(
    workspace: Path, seconds: str
) -> None:
    done = run_python(
        """
        import sys
        from wasm_kernel import ExecutionPolicy, PolicyValidationError, PythonSandbox
        try:
            policy = ExecutionPolicy(timeout_seconds=float(sys.argv[2]))
        except PolicyValidationError:
            print("fine")
        else:
            print(PythonSandbox(policy, sys.argv[1]).execute("print('fine')").stdout, end="")
        """,
        str(workspace),
        seconds,
    )
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


def test_workspace_quota_ends_in_a_clear_sentence(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox(workspace_max_bytes=1_000_000)
    result = sandbox.execute("open('/app/large', 'wb').write(bytes(2_000_000))")
    assert result.success is False
    assert result.limit is Limit.WORKSPACE
    assert "the workspace may hold 1 MB in 20,000 files; raise workspace_max_bytes" in result.stderr


@pytest.mark.parametrize(
    "prepare",
    [
        "f = open('/app/x', 'wb', 0); os.unlink('/app/x')",
        "open('/app/y', 'w').close(); f = open('/app/x', 'wb', 0); os.rename('/app/y', '/app/x')",
    ],
    ids=["unlinked", "replaced"],
)
def test_file_without_a_name_counts_against_the_quota(
    make_sandbox: MakeSandbox, prepare: str
) -> None:
    """A descriptor keeps the disk's blocks of a file that no folder lists any more."""
    sandbox = make_sandbox(workspace_max_bytes=1_000_000)
    result = sandbox.execute(
        f"import os\n{prepare}\n"
        "written = 0\n"
        "try:\n"
        "    for _ in range(8): written += f.write(bytes(500_000))\n"
        "except OSError: pass\n"
        "print(written)"
    )
    assert value_of(result) <= 1_000_000


def test_renaming_a_growing_file_does_not_use_up_the_quota(make_sandbox: MakeSandbox) -> None:
    result = make_sandbox(workspace_max_bytes=1_000_000).execute(
        "import os\nf = open('/app/x', 'wb', 0)\nf.write(bytes(400_000))\n"
        "os.rename('/app/x', '/app/y')\nf.write(bytes(400_000))\n"
        "print(os.stat('/app/y').st_size)"
    )
    assert value_of(result) == 800_000


def test_failed_calls_do_not_measure_the_workspace_again(
    make_sandbox: MakeSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host must not work longer for a refused call than the guest pays for it."""
    measured: list[Workspace] = []
    usage = Workspace.usage

    def counted(workspace: Workspace) -> Usage:
        measured.append(workspace)
        return usage(workspace)

    monkeypatch.setattr(Workspace, "usage", counted)
    result = make_sandbox().execute(
        "import os\nopen('/app/first', 'w').close()\nfor _ in range(50):\n"
        "    try: os.mkdir('/app/no/such/folder')\n    except OSError: pass"
    )
    assert result.success, result.stderr
    assert 1 <= len(measured) <= 2


# Links and other things that the user put into the workspace.


@pytest.fixture
def linked(workspace: Path, outside: Path) -> Path:
    (workspace / "real").mkdir(parents=True)
    (workspace / "real" / "file").write_text("inside")
    (workspace / "out").symlink_to(outside)
    (workspace / "canary").symlink_to(outside / "canary")
    (workspace / "in").symlink_to("real")
    (workspace / "alias").symlink_to("real/file")
    return workspace


@pytest.mark.parametrize("path", ["canary", "out/canary", "in/../out/canary", "alias", "in/file"])
def test_link_of_the_user_is_never_read(make_sandbox: MakeSandbox, linked: Path, path: str) -> None:
    result = make_sandbox().execute(f"print(open('/app/{path}').read())")
    assert result.success is False
    assert result.stdout == ""
    assert "OSError" in result.stderr or "PermissionError" in result.stderr


@pytest.mark.parametrize(
    "statement",
    [
        "open('/app/canary', 'w').write('x')",
        "open('/app/out/new', 'w').write('x')",
        "os.truncate('/app/canary', 0)",
        "os.utime('/app/canary', (0, 0))",
        "os.unlink('/app/out/canary')",
        "os.rename('/app/out/canary', '/app/mine')",
        "os.rename('/app/real/file', '/app/out/file')",
        "os.mkdir('/app/out/folder')",
        "shutil.rmtree('/app/out')",
    ],
)
def test_nothing_is_changed_through_a_link_of_the_user(
    make_sandbox: MakeSandbox, linked: Path, outside: Path, statement: str
) -> None:
    before = (outside / "canary").stat().st_mtime_ns
    result = make_sandbox().execute(f"import os, shutil\n{statement}")
    assert result.success is False
    assert [entry.name for entry in outside.iterdir()] == ["canary"]
    assert (outside / "canary").read_text() == "canary-of-the-host"
    assert (outside / "canary").stat().st_mtime_ns == before
    assert (linked / "real" / "file").read_text() == "inside"


@pytest.mark.parametrize(
    "statement",
    [
        "open('/app/in/file', 'w').write('changed')",
        "open('/app/in/new', 'w').write('new')",
        "os.unlink('/app/in/file')",
        "os.rename('/app/in/file', '/app/in/moved')",
        "os.mkdir('/app/in/folder')",
    ],
)
def test_nothing_is_changed_behind_an_inner_link(
    make_sandbox: MakeSandbox, linked: Path, statement: str
) -> None:
    """A way into the workspace that the journal does not see is a way around its quota."""
    result = make_sandbox().execute(f"import os\n{statement}")
    assert result.success is False
    assert [path.name for path in (linked / "real").iterdir()] == ["file"]
    assert (linked / "real" / "file").read_text() == "inside"


def test_link_in_place_of_the_script_is_replaced_not_followed(
    make_sandbox: MakeSandbox, workspace: Path, outside: Path
) -> None:
    workspace.mkdir()
    (workspace / "user_code.py").symlink_to(outside / "canary")
    assert make_sandbox().execute("print(1)").stdout == "1\n"
    assert (outside / "canary").read_text() == "canary-of-the-host"
    assert not (workspace / "user_code.py").is_symlink()


@pytest.mark.parametrize(
    "statement",
    [
        "os.symlink('/etc', '/app/link')",
        "os.symlink('user_code.py', '/app/link')",
        "os.link('/app/user_code.py', '/app/link')",
    ],
)
def test_guest_makes_no_links(make_sandbox: MakeSandbox, workspace: Path, statement: str) -> None:
    assert make_sandbox().execute(f"import os\n{statement}").success is False
    assert not (workspace / "link").is_symlink()
    assert not (workspace / "link").exists()


def test_pipe_in_the_workspace_does_not_hang_the_host(
    make_sandbox: MakeSandbox, workspace: Path
) -> None:
    workspace.mkdir()
    os.mkfifo(workspace / "pipe")
    result = make_sandbox().execute("open('/app/pipe')")
    assert result.success is False
    assert "No such device" in result.stderr


def test_pipe_in_the_data_folder_does_not_outlast_the_time_limit(
    tmp_path: Path, data: Path
) -> None:
    os.mkfifo(data / "pipe")
    code = """
        import sys
        from wasm_kernel import ExecutionPolicy, PythonSandbox
        policy = ExecutionPolicy(mount_data_dir=sys.argv[1], timeout_seconds=0.3)
        print(PythonSandbox(policy, sys.argv[2]).execute("open('/data/pipe')").success)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(data), str(tmp_path / "w")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            said, _ = child.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            child.kill()
            pytest.fail("the guest still waits for the pipe, long after its time limit")
    assert said == "False\n"


def test_data_folder_is_read_only(make_sandbox: MakeSandbox, data: Path) -> None:
    (data / "table.csv").write_text("a,b")
    sandbox = make_sandbox(mount_data_dir=str(data))
    assert sandbox.execute("print(open('/data/table.csv').read())").stdout == "a,b\n"
    for statement in (
        "open('/data/table.csv', 'w')",
        "open('/data/table.csv', 'a').write('x')",
        "open('/data/new', 'w')",
        "os.unlink('/data/table.csv')",
        "os.truncate('/data/table.csv', 0)",
        "os.utime('/data/table.csv', (0, 0))",
        "os.mkdir('/data/new')",
        "os.rename('/data/table.csv', '/app/mine')",
        "os.rename('/app/user_code.py', '/data/mine')",
        "os.link('/data/table.csv', '/app/mine')",
    ):
        assert sandbox.execute(f"import os\n{statement}").success is False, statement
    assert [path.name for path in data.iterdir()] == ["table.csv"]
    assert (data / "table.csv").read_text() == "a,b"


def test_missing_data_folder_is_a_clear_error(make_sandbox: MakeSandbox, tmp_path: Path) -> None:
    sandbox = make_sandbox(mount_data_dir=str(tmp_path / "nowhere"))
    with pytest.raises(WorkspaceError, match=r"mount_data_dir .*nowhere is not a folder"):
        sandbox.execute("pass")


# Requirement: Logging Integration


class WatchingLogger(SandboxLogger):
    """A logger of an application that looks at the workspace whenever it is called."""

    def __init__(self, marker: Path) -> None:
        super().__init__()
        self.marker = marker
        self.calls: list[tuple[str, bool]] = []

    def log_execution_start(
        self, runtime: str, policy: ExecutionPolicy, session_id: str | None = None, **extra: Any
    ) -> None:
        self.calls.append((f"start {runtime} {policy.fuel_budget}", self.marker.exists()))

    def log_execution_complete(
        self, result: SandboxResult, runtime: str = "python", session_id: str | None = None
    ) -> None:
        self.calls.append((f"complete {result.success}", self.marker.exists()))


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """The JSON lines of the test; the process's logging is as before afterwards."""
    logger = logging.getLogger("wasm_kernel")
    before = logger.handlers, logger.level, logger.propagate
    text = io.StringIO()
    configure_logging(text)
    yield text
    logger.handlers, logger.level, logger.propagate = before


def events(log: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


def test_log_execution_start(make_sandbox: MakeSandbox, workspace: Path, log: io.StringIO) -> None:
    make_sandbox(fuel_budget=7_000_000_000, memory_bytes=120_000_000).execute("pass")
    start = events(log)[0]
    assert start["event"] == "execution.start"
    assert start["runtime"] == "python"
    assert start["policy"]["fuel_budget"] == 7_000_000_000
    assert start["policy"]["memory_bytes"] == 120_000_000
    watching = WatchingLogger(workspace / "marker")
    with PythonSandbox(workspace=workspace, logger=watching) as sandbox:
        sandbox.execute("open('/app/marker', 'w').close()")
    assert watching.calls == [("start python 2000000000", False), ("complete True", True)]


def test_log_execution_completion(make_sandbox: MakeSandbox, log: io.StringIO) -> None:
    result = make_sandbox().execute('print(\'{"event": "forged"}\')')
    _, complete = events(log)
    assert complete["event"] == "execution.complete"
    assert complete["success"] is True
    assert complete["duration_ms"] == result.duration_ms
    assert complete["fuel_consumed"] == result.fuel_consumed


def test_log_security_violations(make_sandbox: MakeSandbox, log: io.StringIO) -> None:
    make_sandbox(fuel_budget=100_000).execute("while True: pass")
    assert [line["event"] for line in events(log)] == [
        "execution.start",
        "execution.complete",
        "security.fuel_exhaustion",
    ]
    assert events(log)[-1]["event_type"] == "fuel_exhaustion"


# Requirement: WASM Binary Configuration


def test_use_default_wasm_binary(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox()
    checkout = Path(__file__).parents[2]
    if Path(artifacts.__file__).parents[3] == checkout:
        assert sandbox.wasm_binary_path == str(checkout / "bin" / "python.wasm")
    assert sandbox.wasm_binary_path.endswith("python.wasm")
    assert sandbox.execute("pass").success


def test_validate_wasm_binary_exists(tmp_path: Path, workspace: Path) -> None:
    missing = tmp_path / "no" / "python.wasm"
    sandbox = PythonSandbox(workspace=workspace, wasm_binary_path=missing)
    with pytest.raises(FileNotFoundError) as caught:
        sandbox.execute("pass")
    assert isinstance(caught.value, RuntimeNotReadyError)
    assert str(missing) in str(caught.value)
    assert "run: wasm-kernel setup" in str(caught.value)
    assert not workspace.exists()


@pytest.mark.parametrize(
    ("module", "advice"),
    [
        ("flask", "pip install --target workspace/site-packages flask"),
        ("requests", "could do nothing there: the sandbox has no network"),
        ("fcntl", "the sandbox's Python has no fcntl"),
    ],
)
def test_missing_module_says_what_to_do(
    make_sandbox: MakeSandbox, module: str, advice: str
) -> None:
    result = make_sandbox().execute(f"import {module}")
    assert result.error is not None
    assert result.error.name == "ModuleNotFoundError"
    assert advice in result.stderr
    assert "%pip" not in result.stderr
    # Python's own hint would be about how it was started.
    assert "Site initialization" not in result.stderr


def test_file_that_is_no_wasm_is_refused(tmp_path: Path, workspace: Path) -> None:
    file = tmp_path / "python.wasm"
    for content in (b"", b"\0asm", b"#!/bin/sh\n", b"\0asm\x0d\0\x01\0"):
        file.write_bytes(content)
        with pytest.raises(InvalidRuntimeError, match=r"python\.wasm is not a WebAssembly module"):
            PythonSandbox(workspace=workspace, wasm_binary_path=file).execute("pass")


def test_folder_in_place_of_the_binary_is_refused(tmp_path: Path, workspace: Path) -> None:
    with pytest.raises(RuntimeNotReadyError, match="cannot be read"):
        PythonSandbox(workspace=workspace, wasm_binary_path=tmp_path).execute("pass")


def test_pipe_in_place_of_the_binary_is_refused(tmp_path: Path, workspace: Path) -> None:
    """Opening it would wait for a writer for ever, and a device could be read for ever."""
    pipe = tmp_path / "python.wasm"
    os.mkfifo(pipe)
    for binary in (pipe, "/dev/zero"):
        with pytest.raises(InvalidRuntimeError, match="is not a regular file"):
            PythonSandbox(workspace=workspace, wasm_binary_path=binary).execute("pass")


def test_truncated_wasm_is_refused(
    tmp_path: Path, workspace: Path, empty_cache: Path, runtime: Any
) -> None:
    file = tmp_path / "python.wasm"
    with runtime.path.open("rb") as whole:
        file.write_bytes(whole.read(200_000))
    with pytest.raises(InvalidRuntimeError, match=r"could not be compiled: .*end"):
        PythonSandbox(workspace=workspace, wasm_binary_path=file).execute("pass")
    assert list((empty_cache / "modules").glob("*.cwasm*")) == []


def small_command(body: str, imports: str = "") -> str:
    return f'(module {imports} (memory (export "memory") 1) (func (export "_start") {body}))'


EXIT = '(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))'


@pytest.fixture
def run_module(
    tmp_path: Path, workspace: Path, empty_cache: Path
) -> Callable[[str], SandboxResult]:
    """Runs a small module, written as text, in place of Python."""

    def run(text: str) -> SandboxResult:
        file = tmp_path / "small.wasm"
        file.write_bytes(wasmtime.wat2wasm(text))
        return PythonSandbox(workspace=workspace, wasm_binary_path=file).execute("pass")

    return run


def test_module_that_is_no_python_is_refused(run_module: Callable[[str], SandboxResult]) -> None:
    with pytest.raises(InvalidRuntimeError, match="not a Python we can run: it needs the exports"):
        run_module('(module (memory (export "memory") 1))')


@pytest.mark.parametrize(
    "exports",
    [
        '(memory (export "memory") 1) (func (export "_start") (param i32))',
        '(memory (export "memory") 1) (global (export "_start") i32 (i32.const 0))',
        '(memory (export "memory") i64 1) (func (export "_start"))',
        '(memory (export "memory") 1) (func (export "turn")) (func (export "host_alloc"))',
    ],
)
def test_module_with_exports_of_another_kind_is_refused(
    run_module: Callable[[str], SandboxResult], exports: str
) -> None:
    with pytest.raises(InvalidRuntimeError, match=r"_start \(->\)"):
        run_module(f"(module {exports})")


@pytest.mark.parametrize("body", ["unreachable", "(loop (br 0))"])
def test_module_that_runs_before_it_is_called_is_refused(
    run_module: Callable[[str], SandboxResult], body: str
) -> None:
    with pytest.raises(InvalidRuntimeError, match="it has a start function"):
        run_module(
            f'(module (memory (export "memory") 1) (func $f {body}) (start $f) '
            '(func (export "_start")))'
        )


def test_module_with_a_foreign_import_is_refused(
    run_module: Callable[[str], SandboxResult],
) -> None:
    with pytest.raises(InvalidRuntimeError, match="needs an import we do not have"):
        run_module(small_command("", '(import "env" "launch" (func))'))


def test_command_that_exits_gives_its_code(run_module: Callable[[str], SandboxResult]) -> None:
    result = run_module(small_command("(call $exit (i32.const 3))", EXIT))
    assert (result.success, result.exit_code) == (False, 3)


def test_command_that_traps_is_a_result(run_module: Callable[[str], SandboxResult]) -> None:
    result = run_module(small_command("unreachable"))
    assert result.success is False
    assert result.stderr.startswith("Aborted: the interpreter aborted inside the sandbox")
    assert result.metadata["trapped"] is True
    assert result.metadata["trap_reason"] == "trap"
    assert result.metadata["exit_code"] == 1
    assert result.metadata["memory_pages"] == 1


def test_command_that_recurses_for_ever_is_a_result(
    run_module: Callable[[str], SandboxResult],
) -> None:
    result = run_module(
        '(module (memory (export "memory") 1) (func $f (export "_start") (call $f) (call $f)))'
    )
    assert result.limit is Limit.STACK
    assert "StackOverflow: the code recursed too deeply" in result.stderr
    assert "use a loop, or fewer levels" in result.stderr


# A binary that starts from nothing: the scripts are the same, and so are the answers.


@pytest.fixture(scope="session")
def python_312() -> Path:
    """The command-style CPython, fetched once and linked as ``bin/python-3.12.wasm``."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "fetch_python_312.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"the package index does not have the command-style Python: {done.stderr}")
    return Path(done.stdout.strip())


@pytest.fixture
def make_command(python_312: Path, workspace: Path) -> MakeSandbox:
    def make(**policy_fields: Any) -> PythonSandbox:
        policy = ExecutionPolicy(**policy_fields)
        return PythonSandbox(policy, workspace, wasm_binary_path=python_312)

    return make


@pytest.mark.slow
def test_use_custom_wasm_binary(
    python_312: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = artifacts.checkout_root()
    if root is None:
        pytest.skip("bin/python-3.12.wasm is a path of a checkout")
    monkeypatch.chdir(root)
    sandbox = PythonSandbox(workspace=workspace, wasm_binary_path="bin/python-3.12.wasm")
    assert sandbox.wasm_binary_path == "bin/python-3.12.wasm"
    assert Path(sandbox.wasm_binary_path).samefile(python_312)
    result = sandbox.execute("import sys; print(sys.version_info[:2], sys.argv)")
    assert result.stdout == "(3, 12) ['/app/user_code.py']\n"


@pytest.mark.slow
def test_command_binary_says_hello(make_command: MakeSandbox) -> None:
    result = make_command().execute("print('Hello')")
    assert (result.success, result.stdout, result.stderr) == (True, "Hello\n", "")
    assert result.fuel_consumed
    assert result.memory_used_bytes > 0


@pytest.mark.slow
def test_command_binary_reports_an_exception(make_command: MakeSandbox) -> None:
    result = make_command().execute("raise ValueError('test')")
    assert (result.success, result.exit_code) == (False, 1)
    assert 'File "/app/user_code.py", line 1' in result.stderr
    assert "ValueError: test" in result.stderr


@pytest.mark.slow
def test_command_binary_gives_the_exit_code(make_command: MakeSandbox) -> None:
    assert make_command().execute("import sys; sys.exit(7)").exit_code == 7


@pytest.mark.slow
def test_command_binary_runs_out_of_fuel(make_command: MakeSandbox) -> None:
    result = make_command(fuel_budget=500_000_000).execute("while True: pass")
    assert result.limit is Limit.FUEL
    assert "OutOfFuel" in result.stderr
    assert result.fuel_consumed == 500_000_000


@pytest.mark.slow
def test_command_binary_changes_files(make_command: MakeSandbox, workspace: Path) -> None:
    workspace.mkdir()
    (workspace / "input.txt").write_text("some")
    (workspace / "old").touch()
    result = make_command().execute(
        "import os\nos.mkdir('/app/sub')\nopen('/app/sub/new', 'w').write('x')\n"
        "open('/app/input.txt', 'a').write('more')\nos.unlink('/app/old')"
    )
    assert result.success, result.stderr
    assert result.files_created == ["sub/new"]
    assert result.files_modified == ["input.txt"]
    assert result.files_deleted == ["old"]


@pytest.mark.slow
def test_command_binary_needs_the_place_of_its_script(
    make_command: MakeSandbox, workspace: Path
) -> None:
    (workspace / "user_code.py").mkdir(parents=True)
    with pytest.raises(WorkspaceError, match=r"user_code\.py is a folder; remove it"):
        make_command().execute("pass")


@pytest.mark.slow
def test_command_binary_has_the_same_walls(
    make_command: MakeSandbox, linked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST_CANARY", "canary-of-the-host")
    sandbox = make_command()
    for path in ("/etc/passwd", "/app/../etc/passwd", "/app/canary", "/app/out/canary"):
        assert sandbox.execute(f"print(open({path!r}).read())").success is False, path
    found = value_of(sandbox.execute("import os; print(dict(os.environ))"))
    assert "canary-of-the-host" not in found.values()
    assert set(found) == {*sandbox.policy.env, "PYTHONPATH"}


@pytest.mark.slow
def test_command_binary_sees_its_folders_where_the_policy_says(
    make_command: MakeSandbox, data: Path
) -> None:
    (data / "table.csv").write_text("a,b")
    sandbox = make_command(
        guest_mount_path="/work",
        mount_data_dir=str(data),
        guest_data_path="/sets",
        argv=["python", "script", "--flag"],
    )
    result = sandbox.execute(
        "import os, sys\nopen('/work/new', 'w').close()\n"
        "print((os.listdir('/sets'), os.path.exists('/app'), sys.argv))"
    )
    assert value_of(result) == (["table.csv"], False, ["/work/user_code.py", "--flag"])
    assert result.files_created == ["new"]


@pytest.mark.slow
def test_command_binary_is_ended_by_the_time_limit(make_command: MakeSandbox) -> None:
    sandbox = make_command(timeout_seconds=0.3, fuel_budget=2**62)
    assert sandbox.execute("import time; time.sleep(60)").limit is Limit.TIME


# How scripts end.


@pytest.mark.parametrize(
    ("statement", "exit_code", "stderr"),
    [
        ("sys.exit()", 0, ""),
        ("sys.exit(None)", 0, ""),
        ("sys.exit(0)", 0, ""),
        ("sys.exit(3)", 3, ""),
        ("sys.exit(True)", 1, ""),
        ("sys.exit('goodbye')", 1, "goodbye\n"),
        ("raise SystemExit(4)", 4, ""),
        ("os._exit(5)", 5, ""),
        ("os._exit(0)", 0, ""),
    ],
)
def test_exit_code_is_that_of_the_script(
    make_sandbox: MakeSandbox, statement: str, exit_code: int, stderr: str
) -> None:
    sandbox = make_sandbox()
    result = sandbox.execute(f"import os, sys\nprint('said', flush=True)\n{statement}\nprint('no')")
    assert result.exit_code == exit_code
    assert result.success is (exit_code == 0)
    assert (result.stdout, result.stderr) == ("said\n", stderr)
    assert sandbox.execute("print('next')").stdout == "next\n"


def test_script_runs_its_exit_handlers(make_sandbox: MakeSandbox) -> None:
    code = "import atexit, sys\natexit.register(print, 'last words')\nsys.exit(2)"
    result = make_sandbox().execute(code)
    assert (result.stdout, result.exit_code) == ("last words\n", 2)


LEFT_OPEN = {
    "a global": "f = open('left.txt', 'w'); f.write('kept')",
    "with a function": "def g(): return f\nf = open('left.txt', 'w'); f.write('kept')",
    "in a list": "def g(): return kept\nkept = [open('left.txt', 'w')]; kept[0].write('kept')",
    "in an object": (
        "class Log:\n    def __init__(self): self.file = open('left.txt', 'w')\n"
        "log = Log(); log.me = log; log.file.write('kept')"
    ),
    "an error": "f = open('left.txt', 'w'); f.write('kept')\ndef g(): 1 / 0\ng()",
    "an exit": "import sys\nf = open('left.txt', 'w'); f.write('kept')\ndef g(): sys.exit(3)\ng()",
}


@pytest.mark.parametrize("code", LEFT_OPEN.values(), ids=LEFT_OPEN.keys())
def test_files_left_open_are_written_at_the_end(make_sandbox: MakeSandbox, code: str) -> None:
    sandbox = make_sandbox()
    assert sandbox.execute(code).files_created == ["left.txt"]
    assert (sandbox.workspace / "left.txt").read_text() == "kept"


def test_archives_left_open_are_complete(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox()
    code = """
        import gzip, zipfile
        def names(): return lines, archive
        lines = gzip.open("lines.gz", "wt")
        lines.write("kept")
        archive = zipfile.ZipFile("archive.zip", "w")
        archive.writestr("name", "kept")
        """
    assert sandbox.execute(textwrap.dedent(code)).success
    assert gzip.decompress((sandbox.workspace / "lines.gz").read_bytes()) == b"kept"
    assert zipfile.ZipFile(sandbox.workspace / "archive.zip").read("name") == b"kept"


def test_objects_are_ended_while_the_script_is_still_there(make_sandbox: MakeSandbox) -> None:
    code = """
        def say(text): print(text)
        class Guest:
            def __del__(self): say("bye")
        guest = Guest()
        def count():
            try:
                yield 1
            finally:
                say("counted")
        counting = count()
        next(counting)
        """
    result = make_sandbox().execute(textwrap.dedent(code))
    assert result.success and sorted(result.stdout.split()) == ["bye", "counted"]


def test_an_end_that_never_ends_is_stopped(make_sandbox: MakeSandbox) -> None:
    code = "class Guest:\n    def __del__(self):\n        while True: pass\nguest = Guest()"
    sandbox = make_sandbox(fuel_budget=50_000_000)
    assert sandbox.execute(code).limit is Limit.FUEL
    assert sandbox.execute("print('next')").stdout == "next\n"


def test_traceback_names_the_script_and_shows_its_lines(make_sandbox: MakeSandbox) -> None:
    result = make_sandbox().execute("def inner():\n    return 1 / 0  # the culprit\n\n\ninner()\n")
    assert result.stderr.startswith("Traceback (most recent call last):\n")
    assert 'File "/app/user_code.py", line 5, in <module>\n    inner()' in result.stderr
    assert 'File "/app/user_code.py", line 2, in inner\n    return 1 / 0  # the culprit' in (
        result.stderr
    )
    assert result.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert "wasm_guest" not in result.stderr


def test_traceback_of_a_syntax_error_shows_the_line(make_sandbox: MakeSandbox) -> None:
    result = make_sandbox().execute("x = 1\nif x\n    pass\n")
    assert 'File "/app/user_code.py", line 2\n    if x\n' in result.stderr
    assert "SyntaxError: expected ':'" in result.stderr


def test_endless_recursion_is_an_exception_of_the_script(make_sandbox: MakeSandbox) -> None:
    result = make_sandbox().execute("def f(): f()\nf()")
    assert result.success is False
    assert "RecursionError" in result.stderr


def test_name_equals_main_and_file_is_the_script(make_sandbox: MakeSandbox) -> None:
    code = "import sys, __main__\nprint((__name__, __file__, __main__.__dict__ is globals()))"
    assert value_of(make_sandbox().execute(code)) == ("__main__", "/app/user_code.py", True)


def test_asyncio_runs(make_sandbox: MakeSandbox) -> None:
    result = make_sandbox().execute(
        "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    return 'done'\n"
        "print(asyncio.run(main()))"
    )
    assert (result.stdout, result.stderr) == ("done\n", "")


def test_standard_input_is_empty(make_sandbox: MakeSandbox) -> None:
    assert "EOFError" in make_sandbox().execute("input()").stderr


# What a script finds.


def test_arguments_are_the_policys(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox(argv=["python", "/app/user_code.py", "--name", "ü €", ""])
    assert value_of(sandbox.execute("import sys; print(sys.argv)")) == [
        "/app/user_code.py",
        "--name",
        "ü €",
        "",
    ]
    assert value_of(make_sandbox().execute("import sys; print(sys.argv)")) == ["/app/user_code.py"]


def test_environment_has_nothing_of_the_host(
    make_sandbox: MakeSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST_CANARY", "canary-of-the-host")
    sandbox = make_sandbox()
    found = value_of(sandbox.execute("import os; print(dict(os.environ))"))
    assert sandbox.policy.env.items() <= found.items()
    own = {name: value for name, value in found.items() if name not in sandbox.policy.env}
    # Our own variables name places in the guest, and never a place or a person of the host.
    assert "HOST_CANARY" not in own
    assert not set(own) & {"PATH", "USER", "LOGNAME", "PWD", "SHELL", "HOSTNAME"}
    assert os.environ.get("HOME") != own["HOME"]
    assert own.pop("TMPDIR") == "/tmp"
    assert all(value.startswith("/app/") for value in own.values() if value.startswith("/"))


def test_variable_of_the_policy_arrives_and_a_removed_one_does_not(
    make_sandbox: MakeSandbox,
) -> None:
    sandbox = make_sandbox(env={"ONLY": "ü €"})
    found = value_of(sandbox.execute("import os; print(dict(os.environ))"))
    assert found["ONLY"] == "ü €"
    assert "LC_ALL" not in found


def test_no_path_of_the_host_is_in_a_traceback(make_sandbox: MakeSandbox, workspace: Path) -> None:
    result = make_sandbox().execute(
        "import sys, traceback\n"
        "try: open('/app/none')\n"
        "except OSError: traceback.print_exc()\n"
        "print(sys.path, sys.executable, sys.prefix, __file__, vars(sys))"
    )
    assert result.success, result.stderr
    for secret in (str(workspace), str(Path.home()), sys.prefix):
        assert secret not in result.stdout + result.stderr


HOSTILE_MODULES = (
    "json",
    "os",
    "site",
    "sitecustomize",
    "usercustomize",
    "encodings",
    "wasm_guest",
)


def test_modules_of_the_workspace_never_reach_the_host(
    make_sandbox: MakeSandbox, workspace: Path
) -> None:
    sandbox = make_sandbox()
    wrote = sandbox.execute(
        f"for name in {HOSTILE_MODULES!r}:\n"
        "    open(f'/app/{name}.py', 'w').write('raise SystemExit(99)')\n"
        "open('/app/evil.pth', 'w').write('import os; os._exit(99)')"
    )
    assert wrote.success, wrote.stderr
    assert sandbox.execute("import json; print(json.dumps([1]))").exit_code in (0, 99)
    assert sandbox.execute("print('fine')").stdout == "fine\n"
    assert not str(sys.modules["json"].__file__).startswith(str(workspace))
    # A new process that stands in the workspace is not fooled either.
    done = subprocess.run(
        [sys.executable, "-P", "-m", "wasm_kernel.cli", "run", "--quiet", "user_code.py"],
        cwd=workspace,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


def test_module_of_the_workspace_can_be_imported(
    make_sandbox: MakeSandbox, workspace: Path
) -> None:
    workspace.mkdir()
    (workspace / "helper.py").write_text("def answer(): return 42\n")
    result = make_sandbox().execute("import helper; print(helper.answer())")
    assert result.stdout == "42\n"
    assert result.files == []


def test_changed_module_is_imported_anew(make_sandbox: MakeSandbox, workspace: Path) -> None:
    workspace.mkdir()
    sandbox = make_sandbox()
    for number in range(3):
        (workspace / "helper.py").write_text(f"number = {number}\n")
        assert sandbox.execute("import helper; print(helper.number)").stdout == f"{number}\n"


# Every run is a fresh interpreter.

PROBE = """
import sys
modules = sorted(sys.modules)
names = sorted(globals())
import builtins, gc, os, warnings, locale, signal, decimal
print({
    "names": names,
    "modules": modules,
    "builtins": sorted(vars(builtins)),
    "len": len([1, 2]),
    "json": __import__("json").dumps([1]),
    "environment": sorted(os.environ.items()),
    "folder": os.getcwd(),
    "path": sys.path,
    "hooks": [hook.__name__ for hook in (sys.excepthook, sys.displayhook, sys.unraisablehook)],
    "meta": len(sys.meta_path),
    "filters": len(warnings.filters),
    "recursion": sys.getrecursionlimit(),
    "collector": gc.isenabled(),
    "precision": decimal.getcontext().prec,
    "descriptor": os.open("/app/user_code.py", os.O_RDONLY),
    "utf8": sys.flags.utf8_mode,
    "listing": sorted(os.listdir("/app")),
    "stdout": (sys.stdout is sys.__stdout__, sys.stdout.encoding, sys.stdout.closed),
    "trace": sys.gettrace() is None and sys.getprofile() is None,
    "numpy": __import__("numpy").get_printoptions()["precision"],
})
"""

POLLUTIONS = {
    "globals": "import __main__; secret = 'x'; globals()['other'] = 'y'; __main__.third = 'z'",
    "modules": "import sys, types\n"
    "for number in range(50): sys.modules[f'extra{number}'] = types.ModuleType('extra')",
    "removed modules": "import sys, json\ndel sys.modules['json'], sys.modules['numpy']",
    "builtins": "import builtins\n"
    "builtins.len = lambda _: 99; builtins.secret = 'x'; del builtins.map",
    "library": "import json, os; json.dumps = lambda *_: 'evil'; os.getcwd = lambda: 'evil'",
    "environment": "import os\n"
    "os.environ['SECRET'] = 'x'; del os.environ['LC_ALL']; os.putenv('OTHER', 'y')",
    "folder": "import os\n"
    "os.makedirs('/app/.wasm_kernel/folder'); os.chdir('/app/.wasm_kernel/folder')",
    "path": "import sys; sys.path.insert(0, '/evil'); sys.meta_path.insert(0, None)",
    "hooks": "import sys; sys.excepthook = sys.displayhook = sys.unraisablehook = print",
    "trace": "import sys; sys.settrace(lambda *_: None); sys.setprofile(lambda *_: None)",
    "limits": "import sys, gc; sys.setrecursionlimit(50_000); gc.disable(); gc.set_threshold(1)",
    "streams": "import sys; sys.stdout.close(); sys.stdout = sys.__stdout__ = None",
    "context": "import decimal, warnings, numpy\ndecimal.getcontext().prec = 3\n"
    "warnings.simplefilter('error')\nnumpy.set_printoptions(precision=2)",
    "open files": "kept = [open('/app/user_code.py') for _ in range(20)]",
    "closed descriptors": "import os\nfor number in range(3, 12):\n"
    "    try: os.close(number)\n    except OSError: pass",
    "driver": "import sys\nfor name in list(sys.modules):\n"
    "    if name.startswith('wasm_guest'):\n"
    "        for key in list(vars(sys.modules[name])): setattr(sys.modules[name], key, None)",
    "exit handler": "import atexit; atexit.register(lambda: None)",
    "exception": "import json; json.dumps = None; raise ValueError('x')",
    "exit": "import builtins, os; builtins.len = None; os._exit(0)",
    "out of memory": "import builtins; builtins.len = None; x = bytearray(10**9)",
    "large": "import builtins; builtins.len = None; x = [bytearray(10**6) for _ in range(25)]",
}


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the probe finds in a sandbox that never ran anything."""
    folder = tmp_path_factory.mktemp("untouched")
    pool.close()
    with PythonSandbox(workspace=folder) as sandbox:
        return value_of(sandbox.execute(PROBE))


@pytest.mark.parametrize("code", POLLUTIONS.values(), ids=POLLUTIONS.keys())
def test_nothing_of_a_run_is_visible_to_the_next(
    make_sandbox: MakeSandbox, workspace: Path, untouched: Any, code: str
) -> None:
    sandbox = make_sandbox()
    for _ in range(2):
        sandbox.execute("print('a run that leaves an instance for the next')")
        sandbox.execute(code)
        shutil.rmtree(workspace / ".wasm_kernel", ignore_errors=True)
        assert value_of(sandbox.execute(PROBE)) == untouched


def test_pollution_is_seen_by_the_probe_itself(make_sandbox: MakeSandbox, untouched: Any) -> None:
    """The control: in one and the same run the probe finds what the pollutions do."""
    for name in ("globals", "modules", "environment", "path", "limits", "context", "trace"):
        result = make_sandbox().execute(f"{POLLUTIONS[name]}\n{PROBE}")
        assert result.stdout.strip() != repr(untouched), name


def test_instance_is_not_reused_for_another_data_folder_of_the_same_name(
    make_sandbox: MakeSandbox, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    sandbox = make_sandbox(mount_data_dir=str(data))
    assert value_of(sandbox.execute("import os; print(os.listdir('/data'))")) == []
    data.rename(tmp_path / "old")
    data.mkdir()
    (data / "new.csv").touch()
    assert value_of(sandbox.execute("import os; print(os.listdir('/data'))")) == ["new.csv"]


def test_the_workspace_can_be_where_data_would_be(
    make_sandbox: MakeSandbox, workspace: Path
) -> None:
    sandbox = make_sandbox(guest_mount_path="/data")
    assert sandbox.execute("open('/data/made', 'w').close()").files_created == ["made"]
    assert (workspace / "made").exists()


def test_replaced_workspace_is_not_served_by_the_old_instance(
    make_sandbox: MakeSandbox, workspace: Path
) -> None:
    sandbox = make_sandbox()
    sandbox.execute("open('/app/old', 'w').close()")
    workspace.rename(workspace.with_name("moved"))
    result = sandbox.execute("import os; print(os.listdir('/app')); open('/app/new', 'w').close()")
    assert result.stdout == "['user_code.py']\n"
    assert (workspace / "new").exists()


def test_other_policy_is_not_served_by_the_old_instance(
    make_sandbox: MakeSandbox, data: Path
) -> None:
    (data / "table.csv").touch()
    sandbox = make_sandbox()
    sandbox.execute("pass")
    sandbox.policy = sandbox.policy.replace(mount_data_dir=str(data))
    assert sandbox.execute("import os; print(os.listdir('/data'))").stdout == "['table.csv']\n"


def test_closed_sandbox_can_be_used_again(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox()
    sandbox.execute("pass")
    sandbox.close()
    sandbox.close()
    assert sandbox.execute("print(1)").stdout == "1\n"


def test_runs_draw_different_random_numbers(make_sandbox: MakeSandbox) -> None:
    code = (
        "import random, uuid, os, numpy, tempfile\n"
        "print([random.random(), str(uuid.uuid4()), os.urandom(8), float(numpy.random.rand()),\n"
        "       next(tempfile._get_candidate_names())])"
    )
    sandbox = make_sandbox()
    drawn = [value_of(sandbox.execute(code)) for _ in range(3)]
    drawn.append(value_of(make_sandbox().execute(code)))
    for values in zip(*drawn, strict=True):
        assert len(set(values)) == len(values)


# The deterministic mode.

VARYING = """
import datetime, os, random, time, uuid, tempfile, numpy
time.sleep(1000)
for name in "zyxabc": open(f"/app/{name}", "w").close()
print(random.random(), uuid.uuid4(), os.urandom(8), numpy.random.rand(), time.time(),
      time.monotonic(), datetime.datetime.now(), os.listdir("/app"), {*"abcdef"}, hash("x"),
      [entry.name for entry in os.scandir("/app")], next(tempfile._get_candidate_names()),
      id(object()))
"""


def test_deterministic_runs_are_equal(tmp_path: Path) -> None:
    policy = ExecutionPolicy(deterministic=True, seed=7)
    outputs = set()
    for name in ("one", "two"):
        with PythonSandbox(policy, tmp_path / name) as sandbox:
            for _ in range(2):
                result = sandbox.execute(VARYING)
                assert result.success, result.stderr
                outputs.add((result.stdout, result.fuel_consumed, result.fuel_overhead))
                shutil.rmtree(tmp_path / name)
    assert len(outputs) == 1


def test_seed_chooses_the_random_numbers(make_sandbox: MakeSandbox) -> None:
    code = "import random, os; print(random.random(), os.urandom(4))"
    drawn = {make_sandbox(deterministic=True, seed=seed).execute(code).stdout for seed in range(4)}
    assert len(drawn) == 4


# More than one thread, and a person at the keyboard.

MEET = """
import os, time
open('/app/here', 'w').close()
while not os.path.exists('/data/here'): pass
print('met')
"""


def test_two_threads_are_inside_their_guests_at_the_same_time(tmp_path: Path) -> None:
    """Each guest sees the other's workspace as its data, and waits there for the other's file."""
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    results: dict[Path, SandboxResult] = {}

    def run(mine: Path, other: Path) -> None:
        policy = ExecutionPolicy(mount_data_dir=str(other), fuel_budget=2**62, timeout_seconds=60)
        with PythonSandbox(policy, mine) as sandbox:
            results[mine] = sandbox.execute(MEET)

    pairs = [folders, folders[::-1]]
    threads = [threading.Thread(target=run, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [results[folder].stdout for folder in folders] == ["met\n", "met\n"]


def test_one_sandbox_serves_two_threads(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox()
    wrong: list[str] = []

    def run(name: str) -> None:
        for number in range(10):
            result = sandbox.execute(f"print({name!r}, {number})")
            if result.stdout != f"{name} {number}\n":
                wrong.append(result.stdout + result.stderr)

    threads = [threading.Thread(target=run, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


FIRST_USE = """
import sys, threading
from pathlib import Path
from wasm_kernel import PythonSandbox
from wasm_kernel.host.engine import shared_engine

sys.setswitchinterval(1e-6)
together = threading.Barrier(32)
engines, outputs = [], []

def run(number):
    together.wait()
    engines.append(shared_engine())
    if number < 4:
        outputs.append(PythonSandbox(workspace=Path(sys.argv[1]) / str(number)).execute("print(1)"))

threads = [threading.Thread(target=run, args=(number,)) for number in range(32)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(set(map(id, engines))), [output.stdout for output in outputs])
"""


def test_first_use_by_many_threads_at_once_makes_one_engine(tmp_path: Path) -> None:
    """A process that was just started has nothing yet: neither engine nor module nor image."""
    for attempt in range(3):
        done = run_python(FIRST_USE, str(tmp_path / str(attempt)))
        assert done.stdout == "1 ['1\\n', '1\\n', '1\\n', '1\\n']\n", done.stderr


INTERRUPTED = """
import os, signal, sys, threading, traceback
from pathlib import Path
from wasm_kernel import ExecutionPolicy, PythonSandbox

# A process that was started in the background may ignore the signal by inheritance.
signal.signal(signal.SIGINT, signal.default_int_handler)
folder = Path(sys.argv[1])
policy = ExecutionPolicy(fuel_budget=2**62, timeout_seconds=100)
sandbox = PythonSandbox(policy, folder / "one")
sandbox.execute("pass")

def watch():
    # A second guest tells when the first one is inside: it sees the first one's workspace.
    try:
        watcher = PythonSandbox(policy.replace(mount_data_dir=str(folder / "one")), folder / "two")
        watcher.execute("import os\\nwhile not os.path.exists('/data/here'): pass")
        print("inside", flush=True)
    except BaseException:
        traceback.print_exc()
        os._exit(1)

threading.Thread(target=watch, daemon=True).start()
try:
    sandbox.execute("open('/app/here', 'w').close()\\n" + sys.argv[2])
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(sandbox.execute("print('still here')").stdout, end="")
"""


@pytest.mark.parametrize("code", ["while True: pass", "import time; time.sleep(1000)"])
def test_interrupt_ends_the_guest_as_it_ends_python(tmp_path: Path, code: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path), code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "inside\n"
            child.send_signal(signal.SIGINT)
            said, _ = child.communicate(timeout=180)
        finally:
            child.kill()
    assert said == "interrupted\nstill here\n"
    assert child.returncode == 0


# What is refused before anything runs.


@pytest.mark.parametrize("code", [b"print(1)", None, 5, ["print(1)"]])
def test_code_that_is_no_text_is_refused(
    make_sandbox: MakeSandbox, workspace: Path, code: Any
) -> None:
    with pytest.raises(TypeError, match=f"code must be a str, not {type(code).__name__}"):
        make_sandbox().execute(code)
    assert not workspace.exists()


def test_code_with_nul_is_refused(make_sandbox: MakeSandbox) -> None:
    with pytest.raises(ValueError, match="must not contain NUL"):
        make_sandbox().execute("print(1)\0")


def test_code_with_a_lone_surrogate_is_refused(make_sandbox: MakeSandbox) -> None:
    with pytest.raises(ValueError, match="must not contain lone surrogates"):
        make_sandbox().execute("print('\ud800')")


def test_code_that_is_too_large_is_refused(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox(code_max_bytes=20)
    assert sandbox.execute("#" + "x" * 19).success
    with pytest.raises(ValueError, match=r"code has 21 bytes; at most 20 are taken"):
        sandbox.execute("#" + "ü" * 10)


def test_large_code_runs(make_sandbox: MakeSandbox) -> None:
    lines = "".join(f"x{number} = {number}\n" for number in range(5000))
    assert make_sandbox().execute(lines + "print(x4999)").stdout == "4999\n"


@pytest.mark.parametrize("code", ["", "\n\n", "# nothing", "print('ü €\U0001f600')"])
def test_odd_but_valid_code_runs(make_sandbox: MakeSandbox, code: str) -> None:
    result = make_sandbox().execute(code)
    assert result.success, result.stderr


def test_line_endings_of_windows_are_kept_in_the_script(
    make_sandbox: MakeSandbox, workspace: Path
) -> None:
    result = make_sandbox().execute("x = '''a\r\nb'''\r\nprint(repr(x))\r\n")
    assert result.stdout == "'a\\nb'\n"
    assert (workspace / "user_code.py").read_bytes().count(b"\r\n") == 3


def test_workspace_that_is_a_file_is_refused(make_sandbox: MakeSandbox, workspace: Path) -> None:
    workspace.write_text("mine")
    with pytest.raises(WorkspaceError, match="is not a folder; choose another path"):
        make_sandbox().execute("pass")
    assert workspace.read_text() == "mine"


def test_workspace_that_is_a_link_is_refused(
    make_sandbox: MakeSandbox, workspace: Path, outside: Path
) -> None:
    workspace.symlink_to(outside)
    with pytest.raises(WorkspaceError, match="is a symbolic link; name the folder it points to"):
        make_sandbox().execute("pass")
    assert [path.name for path in outside.iterdir()] == ["canary"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
@pytest.mark.parametrize("path", ["/proc/no-such-folder", "/proc/sys"])
def test_workspace_that_cannot_be_written_is_refused(path: str) -> None:
    with pytest.raises(WorkspaceError, match=r"cannot be|not writable"):
        PythonSandbox(workspace=path).execute("pass")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_workspace_without_write_permission_is_refused(
    make_sandbox: MakeSandbox, workspace: Path
) -> None:
    workspace.mkdir(mode=0o500)
    with pytest.raises(WorkspaceError, match="is not writable"):
        make_sandbox().execute("pass")


def test_guest_cannot_stand_in_the_way_of_the_next_script(
    make_sandbox: MakeSandbox, workspace: Path
) -> None:
    sandbox = make_sandbox()
    blocked = sandbox.execute("import os; os.unlink('user_code.py'); os.makedirs('user_code.py/x')")
    assert blocked.success, blocked.stderr
    result = sandbox.execute("print('next')\n1 / 0  # the culprit")
    assert result.stdout == "next\n"
    assert "1 / 0  # the culprit" in result.stderr
    assert (workspace / "user_code.py" / "x").is_dir()


@pytest.mark.parametrize("memory_bytes", [1, 65_536, 30_000_000])
def test_memory_too_small_to_start_is_a_clear_error(
    make_sandbox: MakeSandbox, memory_bytes: int
) -> None:
    with pytest.raises(
        SandboxExecutionError,
        match=f"memory_bytes={memory_bytes} is less than this Python needs to start; raise it",
    ):
        make_sandbox(memory_bytes=memory_bytes).execute("pass")


@pytest.mark.parametrize(
    ("code", "name", "limit"),
    [
        ("x = 'a' * 10**9", "MemoryError", Limit.MEMORY),
        ("import numpy; numpy.ones(10**8)", "MemoryError", Limit.MEMORY),
        ("(" * 100_000, "MemoryError", Limit.NONE),
    ],
)
def test_exception_is_told_from_memory_that_was_used_up(
    make_sandbox: MakeSandbox, code: str, name: str, limit: Limit
) -> None:
    result = make_sandbox().execute(code)
    assert result.error is not None
    assert (result.error.name, result.limit) == (name, limit)
    assert ("raise memory_bytes" in result.stderr) is (limit is Limit.MEMORY)


def test_exception_that_ended_the_script_is_in_the_result(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox()
    error = sandbox.execute("raise ValueError('not this')").error
    assert error is not None
    assert (error.name, error.value) == ("ValueError", "not this")
    hostile = "class E(Exception):\n  def __str__(self): raise SystemExit(0)\nraise E"
    result = sandbox.execute(hostile)
    assert result.exit_code == 1 and result.error is not None
    assert (result.error.name, result.error.value) == ("E", "")
    long = sandbox.execute("raise ValueError('x' * 1_000_000)").error
    assert long is not None and len(long.value) == 2_000


def test_mark_at_the_beginning_of_a_file_is_no_error(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox()
    assert sandbox.execute("\ufeffprint('hello')").stdout == "hello\n"
    assert sandbox.validate_code("\ufeffprint('hello')") is True


def test_memory_that_fits_no_image_still_runs(make_sandbox: MakeSandbox) -> None:
    """The interpreter is then started for each run, and says nothing of its own."""
    result = make_sandbox(memory_bytes=45_000_000).execute("print('small')")
    assert (result.stdout, result.stderr) == ("small\n", "")
    assert result.memory_used_bytes <= 45_000_000


def test_a_script_that_damages_the_interpreter_is_told_so(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if name.startswith('wasm_guest'):\n"
        "        for key, value in list(vars(module).items()):\n"
        "            if callable(value): setattr(module, key, lambda *a, **k: None)\n"
    )
    with create_sandbox(workspace=tmp_path) as sandbox:
        result = sandbox.execute(code)
        assert not result.success and result.exit_code == 1
        assert result.error is not None and "the script damaged it" in result.error.value
        assert result.stderr.startswith("SandboxError: ")
        assert sandbox.execute("print('fresh')").stdout == "fresh\n"
