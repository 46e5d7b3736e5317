"""How a front end reaches the kernel: the connection file and the sockets that it names."""

from __future__ import annotations

import errno
import json
import os
import secrets
import time
from pathlib import Path
from typing import Any, Self

import zmq

from wasm_kernel.core.data import dataclass, field
from wasm_kernel.notebook.listeners import PORTS, inherited

LINGER_MILLISECONDS = 1000
"""How long a socket that is closed goes on sending: the last reply is the one to a shutdown."""

BUSY_SECONDS = 2.0
"""How long a port may be somebody else's: a process that is about to end, or a connection that was
given the number while nobody listened there."""


class ConnectionFileError(Exception):
    """There is no usable connection file."""


@dataclass()
class Connection:
    """What a connection file says; a port of 0 is chosen when its socket is bound."""

    transport: str = "tcp"
    ip: str = "127.0.0.1"
    key: bytes = b""
    signature_scheme: str = "hmac-sha256"
    ports: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PORTS, 0))
    curve: tuple[bytes, bytes] | None = None
    """The public and the secret key of an encrypted transport."""
    listeners: dict[str, int] = field(default_factory=dict)
    """The descriptors that listen at the ports already."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Take a connection file as the front end wrote it."""
        try:
            said = json.loads(path.read_bytes())
            made = cls(
                transport=said.get("transport", "tcp"),
                ip=said.get("ip") or "127.0.0.1",
                key=said.get("key", "").encode(),
                signature_scheme=said.get("signature_scheme", "hmac-sha256"),
                ports={name: int(said.get(name) or 0) for name in PORTS},
            )
            if said.get("curve_publickey") and said.get("curve_secretkey"):
                made.curve = said["curve_publickey"].encode(), said["curve_secretkey"].encode()
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise ConnectionFileError(
                f"the connection file {path} is not usable: {error}"
            ) from error
        made.listeners = inherited(made.ports)
        if made.transport not in ("tcp", "ipc"):
            raise ConnectionFileError(
                f"the connection file {path} names the transport {made.transport!r}; "
                "this kernel knows tcp and ipc"
            )
        return made

    @classmethod
    def new(cls, ip: str) -> Self:
        """For a kernel that nobody has made a connection file for."""
        return cls(ip=ip, key=secrets.token_hex(32).encode())

    def write(self, path: Path) -> None:
        """Say where the kernel listens, to this user only."""
        said: dict[str, Any] = {
            **self.ports,
            "transport": self.transport,
            "ip": self.ip,
            "key": self.key.decode(),
            "signature_scheme": self.signature_scheme,
            "kernel_name": "",
        }
        if self.curve is not None:
            said["curve_publickey"], said["curve_secretkey"] = (key.decode() for key in self.curve)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(said, file, indent=2)

    def bind(self, context: zmq.Context[Any], kind: int, name: str) -> zmq.Socket[Any]:
        """A socket that listens at one of the ports."""
        socket: zmq.Socket[Any] = context.socket(kind)
        socket.linger = LINGER_MILLISECONDS
        if kind == zmq.ROUTER:
            # A client that comes back under its old name takes its place.
            socket.router_handover = 1
        if self.curve is not None:
            socket.curve_publickey, socket.curve_secretkey = self.curve
            socket.curve_server = True
        try:
            self.ports[name] = self.listen(socket, name)
        except BaseException:
            socket.close()
            raise
        return socket

    def listen(self, socket: zmq.Socket[Any], name: str) -> int:
        """Let a socket have one of the ports; the port that it has."""
        listener = self.listeners.pop(name, None)
        if listener is not None:
            # zmq's from now on, and closed by it.
            socket.setsockopt(zmq.USE_FD, listener)
        return self._bind(socket, self.ports[name])

    def _bind(self, socket: zmq.Socket[Any], port: int) -> int:
        if self.transport == "tcp" and port == 0:
            return socket.bind_to_random_port(f"tcp://{self.ip}")
        if self.transport == "tcp":
            _bind_soon(socket, f"tcp://{self.ip}:{port}")
            return port
        for number in (port,) if port else range(1, 1000):
            if port or not Path(f"{self.ip}-{number}").exists():
                socket.bind(f"ipc://{self.ip}-{number}")
                return number
        raise OSError(errno.EADDRINUSE, f"no free name for a socket at {self.ip}")


def _bind_soon(socket: zmq.Socket[Any], address: str) -> None:
    """Listen at an address that was free when the front end chose it."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            socket.bind(address)
            return
        except zmq.ZMQError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
