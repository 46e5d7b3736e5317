"""Session folders from outside: their files, and an end for those that nobody uses any more.

For a program that keeps a workspace for each conversation. The code in the sandbox may have put
anything into these folders, so no link in them is followed.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from wasm_kernel.core.logging import SandboxLogger
from wasm_kernel.core.record import Record, field
from wasm_kernel.core.units import format_bytes
from wasm_kernel.host.session_folder import SessionFolder, root_of, session_folders
from wasm_kernel.host.workspace import PRIVATE_FOLDER


class PruneResult(Record):
    """Which session folders were deleted, and which could not be."""

    deleted_sessions: list[str] = field(default_factory=list)
    skipped_sessions: list[str] = field(
        default_factory=list, description="folders of which nobody noted when they were used"
    )
    reclaimed_bytes: int = 0
    errors: dict[str, str] = field(default_factory=dict, description="what went wrong, by id")
    dry_run: bool = False

    def __str__(self) -> str:
        done = "Would prune" if self.dry_run else "Pruned"
        count = len(self.deleted_sessions)
        others = [
            f"{len(found)} {what}"
            for found, what in ((self.skipped_sessions, "skipped"), (self.errors, "failed"))
            if found
        ]
        left = f" ({', '.join(others)})" if others else ""
        noun = "session" if count == 1 else "sessions"
        return f"{done} {count} {noun}{left}, reclaimed {format_bytes(self.reclaimed_bytes)}"


def list_session_files(
    session_id: str,
    workspace_root: str | Path | None = None,
    *,
    pattern: str = "*",
    logger: SandboxLogger | None = None,
) -> list[str]:
    """The files of a session, sorted, as paths within it; none where there is no such session.

    A ``pattern`` may match at any depth: ``*.csv``, ``out/**/*.png``.
    """
    folder = SessionFolder(session_id, workspace_root)
    found: list[str] = []
    if folder.exists():
        wanted = ("**", *pattern.split("/"))
        with folder.open() as workspace:
            found = [
                path
                for path, entry in workspace.walk()
                if stat.S_ISREG(entry.st_mode)
                and not path.startswith(f"{PRIVATE_FOLDER}/")
                and _matches(path.split("/"), wanted)
            ]
    found.sort()
    _logger(logger).log_file_operation(
        operation="list", session_id=session_id, path=pattern, file_count=len(found)
    )
    return found


def read_session_file(
    session_id: str,
    relative_path: str | os.PathLike[str],
    workspace_root: str | Path | None = None,
    *,
    logger: SandboxLogger | None = None,
) -> bytes:
    """What a file of a session holds. The code wrote it: as large as its quota allows."""
    folder, path = _present(session_id, relative_path, workspace_root)
    with folder.open() as workspace:
        found = workspace.lstat(path)
        if found is not None and stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, "that is a folder", path)
        with os.fdopen(workspace.open(path, os.O_RDONLY), "rb") as file:
            data = file.read()
    _logger(logger).log_file_operation(
        operation="read", session_id=session_id, path=path, file_size=len(data)
    )
    return data


def write_session_file(
    session_id: str,
    relative_path: str | os.PathLike[str],
    data: bytes | str,
    workspace_root: str | Path | None = None,
    *,
    overwrite: bool = True,
    logger: SandboxLogger | None = None,
) -> None:
    """Put a file into a session, which is made if it is new; text is written as UTF-8."""
    folder, path = _addressed(session_id, relative_path, workspace_root)
    content = data.encode("utf-8") if isinstance(data, str) else data
    log = _logger(logger)
    if not folder.exists():
        folder.enter(log)
    with folder.open() as workspace:
        workspace.make_folders(str(PurePosixPath(path).parent))
        if not overwrite and workspace.lstat(path) is not None:
            raise FileExistsError(errno.EEXIST, "the file already exists", path)
        workspace.write(path, content)
    log.log_file_operation(
        operation="write", session_id=session_id, path=path, file_size=len(content)
    )


def delete_session_path(
    session_id: str,
    relative_path: str | os.PathLike[str],
    workspace_root: str | Path | None = None,
    *,
    recursive: bool = False,
    logger: SandboxLogger | None = None,
) -> None:
    """Delete a file of a session, or with ``recursive`` a folder and all that is in it."""
    folder, path = _present(session_id, relative_path, workspace_root)
    with folder.open() as workspace, workspace.parent(path) as (parent, name):
        if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
            os.unlink(name, dir_fd=parent)
        elif recursive:
            shutil.rmtree(name, dir_fd=parent)
        else:
            raise ValueError(f"{path} is a folder; recursive=True deletes it and all that is in it")
    _logger(logger).log_file_operation(
        operation="delete", session_id=session_id, path=path, recursive=recursive
    )


def delete_session_workspace(
    session_id: str,
    workspace_root: str | Path | None = None,
    *,
    logger: SandboxLogger | None = None,
) -> None:
    """Delete a session's folder; one that is not there is fine."""
    folder = SessionFolder(session_id, workspace_root)
    if folder.exists():
        folder.delete()
        _logger(logger).log_session_deleted(session_id)


def prune_sessions(
    older_than_hours: float = 24.0,
    workspace_root: str | Path | None = None,
    *,
    dry_run: bool = False,
    logger: SandboxLogger | None = None,
) -> PruneResult:
    """Delete the folders of sessions that nobody has used for so long.

    A use is that a sandbox was made for it, or began a run. Folders without a note of that are
    left alone. With ``dry_run`` nothing is deleted.
    """
    root = root_of(workspace_root)
    log, result = _logger(logger), PruneResult(dry_run=dry_run)
    log.log_prune_started(older_than_hours, str(root), dry_run)
    for folder in session_folders(root):
        last_use = folder.last_use()
        if last_use is None:
            result.skipped_sessions.append(folder.id)
            log.log_prune_skipped(folder.id, "missing_metadata")
            continue
        age_hours = (time.time() - last_use) / 3600
        # A number that is none (NaN) is no age that anything has.
        if not age_hours >= older_than_hours:
            continue
        log.log_prune_candidate(folder.id, age_hours, older_than_hours)
        try:
            size = folder.size()
            if folder.last_use() != last_use:
                continue  # while its files were counted, somebody came back to it
            if not dry_run:
                folder.delete()
                log.log_prune_deleted(folder.id, age_hours, size)
        except Exception as error:
            # One folder that cannot be deleted keeps none of the others.
            result.errors[folder.id] = str(error)
            log.log_prune_error(folder.id, str(error))
            continue
        result.deleted_sessions.append(folder.id)
        result.reclaimed_bytes += size
    log.log_prune_completed(
        len(result.deleted_sessions),
        len(result.skipped_sessions),
        len(result.errors),
        result.reclaimed_bytes,
        dry_run,
    )
    return result


def _present(
    session_id: str, relative_path: str | os.PathLike[str], workspace_root: str | Path | None
) -> tuple[SessionFolder, str]:
    folder, path = _addressed(session_id, relative_path, workspace_root)
    if not folder.exists():
        raise FileNotFoundError(errno.ENOENT, "there is no such session", str(folder.path))
    return folder, path


def _addressed(
    session_id: str, relative_path: str | os.PathLike[str], workspace_root: str | Path | None
) -> tuple[SessionFolder, str]:
    """A session's folder, and a path that stays in it."""
    # A ``Path`` is as good: pathlib is what most programs have their names in.
    relative_path = os.fspath(relative_path)
    folder, path = SessionFolder(session_id, workspace_root), PurePosixPath(relative_path)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(
            f"{relative_path!r} escapes session workspace {session_id!r}: give a path within it, "
            "such as out/table.csv"
        )
    if not path.parts or "\0" in relative_path:
        raise ValueError(f"{relative_path!r} is not the name of a file or a folder in a session")
    return folder, str(path)


def _matches(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a path is of a pattern in which ``**`` stands for any number of folders.

    The code makes the paths: each part of one is compared once with each part of the pattern.
    """
    # At which parts of the pattern one can be, after the parts of the path so far.
    places = _with_skipped({0}, wanted)
    for part in parts:
        here = {at for at in places if at < len(wanted)}
        stays = {at for at in here if wanted[at] == "**"}
        places = stays | {at + 1 for at in here - stays if fnmatchcase(part, wanted[at])}
        places = _with_skipped(places, wanted)
    return len(wanted) in places


def _with_skipped(places: set[int], wanted: Sequence[str]) -> set[int]:
    """These places in a pattern, and those behind a ``**`` that stands for nothing."""
    for at, part in enumerate(wanted):
        if part == "**" and at in places:
            places.add(at + 1)
    return places


def _logger(logger: SandboxLogger | None) -> SandboxLogger:
    return logger if logger is not None else SandboxLogger()
