"""The private folder that holds fetched runtimes, compiled modules and memory images.

Native code and memory images are loaded from here without further checks by Wasmtime, so
nothing is read unless this user alone could have written it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wasm_kernel.core.digests import name_of
from wasm_kernel.core.errors import CacheError
from wasm_kernel.host.places import ENV_CACHE_DIR as ENV_CACHE_DIR
from wasm_kernel.host.places import plain_cache_place, stranger


def cache_root() -> Path:
    """The cache folder of this user, made private when first asked for."""
    return private_folder(cache_place())


def cache_place() -> Path:
    """Where the cache folder is, made or not."""
    return _place(*map(os.environ.get, (ENV_CACHE_DIR, "XDG_CACHE_HOME", "HOME")))


@functools.lru_cache(maxsize=8)
def _place(chosen: str | None, caches: str | None, home: str | None) -> Path:
    """By the variables that decide it, for it is asked for at every run."""
    plain = plain_cache_place()
    if plain is not None:
        return Path(plain)
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("wasm-kernel", appauthor=False))


def private_folder(path: Path) -> Path:
    """``path`` as a folder that only this user can enter; made if missing, refused if shared."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CacheError(f"the cache folder {path} cannot be made: {error.strerror}") from error
    require_private(path)
    return path


def require_private(path: Path) -> os.stat_result:
    """The ``lstat`` of a file or folder of ours; raises where others own it or may write it."""
    found = path.lstat()
    problem = stranger(str(path), found)
    if problem is not None:
        raise CacheError(problem)
    return found


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path``; a second process waits here until the first is done."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            import fcntl
        except ImportError:
            yield
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A temporary name beside ``path``; renamed onto it if the block ends well, else removed."""
    import tempfile

    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        sync_file(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder beside ``path`` to fill; renamed onto it if the block ends well, else removed.

    ``tempfile.TemporaryDirectory`` empties its folder when the process exits, also while a thread
    is about to rename it: a kernel that was ended as it prepared would leave an empty folder that
    every later one takes for the finished one.
    """
    import shutil
    import tempfile

    temporary = Path(tempfile.mkdtemp(prefix=f"{path.name}.", suffix=".new", dir=path.parent))
    try:
        yield temporary
        temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def sync_file(path: Path) -> None:
    """Make a file's bytes durable, so that a rename never shows a half-written one."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Any) -> None:
    """Write a small JSON file atomically."""
    with new_file(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1, sort_keys=True), encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """A small JSON file of ours; an empty dict where it is missing or damaged."""
    try:
        require_private(path)
        value = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, UnicodeDecodeError, json.JSONDecodeError):
        return {}
    return value if isinstance(value, dict) else {}


def sha256_file(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def known_sha256(path: Path) -> str:
    """The SHA-256 of a large file, remembered in the cache as long as the file is not touched."""
    real = path.resolve(strict=True)
    found = real.stat()
    fingerprint = f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"
    return _remembered_sha256(real, fingerprint)


@functools.lru_cache(maxsize=64)
def _remembered_sha256(real: Path, fingerprint: str) -> str:
    name = name_of(f"{real}\0{fingerprint}", 32)
    memo = private_folder(cache_root() / "digests") / f"{name}.json"
    digest = read_json(memo).get("sha256")
    if isinstance(digest, str) and len(digest) == 64:
        return digest
    digest = sha256_file(real)
    write_json(memo, {"sha256": digest})
    return digest


def seal(path: Path, **facts: Any) -> None:
    """Write the manifest beside a finished artifact: its size and digest, and some facts."""
    found = path.lstat()
    write_json(
        manifest_of(path),
        {
            "size": found.st_size,
            "mtime_ns": found.st_mtime_ns,
            "sha256": sha256_file(path),
            **facts,
        },
    )


def is_sealed(path: Path) -> bool:
    """Whether a private artifact is complete and as it was sealed.

    A file that was touched since is hashed again; an untouched one costs two ``lstat``.
    """
    try:
        found = require_private(path)
    except FileNotFoundError:
        return False
    manifest = read_json(manifest_of(path))
    if manifest.get("size") != found.st_size:
        return False
    if manifest.get("mtime_ns") == found.st_mtime_ns:
        return True
    if manifest.get("sha256") != sha256_file(path):
        return False
    with contextlib.suppress(OSError):  # a cache that cannot be written is hashed each time
        write_json(manifest_of(path), {**manifest, "mtime_ns": found.st_mtime_ns})
    return True


def prune(folder: Path, *, days: float = 30.0) -> None:
    """Remove what nobody used for a while: images and bundles of versions that are gone.

    The time of a lock says when what it guards was last used; what is being made is left alone.
    """
    import shutil

    oldest = time.time() - days * 86_400
    for lock in folder.glob("*.lock"):
        if lock.stat().st_mtime > oldest or _is_held(lock):
            continue
        for path in folder.glob(lock.stem + "*"):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _is_held(lock: Path) -> bool:
    """Whether another process or thread works under a lock."""
    try:
        import fcntl
    except ImportError:
        return False
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def manifest_of(path: Path) -> Path:
    """Where the manifest of an artifact lies."""
    return path.with_name(path.name + ".json")
