"""Real kernels for the tests: a kernelspec in a folder of its own, kernels that get shut down."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from wasm_kernel.notebook.connection import PORTS
from wasm_kernel.notebook.install import KERNEL_NAME

GUARD_SECONDS = 120.0
"""Nothing here needs a tenth of it; a test that waits so long has found a hang."""

ATTEMPTS = 3

Message = dict[str, Any]

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def without_colours(text: str) -> str:
    """A traceback as a person reads it."""
    return _COLOURS.sub("", text)


@dataclass
class Cell:
    """A request that was answered: its reply and everything published for it, in order."""

    reply: Message
    messages: list[Message]

    @property
    def content(self) -> dict[str, Any]:
        """The content of the reply."""
        content: dict[str, Any] = self.reply["content"]
        return content

    @property
    def status(self) -> str:
        """``ok``, ``error`` or ``aborted``."""
        return str(self.content["status"])

    @property
    def metadata(self) -> dict[str, Any]:
        """The numbers of the sandbox in the reply's metadata."""
        numbers: dict[str, Any] = self.reply["metadata"]["wasm_kernel"]
        return numbers

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The contents of the messages of one type."""
        return [m["content"] for m in self.messages if m["msg_type"] == kind]

    @property
    def kinds(self) -> list[str]:
        """The types of its messages, without the frame that every request has."""
        frame = ("status", "execute_input")
        return [m["msg_type"] for m in self.messages if m["msg_type"] not in frame]

    def stream(self, name: str) -> str:
        """What it wrote to one stream."""
        return "".join(c["text"] for c in self.of("stream") if c["name"] == name)

    @property
    def stdout(self) -> str:
        """What it printed."""
        return self.stream("stdout")

    @property
    def stderr(self) -> str:
        """What it wrote to stderr."""
        return self.stream("stderr")

    @property
    def result(self) -> str:
        """The text of its value."""
        (content,) = self.of("execute_result")
        return str(content["data"]["text/plain"])

    @property
    def shown(self) -> str:
        """The texts of its displays, one below the other."""
        return "\n".join(c["data"].get("text/plain", "") for c in self.of("display_data"))

    @property
    def error(self) -> dict[str, Any]:
        """Its error, which the reply must agree with."""
        (content,) = self.of("error")
        for field in ("ename", "evalue", "traceback"):
            assert content[field] == self.content[field]
        return content

    @property
    def traceback(self) -> str:
        """The traceback without its colours."""
        return without_colours("\n".join(self.error["traceback"]))


class Pending:
    """A request under way."""

    def __init__(self, kernel: Kernel, msg_id: str) -> None:
        self._kernel = kernel
        self.msg_id = msg_id

    def until(self, kind: str, text: str = "") -> Message:
        """Wait for a message of a type (that holds a text) published for this request."""
        deadline = time.monotonic() + GUARD_SECONDS
        seen = 0
        while True:
            messages = self._kernel.published[self.msg_id]
            for message in messages[seen:]:
                if message["msg_type"] == kind and text in str(message["content"]):
                    return message
            seen = len(messages)
            self._kernel.read_iopub(deadline, f"no {kind} message with {text!r} came")

    def finish(self) -> Cell:
        """Wait for the reply and for the end of its outputs."""
        reply = self._kernel.reply(self.msg_id)
        self._until_idle()
        return Cell(reply, self._kernel.published.pop(self.msg_id))

    def _until_idle(self) -> None:
        deadline = time.monotonic() + GUARD_SECONDS
        while not any(
            m["msg_type"] == "status" and m["content"]["execution_state"] == "idle"
            for m in self._kernel.published[self.msg_id]
        ):
            self._kernel.read_iopub(deadline, "the kernel never became idle again")


class Kernel:
    """A kernel process and a client of it; whoever makes it closes it."""

    def __init__(self, folder: Path, name: str = KERNEL_NAME, **env: str) -> None:
        self.folder = folder
        # A kernel that is killed leaves its temporary files: they belong to the test run then.
        temporary = {"TMPDIR": os.environ["JUPYTER_RUNTIME_DIR"]}
        for attempt in range(ATTEMPTS):
            self.manager = KernelManager(kernel_name=name)
            self.manager.start_kernel(cwd=str(folder), env={**os.environ, **temporary, **env})
            try:
                self._connect()
                return
            except RuntimeError:
                if attempt == ATTEMPTS - 1 or not self._has_lost_a_port():
                    raise

    def _has_lost_a_port(self) -> bool:
        """Whether the kernel is dead and somebody else listens on one of its ports.

        The manager chooses them before the kernel has them, beside other test runs.
        """
        places = [(self.manager.ip, getattr(self.manager, port)) for port in PORTS]
        for place in () if self.is_alive else places:
            with socket.socket() as probe:
                if probe.connect_ex(place) == 0:
                    return True
        return False

    def _connect(self) -> None:
        # The numbers of messages begin anew with each client.
        self.published: dict[str, list[Message]] = defaultdict(list)
        self._replies: dict[str, Message] = {}
        self.client: BlockingKernelClient = self.manager.client()
        self.client.start_channels()
        try:
            self.client.wait_for_ready(timeout=GUARD_SECONDS)
        except BaseException:
            self.close()
            raise

    # Requests of the shell channel.

    def start(self, code: str, **options: Any) -> Pending:
        """Send a cell and do not wait for it; ``metadata`` goes into the request."""
        metadata = options.pop("metadata", None)
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": True,
            **options,
        }
        return self.send("execute_request", content, metadata=metadata)

    def run(self, code: str, **options: Any) -> Cell:
        """Run a cell to its end."""
        return self.start(code, **options).finish()

    def value(self, code: str) -> str:
        """The text of an expression's value."""
        cell = self.run(code)
        assert cell.status == "ok", cell.content
        return cell.result

    def send(self, kind: str, content: dict[str, Any], **extra: Any) -> Pending:
        """Send any request on the shell channel; ``subshell_id`` goes into its header."""
        message = self.client.session.msg(kind, content, metadata=extra.get("metadata"))
        if "subshell_id" in extra:
            message["header"]["subshell_id"] = extra["subshell_id"]
        self.client.shell_channel.send(message)
        return Pending(self, message["header"]["msg_id"])

    def ask(self, kind: str, **content: Any) -> dict[str, Any]:
        """Send a request that is no cell; the content of its reply."""
        return self.send(kind, content).finish().content

    def complete(self, code: str, cursor: int | None = None) -> dict[str, Any]:
        """The reply to a completion request."""
        place = len(code) if cursor is None else cursor
        return self.ask("complete_request", code=code, cursor_pos=place)

    def inspect(self, code: str, detail: int = 0) -> dict[str, Any]:
        """The reply to an inspection request."""
        return self.ask("inspect_request", code=code, cursor_pos=len(code), detail_level=detail)

    # The other channels.

    def control(self, kind: str, **content: Any) -> dict[str, Any]:
        """Send a request on the control channel; the content of its reply."""
        message = self.client.session.msg(kind, content)
        self.client.control_channel.send(message)
        while True:
            reply = self.client.get_control_msg(timeout=GUARD_SECONDS)
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                answer: dict[str, Any] = reply["content"]
                return answer

    def interrupt(self) -> None:
        """What the ■ button does."""
        assert self.control("interrupt_request") == {"status": "ok"}

    def question(self) -> dict[str, Any]:
        """Wait for a cell to ask for input."""
        message = self.client.get_stdin_msg(timeout=GUARD_SECONDS)
        assert message["msg_type"] == "input_request"
        content: dict[str, Any] = message["content"]
        return content

    def answer(self, text: str) -> None:
        """Answer the question."""
        self.client.input(text)

    def reply(self, msg_id: str) -> Message:
        """The reply to a request; others that come first are kept."""
        deadline = time.monotonic() + GUARD_SECONDS
        while msg_id not in self._replies:
            left = max(deadline - time.monotonic(), 0.0)
            try:
                message = self.client.get_shell_msg(timeout=left)
            except Empty:
                pytest.fail("the reply never came")
            self._replies[message["parent_header"].get("msg_id", "")] = message
        return self._replies.pop(msg_id)

    def read_iopub(self, deadline: float, otherwise: str) -> None:
        """Take in one published message."""
        try:
            left = max(deadline - time.monotonic(), 0.0)
            message = self.client.get_iopub_msg(timeout=left)
        except Empty:
            pytest.fail(otherwise)
        self.published[message["parent_header"].get("msg_id", "")].append(message)

    # Its life.

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return bool(self.manager.is_alive())

    @property
    def pid(self) -> int:
        """The kernel's process."""
        return int(self.control("usage_request")["pid"])

    def until_dead(self) -> None:
        """Wait until the process has ended."""
        process = self.manager.provisioner.process
        process.wait(timeout=GUARD_SECONDS)
        assert not self.is_alive

    def restart(self) -> None:
        """What the ⟳ button does."""
        self.client.stop_channels()
        self.manager.restart_kernel()
        self._connect()

    def close(self, *, now: bool = False) -> None:
        """End it: as a front end does, or at once."""
        with contextlib.suppress(RuntimeError):
            self.client.stop_channels()
        self.manager.shutdown_kernel(now=now or not self.is_alive)


MakeKernel = Callable[..., Kernel]


@pytest.fixture
def make_kernel(jupyter: Path, tmp_path: Path) -> Iterator[MakeKernel]:
    """``make_kernel(**env)``: a kernel in the test's folder, ended at once with the test."""
    made: list[Kernel] = []

    def make(folder: Path = tmp_path, name: str = KERNEL_NAME, **env: str) -> Kernel:
        kernel = Kernel(folder, name, **env)
        made.append(kernel)
        return kernel

    yield make
    for kernel in made:
        kernel.close(now=True)


@pytest.fixture(scope="module")
def kernel(jupyter: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """One kernel for all tests of a module that leave nothing behind that others see."""
    started = Kernel(tmp_path_factory.mktemp("notebook"))
    yield started
    started.close()
