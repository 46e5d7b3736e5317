"""The channels of a kernel, open before the kernel is there.

A front end tries to connect from the moment it has started the process, ten times a second. Its
first requests wait in the sockets while the rest is imported.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import zmq

from wasm_kernel.notebook.connection import Connection


class Channels:
    """Bound sockets, and the connection file that says where. Whoever opens them closes them."""

    def __init__(self, connection_file: str | None, ip: str) -> None:
        """Listen where a connection file says; where there is none, anywhere on ``ip``."""
        self.opened = datetime.now(UTC)
        self._is_own_file = False
        if connection_file:
            self.file = Path(connection_file)
        else:
            from jupyter_core.paths import jupyter_runtime_dir

            self.file = Path(jupyter_runtime_dir(), f"kernel-{os.getpid()}.json")
        if self.file.exists():
            self.connection = Connection.read(self.file)
        else:
            self._is_own_file = True
            self.connection = Connection.new(ip)
        self._ports_before = dict(self.connection.ports)
        self.context: zmq.Context[Any] = zmq.Context()
        self.shell = self.connection.bind(self.context, zmq.ROUTER, "shell_port")
        self.stdin = self.connection.bind(self.context, zmq.ROUTER, "stdin_port")
        self.control = self.connection.bind(self.context, zmq.ROUTER, "control_port")
        self.iopub = self.connection.bind(self.context, zmq.XPUB, "iopub_port")

    def say_where(self) -> None:
        """Write down the ports that were chosen here; a front end that chose them knows."""
        if self.connection.ports != self._ports_before:
            self.connection.write(self.file)
        if self._is_own_file:
            sys.stderr.write(
                f"To connect a client to this kernel: jupyter console --existing {self.file.name}\n"
                "It ends with `exit`, or with Ctrl-\\ here.\n"
            )

    def close(self) -> None:
        """Close the sockets that no thread owns, and take away a file of our own."""
        for socket in (self.shell, self.control, self.stdin):
            socket.close()
        self.context.term()
        if self._is_own_file:
            self.file.unlink(missing_ok=True)
