"""The session behind the kernel: what its worker thread asks of it, in Jupyter's words.

Whatever takes long to import is imported here, by the thread that makes the session ready; the
kernel answers the front end before that.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from wasm_kernel.core.data import dataclass
from wasm_kernel.core.errors import WasmKernelError
from wasm_kernel.core.events import ErrorEvent
from wasm_kernel.core.models import SandboxResult
from wasm_kernel.notebook import commands, render, replies
from wasm_kernel.notebook.publish import Publisher, error_content
from wasm_kernel.notebook.replies import Content
from wasm_kernel.notebook.settings import Settings
from wasm_kernel.runtimes.python.prepare import Progress, is_ready, prepare
from wasm_kernel.session import Session


@dataclass(frozen=True)
class Request:
    """An execute request, as far as the session has to do with it."""

    code: str
    silent: bool
    store_history: bool
    user_expressions: dict[str, str]
    allow_stdin: bool
    is_watched: bool
    """Whether a person looks at the cell, as far as one can tell."""
    is_cancelled: Callable[[], bool] = lambda: False
    """Whether it was interrupted on its way to the session."""


@dataclass(frozen=True)
class Done:
    """What a cell came to."""

    reply: Content
    numbers: Content | None = None
    """What it used, for the reply's metadata."""
    wants_exit: bool = False


class Cells:
    """Runs cells and answers questions, one at a time. Whoever opens it closes it."""

    def __init__(self, settings: Settings, session: Session) -> None:
        self._host = commands.Host(settings, session, settings.metrics)

    @classmethod
    def open(cls, report: Callable[[str], None]) -> Cells:
        """A new session under the settings of this process; ``report`` hears of long steps."""
        settings = Settings.from_environment()

        def step(progress: Progress) -> None:
            report(f"{progress.step}, {progress.amount}")

        if not is_ready():
            prepare(report=step)
        return cls(settings, Session(settings.policy, settings.workspace))

    def warm_up(self) -> None:
        """Make the instance, which would otherwise be left to the first cell."""
        self._host.session.is_complete("")

    @property
    def next_number(self) -> int:
        """The number of the next cell: it follows undo and rollback."""
        return self._host.session.execution_count + 1

    def interrupt(self) -> None:
        """Stop the running cell: it is rolled back."""
        self._host.session.interrupt()

    def close(self) -> None:
        """End the session."""
        self._host.session.close()

    # Cells.

    def execute(self, publisher: Publisher, request: Request) -> Done:
        """Run a cell, or the commands it consists of."""
        session = self._host.session
        publisher.html = session.policy.html
        number = self.next_number
        lines = commands.host_lines(request.code)
        if lines is not None:
            for words in lines:
                self._show(publisher, commands.run(self._host, words))
            return Done(_ok(number))
        try:
            result = session.execute(
                request.code,
                on_event=publisher,
                silent=request.silent,
                store_history=request.store_history,
                user_expressions=request.user_expressions,
                allow_stdin=request.allow_stdin,
                settle=False,
                is_cancelled=request.is_cancelled,
            )
        finally:
            publisher.finish()
        self._show_metrics(publisher, result, request.is_watched)
        return Done(
            _reply(result, number),
            render.as_metadata(result, session.policy),
            wants_exit=bool(result.metadata.get("exit")),
        )

    @staticmethod
    def _show(publisher: Publisher, bundle: commands.Output) -> None:
        publisher.send("display_data", {"data": bundle, "metadata": {}, "transient": {}})

    def _show_metrics(self, publisher: Publisher, result: SandboxResult, is_watched: bool) -> None:
        policy, mode = self._host.session.policy, self._host.metrics
        if mode == "off" or (mode == "auto" and not is_watched):
            return
        if render.is_problem(result):
            ceiling = self._host.settings.ceiling
            command = render.advice(render.KERNEL_ADVICE, result.limit, policy, ceiling)
            self._show(publisher, render.limit_panel(result, command).bundle)
        elif mode != "problems":
            self._show(publisher, render.metrics(result, policy, self._links()).bundle)

    def _links(self) -> Path | None:
        """The workspace relative to the notebook, for links that JupyterLab opens."""
        try:
            return self._host.session.workspace.relative_to(Path.cwd())
        except ValueError:
            return None

    # Questions.

    def complete(self, code: str, cursor: int) -> Content:
        """Completions from jedi in the guest, and our own commands."""
        found = self._asked(lambda session: session.complete(code, cursor))
        return replies.completion(found, code, cursor)

    def inspect(self, code: str, cursor: int, detail: int) -> Content:
        """What ``?`` and the tooltip show."""
        command = commands.name_at(code, cursor)
        if command is not None:
            data = {"text/plain": commands.help_text(command)}
            return {"status": "ok", "found": True, "data": data, "metadata": {}}
        return replies.inspection(
            self._asked(lambda session: session.inspect(code, cursor, detail))
        )

    def is_complete(self, code: str) -> Content:
        """Whether Enter runs the cell or begins a new line."""
        return replies.completeness(self._asked(lambda session: session.is_complete(code)))

    def history(self, access: str, **options: Any) -> Content:
        """Inputs of this session."""
        found = self._asked(lambda session: {"rows": session.history(access, **options)})
        return replies.history(found.get("rows"))

    def _asked(self, question: Callable[[Session], Content]) -> Content:
        """The guest's answer; one that does not come is an empty one."""
        try:
            return question(self._host.session)
        except WasmKernelError:
            return {}


def _reply(result: SandboxResult, number: int) -> Content:
    if result.error is None:
        content = _ok(number)
        if result.metadata.get("exit"):
            content["payload"] = [{"source": "ask_exit", "keepkernel": False}]
    else:
        event = ErrorEvent(result.error.name, result.error.value, result.error.traceback)
        content = {"status": "error", "execution_count": number, **error_content(event)}
    content["user_expressions"] = replies.expressions(result.user_expressions)
    return content


def _ok(number: int) -> Content:
    return {"status": "ok", "execution_count": number, "payload": [], "user_expressions": {}}
