"""The one folder a guest may write: opened once, and never left through a link.

Every name below it is reached step by step from the open folder with ``O_NOFOLLOW``, so a link
that the user (or another process) put there is never followed by the host.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from wasm_kernel.core.errors import WorkspaceError
from wasm_kernel.host.apart import require_own

PRIVATE_FOLDER = ".wasm_kernel"
"""The guest's home and temporary files; left out of every listing of changes."""

TEMPORARY_FOLDER = f"{PRIVATE_FOLDER}/tmp"
"""What the guest sees as ``/tmp``; made when something is first put there."""

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES)


class Usage(NamedTuple):
    """What a workspace holds."""

    size: int
    entries: int


class Workspace:
    """An open workspace folder. Whoever opens it closes it."""

    def __init__(self, root: Path) -> None:
        self.root = root.expanduser().absolute()
        require_own(self.root)
        _make(self.root)
        try:
            self._root = os.open(self.root, _FOLDER_FLAGS)
        except OSError as error:
            raise WorkspaceError(
                f"the workspace {self.root} cannot be opened: {error.strerror}"
            ) from error
        # Nobody may close it: a session that is dropped must not keep a descriptor for good.
        self._closing = weakref.finalize(self, os.close, self._root)
        if not os.access(self.root, os.W_OK | os.X_OK):
            self.close()
            raise WorkspaceError(
                f"the workspace {self.root} is not writable; choose another folder"
            )

    def close(self) -> None:
        """Close the folder; closing twice is fine."""
        self._closing()
        self._root = -1

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def identity(self) -> tuple[int, int]:
        """The device and inode of the folder: another folder of the same name has another."""
        found = os.fstat(self._root)
        return found.st_dev, found.st_ino

    def require_present(self) -> None:
        """Raise if the folder was removed or replaced since it was opened."""
        mine = os.fstat(self._root)
        try:
            there = os.lstat(self.root)
        except FileNotFoundError:
            raise WorkspaceError(
                f"the workspace {self.root} was removed; make it again and restart the session"
            ) from None
        if (mine.st_dev, mine.st_ino) != (there.st_dev, there.st_ino):
            raise WorkspaceError(f"the workspace {self.root} was replaced; restart the session")

    @contextlib.contextmanager
    def parent(self, path: str) -> Iterator[tuple[int, str]]:
        """The open parent folder of ``path`` and its last name; ``OSError`` where a link is."""
        *folders, name = path.split("/")
        descriptor = os.dup(self._root)
        try:
            for folder in folders:
                inner = os.open(folder, _FOLDER_FLAGS, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor, name
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def folder(self, path: str) -> Iterator[int]:
        """A folder, open; ``OSError`` where it is none, or a link is in the way."""
        with self.parent(path) as (parent, name):
            descriptor = os.open(name or ".", _FOLDER_FLAGS, dir_fd=parent)
            try:
                yield descriptor
            finally:
                os.close(descriptor)

    def lstat(self, path: str) -> os.stat_result | None:
        """The ``lstat`` of a path, or None where there is nothing or a link is in the way."""
        if not path:
            return os.fstat(self._root)
        try:
            if "/" not in path:
                return os.lstat(path, dir_fd=self._root)
            with self.parent(path) as (folder, name):
                return os.lstat(name, dir_fd=folder)
        except OSError:
            return None

    def look(self, path: str) -> os.stat_result | None:
        """The ``lstat`` of a path, or None where there is nothing.

        ``NotADirectoryError`` where a file is in the way, another ``OSError`` where a link is.
        """
        if not path:
            return os.fstat(self._root)
        folders = path.split("/")[:-1]
        try:
            with self.parent(path) as (folder, name):
                return os.lstat(name, dir_fd=folder)
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            # O_NOFOLLOW with O_DIRECTORY answers this for links as well.
            for depth in range(1, len(folders) + 1):
                found = self.lstat("/".join(folders[:depth]))
                if found is not None and stat.S_ISLNK(found.st_mode):
                    raise OSError(errno.ELOOP, "a link is in the way", path) from None
            raise

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        """A descriptor of a regular file; never through a link, never blocking on a FIFO."""
        safe = flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with self.parent(path) as (folder, name):
            descriptor = os.open(name, safe, mode, dir_fd=folder)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "not a regular file", path)
        return descriptor

    def read(self, path: str, limit: int) -> bytes:
        """The first ``limit`` bytes of a regular file."""
        with os.fdopen(self.open(path, os.O_RDONLY), "rb") as file:
            return file.read(limit)

    def write(self, path: str, content: bytes, time_ns: int | None = None) -> None:
        """Give a file this content; a link in its place is removed, never written through.

        That holds for a second name of a file as well, which may be outside.

        ``time_ns`` is when it was written, if not now.
        """
        found = self.lstat(path)
        if found is not None and stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, "a folder is in the way", path)
        if found is not None and (not stat.S_ISREG(found.st_mode) or found.st_nlink > 1):
            with self.parent(path) as (folder, name):
                os.unlink(name, dir_fd=folder)
        # Cut afterwards: a file system may flush one that was emptied and written at its closing.
        with os.fdopen(self.open(path, os.O_WRONLY | os.O_CREAT, 0o644), "wb", buffering=0) as file:
            # Where the disk is nearly full a write takes a part, and only the next one fails.
            left = memoryview(content)
            while left:
                left = left[file.write(left) :]
            file.truncate()
            if time_ns is not None:
                os.utime(file.fileno(), ns=(time_ns, time_ns))

    def make_folders(self, path: str) -> None:
        """Make a folder and those it lies in, as far as they are missing."""
        descriptor = os.dup(self._root)
        try:
            for name in path.split("/"):
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=descriptor)
                inner = os.open(name, _FOLDER_FLAGS, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
        finally:
            os.close(descriptor)

    def walk(self, below: str = "") -> Iterator[tuple[str, os.stat_result]]:
        """Every entry below a folder with its ``lstat``; links are listed, never entered."""
        try:
            with self.parent(f"{below}/." if below else ".") as (descriptor, _):
                top = os.dup(descriptor)
        except OSError as error:
            if error.errno in _GONE:
                return
            raise
        # One open folder per level: each is reached from the one above it, in one step.
        levels: list[tuple[str, int, list[tuple[str, os.stat_result]]]] = []
        try:
            levels.append((below, top, _entries(top)))
            while levels:
                folder, descriptor, left = levels[-1]
                if not left:
                    levels.pop()
                    os.close(descriptor)
                    continue
                name, found = left.pop()
                path = f"{folder}/{name}" if folder else name
                yield path, found
                if stat.S_ISDIR(found.st_mode):
                    try:
                        inner = os.open(name, _FOLDER_FLAGS, dir_fd=descriptor)
                    except OSError as error:
                        # Whatever went away or was swapped for a link is not here; any other
                        # failure must not look like an empty folder.
                        if error.errno in _GONE:
                            continue
                        raise
                    levels.append((path, inner, _entries(inner)))
        finally:
            for _, descriptor, _ in levels:
                os.close(descriptor)

    def usage(self) -> Usage:
        """The size and the number of everything in it."""
        size = entries = 0
        for _, found in self.walk():
            entries += 1
            if stat.S_ISREG(found.st_mode):
                size += found.st_size
        return Usage(size, entries)

    def copy_to(self, target: Path) -> None:
        """Copy all files without following a link; the guest's private part stays behind.

        The target is new: where the copy fails, nothing is left of it.
        """
        import shutil

        def left_out(folder: str, names: list[str]) -> list[str]:
            return [
                name
                for name in names
                if name == PRIVATE_FOLDER or not _is_plain(Path(folder) / name)
            ]

        try:
            shutil.copytree(self.root, target, symlinks=True, ignore=left_out)
        except OSError as error:
            shutil.rmtree(target, ignore_errors=True)
            raise WorkspaceError(
                f"the workspace {self.root} could not be copied to {target}: {_first_of(error)}"
            ) from error
        except BaseException:
            shutil.rmtree(target, ignore_errors=True)
            raise


def _entries(descriptor: int) -> list[tuple[str, os.stat_result]]:
    """The entries of an open folder that are still there."""
    found = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                found.append((entry.name, entry.stat(follow_symlinks=False)))
    return found


def _first_of(error: OSError) -> str:
    """What went wrong, in a word; ``copytree`` collects the failures of all files in a list."""
    failures = error.args[0] if error.args and isinstance(error.args[0], list) else []
    return str(failures[0][2]) if failures else error.strerror or str(error)


def _is_plain(path: Path) -> bool:
    """Whether something can be copied: a file or a folder, not a link, a pipe or a device."""
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError:  # it went away since it was listed
        return False
    return stat.S_ISREG(kind) or stat.S_ISDIR(kind)


def _make(root: Path) -> None:
    """Make the workspace folder if it is missing; a clear error where it cannot be one."""
    try:
        found = root.lstat()
    except FileNotFoundError:
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WorkspaceError(
                f"the workspace {root} cannot be made: {error.strerror}"
            ) from error
        return
    except OSError as error:
        raise WorkspaceError(f"the workspace {root} cannot be used: {error.strerror}") from error
    if stat.S_ISLNK(found.st_mode):
        raise WorkspaceError(
            f"the workspace {root} is a symbolic link; name the folder it points to"
        )
    if not stat.S_ISDIR(found.st_mode):
        raise WorkspaceError(f"the workspace {root} is not a folder; choose another path")
