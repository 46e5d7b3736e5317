"""The private folder: who may write there, and what is believed of a file that lies in it."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import platformdirs
import pytest

from wasm_kernel import CacheError
from wasm_kernel.host import cache
from wasm_kernel.host.program import Program
from wasm_kernel.runtimes.python import prepare
from wasm_kernel.runtimes.python.artifacts import default_binary


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return cache.private_folder(tmp_path / "cache")


@pytest.fixture
def sealed(folder: Path) -> Path:
    path = folder / "artifact"
    with cache.new_file(path) as temporary:
        temporary.write_bytes(b"good" * 1000)
    cache.seal(path, source="abc")
    return path


def touch(path: Path) -> None:
    """Give a file another time than it has, however coarse the file system's clock is."""
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 1_000_000_000))


# Who may be there.


def test_folder_is_made_with_its_parents_and_closed_to_others(tmp_path: Path) -> None:
    made = cache.private_folder(tmp_path / "a" / "b")
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o750, 0o705, 0o701, 0o702])
def test_folder_that_others_may_enter_is_refused(tmp_path: Path, mode: int) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    with pytest.raises(CacheError, match=r"is open to other users .* run: chmod go-rwx"):
        cache.private_folder(shared)


@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_file_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "file"
    file.touch()
    file.chmod(mode)
    with pytest.raises(CacheError, match="is open to other users"):
        cache.require_private(file)


def test_file_that_others_may_only_read_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    file.chmod(0o644)
    assert cache.require_private(file).st_ino == file.stat().st_ino


def test_link_in_place_of_the_folder_is_refused(tmp_path: Path, folder: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(CacheError, match="is a symbolic link"):
        cache.private_folder(link)


def test_folder_of_another_user_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = folder.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(CacheError, match="belongs to another user; set WASM_KERNEL_CACHE_DIR"):
        cache.private_folder(folder)


def test_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(CacheError, match="cannot be made"):
        cache.private_folder(file)


def test_root_is_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(cache.ENV_CACHE_DIR, "relative")
    assert cache.cache_root() == tmp_path / "relative"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(cache.ENV_CACHE_DIR, "~/mine")
    assert cache.cache_root() == tmp_path / "mine"


# Files that appear whole or not at all.


def test_new_file_appears_only_when_it_is_finished(folder: Path) -> None:
    path = folder / "file"
    with cache.new_file(path) as temporary:
        temporary.write_bytes(b"half")
        assert not path.exists()
        temporary.write_bytes(b"whole")
    assert path.read_bytes() == b"whole"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(folder.iterdir()) == [path]


def test_failure_leaves_the_old_file_and_no_remains(folder: Path) -> None:
    path = folder / "file"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="in the middle"), cache.new_file(path) as temporary:
        temporary.write_bytes(b"new")
        raise RuntimeError("in the middle")
    assert path.read_bytes() == b"old"
    assert list(folder.iterdir()) == [path]


def test_killed_writer_leaves_the_old_file(folder: Path) -> None:
    path = folder / "file"
    path.write_bytes(b"old")
    script = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom wasm_kernel.host import cache\n"
        "with cache.new_file(Path(sys.argv[1])) as temporary:\n"
        "    temporary.write_bytes(b'new')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    child = subprocess.run([sys.executable, "-c", script, str(path)], timeout=180, check=False)
    assert child.returncode < 0
    assert path.read_bytes() == b"old"


def test_new_folder_appears_only_when_it_is_finished(folder: Path) -> None:
    path = folder / "bundle"
    with cache.new_folder(path) as temporary:
        (temporary / "module.py").touch()
        assert not path.exists()
    assert [file.name for file in path.iterdir()] == ["module.py"]
    assert [entry.name for entry in folder.iterdir()] == ["bundle"]


def test_failure_leaves_no_folder(folder: Path) -> None:
    with pytest.raises(KeyError), cache.new_folder(folder / "bundle") as temporary:
        (temporary / "module.py").touch()
        raise KeyError
    assert list(folder.iterdir()) == []


def test_exit_does_not_empty_a_folder_that_a_thread_still_fills(folder: Path) -> None:
    """The thread could rename it the next moment, and a later process would take it as it is."""
    child = (
        "import pathlib, sys, threading\n"
        "from wasm_kernel.host import cache\n"
        "filled = threading.Event()\n"
        "def fill():\n"
        "    with cache.new_folder(pathlib.Path(sys.argv[1])) as temporary:\n"
        "        (temporary / 'module.py').touch()\n"
        "        filled.set()\n"
        "        threading.Event().wait()\n"
        "threading.Thread(target=fill, daemon=True).start()\n"
        "filled.wait()\n"
    )
    subprocess.run([sys.executable, "-c", child, str(folder / "bundle")], check=True, timeout=30)
    (temporary,) = folder.iterdir()
    assert [file.name for file in temporary.iterdir()] == ["module.py"]


def test_json_is_read_back(folder: Path) -> None:
    cache.write_json(folder / "x.json", {"a": [1, "b"]})
    assert cache.read_json(folder / "x.json") == {"a": [1, "b"]}


@pytest.mark.parametrize("content", [None, b"", b"{", b"[1]", b"\xff", b"null"])
def test_missing_or_damaged_json_is_empty(folder: Path, content: bytes | None) -> None:
    path = folder / "x.json"
    if content is not None:
        path.write_bytes(content)
    assert cache.read_json(path) == {}


def test_json_that_others_may_write_is_not_believed(folder: Path) -> None:
    path = folder / "x.json"
    cache.write_json(path, {"a": 1})
    path.chmod(0o666)
    with pytest.raises(CacheError):
        cache.read_json(path)


# Seals.


def test_sealed_file_is_sealed(sealed: Path) -> None:
    assert cache.is_sealed(sealed)
    manifest = json.loads(cache.manifest_of(sealed).read_text())
    assert manifest["source"] == "abc"
    assert manifest["sha256"] == hashlib.sha256(b"good" * 1000).hexdigest()


def test_missing_file_is_not_sealed(folder: Path) -> None:
    assert not cache.is_sealed(folder / "nothing")


def test_file_without_manifest_is_not_sealed(sealed: Path) -> None:
    cache.manifest_of(sealed).unlink()
    assert not cache.is_sealed(sealed)


def test_manifest_without_file_is_not_sealed(sealed: Path) -> None:
    sealed.unlink()
    assert not cache.is_sealed(sealed)


@pytest.mark.parametrize("size", [0, 1, 3999])
def test_truncated_file_is_not_sealed(sealed: Path, size: int) -> None:
    found = sealed.stat()
    os.truncate(sealed, size)
    os.utime(sealed, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert not cache.is_sealed(sealed)


def test_file_with_one_changed_byte_is_not_sealed(sealed: Path) -> None:
    content = bytearray(sealed.read_bytes())
    content[2000] ^= 1
    sealed.write_bytes(content)
    touch(sealed)
    assert not cache.is_sealed(sealed)


def test_touched_file_with_the_same_bytes_is_still_sealed(sealed: Path) -> None:
    touch(sealed)
    assert cache.is_sealed(sealed)


def test_damaged_manifest_is_no_seal(sealed: Path) -> None:
    cache.manifest_of(sealed).write_text("{")
    assert not cache.is_sealed(sealed)


def test_link_in_place_of_a_sealed_file_is_refused(sealed: Path) -> None:
    real = sealed.with_name("elsewhere")
    sealed.rename(real)
    sealed.symlink_to(real)
    with pytest.raises(CacheError, match="symbolic link"):
        cache.is_sealed(sealed)


def test_sealed_file_that_others_may_write_is_refused(sealed: Path) -> None:
    sealed.chmod(0o666)
    with pytest.raises(CacheError, match="open to other users"):
        cache.is_sealed(sealed)


# Digests.


def test_digest_follows_the_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.ENV_CACHE_DIR, str(tmp_path / "cache"))
    file = tmp_path / "file"
    for content in (b"one", b"two", b"other size"):
        file.write_bytes(content)
        touch(file)
        for _ in range(2):
            assert cache.known_sha256(file) == hashlib.sha256(content).hexdigest()


def test_damaged_memory_of_a_digest_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(cache.ENV_CACHE_DIR, str(tmp_path / "cache"))
    file = tmp_path / "file"
    file.write_bytes(b"one")
    cache.known_sha256(file)
    (memo,) = (tmp_path / "cache" / "digests").iterdir()
    memo.write_text('{"sha256": 5}')
    assert cache.known_sha256(file) == hashlib.sha256(b"one").hexdigest()


# One process at a time.


def test_lock_is_held_until_the_end_of_the_block(folder: Path) -> None:
    path = folder / "lock"
    with cache.locked(path), path.open() as other:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_lock_is_given_back_after_a_failure(folder: Path) -> None:
    path = folder / "lock"
    with pytest.raises(RuntimeError, match="failed"), cache.locked(path):
        raise RuntimeError("failed")
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


WORKER = """
import sys
from pathlib import Path
from wasm_kernel.host import cache

path = Path(sys.argv[1])
print("asking", flush=True)
with cache.locked(path.with_suffix(".lock")):
    if cache.is_sealed(path):
        print("found", flush=True)
    else:
        print("working", flush=True)
        sys.stdin.readline()
        with cache.new_file(path) as temporary:
            temporary.write_bytes(b"work")
        cache.seal(path)
"""


def test_two_processes_do_the_work_once(folder: Path) -> None:
    def worker() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", WORKER, str(folder / "artifact")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    with worker() as first, worker() as second:
        assert first.stdin is not None
        assert first.stdout is not None
        assert second.stdin is not None
        assert second.stdout is not None
        assert first.stdout.readline() == "asking\n"
        assert second.stdout.readline() == "asking\n"
        # Whichever got the lock waits for its line; the other must not begin before it ends.
        for process in (first, second):
            process.stdin.write("go\n")
            process.stdin.close()
        said = sorted([first.stdout.read(), second.stdout.read()])
    assert said == ["found\n", "working\n"]
    assert (first.returncode, second.returncode) == (0, 0)


@pytest.mark.parametrize("caches", [None, "", "relative", "/somewhere/else", "/with/slash/"])
@pytest.mark.parametrize("home", ["/home/somebody", "/root", ""])
def test_the_place_is_the_one_that_platformdirs_names(
    monkeypatch: pytest.MonkeyPatch, caches: str | None, home: str
) -> None:
    monkeypatch.delenv(cache.ENV_CACHE_DIR, raising=False)
    monkeypatch.setenv("HOME", home)
    if caches is None:
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", caches)
    expected = Path(platformdirs.user_cache_dir("wasm-kernel", appauthor=False))
    assert cache.cache_place() == expected


def aged(folder: Path, name: str, days: float) -> Path:
    """An artifact that was last used some days ago."""
    artifact = folder / f"{name}.image"
    artifact.write_bytes(b"content")
    lock = folder / f"{name}.lock"
    lock.touch()
    when = time.time() - days * 86_400
    os.utime(lock, (when, when))
    return artifact


def test_only_what_nobody_uses_is_pruned(tmp_path: Path) -> None:
    old, recent = aged(tmp_path, "old", 31), aged(tmp_path, "recent", 29)
    held = aged(tmp_path, "held", 31)
    with cache.locked(tmp_path / "held.lock"):
        cache.prune(tmp_path)
    assert [path.exists() for path in (old, recent, held)] == [False, True, True]
    assert (tmp_path / "held.lock").exists()


def test_what_was_just_found_good_is_not_pruned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program.load(default_binary())
    artifacts = {name: aged(tmp_path, name, 31) for name in prepare.IMAGES}
    monkeypatch.setattr(prepare, "is_built", lambda layout, name: True)
    monkeypatch.setattr(prepare, "ensure_bundle", lambda: None)
    monkeypatch.setattr(prepare.Layout, "lock", lambda self, name: tmp_path / f"{name}.lock")
    monkeypatch.setattr(cache, "private_folder", lambda path: tmp_path)
    prepare.build_images(program)
    assert all(path.exists() for path in artifacts.values())
