"""The file that a kernel imports from: what comes out of it, when it is not used, who writes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from wasm_kernel.host import cache
from wasm_kernel.notebook import kept

GUARD_SECONDS = 60.0

LOOK = """
import importlib.resources, importlib.util, inspect, json, sys
sys.path.insert(0, {folder!r})
from wasm_kernel.notebook import imports, kept
found = [kept.install()]
import made, made.inner
for module in (made, made.inner):
    found.append([module.__file__, module.__cached__, module.__spec__.name, module.__package__,
                  module.__doc__, module.value(), inspect.getsource(module.value),
                  getattr(module, "__path__", None)])
found.append(importlib.resources.files("made").joinpath("data.txt").read_text())
try:
    made.fail()
except ValueError as error:
    found.append(error.__traceback__.tb_next.tb_frame.f_code.co_filename)
print(json.dumps({{"found": found, "by": type(made.__loader__).__module__}}))
"""
WRITE = """
import sys
sys.path.insert(0, {folder!r})
import made, made.inner
from wasm_kernel.host import cache
from wasm_kernel.notebook import imports, kept
path = imports.place_of(kept.own_name())
cache.private_folder(path.parent)
imports.write(path)
print(path)
"""


WRITE_SLOWLY = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
from wasm_kernel.notebook import imports, kept, waiting
def load():
    import made, made.inner
    (Path({folder!r}) / "another.py").touch()
waiting.load = load
imports.place_of(kept.own_name()).unlink()
imports.main(kept.own_name())
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package to import, in a folder of its own that is looked through first."""
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        '"""A package."""\ndef value():\n    return 1\ndef fail():\n    raise ValueError\n'
    )
    (folder / "inner.py").write_text('"""A module."""\ndef value():\n    return 2\n')
    (folder / "data.txt").write_text("data")
    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, so that no kernel beside it uses what is written here."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("WASM_KERNEL_CACHE_DIR", str(folder))
    return folder


def python(code: str, folder: Path) -> str:
    """Run code in a process that looks through a folder first."""
    command = [sys.executable, "-P", "-c", code.format(folder=str(folder))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=GUARD_SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout


def looked(package: Path) -> dict[str, Any]:
    """What a process finds that may use the file."""
    found: dict[str, Any] = json.loads(python(LOOK, package.parent))
    return found


def written(package: Path) -> Path:
    """The file, with the package in it."""
    return Path(python(WRITE, package.parent).strip())


KEPT = kept.__name__


def test_a_module_from_the_file_is_as_python_would_have_made_it(package: Path) -> None:
    without = looked(package)
    assert (without["found"][0], without["by"]) == (False, "_frozen_importlib_external")
    written(package)
    with_it = looked(package)
    assert (with_it["found"][0], with_it["by"]) == (True, KEPT)
    assert with_it["found"][1:] == without["found"][1:]


def test_a_source_that_was_changed_is_read_again(package: Path) -> None:
    written(package)
    source = package / "__init__.py"
    source.write_text(source.read_text().replace("return 1", "return 7"))
    again = looked(package)
    assert (again["found"][1][5], again["by"]) == (7, "_frozen_importlib_external")
    assert again["found"][2][5] == 2, "the others are still taken from the file"


def test_a_source_that_is_gone_is_not_there(package: Path) -> None:
    written(package)
    (package / "inner.py").unlink()
    with pytest.raises(AssertionError, match=r"No module named 'made\.inner'"):
        looked(package)


def test_what_is_installed_since_comes_first(package: Path) -> None:
    written(package)
    (package.parent / "another.py").touch()
    assert looked(package)["found"][0] is False


def test_a_file_that_is_used_is_not_taken_for_an_old_one(package: Path) -> None:
    path = written(package)
    lock = path.with_suffix(".lock")
    lock.touch()
    long_ago = time.time() - 50 * 86_400
    os.utime(lock, (long_ago, long_ago))
    assert looked(package)["found"][0] is True
    cache.prune(path.parent)
    assert path.exists()
    # The control: one that nobody used.
    os.utime(lock, (long_ago, long_ago))
    cache.prune(path.parent)
    assert not path.exists()


def test_what_is_installed_during_the_imports_comes_first(package: Path) -> None:
    written(package)
    assert looked(package)["found"][0] is True
    python(WRITE_SLOWLY, package.parent)
    assert looked(package)["found"][0] is False


@pytest.mark.parametrize(
    "damage",
    [b"", b"short", b"wasm-kernel imports 0\n" + bytes(100), b"wasm-kernel imports 2\n" + bytes(9)],
    ids=["empty", "short", "another version", "no header"],
)
def test_a_damaged_file_is_passed_over(package: Path, damage: bytes) -> None:
    path = written(package)
    path.write_bytes(damage)
    assert looked(package)["found"][0] is False


def test_a_file_that_ends_early_is_passed_over(package: Path) -> None:
    path = written(package)
    path.write_bytes(path.read_bytes()[:-1])
    assert looked(package)["found"][0] is False


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
def test_a_file_that_others_may_write_is_not_used(package: Path) -> None:
    path = written(package)
    path.chmod(0o666)
    assert looked(package)["found"][0] is False


def test_a_link_is_not_followed(package: Path) -> None:
    path = written(package)
    elsewhere = path.replace(package.parent / "elsewhere")
    path.symlink_to(elsewhere)
    assert looked(package)["found"][0] is False


def test_a_cache_that_cannot_be_made_does_no_harm(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "file").touch()
    monkeypatch.setenv("WASM_KERNEL_CACHE_DIR", str(package / "file" / "cache"))
    assert looked(package)["found"][0] is False


LATE = """
import sys
sys.path.insert(0, {folder!r})
from wasm_kernel.notebook import kept
kept.RARELY_USED = frozenset({{"made"}})
print(kept.install())
import made
print(made.__doc__, "value" in vars(made), sys.modules["made"] is made)
print(made.value(), "__getattr__" in vars(made), hasattr(made, "nothing"))
"""
FAILS = """
import sys
sys.path.insert(0, {folder!r})
from wasm_kernel.notebook import kept
kept.RARELY_USED = frozenset({{"made"}})
kept.install()
import made
for _ in range(2):
    try:
        made.value
    except ZeroDivisionError:
        print("failed")
"""
ALL = """
import importlib, sys
from datetime import datetime
from wasm_kernel.notebook import imports, kept, lean, waiting
from wasm_kernel.host import cache
if kept.install():
    lean.import_jupyter()
    for name in sorted(kept.RARELY_USED):
        module = importlib.import_module(name)
        assert "__getattr__" in vars(module) or len(vars(module)) > 12, name
        for public in getattr(module, "__all__", ["__name__"]):
            getattr(module, public)
    print(datetime.strptime("3 May 2024", "%d %B %Y").date())
else:
    waiting.load()
    path = imports.place_of(kept.own_name())
    cache.private_folder(path.parent)
    imports.write(path)
"""


def test_a_module_that_is_rarely_used_runs_when_it_is_asked(package: Path) -> None:
    written(package)
    assert python(LATE, package.parent).splitlines() == ["True", "None False True", "1 False False"]


def test_a_module_that_fails_when_it_is_asked_fails_each_time(package: Path) -> None:
    (package / "__init__.py").write_text("nothing = 1 / ready\n")
    write = "import builtins; builtins.ready = 1\n" + WRITE
    python(write, package.parent)
    fails = "import builtins; builtins.ready = 0\n" + FAILS
    assert python(fails, package.parent).splitlines() == ["failed", "failed"]


def test_what_a_kernel_imports_late_is_all_there() -> None:
    assert python(ALL, Path()) == ""
    assert python(ALL, Path()) == "2024-05-03\n"


def test_a_writer_asked_for_another_interpreter_writes_nothing(own_cache: Path) -> None:
    command = [sys.executable, "-P", "-m", KEPT, "of another interpreter"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=GUARD_SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (own_cache / "imports").exists()
