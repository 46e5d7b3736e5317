"""Jupyter kernels, ours and ipykernel, driven by one and the same client.

Runs in the native environment. Sockets are read directly, without the client's event loop, so
that what is measured is the kernel.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from pathlib import Path
from socket import socket as plain_socket
from typing import Any

import left
import protocol
import usage
import zmq
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager
from protocol import Answer, Request, Unsupported

START_SECONDS = 120.0
CELL_SECONDS = 120.0
SCRATCH = tempfile.TemporaryDirectory(prefix="kernels-bench-")


class Kernel:
    """One kernel process and the two sockets that a cell needs."""

    def __init__(
        self,
        argv: list[str],
        env: dict[str, str],
        *,
        provisioner: str = "local-provisioner",
        patient: bool = False,
    ) -> None:
        """``patient``: connect when the kernel listens; zmq tries again only after 100 ms."""
        folder = Path(tempfile.mkdtemp(dir=SCRATCH.name))
        spec = folder / "specs" / "bench"
        spec.mkdir(parents=True)
        (spec / "kernel.json").write_text(
            json.dumps(
                {
                    "argv": argv,
                    "display_name": "bench",
                    "language": "python",
                    "env": env,
                    "metadata": {"kernel_provisioner": {"provisioner_name": provisioner}},
                }
            )
        )
        specs = KernelSpecManager(kernel_dirs=[str(folder / "specs")], ensure_native_kernel=False)
        self.manager = KernelManager(kernel_name="bench", kernel_spec_manager=specs)
        self.manager.start_kernel(cwd=str(folder))
        if patient:
            self._until_it_listens()
        self._shell = self.manager.connect_shell()
        self._iopub = self.manager.connect_iopub()
        self._poller = zmq.Poller()
        self._poller.register(self._shell, zmq.POLLIN)
        self._poller.register(self._iopub, zmq.POLLIN)

    def _until_it_listens(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        for port in (self.manager.shell_port, self.manager.iopub_port):
            while time.monotonic() < deadline:
                with plain_socket() as probe:
                    if probe.connect_ex((self.manager.ip, port)) == 0:
                        break
                time.sleep(0.001)

    @property
    def pid(self) -> int:
        """The process of the kernel."""
        return int(self.manager.provisioner.process.pid)

    def wait_ready(self) -> None:
        """Until the kernel answers and its published messages arrive, as front ends wait."""
        deadline = time.monotonic() + START_SECONDS
        has_reply = has_published = False
        ask_again = 0.0
        while not (has_reply and has_published):
            now = time.monotonic()
            if now > deadline or self.manager.provisioner.process.poll() is not None:
                raise RuntimeError("the kernel did not come up")
            if ask_again == 0.0 or (has_reply and now > ask_again):
                # A subscriber that connects late misses what was published before.
                self.manager.session.send(self._shell, "kernel_info_request")
                ask_again = now + 0.05
            for kind, message in self._messages(0.02):
                has_reply |= kind == "shell" and message["msg_type"] == "kernel_info_reply"
                has_published |= kind == "iopub"

    def run(self, code: str) -> Answer:
        """Run a cell until both its reply and idle are there; when, and what it showed."""
        started = time.perf_counter()
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
        content |= {"user_expressions": {}, "stop_on_error": True}
        sent = self.manager.session.send(self._shell, "execute_request", content)
        own, shown = sent["header"]["msg_id"], []
        reply: dict[str, Any] = {}
        times = {"sent": started}
        deadline = time.monotonic() + CELL_SECONDS
        while "reply" not in times or "idle" not in times:
            if time.monotonic() > deadline:
                raise TimeoutError("the cell did not end")
            for kind, message in self._messages(1.0):
                if message["parent_header"].get("msg_id") != own:
                    continue
                body = message["content"]
                if kind == "shell":
                    reply, times["reply"] = body, time.perf_counter()
                elif message["msg_type"] == "status":
                    times[body["execution_state"]] = time.perf_counter()
                elif message["msg_type"] == "stream":
                    shown.append(body["text"])
                elif "data" in body:
                    shown.append(body["data"].get("text/plain", ""))
            if self.manager.provisioner.process.poll() is not None:
                raise RuntimeError("the kernel process ended")
        ms = (time.perf_counter() - started) * 1000
        if reply["status"] != "ok":
            raise RuntimeError(f"{reply.get('ename')}: {reply.get('evalue')}"[:300])
        return {"ms": ms, "out": "".join(shown), "times": times}

    def _messages(self, seconds: float) -> list[tuple[str, dict[str, Any]]]:
        found = []
        for socket, _ in self._poller.poll(int(seconds * 1000)):
            _, message = self.manager.session.recv(socket, mode=zmq.NOBLOCK)
            if message is not None:
                found.append(("shell" if socket is self._shell else "iopub", message))
        return found

    def close(self) -> None:
        """End the kernel process and the sockets."""
        for socket in (self._shell, self._iopub):
            socket.close(linger=0)
        with contextlib.suppress(Exception):
            self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()


class Kernels:
    """The state of this worker: kernels that are kept, by name."""

    def __init__(self) -> None:
        self._kept: dict[str, Kernel] = {}

    def hello(self, _: Request) -> Answer:
        """Versions."""
        from importlib.metadata import version

        names = ("ipykernel", "ipython", "jupyter_client", "numpy", "pandas")
        return {"versions": {name: version(name) for name in names}}

    def start(self, request: Request) -> Answer:
        """From nothing to the result of a first cell; the kernel ends afterwards, unmeasured.

        With ``spare`` it is one that a server starts later on: a process waits for it.
        """
        if not request["spare"]:
            return self._start(request, {"WASM_KERNEL_SPARE": "off"})
        while not _has_spare():
            self._start(request, {})
        answer = self._start(request, {})
        # The next one loads now, and not beside whatever is measured next.
        _has_spare()
        return answer

    def _start(self, request: Request, env: dict[str, str]) -> Answer:
        started = time.perf_counter()
        kernel = Kernel(
            request["argv"],
            env,
            provisioner=request["provisioner"],
            patient=request["patient"],
        )
        try:
            kernel.wait_ready()
            ready = (time.perf_counter() - started) * 1000
            out = kernel.run(request["code"])["out"]
            ms = (time.perf_counter() - started) * 1000
        finally:
            kernel.close()
        return {"ms": ms, "ready_ms": ready, "out": out}

    def open(self, request: Request) -> Answer:
        """A kernel that is kept."""

        def make() -> str:
            self.close(request)
            kernel = self._kept[request["name"]] = Kernel(request["argv"], request.get("env", {}))
            kernel.wait_ready()
            return str(kernel.run("print(1+1)")["out"])

        return protocol.timed_text(make)

    def cell(self, request: Request) -> Answer:
        """A cell of a kept kernel."""
        return self._kept[request["name"]].run(request["code"])

    def memory(self, request: Request) -> Answer:
        """What the process of a kept kernel holds for itself."""
        pid = self._kept[request["name"]].pid
        return {"bytes": usage.private_bytes(pid), "share": usage.proportional_bytes(pid)}

    def close(self, request: Request) -> Answer:
        """End a kept kernel."""
        kernel = self._kept.pop(request["name"], None)
        if kernel is not None:
            kernel.close()
        return {}

    def left(self, request: Request) -> Answer:
        """What a limit leaves of ipykernel's session."""
        return left.ask(_Limited(request["argv"]), request["limit"])

    def close_all(self) -> None:
        """End every kernel of this worker."""
        for name in list(self._kept):
            self.close({"name": name})


def _has_spare() -> bool:
    """Whether a process waits for the next kernel; returns when it has loaded everything."""
    from wasm_kernel.notebook.spare import DELAY_SECONDS, spares

    deadline = time.monotonic() + 4 * DELAY_SECONDS
    while spares.waiting is None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    while spares.waiting is not None and not usage.is_at_rest(spares.waiting.pid):
        pass
    return spares.waiting is not None


class _Limited:
    """ipykernel has no limits; what there is, is an interrupt from outside."""

    def __init__(self, argv: list[str]) -> None:
        self._argv = argv
        self._kernel: Kernel | None = None

    def open(self, limit: str) -> None:
        if limit in ("fuel", "memory", "time"):
            raise Unsupported("no such limit: whoever runs it has to interrupt or kill it")
        self._kernel = Kernel(self._argv, {})
        self._kernel.wait_ready()

    def cell(self, code: str) -> str:
        assert self._kernel is not None
        return str(self._kernel.run(code)["out"])

    def hit(self, limit: str, code: str) -> None:
        import threading

        assert self._kernel is not None
        if limit == "interrupt":
            threading.Timer(0.5, self._kernel.manager.interrupt_kernel).start()
        self._kernel.run(code)

    def close(self) -> None:
        if self._kernel is not None:
            self._kernel.close()


if __name__ == "__main__":
    os.environ.setdefault("JUPYTER_RUNTIME_DIR", SCRATCH.name)
    kernels = Kernels()
    names = ("hello", "start", "open", "cell", "memory", "close", "left")
    try:
        protocol.serve({name: getattr(kernels, name) for name in names}, {})
    finally:
        kernels.close_all()
        SCRATCH.cleanup()
