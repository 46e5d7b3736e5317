"""Attacks on ``/`` and ``/dev/null``: names that every guest has, and none may change."""

from __future__ import annotations

from pathlib import Path

import pytest
import wasmtime

from wasm_kernel.host import cache
from wasm_kernel.host.mounts import Mount
from wasm_kernel.host.wasi import WasiGuard
from wasm_kernel.runtimes.python import image

from .conftest import Canary, Runner, fingerprint
from .guest_code import ATTEMPT, TOUCH_EVERYTHING, attempts, done

FOLDERS = ["/", "/dev", "/usr", "/usr/local", "/dev/..", "/tmp/..", "/dev/../dev", "//", "/./"]
LOOKS = ("list", "stat")


def roots() -> dict[str, dict[str, tuple[int, int, int, str]]]:
    """Everything that the host has behind the guests' roots."""
    return {path.name: fingerprint(path) for path in cache.cache_root().glob("root-*")}


def test_the_folders_of_the_root_can_be_seen_and_not_changed(
    run: Runner, canary: Canary, workspace: Path
) -> None:
    run("print()")
    before = roots()
    result = run(TOUCH_EVERYTHING + f"for path in {FOLDERS!r}: touch(path)")
    assert result.success, result.stderr
    assert done(result) == sorted(f"{look} {path}" for look in LOOKS for path in FOLDERS)
    assert before
    assert roots() == before
    assert canary.changed() == []
    assert canary.traces(result, workspace) == []


NULL = """
import shutil
open("/app/own.txt", "w").close()
path = "/dev/null"
os.makedirs("/tmp/inner")
for name in ("/dev/null/x", "/dev/null/../x", "/dev/null/../../etc/passwd", "/dev/null/",
             "/dev/nul", "/dev/null\\n", "/dev/NULL", "/dev/../../null",
             "/dev/null/../../tmp/inner"):
    touch(name)
attempt("exclusive", lambda: open(path, "x"))
attempt("folder", lambda: os.open(path, os.O_RDONLY | os.O_DIRECTORY))
attempt("list", lambda: os.listdir(path))
attempt("truncate", lambda: os.truncate(path, 10))
attempt("truncate open", lambda: open(path, "w").truncate(1 << 40))
attempt("allocate", lambda: os.posix_fallocate(os.open(path, os.O_RDWR), 0, 10))
attempt("times", lambda: os.utime(path))
attempt("times open", lambda: os.utime(os.open(path, os.O_RDWR)))
attempt("remove", lambda: os.remove(path))
attempt("rmtree", lambda: shutil.rmtree("/dev"))
attempt("take", lambda: os.rename(path, "/app/null"))
attempt("take to tmp", lambda: os.rename(path, "/tmp/null"))
attempt("replace", lambda: os.replace("/app/own.txt", path))
attempt("replace from tmp", lambda: os.replace("/tmp/inner", path))
attempt("link", lambda: os.link(path, "/app/null"))
attempt("link over", lambda: os.link("/app/own.txt", "/dev/other"))
attempt("symlink", lambda: os.symlink("/app", "/dev/link"))
attempt("write what was opened to be read", lambda: os.write(os.open(path, os.O_RDONLY), b"x"))
"""


def test_null_stays_what_it_is(run: Runner, canary: Canary, workspace: Path) -> None:
    run("print()")
    before = roots()
    after = ATTEMPT + "print(open('/dev/null').read() == '', open('/dev/null', 'w').write('x'))"
    result = run(TOUCH_EVERYTHING + NULL + after)
    assert result.success, result.stderr
    assert len(attempts(result)) == 9 * 16 + 18
    # By way of its parent, a name is the temporary folder's, where all of it is allowed.
    assert {name for name in done(result) if not name.endswith("/tmp/inner")} == set()
    assert "True 1" in result.stdout
    assert roots() == before
    assert canary.changed() == []
    assert canary.traces(result, workspace) == []


REUSED = """
import os
number = os.open("/dev/null", os.O_WRONLY)
os.close(number)
again = os.open("own.txt", os.O_WRONLY | os.O_CREAT)
os.write(again, b"kept")
os.close(again)
third = os.open("/dev/null", os.O_RDWR)
os.write(third, b"gone")
print(number == again == third, open("own.txt").read())
"""


def test_a_number_that_null_had_is_another_files_afterwards(run: Runner, workspace: Path) -> None:
    result = run(REUSED)
    assert result.stdout == "True kept\n", result.stderr
    assert (workspace / "own.txt").read_text() == "kept"


WITHOUT_ROOT = """
import os
null = os.open("/dev/null", os.O_WRONLY)
folder = os.open("/dev", os.O_RDONLY)
os.mkdir("dev")
open("dev/null", "w").close()
os.close(8)
got = [os.open("/data", os.O_RDONLY) for _ in range(2)]
print("at eight:", 8 in got)
attempt("by name", lambda: open("/dev/null", "w"))
attempt("by folder", lambda: os.open("null", os.O_WRONLY, dir_fd=folder))
attempt("in the data", lambda: open("/tmp/secret.txt").read())
os.write(null, b"still nothing")
print("own:", os.stat("dev/null").st_size)
"""


def test_a_root_that_was_closed_is_gone(run: Runner, canary: Canary) -> None:
    result = run(ATTEMPT + WITHOUT_ROOT, mount_data_dir=str(canary.folder))
    assert "at eight: True" in result.stdout, result.stderr
    assert "own: 0" in result.stdout
    assert done(result) == []
    assert canary.changed() == []


WILD = """
import os
null = os.open("/dev/null", os.O_WRONLY)
print(os.write(null, b"c" * 1002), os.pwrite(null, b"abc", 1 << 40))
for _ in range(400):
    attempt("files", lambda: kept.append(os.open("/dev/null", os.O_WRONLY)))
print("open:", len(kept))
"""


def test_null_is_one_of_the_open_files_that_are_counted(run: Runner) -> None:
    result = run(ATTEMPT + "kept = []" + WILD)
    assert "1002 3" in result.stdout, result.stderr
    assert attempts(result)["files"].startswith("refused")
    assert "open: 255" in result.stdout


def test_control_a_root_that_can_be_written_is_changed(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    (root / "dev").mkdir(parents=True)
    (root / "dev" / "null").touch()
    before = fingerprint(root)
    write = "open('/dev/null', 'w').write('x')"
    monkeypatch.setattr(image, "root_mount", lambda *_: Mount(root, "/", null="dev/null"))
    assert run(write).success
    monkeypatch.setattr(WasiGuard, "_is_null", lambda *_: False)
    # Wasmtime itself lets nobody write there either.
    assert not run(write).success
    assert fingerprint(root) == before
    plain = wasmtime.WasiConfig.preopen_dir
    monkeypatch.setattr(
        wasmtime.WasiConfig,
        "preopen_dir",
        lambda config, host, guest, _: plain(config, host, guest),
    )
    run("open('/dev/null', 'w')")
    run("open('/dev/other', 'w')")
    assert fingerprint(root) != before
