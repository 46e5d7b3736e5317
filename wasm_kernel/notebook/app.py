"""The process around the kernel: its threads and its end.

ipykernel's own application is made for a kernel that runs IPython in its process, and imports all
of it, which took half of this kernel's start. The threads are ipykernel's.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
from collections.abc import Callable
from typing import Any

import zmq
from ipykernel.control import ControlThread
from ipykernel.heartbeat import Heartbeat
from ipykernel.iostream import IOPubThread
from ipykernel.kernelbase import Kernel
from ipykernel.shellchannel import ShellChannelThread
from jupyter_client.session import Session
from tornado.ioloop import IOLoop
from zmq.eventloop.zmqstream import ZMQStream

from wasm_kernel.notebook.arguments import KERNEL_LOGGER_NAME
from wasm_kernel.notebook.channels import Channels
from wasm_kernel.notebook.connection import Connection

log = logging.getLogger(KERNEL_LOGGER_NAME)


class PublishingThread(IOPubThread):  # type: ignore[misc]
    """Greets whoever has just subscribed before it sends what waits to be published.

    A start that takes long gives everybody the time for that; this one has to see to it.
    """

    def _handle_event(self, message: Any) -> None:
        subscriptions = getattr(self, "_xpub_stream", None)
        if subscriptions is not None:
            subscriptions.flush(zmq.POLLIN)
        super()._handle_event(message)


class _Beat(Heartbeat):  # type: ignore[misc]
    """Answers where the kernel was told to, on what listens there if something does."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        place = (connection.transport, connection.ip, connection.ports["hb_port"])
        curve = connection.curve
        keys = {} if curve is None else {"curve_publickey": curve[0], "curve_secretkey": curve[1]}
        # A context of its own: what frees messages of the other one may wait for Python's lock.
        super().__init__(zmq.Context(), place, **keys)
        connection.ports["hb_port"] = self.port

    def _try_bind_socket(self) -> None:
        self._connection.listen(self.socket, "hb_port")


class KernelProcess:
    """A kernel that serves its channels."""

    def __init__(
        self,
        kernel_class: type[Kernel],
        channels: Channels,
        when_ready: Callable[[], None] | None = None,
    ) -> None:
        """``when_ready`` is called once the kernel has a session, on a thread."""
        self.channels = channels
        self._when_ready = when_ready
        connection = channels.connection
        # After the exit has waited for the thread of a cell, which may send to the very end.
        atexit.register(self._close)
        self.session = Session(key=connection.key, signature_scheme=connection.signature_scheme)
        self.iopub_thread = PublishingThread(channels.iopub, session=self.session)
        self.iopub_thread.start()
        self.heartbeat = _Beat(connection)
        self.heartbeat.start()
        channels.say_where()
        self.control_thread = ControlThread(daemon=True)
        self.shell_thread = ShellChannelThread(channels.context, daemon=True)
        self.kernel = self._make(kernel_class)

    def _make(self, kernel_class: type[Kernel]) -> Kernel:
        shell_stream = ZMQStream(self.channels.shell, self.shell_thread.io_loop)
        # Newer threads answer for a subshell by the stream: two writers on one socket would wedge.
        self.shell_thread.shell_stream = shell_stream
        control_stream = ZMQStream(self.channels.control, self.control_thread.io_loop)
        self.control_thread.start()
        self.shell_thread.start()
        kernel = kernel_class.instance(
            session=self.session,
            control_stream=control_stream,
            shell_stream=shell_stream,
            control_thread=self.control_thread,
            shell_channel_thread=self.shell_thread,
            iopub_thread=self.iopub_thread,
            iopub_socket=self.iopub_thread.background_socket,
            stdin_socket=self.channels.stdin,
            opened=self.channels.opened,
            when_ready=self._when_ready,
            log=log,
        )
        kernel.record_ports(self.channels.connection.ports)
        return kernel

    def run(self) -> None:
        """Serve until the end; then end the threads that publish before the one that sends.

        At the exit of the process iopub would be the first to end. The control thread, which has
        just answered a shutdown request, would then wait ten seconds for its output to be
        flushed, or send on a socket that is being closed: libzmq aborts for that.
        """
        self._follow_parent()
        self.kernel.start()
        IOLoop.current().start()
        self.kernel.end()
        for thread in (self.control_thread, self.shell_thread):
            thread.stop()
            thread.join()

    def _follow_parent(self) -> None:
        """End with the process that started this one, as Jupyter's variables name it."""
        parent = int(os.environ.get("JPY_PARENT_PID") or 0)
        if sys.platform == "win32":
            from ipykernel.parentpoller import ParentPollerWindows

            event = int(os.environ.get("JPY_INTERRUPT_EVENT") or 0)
            if event or parent:
                ParentPollerWindows(event, parent).start()
        elif parent > 1:  # init never ends, and is the parent of every orphan
            from ipykernel.parentpoller import ParentPollerUnix

            ParentPollerUnix(parent_pid=parent).start()

    def _close(self) -> None:
        self.heartbeat.context.term()
        self.iopub_thread.stop()
        self.iopub_thread.close()
        self.channels.close()
