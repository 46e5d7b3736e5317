"""Cells that speak to the host: lines such as ``%undo`` or ``%policy fuel_budget=2T``.

A cell is one of these only if every line of it is; anything else goes to IPython in the guest.
Such lines may come from a notebook that nobody has read: none of them can do more than the
settings of the kernel allow.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wasm_kernel.core.data import dataclass
from wasm_kernel.core.errors import WasmKernelError
from wasm_kernel.core.models import ExecutionPolicy
from wasm_kernel.core.policies import within_ceiling
from wasm_kernel.core.texts import some_of
from wasm_kernel.core.units import (
    format_bytes,
    parse_bytes,
    parse_fuel,
    parse_seconds,
    write_bytes,
    write_fuel,
    write_seconds,
)
from wasm_kernel.host.pages import PAGE
from wasm_kernel.host.workspace import Workspace
from wasm_kernel.notebook.files import preview, table_of_files
from wasm_kernel.notebook.sanitize import sanitize_text
from wasm_kernel.notebook.settings import METRICS_MODES, Settings
from wasm_kernel.session import Session


class CommandError(WasmKernelError):
    """A command was called in a way it does not take; the text says how it is called."""


@dataclass()
class Host:
    """What a command works on."""

    settings: Settings
    session: Session
    metrics: str
    prefix: str = "%"
    """What comes before a command's name where this one was typed."""

    def usage(self, name: str) -> str:
        """How a command is called here."""
        return COMMANDS[name].usage.replace("%", self.prefix, 1)

    def replace_session(self, session: Session) -> None:
        """Go on with another session; the present one ends."""
        old, self.session = self.session, session
        old.close()


Output = dict[str, Any]
"""A MIME bundle; made by the host, so it is not sanitised again."""


def host_lines(code: str) -> list[list[str]] | None:
    """The commands of a cell that holds nothing else, or None."""
    lines = [line.strip() for line in code.splitlines() if line.strip()]
    if not lines:
        return None
    parsed = []
    for line in lines:
        words = _asked_about(line) or _words(line)
        if words is None:
            return None
        parsed.append(words)
    return parsed


def _asked_about(line: str) -> list[str] | None:
    """``%undo?``, ``?%undo`` and the like."""
    asked = line.strip("?").strip()
    if asked == line:
        return None
    if asked == "%%sandbox":
        return ["help", "sandbox"]  # as they ask in a notebook of the ordinary kernel
    name = _name(asked)
    return None if name is None or asked != f"%{name}" else ["help", name]


def _words(line: str) -> list[str] | None:
    """The command that a line is, with its arguments."""
    name = _name(line)
    if name is None or name not in COMMANDS:
        return None
    rest = line[1 + len(name) :]
    if name == "save" and len(rest.split()) > 1:
        # IPython has a %save too, which takes a file and a range of cells.
        return None
    try:
        return [name, *shlex.split(rest)]
    except ValueError as error:
        raise CommandError(f"%{name}: {error}") from error


def _name(line: str) -> str | None:
    """The command whose name a line begins with."""
    word = line.split(maxsplit=1)[0] if line else ""
    name = word[1:]
    return name if word.startswith("%") and (name in COMMANDS or name == "sandbox") else None


def name_at(code: str, cursor: int) -> str | None:
    """The command of the line at a place of the code, for the tooltip."""
    begin = code.rfind("\n", 0, cursor) + 1
    line = code[begin:].partition("\n")[0]
    return _name(line.strip().strip("?"))


def run(host: Host, words: list[str]) -> Output:
    """Run one command."""
    name, *arguments = words
    if name == "help":
        return _text(help_text(arguments[0]))
    command = COMMANDS[name]
    if not command.takes[0] <= len(arguments) <= command.takes[1]:
        raise CommandError(f"usage: {host.usage(name)}")
    return command.call(host, arguments)


def help_text(name: str) -> str:
    """What ``%NAME?`` and the completer show."""
    if name in COMMANDS:
        return f"{COMMANDS[name].usage}\n\n{COMMANDS[name].summary}"
    rows = [f"  {command.usage:<34}{command.summary}" for command in COMMANDS.values()]
    return (
        "Commands for the sandbox around this notebook. A cell that holds only such lines goes to "
        "the host;\neverything else runs in the sandbox.\n\n" + "\n".join(rows)
    )


def matches(prefix: str) -> list[str]:
    """Commands that begin like this, for the completer."""
    return [f"%{name}" for name in COMMANDS if f"%{name}".startswith(prefix)]


def _text(text: str) -> Output:
    # Names in it may come from a notebook that nobody has read.
    return {"text/plain": sanitize_text(text)}


def _undo(host: Host, arguments: list[str]) -> Output:
    asked = arguments[0] if arguments else "1"
    # Nobody has run a thousand million cells, and int() refuses numbers of thousands of digits.
    if not asked.isdecimal() or len(asked) > 9:
        raise CommandError(f"usage: {host.usage('undo')}")
    count = int(asked)
    failed = host.session.undo(count)
    what = "the last cell was" if count == 1 else f"the last {count} cells were"
    return _text(f"{what} undone{_failures(failed)}; {host.session.undo_depth} more can be")


def _failures(failed: list[str]) -> str:
    return f" (not put back: {some_of(failed)})" if failed else ""


def _checkpoint(host: Host, arguments: list[str]) -> Output:
    (name,) = arguments
    host.session.checkpoint(name)
    way_back = f"{host.prefix}restore {shlex.quote(name)}"
    return _text(f"checkpoint {name!r} set; come back with {way_back}")


def _restore(host: Host, arguments: list[str]) -> Output:
    (name,) = arguments
    failed = host.session.restore(name)
    return _text(f"back at checkpoint {name!r}{_failures(failed)}")


def _checkpoints(host: Host, _: list[str]) -> Output:
    names = host.session.checkpoints()
    return _text(
        "\n".join(names)
        if names
        else f"there are no checkpoints; set one: {host.usage('checkpoint')}"
    )


def _saved_path(host: Host, name: str) -> Path:
    """Where a session is parked: in the workspace, the one folder that a notebook may write."""
    if not name or name in (".", "..") or "/" in name or "\\" in name:
        raise CommandError("give a plain file name; the session is parked in the workspace")
    path = host.session.workspace / name
    return path if path.suffix == ".session" else path.with_name(name + ".session")


def _save(host: Host, arguments: list[str]) -> Output:
    path = _saved_path(host, arguments[0])
    _require_room(host.session, path.name)
    size = host.session.save(path)
    return _text(
        f"the session is parked in {path.name} ({format_bytes(size)}); "
        f"{host.prefix}resume {shlex.quote(path.name)}"
    )


def _require_room(session: Session, name: str) -> None:
    """A line of a notebook may not fill the disk either; what it writes is compressed later."""
    policy = session.policy
    with Workspace(session.workspace) as workspace:
        used, replaced = workspace.usage(), workspace.lstat(name)
    size = used.size + session.committed_pages * PAGE - (replaced.st_size if replaced else 0)
    if size > policy.workspace_max_bytes:
        raise CommandError(
            f"the workspace may hold {format_bytes(policy.workspace_max_bytes)}, and with this "
            f"session it could be {format_bytes(size)}: remove files or raise workspace_max_bytes"
        )
    if replaced is None and used.entries >= policy.workspace_max_files:
        raise CommandError(
            f"the workspace may hold {policy.workspace_max_files:,} files, and it does: "
            "remove some or raise workspace_max_files"
        )


def _resume(host: Host, arguments: list[str]) -> Output:
    path = _saved_path(host, arguments[0])
    session = Session.load(path, policy=host.session.policy, workspace=host.settings.workspace)
    host.replace_session(session)
    return _text(f"the session goes on where {path.name} was saved")


def _policy(host: Host, arguments: list[str]) -> Output:
    if arguments:
        changes = dict(_setting(argument) for argument in arguments)
        asked = host.session.policy.replace(**changes)
        allowed = within_ceiling(asked, host.settings.ceiling)
        if allowed != asked:
            names = [n for n in changes if getattr(asked, n) != getattr(allowed, n)]
            limits = ", ".join(f"{n}={_written(host.settings.ceiling, n)}" for n in names)
            raise CommandError(f"this kernel was installed with a ceiling: {limits}")
        host.session.change_policy(asked)
    return _text(describe_policy(host.session.policy))


def _setting(argument: str) -> tuple[str, Any]:
    name, equals, value = argument.partition("=")
    unit = _SETTABLE.get(name)
    if not equals or unit is None:
        raise CommandError(f"{argument!r}: give FIELD=VALUE with one of {', '.join(_SETTABLE)}")
    try:
        return name, unit.read(value)
    except ValueError as error:
        raise CommandError(f"{name}: {error}") from error


def _read_timeout(text: str) -> float | None:
    return None if text.lower() in ("none", "off", "0") else parse_seconds(text)


def _write_timeout(seconds: float | None) -> str:
    return "none" if seconds is None else write_seconds(seconds)


@dataclass(frozen=True)
class _Unit:
    """How the values of a field are typed, and shown so that they can be typed again."""

    read: Callable[[str], Any]
    write: Callable[[Any], str]


_BYTES = _Unit(parse_bytes, write_bytes)
_COUNT = _Unit(parse_fuel, write_fuel)
_TIMEOUT = _Unit(_read_timeout, _write_timeout)
_SETTABLE: dict[str, _Unit] = {
    "fuel_budget": _COUNT,
    "memory_bytes": _BYTES,
    "timeout_seconds": _TIMEOUT,
    "stdout_max_bytes": _BYTES,
    "stderr_max_bytes": _BYTES,
    "display_max_bytes": _BYTES,
    "display_max_count": _COUNT,
    "workspace_max_bytes": _BYTES,
    "workspace_max_files": _COUNT,
}


def describe_policy(policy: ExecutionPolicy) -> str:
    """The limits that a person may want to change, a line each."""
    return "\n".join(f"{name:<22}{_written(policy, name)}" for name in _SETTABLE)


def _written(policy: ExecutionPolicy, name: str) -> str:
    return _SETTABLE[name].write(getattr(policy, name))


def _files(host: Host, arguments: list[str]) -> Output:
    if arguments:
        return preview(host.session.workspace, arguments[0], html=host.session.policy.html)
    return table_of_files(host.session.workspace)


def _metrics(host: Host, arguments: list[str]) -> Output:
    (mode,) = arguments
    if mode not in METRICS_MODES:
        raise CommandError(f"usage: {host.usage('metrics')}")
    host.metrics = mode
    return _text(f"metrics: {mode}")


@dataclass(frozen=True)
class Command:
    """One command: how it is called and what it does."""

    usage: str
    summary: str
    call: Callable[[Host, list[str]], Output]
    takes: tuple[int, int]
    """The least and the largest number of its arguments."""


COMMANDS: dict[str, Command] = {
    "undo": Command("%undo [N]", "take back the last cell, or the last N", _undo, (0, 1)),
    "checkpoint": Command("%checkpoint NAME", "give the present state a name", _checkpoint, (1, 1)),
    "restore": Command("%restore NAME", "go back to a checkpoint", _restore, (1, 1)),
    "checkpoints": Command("%checkpoints", "list the checkpoints", _checkpoints, (0, 0)),
    "save": Command("%save FILE", "park the session in a file of the workspace", _save, (1, 1)),
    "resume": Command("%resume FILE", "go on with a parked session", _resume, (1, 1)),
    "policy": Command(
        "%policy [FIELD=VALUE ...]", "show or change the limits", _policy, (0, len(_SETTABLE))
    ),
    "files": Command("%files [NAME]", "list the workspace, or preview one file", _files, (0, 1)),
    "metrics": Command(
        f"%metrics {'|'.join(METRICS_MODES)}", "the line after each cell", _metrics, (1, 1)
    ),
}
