"""The Jupyter kernel ``wasm-python``: Jupyter's words on one side, a session on the other.

The kernel process runs no line of the notebook. The shell channel waits for the session on a
worker thread, so the control channel answers at once whatever a cell does.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import traitlets
from ipykernel._version import kernel_protocol_version
from ipykernel.kernelbase import Kernel

from wasm_kernel import __version__
from wasm_kernel.core.events import ErrorEvent, InputEvent
from wasm_kernel.notebook.publish import Displays, Publisher, error_content
from wasm_kernel.notebook.sanitize import sanitize_text
from wasm_kernel.notebook.starting import Starting

if TYPE_CHECKING:
    from wasm_kernel.notebook.cells import Cells

PYTHON_VERSION = "3.15.0"
"""What the guest runs; the front end picks its highlighter and file names by it."""

TAIL_DEFAULT = 10
"""How many inputs the tail of the history has where the request does not say; IPython's number."""

SESSION_REQUESTS = (
    "execute_request",
    "complete_request",
    "inspect_request",
    "history_request",
    "is_complete_request",
)
"""What waits for the session. The base class takes these on the control channel as well, where
they would keep an interrupt waiting behind the cell that it is meant for."""

T = TypeVar("T")


class WasmKernel(Kernel):  # type: ignore[misc]
    """A kernel whose cells run in a Wasmtime guest."""

    implementation = "wasm_kernel"
    implementation_version = __version__
    banner = (
        f"wasm_kernel {__version__}: Python {PYTHON_VERSION} in a WebAssembly sandbox.\n"
        "Cells are transactions: %undo takes one back. %sandbox? shows all commands."
    )
    language_info: ClassVar[dict[str, Any]] = {
        "name": "python",
        "version": PYTHON_VERSION,
        "mimetype": "text/x-python",
        "codemirror_mode": {"name": "ipython", "version": 3},
        "pygments_lexer": "ipython3",
        "nbconvert_exporter": "python",
        "file_extension": ".py",
    }
    help_links: ClassVar[list[dict[str, str]]] = [
        {"text": "Python", "url": "https://docs.python.org/3.15/"},
        {"text": "pandas", "url": "https://pandas.pydata.org/docs/"},
        {"text": "NumPy", "url": "https://numpy.org/doc/stable/"},
        {"text": "Matplotlib", "url": "https://matplotlib.org/stable/"},
        {"text": "IPython", "url": "https://ipython.readthedocs.io/"},
    ]

    msg_types: ClassVar[list[str]] = [*Kernel.msg_types, "comm_open", "comm_msg", "comm_close"]

    # The base class waits for streams that are flushed by another thread; ours are sent by then.
    _execute_sleep = traitlets.Float(0.0)
    profile_dir = traitlets.Any(None, help="IPython's, which the base class would import")
    opened = traitlets.Instance(datetime, help="when its channels were opened")
    when_ready = traitlets.Any(None, help="called when the session is there, or None")

    def __init__(self, **options: Any) -> None:
        # An application that does not say when it opened the channels has just opened them.
        super().__init__(**{"opened": datetime.now(UTC), **options})
        self.control_handlers.update(dict.fromkeys(SESSION_REQUESTS, self._not_here))
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="wasm-kernel")
        self._displays = Displays()
        self._cells: Cells | None = None
        self._numbers: dict[str, dict[str, Any]] = {}
        # Of each cell under way whether it was interrupted, the oldest first.
        self._interruptions: list[threading.Event] = []
        self._interruption: ContextVar[threading.Event] = ContextVar("interruption")
        self._is_leaving = False
        self._starting = Starting(self._open_cells)
        self._starting.begin()

    def start(self) -> None:
        """Listen; a SIGINT, from whoever does not know our interrupt mode, is an interrupt."""
        super().start()
        self.io_loop.asyncio_loop.add_signal_handler(signal.SIGINT, self._interrupt)

    def pre_handler_hook(self) -> None:
        """The base class would let a SIGINT end the event loop while a request is served."""

    def post_handler_hook(self) -> None:
        """There is nothing to put back."""

    @property
    def kernel_info(self) -> dict[str, Any]:
        """What the front end is told; there is no debugger, whatever the host has installed."""
        return {
            "protocol_version": kernel_protocol_version,
            "implementation": self.implementation,
            "implementation_version": self.implementation_version,
            "language_info": self.language_info,
            "banner": self.banner,
            "help_links": self.help_links,
            "supported_features": ["kernel subshells"] if self._supports_kernel_subshells else [],
            "debugger": False,
        }

    # The number of the next cell is the session's: it follows undo and rollback.

    @property
    def execution_count(self) -> int:
        """The number that the front end shows for the cell that comes next."""
        return 1 if self._cells is None else self._cells.next_number

    @execution_count.setter
    def execution_count(self, _: int) -> None:
        """The base class counts requests; the session knows better."""

    # Requests of the shell channel.

    def should_handle(self, stream: Any, msg: dict[str, Any], idents: Any) -> bool:
        """Whether to serve a request: after ``exit()`` no cell is."""
        if not self._is_leaving or msg["header"]["msg_type"] != "execute_request":
            return True
        self._send_abort_reply(stream, msg, idents)
        return False

    async def execute_request(self, stream: Any, ident: Any, parent: dict[str, Any]) -> None:
        """Serve a cell; an interrupt is for it before the front end sees that it has begun."""
        interruption = threading.Event()
        self._interruption.set(interruption)
        self._interruptions.append(interruption)
        try:
            await super().execute_request(stream, ident, parent)
        finally:
            self._interruptions.remove(interruption)

    async def do_execute(
        self,
        code: str,
        silent: bool,
        store_history: bool = True,
        user_expressions: dict[str, str] | None = None,
        allow_stdin: bool = False,
        *,
        cell_meta: dict[str, Any] | None = None,
        cell_id: str | None = None,
    ) -> dict[str, Any]:
        """Run a cell; whatever happens, the kernel lives and the reply says what it was."""
        del cell_meta
        publisher = self._publisher(silent)
        msg_id = self.get_parent()["header"]["msg_id"]
        is_cancelled = self._interruption.get().is_set

        def execute() -> dict[str, Any]:
            from wasm_kernel.notebook.cells import Request

            request = Request(
                code=code,
                silent=silent,
                store_history=store_history,
                user_expressions=user_expressions or {},
                allow_stdin=allow_stdin,
                is_watched=cell_id is not None and allow_stdin,
                is_cancelled=is_cancelled,
            )
            cells = self._ready_cells(publisher, is_cancelled)
            done = cells.execute(publisher, request)
            if done.numbers is not None:
                self._numbers[msg_id] = done.numbers
            if done.wants_exit:
                self._exit_soon()
            return done.reply

        try:
            return await self._on_worker(execute)
        except Exception as error:
            # The base class would log it and send no reply: the cell would never end.
            name = "KeyboardInterrupt" if is_cancelled() else type(error).__name__
            return self._failed(publisher, name, error)

    def _failed(self, publisher: Publisher, name: str, error: Exception) -> dict[str, Any]:
        """An error of ours, shown like any other: the kernel itself is well."""
        publisher.finish()
        # Not imported at the start of every kernel for what few of them come to say.
        from wasm_kernel.core.texts import traceback_of

        first, *others = traceback_of(name, str(error))
        coloured = first.replace(name, f"\x1b[31m{name}\x1b[39m", 1)
        content = error_content(ErrorEvent(name, str(error), [coloured, *others]))
        publisher.send("error", content)
        return {"status": "error", "execution_count": self.execution_count, **content}

    async def do_complete(self, code: str, cursor_pos: int) -> dict[str, Any]:
        """Completions from jedi in the guest, and our own commands."""
        nothing = {"matches": [], "cursor_start": cursor_pos, "cursor_end": cursor_pos}
        return await self._ask(
            lambda cells: cells.complete(code, cursor_pos),
            {"status": "ok", **nothing, "metadata": {}},
        )

    async def do_inspect(
        self, code: str, cursor_pos: int, detail_level: int = 0, omit_sections: Any = ()
    ) -> dict[str, Any]:
        """What ``?`` and the tooltip show."""
        del omit_sections
        return await self._ask(
            lambda cells: cells.inspect(code, cursor_pos, detail_level),
            {"status": "ok", "found": False, "data": {}, "metadata": {}},
        )

    async def do_is_complete(self, code: str) -> dict[str, Any]:
        """Whether Enter runs the cell or begins a new line."""
        return await self._ask(lambda cells: cells.is_complete(code), {"status": "unknown"})

    async def do_history(
        self,
        hist_access_type: str,
        output: bool,
        raw: bool,
        session: int | None = None,
        start: int | None = None,
        stop: int | None = None,
        n: int | None = None,
        pattern: str | None = None,
        unique: bool = False,
    ) -> dict[str, Any]:
        """Inputs of this session; there are no others: nothing of a cell is kept on disk."""
        nothing: dict[str, Any] = {"status": "ok", "history": []}
        is_range, is_tail = hist_access_type == "range", hist_access_type == "tail"
        if is_range and session:
            return nothing
        return await self._ask(
            lambda cells: cells.history(
                hist_access_type,
                output=output,
                raw=raw,
                start=start,
                stop=stop,
                n=TAIL_DEFAULT if n is None and is_tail else n or 0,
                pattern=pattern,
                unique=unique,
            ),
            nothing,
        )

    async def comm_info_request(self, stream: Any, ident: Any, parent: Any) -> None:
        """There are no comms: a guest cannot reach the page by one."""
        content = {"status": "ok", "comms": {}}
        self.session.send(stream, "comm_info_reply", content, parent, ident)

    async def comm_open(self, stream: Any, ident: Any, parent: Any) -> None:
        """Whoever opens a comm that nobody answers is told that it is closed, not left waiting."""
        del stream, ident
        content = {"comm_id": parent["content"].get("comm_id", ""), "data": {}}
        topic = self._topic("comm_close")
        self.session.send(self.iopub_socket, "comm_close", content, parent, ident=topic)

    async def comm_msg(self, stream: Any, ident: Any, parent: Any) -> None:
        """For a comm that is closed: nothing to do, and nothing that the log should warn of."""

    comm_close = comm_msg

    def finish_metadata(
        self, parent: dict[str, Any], metadata: dict[str, Any], reply_content: dict[str, Any]
    ) -> dict[str, Any]:
        """What the cell used, as JSON in the reply's metadata; an aborted cell used nothing."""
        metadata["status"] = reply_content.get("status")
        numbers = self._numbers.pop(parent["header"]["msg_id"], None)
        if numbers is not None:
            metadata["wasm_kernel"] = numbers
        return metadata

    # Requests of the control channel; they never wait for a cell.

    async def interrupt_request(self, stream: Any, ident: Any, parent: Any) -> None:
        """Stop the running cell: it is rolled back."""
        if self._is_for_predecessor(parent):
            return
        self._interrupt()
        self.session.send(stream, "interrupt_reply", {"status": "ok"}, parent, ident=ident)

    def _interrupt(self) -> None:
        # First of all: the cell may be on its way to the session, which knows nothing of it yet.
        for interruption in self._interruptions[:1]:
            interruption.set()
        self._starting.cancel()
        if self._cells is not None:
            self._cells.interrupt()

    async def shutdown_request(self, stream: Any, ident: Any, parent: Any) -> None:
        """End, unless it was another process that should have."""
        if parent["content"].get("restart") and self._is_for_predecessor(parent):
            return
        await super().shutdown_request(stream, ident, parent)

    def _is_for_predecessor(self, parent: dict[str, Any]) -> bool:
        """Whether a request was sent before this process listened.

        A manager that restarts a kernel asks the old one to end, even a dead one, and zmq goes on
        sending for 100 ms: to whoever listens on the same port by then. A kernel that opens its
        channels first of all is that fast, and would end as soon as it has begun.
        """
        sent = parent["header"].get("date")
        return isinstance(sent, datetime) and sent < self.opened

    async def _not_here(self, stream: Any, ident: Any, parent: Any) -> None:
        """Refuse a request that would make the control channel wait."""
        kind = parent["header"]["msg_type"]
        reason = f"{kind} belongs on the shell channel"
        content = {"status": "error", **error_content(ErrorEvent("WrongChannel", reason, []))}
        self.session.send(stream, f"{kind.removesuffix('_request')}_reply", content, parent, ident)

    async def do_debug_request(self, msg: dict[str, Any]) -> dict[str, Any]:
        """None is offered; whoever asks all the same must not wait for ever."""
        return {
            "type": "response",
            "request_seq": msg.get("seq", 0),
            "success": False,
            "command": msg.get("command", ""),
            "message": "there is no debugger in the sandbox",
        }

    async def do_shutdown(self, restart: bool) -> dict[str, Any]:
        """End the session; a restart begins a clean one on the same workspace."""
        await asyncio.get_running_loop().run_in_executor(None, self.end)
        return {"status": "ok", "restart": restart}

    def end(self) -> None:
        """End the session, whatever it does: the process waits for the thread of its cells."""
        self._starting.end()
        self._worker.shutdown(wait=False, cancel_futures=True)
        if self._cells is not None:
            self._cells.close()

    # Plumbing.

    async def _on_worker(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, call)

    async def _ask(
        self, question: Callable[[Cells], dict[str, Any]], otherwise: dict[str, Any]
    ) -> dict[str, Any]:
        """Ask the session something; where it cannot be made there is another answer."""
        try:
            return await self._on_worker(lambda: question(self._ready_cells()))
        except Exception:
            self.log.debug("a question was not answered", exc_info=True)
            return otherwise

    def _ready_cells(
        self, publisher: Publisher | None = None, is_cancelled: Callable[[], bool] = lambda: False
    ) -> Cells:
        """The session, made ready now if need be; the first cell shows what takes so long."""
        if self._cells is None:
            show = None if publisher is None else _progress_shower(publisher)
            self._cells = self._starting.wait(show, is_cancelled)
            if self._starting.is_ended:
                # Whoever ended it may have looked for a session before there was one.
                self._cells.close()
        return self._cells

    def _open_cells(self, report: Callable[[str], None]) -> Cells:
        try:
            from wasm_kernel.notebook.cells import Cells

            cells = Cells.open(report)
            if not self._starting.is_awaited:
                cells.warm_up()
            if self.when_ready is not None:
                self.when_ready()
            return cells
        finally:
            # What the start has made stays: no collection needs to look at it again.
            gc.freeze()
            gc.enable()

    def _publisher(self, silent: bool) -> Publisher:
        # Not the loop that runs: it is a subshell's, perhaps, which can end before its cell.
        loop = self.io_loop.asyncio_loop
        parent = self.get_parent()
        ident = self._get_shell_context_var(self._shell_parent_ident)

        def send(kind: str, content: dict[str, Any]) -> None:
            # The worker thread has no context of its own that would know the cell.
            self.session.send(self.iopub_socket, kind, content, parent, ident=self._topic(kind))

        def later(seconds: float, call: Callable[[], None]) -> None:
            loop.call_soon_threadsafe(loop.call_later, seconds, call)

        return Publisher(
            send,
            lambda event: self._ask_user(event, parent, ident),
            later,
            html="text",
            displays=self._displays,
            silent=silent,
        )

    def _ask_user(self, event: InputEvent, parent: Any, ident: Any) -> str | None:
        """Ask the front end for a line; gives up when the cell is interrupted."""
        while self.stdin_socket.poll(0):
            self.stdin_socket.recv_multipart()
        content = {"prompt": sanitize_text(event.prompt), "password": event.password}
        self.session.send(self.stdin_socket, "input_request", content, parent, ident=ident)
        while not event.is_stopped():
            answer = self._answer() if self.stdin_socket.poll(20) else None
            if answer is not None:
                return answer
        return None

    def _answer(self) -> str | None:
        """The line that came on the stdin channel, unless it was no message of the front end's."""
        try:
            _, reply = self.session.recv(self.stdin_socket)
        except (TypeError, ValueError):
            self.log.warning("Invalid message on the stdin channel", exc_info=True)
            return None
        if reply is None:
            return None
        value = reply["content"].get("value", "")
        return value if isinstance(value, str) else ""

    def _exit_soon(self) -> None:
        """``exit()`` ends the kernel, as in any notebook; cells that wait are not run any more."""
        self._is_leaving = True
        loop = self.io_loop
        loop.add_callback(loop.call_later, 0.2, loop.stop)


def _progress_shower(publisher: Publisher) -> Callable[[str], None]:
    """Shows the preparation as one line that is replaced as it goes on."""

    def show(line: str) -> None:
        publisher.send("clear_output", {"wait": True})
        publisher.send("stream", {"name": "stderr", "text": line})

    return show
