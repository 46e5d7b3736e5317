"""What the host might take from the workspace by mistake, and what a guest sees of the host."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import wasmtime

from wasm_kernel import create_sandbox
from wasm_kernel.host import cache
from wasm_kernel.runtimes.python import artifacts
from wasm_kernel.runtimes.python.bundle import bundle_folder
from wasm_kernel.runtimes.python.image import Layout

from .conftest import SECRET_VARIABLE, Canary, Runner
from .guest_code import TOUCH_EVERYTHING, done

MEGABYTE = 1_000_000

# What a host might import or open by mistake.

PLANTED = [
    "json.py",
    "os.py",
    "stat.py",
    "struct.py",
    "shutil.py",
    "tempfile.py",
    "mimetypes.py",
    "hashlib.py",
    "platformdirs.py",
    "structlog.py",
    "pydantic.py",
    "wasmtime.py",
    "wasm_kernel.py",
    "sitecustomize.py",
    "usercustomize.py",
    "conftest.py",
    "pytest.py",
    "pip.py",
]


def plant(run: Runner, marker: Path) -> None:
    """Let a guest write modules that leave a mark when somebody imports them."""
    source = f"open({str(marker)!r}, 'a').write(__file__ + chr(10))\n"
    result = run(
        f"""
import os
os.makedirs("site-packages", exist_ok=True)
for name in {PLANTED!r}:
    open(name, "w").write({source!r})
    open("site-packages/" + name, "w").write({source!r})
for name in ("evil.pth", "site-packages/evil.pth"):
    open(name, "w").write("import os; " + {source!r})
open("policy.toml", "w").write("fuel_budget = 9000000000000")
open("python.wasm", "wb").write(b"not a module")
"""
    )
    assert result.success, result.stderr


def host_process(workspace: Path, *options: str, code: str, **env: str) -> str:
    """Run a Python on the host whose current folder is the workspace; what it printed."""
    finished = subprocess.run(
        [sys.executable, *options, "-c", code],
        cwd=workspace,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return finished.stdout + finished.stderr


RUN_HERE = """
import sys
from wasm_kernel import ExecutionPolicy, create_sandbox, load_policy
sandbox = create_sandbox(policy=ExecutionPolicy(timeout_seconds=30), workspace=".")
result = sandbox.execute("open('made', 'w').close(); print('ran')")
print(result.stdout, result.files_created, load_policy().fuel_budget)
sandbox.validate_code("x = 1")
"""


def test_the_host_imports_nothing_from_the_workspace(
    run: Runner, workspace: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "imported"
    plant(run, marker)
    assert run("print('ran')").stdout == "ran\n"
    printed = host_process(workspace, "-P", code=RUN_HERE)
    assert "ran" in printed, printed
    assert "2000000000" in printed
    assert not marker.exists(), marker.read_text()


def test_the_compiling_child_imports_nothing_from_the_workspace(
    run: Runner, workspace: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "imported"
    plant(run, marker)
    binary = tmp_path / "command.wasm"
    binary.write_bytes(
        wasmtime.wat2wasm('(module (memory (export "memory") 1) (func (export "_start")))')
    )
    code = (
        "from wasm_kernel import create_sandbox\n"
        f"sandbox = create_sandbox(workspace='.', wasm_binary_path={str(binary)!r})\n"
        "print('success', sandbox.execute('pass').success)"
    )
    private = tmp_path / "cache"
    private.mkdir(mode=0o700)
    printed = host_process(workspace, "-P", code=code, WASM_KERNEL_CACHE_DIR=str(private))
    assert not marker.exists(), marker.read_text()
    assert "success True" in printed


def test_the_fetching_child_imports_nothing_from_the_workspace(
    run: Runner, workspace: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "imported"
    plant(run, marker)
    code = (
        "from wasm_kernel.runtimes.python import fetching\n"
        "try:\n    fetching.fetch()\nexcept Exception as error:\n    print('said', error)"
    )
    private = tmp_path / "cache"
    private.mkdir(mode=0o700)
    # pip begins, and finds that it may ask nobody.
    env = {"WASM_KERNEL_CACHE_DIR": str(private), "PIP_NO_INDEX": "1"}
    printed = host_process(workspace, "-P", code=code, **env)
    assert "pip could not download" in printed, printed
    assert not marker.exists(), marker.read_text()


@pytest.mark.parametrize("arguments", [("-c", "import json"), ("-m", "pip", "--version")])
def test_control_a_host_that_imports_from_the_workspace_is_noticed(
    run: Runner, workspace: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    marker = tmp_path / "imported"
    plant(run, marker)
    subprocess.run(
        [sys.executable, *arguments], cwd=workspace, capture_output=True, timeout=300, check=False
    )
    assert marker.exists()


# What the guest can see of the host.


def test_descriptors_beyond_the_guests_own_do_not_exist(
    run: Runner, canary: Canary, workspace: Path
) -> None:
    with canary.file.open("rb") as opened:
        os.set_inheritable(opened.fileno(), True)
        result = run(
            """
import os
alive = []
for number in range(1025):
    try:
        os.fstat(number)
        alive.append(number)
    except OSError:
        pass
    for action in (lambda: os.read(number, 100), lambda: os.pread(number, 100, 0),
                   lambda: os.listdir(number), lambda: os.lseek(number, 0, 0)):
        try:
            value = action()
            if value:
                print(number, value)
        except (OSError, TypeError):
            pass
print("alive", alive)
"""
        )
    assert result.success, result.stderr
    found = re.search(r"^alive \[(.*)\]$", result.stdout, re.MULTILINE)
    assert found is not None
    assert {int(number) for number in found[1].split(",")} <= set(range(9))
    assert canary.traces(result, workspace) == []


def test_the_hosts_own_folders_do_not_exist(run: Runner, canary: Canary) -> None:
    places = ["/proc", "/proc/self", "/proc/self/environ", "/proc/1/root", "/dev/fd", "/dev/zero"]
    places += ["/dev/shm", "/etc", "/etc/passwd", "/home", "/root", "/sys", "/run", "/lib", "/bin"]
    places += ["/usr/bin", "/usr/lib", "/usr/local/bin", "/var", str(Path.home()), sys.prefix]
    result = run(TOUCH_EVERYTHING + f"for path in {places!r}: touch(path)")
    assert result.success, result.stderr
    assert done(result) == []


def host_places(workspace: Path) -> list[str]:
    """Names of folders of the host that no guest has to know."""
    package = Path(create_sandbox.__code__.co_filename).parents[2]
    return sorted({str(workspace), str(cache.cache_root()), str(package), sys.prefix})


TELL_ALL = f"""
import gc, os, sys, sysconfig, traceback

def texts(value, depth=0):
    if isinstance(value, (str, bytes)):
        yield str(value)
    elif isinstance(value, dict) and depth < 4:
        for key, inner in list(value.items()):
            yield from texts(key, depth + 1)
            yield from texts(inner, depth + 1)
    elif isinstance(value, (list, tuple, set)) and depth < 4:
        for inner in list(value):
            yield from texts(inner, depth + 1)
    elif type(value).__name__ == "function":
        yield value.__code__.co_filename

print(os.environ, sys.argv, sys.orig_argv, sys.path, sys.executable, sys.prefix, os.getcwd())
print(sys.flags, sys.version, sysconfig.get_paths(), os.getenv({SECRET_VARIABLE!r}))
print(*map(os.listdir, ("/app", "/data", "/tmp", "/usr/local/lib")))
for name, module in list(sys.modules.items()):
    print(name, getattr(module, "__file__", None), getattr(module, "__spec__", None))
    for text in texts(vars(module)):
        if "/" in text and len(text) < 300:
            print(text)
"""


def test_nothing_the_guest_can_print_names_a_place_or_secret_of_the_host(
    run: Runner, canary: Canary, workspace: Path
) -> None:
    result = run(TELL_ALL, stdout_max_bytes=50_000_000, fuel_budget=20_000_000_000)
    assert result.success, result.stderr
    assert len(result.stdout) > 10_000
    assert [place for place in host_places(workspace) if place in result.stdout] == []
    assert canary.traces(result, workspace) == []


FAILURES = {
    "exception": "1 / 0",
    "missing file": "open('/nowhere/file')",
    "refused write": "open('/data/x', 'w')",
    "refused name": "open('../x')",
    "import": "import not_there",
    "syntax": "x = = 1",
    "abort": "import os; os.abort()",
    "exit": "import os; os._exit(300)",
    "fuel": "while True: pass",
    "memory": "x = [bytearray(1 << 20) for _ in range(500)]",
    "stack": "import json; json.loads('[' * 200_000)",
    "driver": "import wasm_guest.driver as d; d.door.reply = None",
    "quota": "open('x', 'wb').write(bytes(2_000_000))",
    "process": "import os; os.system('true')",
    "network": "import urllib.request; urllib.request.urlopen('http://127.0.0.1:1')",
}


@pytest.mark.parametrize("how", FAILURES)
def test_no_failure_names_a_place_or_secret_of_the_host(
    run: Runner, canary: Canary, workspace: Path, how: str
) -> None:
    result = run(FAILURES[how], fuel_budget=200_000_000, workspace_max_bytes=MEGABYTE)
    assert not result.success
    assert result.stderr
    text = result.stdout + result.stderr
    assert [place for place in host_places(workspace) if place in text] == []
    assert canary.traces(result, workspace) == []


def test_control_a_leaked_place_is_found(run: Runner, canary: Canary, workspace: Path) -> None:
    result = run(TELL_ALL, env={"LEAK": str(workspace), "OTHER": canary.secret})
    assert str(workspace) in result.stdout
    assert [place for place in host_places(workspace) if place in result.stdout] != []
    assert canary.traces(result) != []


def test_the_files_given_to_every_guest_name_no_place_of_the_host(workspace: Path) -> None:
    binary = artifacts.default_binary()
    places = [place.encode() for place in host_places(workspace)]
    images = [Layout(binary).path(name) for name in ("core", "science")]
    found = []
    for path in [*images, *(file for file in bundle_folder().rglob("*") if file.is_file())]:
        content = path.read_bytes()
        found += [(path.name, place) for place in places if place in content]
    assert found == []
