"""A kernel process that is started before anybody asks for it, in the server's process.

Most of a start is Python's imports, which are the same for every kernel of a server. A server that
has started one kernel will start another: from then on one process waits with everything imported
and the runtime loaded, and is told its connection file when it is needed. It ends with the server,
or after a while in which nobody needed it. ``waiting`` is what runs in that process.
"""

from __future__ import annotations

import atexit
import json
import os
import site
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jupyter_client.launcher import launch_kernel

from wasm_kernel.core.data import dataclass
from wasm_kernel.notebook.arguments import SPARE_OPTION
from wasm_kernel.notebook.settings import ENV_SPARE
from wasm_kernel.notebook.waiting import LATE_NAMES, LATE_PREFIX

MODULE = ("-m", "wasm_kernel.notebook")

SERVER_MODULE = "jupyter_server.serverapp"
LAUNCHES_OF_A_SERVER = 1
LAUNCHES_OF_A_TOOL = 2
"""After how many kernels a process is taken to need more: nbconvert and papermill start one."""

DELAY_SECONDS = 0.5
"""How long the kernel that was just started has the machine for itself."""

END_SECONDS = 10.0
"""A process that is not needed ends by itself, when it has loaded what it was loading."""


@dataclass(frozen=True)
class Launch:
    """How a kernel process is to be started."""

    command: tuple[str, ...]
    """Up to the module; what follows are its arguments."""
    arguments: tuple[str, ...]
    cwd: str
    env: dict[str, str]

    @classmethod
    def of(cls, cmd: Sequence[str], options: Mapping[str, Any]) -> Launch | None:
        """A launch that a spare could do instead; None where it is an unusual one."""
        named = {name for name, value in options.items() if value} - {"env", "cwd", "kernel_id"}
        env = options.get("env") or os.environ
        place = next((n for n in range(len(cmd)) if tuple(cmd[n : n + 2]) == MODULE), None)
        if place is None or named or env.get(ENV_SPARE) == "off" or os.name != "posix":
            return None
        cwd = str(options.get("cwd") or Path.cwd())
        return cls(tuple(cmd[: place + 2]), tuple(cmd[place + 2 :]), cwd, dict(env))

    @property
    def early(self) -> dict[str, str]:
        """The variables that a process has from its start."""
        return {name: value for name, value in self.env.items() if not _is_late(name)}

    @property
    def late(self) -> dict[str, str]:
        """The variables that nothing reads before the launch.

        Whose child it is, it knows: here a server can have what its own parent told it.
        """
        return {
            name: value
            for name, value in self.env.items()
            if _is_late(name) and name != "JPY_PARENT_PID"
        }


def _is_late(name: str) -> bool:
    return name in LATE_NAMES or name.startswith(LATE_PREFIX)


def installed() -> tuple[int, ...]:
    """What tells whether a process would import the same code again."""
    package = Path(__file__).parents[1]
    newest = max(file.stat().st_mtime_ns for file in package.rglob("*.py"))
    folders = map(Path, [*site.getsitepackages(), site.getusersitepackages()])
    return newest, *(folder.stat().st_mtime_ns for folder in folders if folder.is_dir())


class Spare:
    """One process that waits. Whoever makes it takes it or closes it."""

    def __init__(self, launch: Launch) -> None:
        self._key = self._key_of(launch)
        ours, theirs = socket.socketpair()
        self._orders = ours
        with theirs:
            command = [*launch.command, SPARE_OPTION, str(theirs.fileno())]
            # The folder of the notebook comes later; this one can stay in use for ever.
            self.process: subprocess.Popen[bytes] = launch_kernel(
                command, env=launch.early, cwd=os.sep, pass_fds=(theirs.fileno(),)
            )

    @staticmethod
    def _key_of(launch: Launch) -> tuple[object, ...]:
        # A process that was forked from the one that started it has no say in it.
        return os.getpid(), launch.command, launch.early, installed()

    def fits(self, launch: Launch) -> bool:
        """Whether it is as a process would be that is started for this launch now."""
        return (
            self.process.poll() is None
            and self._key == self._key_of(launch)
            # It would find that out alone, where nobody can be told.
            and Path(launch.cwd).is_dir()
        )

    def take(self, launch: Launch, listeners: Mapping[str, socket.socket]) -> bool:
        """Make it the kernel of a launch; whether it is there to become one."""
        order = {
            "arguments": launch.arguments,
            "cwd": launch.cwd,
            "env": launch.late,
            "listeners": [*listeners],
        }
        descriptors = [listener.fileno() for listener in listeners.values()]
        try:
            with self._orders:
                # A few lines: the socket takes them whether or not the process reads already.
                socket.send_fds(self._orders, [json.dumps(order).encode()], descriptors)
                # The end of the order, also where a process that was forked meanwhile has a copy.
                self._orders.shutdown(socket.SHUT_WR)
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Let the process end, and wait for that; it has nothing to lose."""
        self._orders.close()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Spares:
    """The spare of this process, if there is one, and when the next one is due."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._launches = 0
        self._spare: Spare | None = None
        self._is_due = False
        atexit.register(self.close)

    def take(
        self, launch: Launch, listeners: Mapping[str, socket.socket]
    ) -> subprocess.Popen[bytes] | None:
        """The process that becomes the kernel of a launch; None where it must be started."""
        with self._lock:
            spare, self._spare = self._spare, None
        if spare is None:
            return None
        if spare.fits(launch) and spare.take(launch, listeners):
            return spare.process
        # Nobody should wait for its end.
        threading.Thread(target=spare.close, daemon=True).start()
        return None

    @property
    def waiting(self) -> subprocess.Popen[bytes] | None:
        """The process that waits, if there is one."""
        with self._lock:
            return None if self._spare is None else self._spare.process

    def launched(self, launch: Launch) -> None:
        """A kernel was started, one way or the other; the next spare is for one like it."""
        needed = LAUNCHES_OF_A_SERVER if SERVER_MODULE in sys.modules else LAUNCHES_OF_A_TOOL
        with self._lock:
            self._launches += 1
            if self._launches < needed or self._is_due:
                return
            self._is_due = True
        timer = threading.Timer(DELAY_SECONDS, self._start, [launch])
        timer.daemon = True
        timer.start()

    def _start(self, launch: Launch) -> None:
        try:
            spare = Spare(launch)
        except OSError:
            # Nothing that was asked for: whoever starts the next kernel will hear of it.
            spare = None
        with self._lock:
            self._is_due = False
            spare, self._spare = self._spare, spare
        if spare is not None:
            spare.close()

    def close(self) -> None:
        """End the spare."""
        with self._lock:
            spare, self._spare = self._spare, None
        if spare is not None:
            spare.close()


spares = Spares()
