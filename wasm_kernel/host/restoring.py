"""The reverse of each step that a journal notes, done by the host without following a link."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from wasm_kernel.host.workspace import Workspace


def create(workspace: Workspace, path: str) -> None:
    """Put a file where a cell had one of its own, for the steps before to find."""
    os.close(workspace.open(path, os.O_WRONLY | os.O_CREAT))


def unlink(workspace: Workspace, path: str) -> None:
    """Remove a file that a cell made."""
    with contextlib.suppress(FileNotFoundError), workspace.parent(path) as (folder, name):
        os.unlink(name, dir_fd=folder)


def rmdir(workspace: Workspace, path: str) -> None:
    """Remove a folder that a cell made."""
    with contextlib.suppress(FileNotFoundError), workspace.parent(path) as (folder, name):
        os.rmdir(name, dir_fd=folder)


def mkdir(workspace: Workspace, path: str, mode: int) -> None:
    """Make a folder that a cell removed, whatever the umask."""
    with workspace.parent(path) as (folder, name):
        os.mkdir(name, mode, dir_fd=folder)
        os.chmod(name, mode, dir_fd=folder)


def rename(workspace: Workspace, old: str, new: str) -> None:
    """Move a file or folder back."""
    with workspace.parent(old) as (old_folder, old_name):
        with workspace.parent(new) as (new_folder, new_name):
            os.rename(old_name, new_name, src_dir_fd=old_folder, dst_dir_fd=new_folder)


def utime(workspace: Workspace, path: str, times: tuple[int, int]) -> None:
    """Set the times that a file had."""
    with workspace.parent(path) as (folder, name):
        os.utime(name, ns=times, dir_fd=folder, follow_symlinks=False)


def restore(workspace: Workspace, path: str, slot: Path, found: os.stat_result) -> None:
    """Put kept bytes back, in place where the file still is, with its mode and times."""
    import shutil

    mode = stat.S_IMODE(found.st_mode)
    descriptor = workspace.open(path, os.O_WRONLY | os.O_CREAT, mode)
    with slot.open("rb") as source, os.fdopen(descriptor, "wb") as target:
        size = os.fstat(source.fileno()).st_size
        if size and hasattr(os, "posix_fallocate"):
            # On a full disk the file stays as the cell left it, and is not cut to nothing.
            os.posix_fallocate(descriptor, 0, size)
        os.fchmod(descriptor, mode)
        shutil.copyfileobj(source, target, 1 << 20)
        target.truncate(size)
    utime(workspace, path, (found.st_atime_ns, found.st_mtime_ns))
