"""The process that waits to become a kernel: ready but for what only a launch can tell it.

``spare`` starts it, in the server's process, and sends it the launch that it is for.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import tempfile

from wasm_kernel.notebook.listeners import PORTS, as_environment
from wasm_kernel.notebook.settings import ENV_DATA, ENV_METRICS, ENV_POLICY, ENV_WORKSPACE

LATE_NAMES = frozenset(
    # The last one is pytest's, and nbval's with it: another one for each test.
    {ENV_POLICY, ENV_WORKSPACE, ENV_DATA, ENV_METRICS, "PWD", "PYTEST_CURRENT_TEST"}
)
LATE_PREFIX = "JPY_"
"""Variables that are read when the kernel begins, or never: they may come with the launch."""

PATIENCE_SECONDS = 600
"""How long it waits: whoever has started no kernel for so long can wait for the next one."""

ORDER_BYTES = 65_536


def wait_for_launch(descriptor: int) -> list[str]:
    """Import everything, wait, and become what the launch says; returns its arguments."""
    load()
    with socket.socket(fileno=descriptor) as orders:
        content, listeners = receive(orders, PATIENCE_SECONDS)
    if not content:  # whoever would send it has ended, or needs another one
        sys.exit(0)
    order = json.loads(content)
    os.chdir(order["cwd"])
    os.environ.update(order["env"])
    os.environ.update(as_environment(dict(zip(order["listeners"], listeners, strict=True))))
    return list(order["arguments"])


def receive(orders: socket.socket, patience: float) -> tuple[bytes, list[int]]:
    """What is sent until the other side closes, and the descriptors with it; b"" for nothing."""
    if not select.select([orders], [], [], patience)[0]:
        # Whoever sends from here on is told that nobody listens; what came just now is read.
        orders.shutdown(socket.SHUT_RD)
    content, listeners, _, _ = socket.recv_fds(orders, ORDER_BYTES, len(PORTS))
    while more := orders.recv(ORDER_BYTES):
        content += more
    return content, listeners


def load() -> None:
    """Do once what every kernel does first; the cell's folder is thrown away."""
    from wasm_kernel.notebook.lean import import_jupyter

    import_jupyter()

    import wasm_kernel.notebook.app
    import wasm_kernel.notebook.cells
    import wasm_kernel.notebook.kernel  # noqa: F401
    from wasm_kernel.runtimes.python.prepare import is_ready
    from wasm_kernel.session import Session

    if not is_ready():  # the kernel itself will prepare it, and show its progress
        return
    with (
        tempfile.TemporaryDirectory(prefix="wasm-kernel-spare-") as folder,
        Session(workspace=folder) as session,
    ):
        session.execute("1 + 1")
