"""A live session: an IPython inside the guest whose every cell commits or rolls back.

Speaks cells, history and checkpoints; knows nothing of Jupyter's messages.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from wasm_kernel.cell_report import CellReport
from wasm_kernel.core import texts
from wasm_kernel.core.errors import (
    GuestProtocolError,
    SandboxExecutionError,
    SavedSessionError,
    SessionClosedError,
    VariableTransferError,
)
from wasm_kernel.core.events import OnEvent
from wasm_kernel.core.logging import SandboxLogger
from wasm_kernel.core.models import ExecutionPolicy, FileChange, SandboxResult
from wasm_kernel.core.policies import NOTEBOOK_POLICY, check_policy
from wasm_kernel.core.units import format_bytes
from wasm_kernel.host import descriptors, parked
from wasm_kernel.host.guest import AtRest, Program
from wasm_kernel.host.journal import Journal, Quota
from wasm_kernel.host.mapped import strategy
from wasm_kernel.host.pages import CommittedMemory
from wasm_kernel.host.preimages import Preimages
from wasm_kernel.host.streams import OutputStream
from wasm_kernel.host.watch import runs_guest
from wasm_kernel.host.workspace import Workspace
from wasm_kernel.host.world import VirtualWorld
from wasm_kernel.idle import idle
from wasm_kernel.runtimes.python import artifacts, decoding, values
from wasm_kernel.runtimes.python.conversation import OVERHEAD_FUEL, Fuel
from wasm_kernel.runtimes.python.image import HEADROOM_BYTES, Layout, ensure_image
from wasm_kernel.runtimes.python.inputs import check_code, data_path
from wasm_kernel.runtimes.python.live import Answer, LiveInterpreter
from wasm_kernel.runtimes.python.outcomes import file_changes, reason_of
from wasm_kernel.runtimes.python.outputs import CellOutputs
from wasm_kernel.runtimes.python.prepare import ensure_program
from wasm_kernel.timeline import Step, Timeline

UNDO_FILE_BYTES = 512 * 1024 * 1024
"""Copies of files that cells replaced; a larger file cannot be put back, and the result says so."""

QUESTION_FUEL = 30_000_000_000
"""What a completion or an inspection may use."""

QUESTION_SECONDS = 20.0
"""How long one may take: an object that sleeps when it is looked at would hold up every cell."""

_FIXED = (
    "guest_mount_path",
    "guest_data_path",
    "mount_data_dir",
    "deterministic",
    "env",
    "argv",
    "seed",
)
"""What a guest is given when it begins: a live session has it already."""

_SAVED_FORMAT = 1


class Session:
    """A notebook's interpreter. Whoever makes it closes it."""

    def __init__(
        self,
        policy: ExecutionPolicy = NOTEBOOK_POLICY,
        workspace: str | Path | None = None,
        *,
        image: str = "notebook",
        wasm_binary_path: str | Path | None = None,
        logger: SandboxLogger | None = None,
        memory_strategy: type[CommittedMemory] | None = None,
    ) -> None:
        check_policy(policy)
        binary = Path(wasm_binary_path) if wasm_binary_path else artifacts.default_binary()
        program = ensure_program(binary)
        if not program.is_reactor:
            raise SandboxExecutionError(
                f"{binary} runs one script and ends; a live session needs the reactor that "
                "`wasm-kernel setup` fetches"
            )
        if image != "notebook":
            raise SandboxExecutionError(
                f"a session starts from the notebook image, not from {image!r}"
            )
        layout = Layout(binary, policy.guest_mount_path, data_path(policy))
        started_from = ensure_image(program, layout, image)
        if started_from.size + HEADROOM_BYTES > policy.memory_bytes:
            needed = format_bytes(started_from.size + HEADROOM_BYTES)
            raise SandboxExecutionError(
                f"a session needs at least {needed} of memory for its {image} image; "
                f"memory_bytes is {format_bytes(policy.memory_bytes)}"
            )
        memory = (memory_strategy or strategy())(started_from, policy.memory_bytes)
        try:
            self._begin(program, layout, policy, Path(workspace or policy.mount_host_dir), memory)
        except BaseException:
            memory.close()
            raise
        self._image = image
        self.logger = logger if logger is not None else SandboxLogger()

    def _begin(
        self,
        program: Program,
        layout: Layout,
        policy: ExecutionPolicy,
        workspace: Path,
        memory: CommittedMemory,
    ) -> None:
        self.policy = policy
        self._program = program
        self._layout = layout
        self._lock = threading.Lock()
        # Held while it is put to rest, of which nobody hears: whoever comes then waits for the end.
        self._resting = threading.Lock()
        self._is_closed = self._is_closing = self._is_lost = False
        self._folder = Workspace(workspace)
        self._quota = Quota(policy.workspace_max_bytes, policy.workspace_max_files)
        self._preimages = Preimages(UNDO_FILE_BYTES)
        self._live = LiveInterpreter(program, layout, policy, self._folder, memory)
        self._timeline = Timeline()
        self.execution_count = 0

    # Running cells.

    def execute(
        self,
        code: str,
        *,
        on_event: OnEvent | None = None,
        silent: bool = False,
        store_history: bool = True,
        user_expressions: dict[str, str] | None = None,
        allow_stdin: bool = False,
        settle: bool = True,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> SandboxResult:
        """Run a cell. It commits, or it never happened; either way the answer is a result.

        Without ``settle`` the answer comes while the pages are still being committed, and does
        not say how many they are; the next operation waits for the rest. ``is_cancelled`` is
        asked when the cell has begun: an interrupt that came before was for nobody.
        """
        check_code(code, self.policy)
        with self._entered():
            if is_cancelled is not None and is_cancelled():
                self._live.interrupt()
            started = time.perf_counter()
            self.logger.log_execution_start("python", self.policy, workspace=str(self._folder.root))
            request = {
                "op": "execute",
                "code": code,
                "silent": silent,
                "store_history": store_history,
                "user_expressions": user_expressions or {},
            }
            result = self._run_cell(request, on_event, allow_stdin)
            if settle:
                result.pages_committed = self._settle()
            result.duration_ms = (time.perf_counter() - started) * 1000
            self.logger.log_execution_complete(result)
            return result

    def _run_cell(
        self, request: dict[str, Any], on_event: OnEvent | None, allow_stdin: bool
    ) -> SandboxResult:
        outputs = CellOutputs(
            self.policy,
            on_event,
            allow_stdin=allow_stdin,
            is_stopped=lambda: self._live.is_stopped,
        )
        # Files may have come and gone since the last cell: what there is is measured anew.
        self._quota.used = None
        fuel = Fuel(self.policy.fuel_budget, OVERHEAD_FUEL)
        with self._transaction() as journal:
            answer = self._live.request(
                request,
                [],
                fuel=fuel,
                journal=journal,
                stdout=outputs.stdout,
                stderr=outputs.stderr,
                handlers=outputs.handlers,
                timeout=self.policy.timeout_seconds,
                max_bytes=self.policy.display_max_bytes + (64 << 20),
            )
            is_kept = answer.is_sound and answer.failure is None
            changes, lost = [], []
            if is_kept:
                changes = self._keep_cell(answer, journal)
            else:
                self._live.forget()
                lost = journal.rollback()
        # Whoever is told of it may raise: the cell stays kept or rolled back, as it is by now.
        report = CellReport(self.policy, str(self._folder.root), answer, fuel, outputs)
        if is_kept:
            return report.kept(journal, changes, self.execution_count)
        result = report.rolled_back(lost, self._live.memory.size, self.execution_count)
        self._live.renew(Journal(self._folder, self._quota, self._preimages))
        return result

    def _keep_cell(self, answer: Answer, journal: Journal) -> list[FileChange]:
        """Commit the cell; returns what it did to files."""
        assert answer.reply is not None
        changes = file_changes(journal.changes())
        journal.seal()
        count = answer.reply.header.get("execution_count")
        self._keep(journal, count if isinstance(count, int) and 0 <= count < 2**31 else None)
        return changes

    def interrupt(self) -> None:
        """Stop the running cell; it is rolled back. Safe from any thread, at any time."""
        self._live.interrupt()

    # Questions about the code; what they do to memory and files is not kept.

    def complete(self, code: str, cursor: int | None = None) -> dict[str, Any]:
        """Completions: ``matches``, ``start``, ``end`` and the type of each."""
        place = len(code) if cursor is None else cursor
        return self._ask({"op": "complete", "code": code, "cursor": place})

    def inspect(self, code: str, cursor: int | None = None, detail: int = 0) -> dict[str, Any]:
        """What is known about the name at a place: ``found`` and ``data``."""
        place = len(code) if cursor is None else cursor
        return self._ask({"op": "inspect", "code": code, "cursor": place, "detail": detail})

    def is_complete(self, code: str) -> dict[str, Any]:
        """Whether a cell could run as it is: ``status`` and ``indent``."""
        return self._ask({"op": "is_complete", "code": code})

    def history(self, access: str = "range", **options: Any) -> list[Any]:
        """Inputs of this session as ``[session, line, text]``."""
        answer = self._ask({"op": "history", "access": access, **options})
        rows = answer.get("history")
        return rows if isinstance(rows, list) else []

    # Variables.

    def put(self, name: str, value: Any) -> None:
        """Bind a variable of the guest to a value that is only data."""
        described, buffers = values.encode(value)
        request = {"op": "put", "name": values.check_name(name), "value": described}
        with self._entered(), self._transaction() as journal:
            answer = self._request(request, buffers, self.policy.timeout_seconds, journal)
            reason = self._why_failed(answer)
            if reason:
                raise VariableTransferError(f"{name} could not be passed in: {reason}")
            self._keep(journal, None, is_input=True)

    def get(self, name: str) -> Any:
        """The value of a variable of the guest, as far as it is only data."""
        request = {"op": "get", "name": values.check_name(name)}
        answer = self._locked_request(request, self.policy.timeout_seconds)
        reason = self._why_failed(answer)
        if reason:
            raise VariableTransferError(f"{name} could not be passed out: {reason}")
        reply = answer.reply
        assert reply is not None
        if "missing" in reply.header:
            raise VariableTransferError(f"there is no variable {name}")
        if "type" in reply.header:
            raise values.cannot_cross(str(reply.header["type"])[:200])
        return decoding.decode(reply.header.get("value"), reply.buffers)

    @staticmethod
    def _why_failed(answer: Answer) -> str:
        """Why a transfer did not succeed; empty if it did."""
        if answer.failure is not None:
            return f"the host failed: {answer.failure!r}"
        if not answer.is_sound or answer.reply is None:
            return "the guest ended"
        return reason_of(answer.reply.header) if "failed" in answer.reply.header else ""

    # Undo, checkpoints, fork, park.

    def undo(self, cells: int = 1) -> list[str]:
        """Take back the last cells; returns the files that could not be put back."""
        with self._entered():
            return self._step_back(self._timeline.steps_of(cells))

    def _step_back(self, steps: int) -> list[str]:
        failed: set[str] = set()
        for _ in range(steps):
            step = self._timeline.pop()
            self._live.revert(step.commit.result(), step.rest_before, was_started=step.was_started)
            failed.update(step.journal.rollback(spare=frozenset(step.journal.touched())))
            self.execution_count = step.count_before
        return sorted(failed)

    def checkpoint(self, name: str) -> None:
        """Give the present state a name to come back to."""
        with self._entered():
            self._timeline.name(name)

    def restore(self, name: str) -> list[str]:
        """Go back to a checkpoint; returns the files that could not be put back."""
        with self._entered():
            return self._step_back(self._timeline.steps_to(name))

    def checkpoints(self) -> list[str]:
        """The names of the checkpoints, oldest first."""
        with self._entered():
            return self._timeline.names()

    @property
    def undo_depth(self) -> int:
        """How many cells can be taken back."""
        with self._entered():
            return self._timeline.depth

    def fork(self, workspace: str | Path | None = None) -> Session:
        """A second session that goes on from here, independent of this one.

        It shares this session's workspace unless it is given a folder of its own, which gets a
        copy of the files if it does not exist yet.
        """
        with self._entered():
            folder = self._folder.root if workspace is None else Path(workspace)
            if workspace is not None and not folder.exists():
                self._folder.copy_to(folder)
            twin = Session.__new__(Session)
            memory = self._live.memory.fork()
            try:
                twin._begin(self._program, self._layout, self.policy, folder, memory)
            except BaseException:
                memory.close()
                raise
            twin._image, twin.logger = self._image, self.logger
            twin.execution_count = self.execution_count
            twin._live.resume(self._live.rest, self._live.handed_on)
            return twin

    def save(self, path: str | Path) -> int:
        """Park the session in a file; returns its size. The workspace stays where it is."""
        with self._entered():
            header = {
                "format": _SAVED_FORMAT,
                "image": self._image,
                "image_key": self._live.memory.image.key,
                "execution_count": self.execution_count,
                "started": self._live.handed_on is not None,
                "world": dict(vars(self._live.rest.world)),
                "descriptors": descriptors.to_json(self._live.rest.descriptors),
            }
            return parked.write(Path(path), header, self._live.memory)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        policy: ExecutionPolicy = NOTEBOOK_POLICY,
        workspace: str | Path | None = None,
        wasm_binary_path: str | Path | None = None,
        logger: SandboxLogger | None = None,
    ) -> Session:
        """Resume a parked session under a policy of yours: nothing in the file loosens it."""
        check_policy(policy)
        with parked.Parked(Path(path)) as file:
            header = file.header
            image = header.get("image")
            if header.get("format") != _SAVED_FORMAT or image != "notebook":
                raise SavedSessionError(f"{path} was saved by another version of wasm-kernel")
            if header["size"] > policy.memory_bytes:
                raise SavedSessionError(
                    f"{path} has {format_bytes(header['size'])} of memory; the policy allows "
                    f"{format_bytes(policy.memory_bytes)} (memory_bytes)"
                )
            session = cls(
                policy, workspace, image=image, wasm_binary_path=wasm_binary_path, logger=logger
            )
            try:
                memory = session._live.memory
                if header.get("image_key") != memory.image.key:
                    raise SavedSessionError(
                        f"{path} was saved on another image: the Python runtime, IPython or "
                        "wasm-kernel changed since, or the folders have other names"
                    )
                file.load_into(memory)
                session._live.resume(
                    AtRest(
                        VirtualWorld.resumed(header.get("world"), policy.seed),
                        descriptors.from_json(
                            header.get("descriptors"), session._layout.descriptors()
                        ),
                    ),
                    policy.env if header.get("started") is True else None,
                )
                count = header.get("execution_count")
                session.execution_count = count if isinstance(count, int) and count >= 0 else 0
            except BaseException:
                session.close()
                raise
            return session

    def change_policy(self, policy: ExecutionPolicy) -> None:
        """Go on under other limits; open cells are not affected, there are none."""
        check_policy(policy)
        with self._entered():
            changed = [n for n in _FIXED if getattr(policy, n) != getattr(self.policy, n)]
            if changed:
                raise SandboxExecutionError(f"{changed[0]} cannot be changed in a live session")
            if policy.memory_bytes < self._live.memory.size:
                raise SandboxExecutionError(
                    f"the session already has {format_bytes(self._live.memory.size)} of memory"
                )
            self._live.change_policy(policy)
            self.policy = policy
            self._quota.max_bytes = policy.workspace_max_bytes
            self._quota.max_files = policy.workspace_max_files

    # Ownership.

    def close(self) -> None:
        """End the session and free everything it holds; a running cell is interrupted."""
        if runs_guest():
            raise SandboxExecutionError("a cell's own event handler cannot close its session")
        self._is_closing = True
        self._live.interrupt()
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            idle.drop(self)
            with self._resting:
                with contextlib.suppress(Exception):
                    self._live.settle()
                self._live.close()
            self._preimages.close()
            self._folder.close()

    def rest(self) -> None:
        """Give back the instance, which the next cell makes anew, unless a cell is running.

        What is left is what the cells have changed. A session that nobody uses rests by itself.
        """
        with self._resting:
            # Whoever comes from here on waits.
            if not self._lock.locked() and not self._is_closed:
                self._live.rest_instance()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def workspace(self) -> Path:
        """The folder the guest sees as ``/app``."""
        return self._folder.root

    @property
    def memory_bytes(self) -> int:
        """Linear memory of the committed state."""
        with self._entered():
            return self._live.memory.size

    @property
    def committed_pages(self) -> int:
        """Pages of the committed state that differ from the image, 4,096 bytes each."""
        with self._entered():
            return self._live.memory.pages

    def _entered(self) -> _Entered:
        return _Entered(self)

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        most = self.policy.timeout_seconds
        timeout = QUESTION_SECONDS if most is None else min(most, QUESTION_SECONDS)
        answer = self._locked_request(request, timeout)
        if answer.reply is None:
            raise GuestProtocolError("the question used up its limits and was given up")
        if "failed" in answer.reply.header:
            raise GuestProtocolError(reason_of(answer.reply.header))
        return answer.reply.header

    def _locked_request(self, request: dict[str, Any], timeout: float | None) -> Answer:
        """Ask something, and take back whatever that did."""
        with self._entered():
            with self._transaction() as journal:
                answer = self._request(request, [], timeout, journal)
                journal.rollback()
                self._live.take_back(is_sound=answer.is_sound)
            return answer

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Journal]:
        """The journal of a request; nothing of it stays where an exception ends the request.

        Whether that was kept or taken back is decided before it ends: no other request may find
        a guest of which that is open.
        """
        journal = Journal(self._folder, self._quota, self._preimages)
        try:
            yield journal
        except BaseException:
            # A commit that was begun cannot be taken back any more: its pages are being written.
            self._is_lost = self._live.is_committing
            self._live.forget()
            journal.rollback()
            raise

    def _request(
        self,
        request: dict[str, Any],
        buffers: list[bytes],
        timeout: float | None,
        journal: Journal,
    ) -> Answer:
        return self._live.request(
            request,
            buffers,
            fuel=Fuel(1, QUESTION_FUEL),
            journal=journal,
            stdout=OutputStream(0),
            stderr=OutputStream(0),
            timeout=timeout,
            max_bytes=1 << 30,
        )

    def _keep(self, journal: Journal, count: int | None, *, is_input: bool = False) -> None:
        """Commit what the last request did, and keep what it takes to undo it.

        The pages are compared and copied beside whatever the caller does next; the next
        operation waits for the end of that.
        """
        self._timeline.append(
            Step(
                commit=self._live.commit(),
                journal=journal,
                count_before=self.execution_count,
                rest_before=self._live.rest,
                was_started=self._live.is_started,
                is_input=is_input,
            )
        )
        if count is not None:
            self.execution_count = count

    def _settle(self) -> int:
        """Wait for the last commit; returns its pages, 0 where there is none to wait for."""
        if not self._live.is_committing:
            return 0
        try:
            self._live.settle()
        except Exception as error:
            self._is_lost = True
            raise SandboxExecutionError(
                f"the state after the last cell could not be kept ({error}); {texts.LOST}"
            ) from error
        return self._timeline.settle()


class _Entered:
    """Holds a session for one operation: one at a time, and only while it is open."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> None:
        session = self._session
        if not session._lock.acquire(blocking=False):
            raise SandboxExecutionError("the session is busy: one cell at a time")
        try:
            with session._resting:
                pass
            session._live.begin()
            # Whoever closes it says so first and interrupts then: one of the two is seen here.
            if session._is_closed or session._is_closing:
                raise SessionClosedError("the session is closed")
            if session._is_lost:
                raise SandboxExecutionError(
                    f"the state after an earlier cell could not be kept; {texts.LOST}"
                )
            session._settle()
            session._folder.require_present()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        session = self._session
        session._live.end()
        session._lock.release()
        if not session._is_closed:
            idle.note(session)
