"""``%load_ext wasm_kernel``: the sandbox in any notebook, over one cell.

``%%sandbox`` runs a cell in a live session that the extension keeps; ``%sandbox`` speaks to those
sessions. Code of the cell never runs in the host; what comes out is sanitised like in the kernel.
"""

from __future__ import annotations

import atexit
import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.display import display

from wasm_kernel.core.errors import SessionClosedError, VariableTransferError, WasmKernelError
from wasm_kernel.core.models import ExecutionPolicy, Limit, SandboxResult
from wasm_kernel.core.policies import NOTEBOOK_POLICY, load_policy
from wasm_kernel.core.units import parse_bytes, parse_fuel, parse_seconds
from wasm_kernel.notebook import magic_output
from wasm_kernel.notebook.magic_sessions import LINE_COMMANDS, Sessions
from wasm_kernel.notebook.pump import execute_pumped, run_beside
from wasm_kernel.notebook.sanitize import sanitize_text
from wasm_kernel.runtimes.python import values
from wasm_kernel.session import Session

_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|[^\s"'])+""")
_QUOTED = re.compile(r"""(--[a-z-]+=)?(["'])(.*)\2""")


@magics_class
class SandboxMagics(Magics):
    """The magics of the extension; one set of sessions per shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self.sessions = Sessions()
        self._displays = magic_output.new_displays()

    @magic_arguments()
    @argument("command", nargs="*", help="a command of %%sandbox as a line: see above")
    @argument(
        "--session", default="default", metavar="NAME", help="which live session; made if new"
    )
    @argument("--fresh", action="store_true", help="a new interpreter for this cell alone")
    @argument(
        "-i",
        "--input",
        action="append",
        metavar="NAME",
        help="pass a variable in; or NAME=EXPRESSION; repeated, or a,b,c",
    )
    @argument(
        "-o",
        "--output",
        action="append",
        metavar="NAME",
        help="pass a variable out if the cell succeeds; repeated, or a,b,c",
    )
    @argument("--result", metavar="NAME", help="keep the SandboxResult in this variable")
    @argument("--fuel", metavar="N", help="instructions this cell may use: 5G, 200M")
    @argument("--timeout", metavar="TIME", help="wall time of this cell: 30s, 2m, 500ms")
    @argument("--memory", metavar="SIZE", help="memory of the session from now on: 512MB, 2GiB")
    @argument("--policy", metavar="FILE", help="a policy.toml, for the session from now on")
    @argument("--workspace", metavar="DIR", help="the folder that the session sees as /app")
    @argument("--data", metavar="DIR", help="a folder that the session may read as /data")
    @argument("--deterministic", action="store_true", help="seeded randomness, a virtual clock")
    @argument(
        "--image",
        default="notebook",
        choices=["notebook"],
        metavar="NAME",
        help="what the session starts from: notebook",
    )
    @argument("--quiet", action="store_true", help="show no output of the cell")
    @argument("--no-metrics", action="store_true", help="no line with metrics after the cell")
    @argument("--allow-errors", action="store_true", help="an error does not stop 'Run all'")
    @line_cell_magic
    def sandbox(self, line: str, cell: str | None = None) -> None:
        """Run a cell in the WebAssembly sandbox, or speak to the sandbox.

        %%sandbox over a cell runs it in a live session: variables stay from one such cell to the
        next, and a cell that a limit or an interrupt ends is rolled back, with its files.

        %sandbox as a line:
          status, list          what there is
          undo [N]              take back the last cell, or the last N
          checkpoint NAME       give the present state a name
          restore NAME          go back to it
          fork NAME             a second session that goes on from here
          save FILE             park the session in a file of its workspace
          resume FILE           go on with a parked session
          files [NAME]          list the workspace, or preview one file
          get PATH, put PATH    copy a file out of the workspace, or into it
          policy [FIELD=VALUE]  show or change the limits of the session
          reset, close          start the session anew, or end it
        Each of them takes --session NAME.
        """
        words = _words(line)
        try:
            options = self.sandbox.parser.parse_args(words)
        except UsageError as error:
            raise UsageError(f"{error}; %%sandbox? lists the options") from None
        try:
            if cell is None:
                self._line(options)
            elif options.command:
                raise UsageError(f"%%sandbox takes options, not {' '.join(options.command)!r}")
            else:
                self._cell(options, cell)
        except (WasmKernelError, ValueError, OSError) as error:
            # Parts of the text may come from the guest, as the name of a type.
            raise UsageError(sanitize_text(str(error))) from None

    # A cell.

    def _cell(self, options: Any, cell: str) -> None:
        outputs = [values.check_name(name) for name in _split(options.output)]
        result_name = values.check_name(options.result) if options.result else None
        inputs = self._inputs(options.input)
        limits = _limits(options)
        with self._session(options) as session, _limited(session, limits):
            for name, value in inputs.items():
                _put(session, name, value)
            result = self._execute(session, cell, options)
            if result_name is not None:
                self.shell.push({result_name: result})
            if result.success:
                # Nothing of the host's is touched before everything has come out well.
                self.shell.push({name: _get(session, name) for name in outputs})
            self._end(result, session.policy, options)

    def _end(self, result: SandboxResult, policy: ExecutionPolicy, options: Any) -> None:
        """Show how the cell ended; its error is the error of the host's cell."""
        if result.limit is Limit.INTERRUPTED:
            raise magic_output.interrupted(result.error)
        is_silent = options.quiet or options.no_metrics
        footer = None if is_silent else magic_output.footer(result, policy, self.shell)
        if result.error is not None and not options.allow_errors:
            text = footer.text if footer is not None else ""
            raise magic_output.raised(result.error, self.shell, footer=text, is_quiet=options.quiet)
        if footer is not None:
            display(footer.bundle, raw=True)

    def _execute(self, session: Session, cell: str, options: Any) -> SandboxResult:
        shower = magic_output.Shower(
            self.shell,
            self._displays,
            session.policy.html,
            is_quiet=options.quiet,
            shows_errors=options.allow_errors,
        )
        try:
            return execute_pumped(
                session, cell, shower, allow_stdin=magic_output.has_stdin(self.shell)
            )
        finally:
            shower.finish()

    def _inputs(self, given: list[str] | None) -> dict[str, Any]:
        """``-i name`` takes a variable, ``-i name=expr`` an expression of the host's own cell."""
        found = {}
        for part in _split(given):
            name, equals, expression = part.partition("=")
            name = values.check_name(name.strip())
            if equals:
                try:
                    found[name] = self.shell.ev(expression.strip())
                except Exception as error:
                    raise UsageError(f"-i {part}: {type(error).__name__}: {error}") from None
            elif name in self.shell.user_ns:
                found[name] = self.shell.user_ns[name]
            else:
                raise UsageError(f"-i {name}: there is no such variable")
        return found

    @contextlib.contextmanager
    def _session(self, options: Any) -> Iterator[Session]:
        """The session of a cell; a fresh one ends with it."""
        base = NOTEBOOK_POLICY if options.fresh else self.sessions.policy(options.session)
        policy = _policy(options, base)
        if not options.fresh:
            yield self.sessions.get(options.session, policy, options.workspace)
            return
        alone = Sessions()
        try:
            yield alone.get("default", policy, options.workspace)
        finally:
            alone.close()

    # A line.

    def _line(self, options: Any) -> None:
        name, *arguments = options.command or ["status"]
        command = LINE_COMMANDS.get(name)
        if command is None:
            raise UsageError(f"%sandbox {name}: the commands are {', '.join(LINE_COMMANDS)}")
        display(command(self.sessions, options.session, arguments), raw=True)


def _put(session: Session, name: str, value: Any) -> None:
    try:
        run_beside(session, lambda: session.put(name, value))
    except VariableTransferError as error:
        raise VariableTransferError(f"-i {name}: {error}") from error


def _get(session: Session, name: str) -> Any:
    try:
        return run_beside(session, lambda: session.get(name))
    except VariableTransferError as error:
        raise VariableTransferError(f"-o {name}: {error}") from error


def _policy(options: Any, base: ExecutionPolicy) -> ExecutionPolicy:
    """The policy of the session from now on."""
    if options.policy:
        file = Path(options.policy).expanduser()
        if not file.is_file():
            raise UsageError(f"there is no policy file {options.policy}")
        base = load_policy(file, base=base)
    changes: dict[str, Any] = {}
    if options.memory:
        changes["memory_bytes"] = parse_bytes(options.memory)
    if options.data:
        changes["mount_data_dir"] = str(Path(options.data).expanduser().absolute())
    if options.deterministic:
        changes["deterministic"] = True
    return base.replace(**changes) if changes else base


def _limits(options: Any) -> dict[str, Any]:
    """The limits of this cell alone."""
    limits: dict[str, Any] = {}
    if options.fuel:
        limits["fuel_budget"] = parse_fuel(options.fuel)
    if options.timeout:
        limits["timeout_seconds"] = parse_seconds(options.timeout)
    # A wrong one is refused before there is a session.
    NOTEBOOK_POLICY.replace(**limits)
    return limits


@contextlib.contextmanager
def _limited(session: Session, limits: dict[str, Any]) -> Iterator[None]:
    """A session under other limits for a while."""
    if not limits:
        yield
        return
    before = session.policy
    session.change_policy(before.replace(**limits))
    try:
        yield
    finally:
        with contextlib.suppress(SessionClosedError):
            session.change_policy(before)


def _words(line: str) -> list[str]:
    """The words of a line. Quotes keep spaces together, and around a whole word they go away.

    IPython's own splitting leaves them, and the shell's takes them from ``-i x=frame["a"]``.
    """
    if _WORD.sub("", line).strip():
        raise UsageError("a quote is not closed")
    return [
        _QUOTED.sub(r"\1\3", word) if _QUOTED.fullmatch(word) else word
        for word in _WORD.findall(line)
    ]


def _split(given: list[str] | None) -> list[str]:
    """Options may be repeated, and plain names may be a comma list."""
    parts: list[str] = []
    for option in given or []:
        parts.extend([option] if "=" in option else option.split(","))
    return [part.strip() for part in parts if part.strip()]


def load(shell: InteractiveShell) -> None:
    """What ``%load_ext wasm_kernel`` does."""
    magics = SandboxMagics(shell)
    shell.register_magics(magics)
    shell._wasm_kernel_magics = magics
    atexit.register(magics.sessions.close)


def unload(shell: InteractiveShell) -> None:
    """What ``%unload_ext wasm_kernel`` does: every session ends."""
    magics: SandboxMagics | None = getattr(shell, "_wasm_kernel_magics", None)
    if magics is None:
        return
    magics.sessions.close()
    atexit.unregister(magics.sessions.close)
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("sandbox", None)
    del shell._wasm_kernel_magics
