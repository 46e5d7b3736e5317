"""A workspace with an id, below a root of such folders, and when it was last used.

    root/<id>/           the workspace
    root/.sessions/<id>  an empty file whose time is that of the last use

The second lies outside of what the code can write: a workspace cannot make itself younger.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from wasm_kernel.core.logging import SandboxLogger
from wasm_kernel.host.workspace import Workspace

DEFAULT_ROOT = "sessions"
"""Not the workspace of sandboxes without a session: their code would see all sessions in it."""

_RECORDS = ".sessions"
_ID_BYTES_MAX = 200


def root_of(workspace_root: str | Path | None) -> Path:
    """The folder of all sessions that is meant."""
    root = Path(DEFAULT_ROOT if workspace_root is None else workspace_root)
    return root.expanduser().absolute()


class SessionFolder:
    """One session's folder; making the object touches no file."""

    def __init__(self, session_id: str, workspace_root: str | Path | None = None) -> None:
        self.id = _checked(session_id)
        self.root = root_of(workspace_root)
        self.path = self.root / self.id
        self._record = self.root / _RECORDS / self.id

    def exists(self) -> bool:
        """Whether the folder is there; a link in its place is none."""
        return self.path.is_dir() and not self.path.is_symlink()

    def enter(self, logger: SandboxLogger) -> None:
        """Make the folder if it is not there yet, and note that it is used."""
        if self.exists():
            logger.log_session_retrieved(self.id, str(self.path))
            self.note_use(logger)
            return
        self.open().close()
        self._touch()
        logger.log_session_created(self.id, str(self.path))
        logger.log_session_metadata_created(self.id, _written(self.last_use() or time.time()))

    def open(self) -> Workspace:
        """The folder as a workspace, made if it is missing. Whoever opens it closes it."""
        return Workspace(self.path)

    def note_use(self, logger: SandboxLogger) -> None:
        """The folder is used now: pruning counts from here."""
        self._touch()
        logger.log_session_metadata_updated(self.id, _written(time.time()))

    def _touch(self) -> None:
        try:
            # A link that somebody put there has a time of its own, as ``last_use`` reads it.
            os.utime(self._record, follow_symlinks=False)
        except FileNotFoundError:
            self._record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._record.touch(mode=0o600)

    def last_use(self) -> float | None:
        """When it was last used, in seconds since 1970; None where nobody noted it."""
        try:
            return self._record.lstat().st_mtime
        except FileNotFoundError:
            return None

    def size(self) -> int:
        """Bytes of all its files."""
        with self.open() as workspace:
            return workspace.usage().size

    def delete(self) -> None:
        """Remove the folder with all that is in it; no link is followed."""
        import shutil

        try:
            shutil.rmtree(self.path)
        except FileNotFoundError:
            # Another process may delete it as well, and be faster.
            if self.exists():
                raise
        self._record.unlink(missing_ok=True)


def session_folders(root: Path) -> Iterator[SessionFolder]:
    """The folders below a root that could be sessions, by name."""
    names = sorted(os.listdir(root)) if root.is_dir() else []
    for name in names:
        try:
            folder = SessionFolder(name, root)
        except ValueError:
            continue
        if folder.exists():
            yield folder


def _checked(session_id: object) -> str:
    """An id that is one plain name of a folder."""
    if not isinstance(session_id, str):
        raise TypeError(
            f"session_id must be a str, not {type(session_id).__name__}; a sandbox has one if it "
            "is made with session_id= or workspace_root="
        )
    is_plain = session_id.isprintable() and not set(session_id) & {"/", "\\"}
    if not session_id:
        raise ValueError("session_id must not be empty")
    if not is_plain or session_id.startswith(".") or ".." in session_id:
        raise ValueError(
            f"session_id {session_id[:80]!r} is no plain name: it must not contain path separators "
            "or '..', and not begin with '.'"
        )
    if len(session_id.encode("utf-8")) > _ID_BYTES_MAX:
        raise ValueError(f"session_id is longer than {_ID_BYTES_MAX} bytes")
    return session_id


def _written(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
