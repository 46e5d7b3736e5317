"""Sockets that listen before the kernel process is there, and how it inherits them.

zmq tries a refused connection again only after a tenth of a second, which is longer than this
kernel's whole start. Where the process that starts the kernel listens for it, the front end is
connected from the first moment, and nobody can take a port between its choice and its use.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import Any

ENV_LISTENERS = "WASM_KERNEL_LISTENERS"
"""Names the inherited descriptors: ``shell_port=5 iopub_port=6``."""

PORTS = ("shell_port", "iopub_port", "stdin_port", "control_port", "hb_port")
BACKLOG = 128


def listen(connection: Mapping[str, Any]) -> dict[str, socket.socket]:
    """Listen at the ports of a connection; the kernel itself sees to those that are not to be had.

    Only TCP: the name of a socket in the file system is free again only when it is unlinked, and
    by whom is zmq's business.
    """
    listeners: dict[str, socket.socket] = {}
    if connection.get("transport") != "tcp":
        return listeners
    for name in PORTS:
        try:
            listeners[name] = _listener(str(connection["ip"]), int(connection[name]))
        except (OSError, KeyError, ValueError):
            continue
    return listeners


def _listener(ip: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET)
    try:
        # A predecessor's connections may linger there.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setblocking(False)
        listener.bind((ip, port))
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def as_environment(descriptors: Mapping[str, int]) -> dict[str, str]:
    """The variable by which the kernel learns of what it inherits."""
    return {ENV_LISTENERS: " ".join(f"{name}={number}" for name, number in descriptors.items())}


def inherited(ports: Mapping[str, int]) -> dict[str, int]:
    """The descriptors that listen at these ports, taken over by this process alone."""
    found: dict[str, int] = {}
    for entry in os.environ.pop(ENV_LISTENERS, "").split():
        name, _, number = entry.partition("=")
        if number.isdecimal() and _listens_at(int(number), ports.get(name, 0)):
            os.set_inheritable(int(number), False)
            found[name] = int(number)
    return found


def _listens_at(descriptor: int, port: int) -> bool:
    """Whether the variable speaks of this process, and was not handed down from another one."""
    try:
        listener = socket.socket(fileno=descriptor)
    except OSError:
        return False
    try:
        is_listening = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        return bool(is_listening) and listener.getsockname()[1] == port
    except (OSError, IndexError):
        return False
    finally:
        listener.detach()
