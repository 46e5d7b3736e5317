"""The sessions that ``%%sandbox`` keeps, and what ``%sandbox`` can do with them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wasm_kernel.core.errors import CheckpointError, WorkspaceError
from wasm_kernel.core.models import ExecutionPolicy
from wasm_kernel.core.policies import NOTEBOOK_POLICY
from wasm_kernel.core.units import format_bytes
from wasm_kernel.host.workspace import Workspace
from wasm_kernel.notebook import commands
from wasm_kernel.notebook.settings import NO_CEILING, Settings
from wasm_kernel.session import Session

Bundle = dict[str, Any]

_SESSION_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")


class Sessions:
    """Live sessions by name; made when first used, closed together."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}

    def get(
        self, name: str, policy: ExecutionPolicy | None = None, workspace: str | None = None
    ) -> Session:
        """A session, under this policy from now on; it is made if there is none."""
        session = self._sessions.get(name)
        if session is None:
            check_session_name(name)
            asked = policy or NOTEBOOK_POLICY
            _require_data_folder(asked)
            folder = workspace or _default_workspace(name, asked)
            self._sessions[name] = session = Session(asked, folder)
            return session
        if workspace is not None and _absolute(workspace) != session.workspace:
            raise WorkspaceError(_started(name, f"works in {session.workspace}"))
        if policy is not None and policy != session.policy:
            if policy.mount_data_dir != session.policy.mount_data_dir:
                raise WorkspaceError(
                    _started(name, f"has {session.policy.mount_data_dir or 'nothing'} as its data")
                )
            if policy.deterministic != session.policy.deterministic:
                kind = "" if session.policy.deterministic else "not "
                raise CheckpointError(_started(name, f"is {kind}deterministic"))
            session.change_policy(policy)
        return session

    def policy(self, name: str) -> ExecutionPolicy:
        """What a session runs under, or would."""
        session = self._sessions.get(name)
        return NOTEBOOK_POLICY if session is None else session.policy

    def live(self, name: str) -> Session:
        """A session that exists."""
        try:
            return self._sessions[name]
        except KeyError:
            known = ", ".join(self._sessions) or "none"
            raise CheckpointError(
                f"there is no session {name} (there are: {known}); a %%sandbox cell makes it"
            ) from None

    def add(self, name: str, session: Session) -> None:
        """Put a session under a name; one that had the name ends."""
        old = self._sessions.pop(name, None)
        self._sessions[name] = session
        if old is not None:
            old.close()

    def remove(self, name: str) -> None:
        """End one session."""
        self.live(name).close()
        del self._sessions[name]

    def names(self) -> list[str]:
        """The names of the sessions."""
        return list(self._sessions)

    def close(self) -> None:
        """End all of them."""
        while self._sessions:
            _, session = self._sessions.popitem()
            session.close()


def check_session_name(name: str) -> None:
    """Raise unless a name can be a part of a folder's name."""
    if not _SESSION_NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot name a session: use letters, digits, - and _")


def _require_data_folder(policy: ExecutionPolicy) -> None:
    if policy.mount_data_dir is not None and not _absolute(policy.mount_data_dir).is_dir():
        raise WorkspaceError(f"there is no folder {policy.mount_data_dir} to read as data")


def _absolute(folder: str) -> Path:
    return Path(folder).expanduser().absolute()


def _started(name: str, how: str) -> str:
    """Why an option comes too late."""
    return (
        f"the session {name} {how}, which cannot change while it lives; "
        f"use another name with --session, or first %sandbox close --session {name}"
    )


def _default_workspace(name: str, policy: ExecutionPolicy) -> str:
    return policy.mount_host_dir if name == "default" else f"{policy.mount_host_dir}-{name}"


LineCommand = Callable[[Sessions, str, list[str]], Bundle]
"""A command of ``%sandbox``: on the session of a name, with the words that were typed after it."""


def _alone(command: str, run: Callable[[Sessions, str], Bundle]) -> LineCommand:
    """A command that nothing follows."""

    def call(sessions: Sessions, name: str, arguments: list[str]) -> Bundle:
        if arguments:
            raise ValueError(f"usage: %sandbox {command} [--session NAME]")
        return run(sessions, name)

    return call


def _with_one(command: str, what: str, run: Callable[[Sessions, str, str], Bundle]) -> LineCommand:
    """A command that one word follows."""

    def call(sessions: Sessions, name: str, arguments: list[str]) -> Bundle:
        if len(arguments) != 1:
            raise ValueError(f"usage: %sandbox {command} {what}")
        return run(sessions, name, arguments[0])

    return call


def _through_kernel_command(
    command: str, find: Callable[[Sessions, str], Session] = Sessions.live
) -> LineCommand:
    """A command that the kernel has too, on one of these sessions."""

    def call(sessions: Sessions, name: str, arguments: list[str]) -> Bundle:
        session = find(sessions, name)
        settings = Settings(session.policy, NO_CEILING, session.workspace)
        host = commands.Host(settings, session, "auto", prefix="%sandbox ")
        bundle = commands.run(host, [command, *arguments])
        if host.session is not session:
            # The command replaced the session and closed the old one.
            sessions._sessions[name] = host.session
        return bundle

    return call


def _text(text: str) -> Bundle:
    return {"text/plain": text}


def _status(sessions: Sessions, name: str) -> Bundle:
    if name not in sessions.names():
        return _text(f"no session {name} yet; a %%sandbox cell makes it")
    session = sessions.live(name)
    lines = [
        f"session     {name}",
        f"cells       {session.execution_count} run, {session.undo_depth} can be undone",
        f"memory      {format_bytes(session.memory_bytes)} of "
        f"{format_bytes(session.policy.memory_bytes)}",
        f"workspace   {session.workspace}",
        f"checkpoints {', '.join(session.checkpoints()) or 'none'}",
    ]
    return _text("\n".join(lines))


def _fork(sessions: Sessions, name: str, new: str) -> Bundle:
    check_session_name(new)
    session = sessions.live(name)
    if new in sessions.names():
        raise ValueError(
            f"there is a session {new} already; to end it: %sandbox close --session {new}"
        )
    folder = session.workspace.with_name(f"{session.workspace.name}-{new}")
    files = (
        "it was there already, with its own files"
        if folder.exists()
        else "with a copy of all files"
    )
    sessions.add(new, session.fork(folder))
    return _text(f"session {new} goes on from here in {folder.name} ({files}); use --session {new}")


def _reset(sessions: Sessions, name: str) -> Bundle:
    session = sessions.live(name)
    policy, folder = session.policy, session.workspace
    sessions.remove(name)
    sessions.add(name, Session(policy, folder))
    return _text(f"session {name} starts anew; its files stay")


def _get(sessions: Sessions, name: str, asked: str) -> Bundle:
    path = _inside(asked)
    target = Path(Path(path).name)
    with Workspace(sessions.live(name).workspace) as workspace:
        try:
            descriptor = workspace.open(path, os.O_RDONLY)
        except OSError as error:
            raise WorkspaceError(f"{path} cannot be read: {error.strerror}") from error
        with os.fdopen(descriptor, "rb") as source:
            try:
                # Whatever is there is the user's own: it is not replaced, nor written through.
                copy = target.open("xb")
            except FileExistsError:
                raise WorkspaceError(
                    f"{target} exists here already; remove or rename it first"
                ) from None
            with copy:
                shutil.copyfileobj(source, copy)
                size = copy.tell()
    return _text(f"copied {path} out of the sandbox ({format_bytes(size)})")


def _put(sessions: Sessions, name: str, asked: str) -> Bundle:
    path = Path(asked).expanduser()
    if not path.is_file():
        raise WorkspaceError(f"{path} is not a file")
    session = sessions.get(name)
    with Workspace(session.workspace) as workspace, path.open("rb") as source:
        workspace.write(path.name, b"")
        descriptor = workspace.open(path.name, os.O_WRONLY)
        with os.fdopen(descriptor, "wb") as copy:
            shutil.copyfileobj(source, copy)
            size = copy.tell()
    return _text(f"copied {path.name} into the sandbox ({format_bytes(size)})")


def _inside(path: str) -> str:
    parts = [part for part in path.removeprefix("/app/").split("/") if part not in ("", ".")]
    if not parts or ".." in parts or (path.startswith("/") and not path.startswith("/app/")):
        raise WorkspaceError("name a file of the workspace, without '..'")
    return "/".join(parts)


def _close(sessions: Sessions, name: str) -> Bundle:
    sessions.remove(name)
    return _text(f"session {name} is closed; its files stay")


def _list(sessions: Sessions, _: str) -> Bundle:
    return _text("\n".join(sessions.names()) or "no sessions yet; a %%sandbox cell makes one")


LINE_COMMANDS: dict[str, LineCommand] = {
    "status": _alone("status", _status),
    "undo": _through_kernel_command("undo"),
    "checkpoint": _through_kernel_command("checkpoint"),
    "restore": _through_kernel_command("restore"),
    "fork": _with_one("fork", "NAME", _fork),
    "save": _through_kernel_command("save"),
    "resume": _through_kernel_command("resume", Sessions.get),
    "reset": _alone("reset", _reset),
    "files": _through_kernel_command("files", Sessions.get),
    "get": _with_one("get", "PATH", _get),
    "put": _with_one("put", "PATH", _put),
    "policy": _through_kernel_command("policy", Sessions.get),
    "close": _alone("close", _close),
    "list": _alone("list", _list),
}
