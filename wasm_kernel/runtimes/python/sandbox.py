"""One-shot Python: every ``execute`` is a fresh interpreter on a workspace that stays."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from wasm_kernel.core import texts
from wasm_kernel.core.base import BaseSandbox
from wasm_kernel.core.data import dataclass
from wasm_kernel.core.errors import SandboxExecutionError, WorkspaceError
from wasm_kernel.core.events import OnEvent, StreamEvent
from wasm_kernel.core.logging import SandboxLogger
from wasm_kernel.core.models import (
    WASM_PAGE_BYTES,
    CellError,
    ExecutionPolicy,
    FileChange,
    Limit,
    RuntimeType,
    SandboxResult,
)
from wasm_kernel.host.door import Frame
from wasm_kernel.host.guest import (
    AtRest,
    Exited,
    Guest,
    GuestSettings,
    Mount,
    Outcome,
    Program,
    Returned,
    TrapKind,
    Trapped,
)
from wasm_kernel.host.journal import Change, Journal, Quota
from wasm_kernel.host.memory import Image
from wasm_kernel.host.pages import CommittedMemory, strategy
from wasm_kernel.host.streams import OutputStream, TextSink
from wasm_kernel.host.threads import Task, guest_threads
from wasm_kernel.host.workspace import Workspace
from wasm_kernel.host.world import BEGIN_NS, VirtualWorld
from wasm_kernel.runtimes.python import artifacts
from wasm_kernel.runtimes.python.conversation import Conversation, Fuel
from wasm_kernel.runtimes.python.image import (
    ONE_SHOT_IMAGES,
    Layout,
    boot_source,
    choose_image,
    root_mount,
)
from wasm_kernel.runtimes.python.prepare import ensure_program

USER_CODE = "user_code.py"
BYTE_ORDER_MARK = "\ufeff"
SPARES_MAX = 2
"""Instances a sandbox keeps: one runs the next script while the other is cleared of the last."""

ONE_SHOT_OVERHEAD_FUEL = 2_000_000_000
"""What the driver itself may use: a long traceback is the most it does."""

_TRAP_REASONS = {
    Limit.FUEL: "out_of_fuel",
    Limit.TIME: "timeout",
    Limit.MEMORY: "memory_limit",
    Limit.STACK: "stack_overflow",
    Limit.INTERRUPTED: "interrupted",
}
_LAST_BYTES = 4 * 1024 * 1024
_BOOT_FUEL = 50_000_000_000


class PythonSandbox(BaseSandbox):
    """Runs Python scripts that nobody has read, one interpreter each."""

    def __init__(
        self,
        policy: ExecutionPolicy | None = None,
        workspace: str | Path | None = None,
        logger: SandboxLogger | None = None,
        wasm_binary_path: str | Path | None = None,
    ) -> None:
        super().__init__(policy, workspace, logger)
        self.wasm_binary_path = str(
            wasm_binary_path if wasm_binary_path is not None else artifacts.default_binary()
        )
        self._lock = threading.Lock()
        self._spares: list[_Spare] = []

    def execute(
        self, code: str, inject_setup: bool = True, *, on_event: OnEvent | None = None
    ) -> SandboxResult:
        """Run a script; whatever it does, the answer is a result.

        ``inject_setup`` makes the workspace importable, as if the script's folder were on
        ``sys.path``, and ``site-packages`` of the workspace and of the data folder. ``on_event``
        gets the text of stdout and stderr while the script runs, as far as the result keeps it.
        """
        check_code(code, self.policy)
        started = time.perf_counter()
        program = ensure_program(Path(self.wasm_binary_path))
        self.logger.log_execution_start(
            RuntimeType.PYTHON.value, self.policy, workspace=str(self.workspace)
        )
        with Workspace(self.workspace) as workspace:
            time_ns = BEGIN_NS if self.policy.deterministic else None
            write_user_code(workspace, code, is_needed=not program.is_reactor, time_ns=time_ns)
            run = _Run(self.policy, workspace, self._take_spare(), on_event)
            try:
                if program.is_reactor:
                    run.reactor(program, code, setup=inject_setup)
                else:
                    run.command(program, setup=inject_setup)
            finally:
                self._put_back(run.spare)
            result = run.result(time.perf_counter() - started)
        self._log_execution_metrics(result)
        return result

    def close(self) -> None:
        """Free the instances that wait for the next run; the sandbox can still be used."""
        with self._lock:
            spares, self._spares = self._spares, []
        for spare in spares:
            spare.close()

    def _take_spare(self) -> _Spare | None:
        with self._lock:
            for place, spare in enumerate(self._spares):
                if spare.is_clear:
                    return self._spares.pop(place)
            # Sooner wait for the oldest than make a third.
            return self._spares.pop(0) if len(self._spares) >= SPARES_MAX else None

    def _put_back(self, spare: _Spare | None) -> None:
        if spare is None:
            return
        with self._lock:
            if len(self._spares) < SPARES_MAX:
                self._spares.append(spare)
                return
        spare.close()

    def validate_code(self, code: str) -> bool:
        """Whether the code compiles; nothing is executed."""
        try:
            check_code(code, self.policy)
        except (ValueError, TypeError):
            return False
        # The guest compiles it, under its limits: some sources take a compiler minutes, and the
        # grammar that counts is the guest's.
        source = code.removeprefix(BYTE_ORDER_MARK)
        checking = f"compile({source!r}, '<sandbox>', 'exec', dont_inherit=True)"
        program = ensure_program(Path(self.wasm_binary_path))
        import tempfile

        with tempfile.TemporaryDirectory(prefix="wasm-kernel-check-") as folder:
            with Workspace(Path(folder)) as workspace:
                run = _Run(self.policy, workspace)
                if not program.is_reactor:
                    write_user_code(workspace, checking, is_needed=True)
                    run.command(program, setup=False)
                else:
                    run.reactor(program, checking, setup=False)
                    run.drop_spare()
                return run.result(0.0).success


def check_code(code: object, policy: ExecutionPolicy) -> None:
    """Raise on what is not a source text that any Python could take."""
    if not isinstance(code, str):
        raise TypeError(f"code must be a str, not {type(code).__name__}")
    if "\0" in code:
        raise ValueError("code must not contain NUL characters")
    try:
        size = len(code.encode("utf-8"))
    except UnicodeEncodeError:
        raise ValueError("code must not contain lone surrogates; it is not valid text") from None
    if size > policy.code_max_bytes:
        raise ValueError(
            f"code has {size:,} bytes; at most {policy.code_max_bytes:,} are taken (code_max_bytes)"
        )


def write_user_code(
    workspace: Workspace, code: str, *, is_needed: bool, time_ns: int | None = None
) -> None:
    """Leave the script where its tracebacks say it is.

    A reactor gets its source through the door, so a folder in the file's place does no harm.
    """
    try:
        workspace.write(USER_CODE, code.encode("utf-8"), time_ns)
    except IsADirectoryError as error:
        if is_needed:
            raise WorkspaceError(f"{workspace.root / USER_CODE} is a folder; remove it") from error
    except OSError as error:
        raise WorkspaceError(
            f"{USER_CODE} cannot be written into {workspace.root}: {os.strerror(error.errno or 0)}"
        ) from error


def data_folder(policy: ExecutionPolicy) -> Path | None:
    """The data folder of a policy, checked."""
    if policy.mount_data_dir is None:
        return None
    folder = Path(policy.mount_data_dir).expanduser().absolute()
    if not folder.is_dir():
        raise WorkspaceError(f"mount_data_dir {folder} is not a folder")
    return folder


def limit_of(outcome: Outcome, memory_bytes: int, policy: ExecutionPolicy) -> Limit:
    """Which limit an outcome names, if it names one."""
    if not isinstance(outcome, Trapped):
        return Limit.NONE
    if outcome.kind is TrapKind.ABORT and policy.memory_bytes - memory_bytes < _LAST_BYTES:
        # The interpreter met the end of its memory where it could not raise a MemoryError.
        return Limit.MEMORY
    return {
        TrapKind.FUEL: Limit.FUEL,
        TrapKind.TIME: Limit.TIME,
        TrapKind.INTERRUPTED: Limit.INTERRUPTED,
        TrapKind.STACK: Limit.STACK,
        TrapKind.ABORT: Limit.NONE,
    }[outcome.kind]


def is_out_of_memory(error: CellError) -> bool:
    """Whether an exception means that the memory was used up.

    Python calls a source that is nested too deeply a MemoryError too, which more memory
    would not mend.
    """
    is_parser = error.value.startswith("Parser stack overflowed")
    return error.name == "MemoryError" and not is_parser


def file_changes(changes: list[Change]) -> list[FileChange]:
    """Journal entries as the model has them."""
    if not changes:
        return []
    import mimetypes

    return [
        FileChange.model_construct(
            path=plain_text(change.path),
            change=change.kind,
            size=change.size,
            # By the suffix alone: the guess for a whole name understands data: URLs as well.
            type=mimetypes.guess_type("x" + PurePosixPath(change.path).suffix)[0]
            or "application/octet-stream",
        )
        for change in changes
    ]


@dataclass()
class _Spare:
    """An instance whose last run ended well, put back to the image: as good as a new one."""

    guest: Guest
    settings: GuestSettings
    state: CommittedMemory | None
    workspace: tuple[int, int]
    clearing: Task[None] | None = None

    def clear(self) -> None:
        """Put the memory back, beside whatever the caller does next."""
        state = self.state
        assert state is not None
        self.clearing = guest_threads.start(lambda: state.reset(self.guest.memory))

    @property
    def is_clear(self) -> bool:
        """Whether it could be used at once."""
        return self.clearing is None or self.clearing.done.is_set()

    def wait(self) -> None:
        """Return when the memory is as new."""
        if self.clearing is not None:
            self.clearing.result()
            self.clearing = None

    def close(self) -> None:
        if self.clearing is not None:
            self.clearing.done.wait()
        self.guest.close()
        if self.state is not None:
            self.state.close()


def plain_text(text: str) -> str:
    """Text that any JSON can carry: what is not a character is replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


class _Run:
    """One execution, from the instance to the result."""

    def __init__(
        self,
        policy: ExecutionPolicy,
        workspace: Workspace,
        spare: _Spare | None = None,
        on_event: OnEvent | None = None,
    ) -> None:
        self.spare = spare
        self._on_event = on_event
        self.policy = policy
        self.workspace = workspace
        self.stdout = OutputStream(policy.stdout_max_bytes, self._sink("stdout"))
        self.stderr = OutputStream(policy.stderr_max_bytes, self._sink("stderr"))
        quota = Quota(policy.workspace_max_bytes, policy.workspace_max_files)
        self.journal = Journal(workspace, quota)
        self.fuel = Fuel(policy.fuel_budget, ONE_SHOT_OVERHEAD_FUEL)
        self.outcome: Outcome = Returned(0)
        self.reply: dict[str, Any] | None = None
        self.memory_bytes = 0
        self.guest_seconds = 0.0

    def _sink(self, name: Literal["stdout", "stderr"]) -> TextSink | None:
        on_event = self._on_event
        if on_event is None:
            return None

        def send(text: str) -> None:
            on_event(StreamEvent(name, text))

        return send

    def reactor(self, program: Program, code: str, *, setup: bool) -> None:
        """Run in an interpreter that an image has started already."""
        policy = self.policy
        layout = Layout(program.path, policy.guest_mount_path, policy.guest_data_path or "/data")
        image = choose_image(program, layout, ONE_SHOT_IMAGES, policy.memory_bytes)
        settings = GuestSettings(
            mounts=layout.mounts(self.workspace.root, data_folder(policy)),
            memory_bytes=policy.memory_bytes,
            virtual=policy.deterministic,
        )
        spare = self._take_spare(program, settings, image)
        try:
            if image is None:
                self._boot(spare.guest, layout)
            request = {
                "op": "script",
                "code": code,
                "name": f"{policy.guest_mount_path}/{USER_CODE}",
                "argv": policy.argv[1:],
                "setup": setup,
                "init": start_request(policy, image, spare.guest),
            }
            conversation = Conversation(spare.guest, Frame(request), fuel=self.fuel)
            self.outcome = conversation.run(timeout=policy.timeout_seconds)
            if conversation.reply is not None:
                self.reply = conversation.reply.header
            self._after(spare.guest)
        except BaseException:
            spare.close()
            raise
        self._keep_spare(spare)

    def _boot(self, guest: Guest, layout: Layout) -> None:
        """Start the interpreter where no image fits; what that prints is not the script's."""
        guest.stdout, guest.stderr = OutputStream(0), OutputStream(0)
        outcome = guest.turn(boot_source(layout, "core"), fuel=_BOOT_FUEL)
        if not isinstance(outcome, Returned) or outcome.value != 0:
            raise SandboxExecutionError(
                f"the interpreter could not be started under these limits ({outcome}); "
                "a larger memory_bytes may help"
            )
        guest.stdout, guest.stderr = self.stdout, self.stderr

    def _take_spare(self, program: Program, settings: GuestSettings, image: Image | None) -> _Spare:
        spare, self.spare = self.spare, None
        if spare is not None:
            if spare.workspace == self.workspace.identity and spare.settings == settings:
                spare.wait()
                spare.guest.stdout, spare.guest.stderr = self.stdout, self.stderr
                spare.guest.journal = self.journal
                spare.guest.world = VirtualWorld.seeded(self.policy.seed)
                return spare
            spare.close()
        state = None if image is None else strategy()(image, image.size)
        guest = self._guest(program, settings, state)
        return _Spare(guest, settings, state, self.workspace.identity)

    def _keep_spare(self, spare: _Spare) -> None:
        """Keep the instance for the next run if nothing tells it from a new one.

        The linear memory is the whole state of a guest at rest: with every page it wrote put
        back, and no descriptor opened or closed, the next script finds a fresh interpreter.
        """
        guest, state = spare.guest, spare.state
        if (
            state is None
            or guest.is_dead
            or guest.memory.size != state.size
            or not guest.wasi.is_as_new
        ):
            spare.close()
            return
        spare.clear()
        self.spare = spare

    def drop_spare(self) -> None:
        """Free the instance that was kept."""
        spare, self.spare = self.spare, None
        if spare is not None:
            spare.close()

    def command(self, program: Program, *, setup: bool) -> None:
        """Run a CPython that starts from nothing and ends with the script."""
        policy = self.policy
        mounts = [Mount(self.workspace.root, policy.guest_mount_path, is_workspace=True)]
        data = data_folder(policy)
        if data is not None:
            mounts.append(Mount(data, policy.guest_data_path or "/data"))
        env = dict(policy.env)
        if setup:
            folders = [mount.guest for mount in mounts]
            env.setdefault("PYTHONPATH", ":".join(f"{folder}/site-packages" for folder in folders))
        mounts.append(root_mount(*(mount.guest for mount in mounts)))
        script = f"{policy.guest_mount_path}/{USER_CODE}"
        settings = GuestSettings(
            mounts=tuple(mounts),
            memory_bytes=policy.memory_bytes,
            argv=("python", "-X", "utf8", script, *policy.argv[2:]),
            env=tuple(env.items()),
            virtual=policy.deterministic,
        )
        # A command starts its interpreter with the same fuel that runs the script: there is no
        # moment in between at which the two could be told apart.
        self.fuel.in_user_code = True
        with self._guest(program, settings, None) as guest:
            self.outcome = guest.start(fuel=policy.fuel_budget, timeout=policy.timeout_seconds)
            self.fuel.settle(guest.fuel)
            self._after(guest)
        code_of = self.outcome.code if isinstance(self.outcome, Exited) else 0
        self.reply = {"exit_code": code_of, "error": None}

    def _guest(
        self, program: Program, settings: GuestSettings, state: CommittedMemory | None
    ) -> Guest:
        return Guest(
            program,
            settings,
            stdout=self.stdout,
            stderr=self.stderr,
            journal=self.journal,
            state=state,
            rest=AtRest(VirtualWorld.seeded(self.policy.seed)),
        )

    def _after(self, guest: Guest) -> None:
        self.memory_bytes = guest.memory.size
        self.guest_seconds = guest.guest_seconds
        if guest.failure is not None:
            raise SandboxExecutionError(
                f"the host failed while it served the guest: {guest.failure!r}"
            ) from guest.failure

    def result(self, seconds: float) -> SandboxResult:
        """Everything that is known about the run."""
        limit = limit_of(self.outcome, self.memory_bytes, self.policy)
        stdout, stderr = self.stdout.finish(), self.stderr.finish()
        exit_code, error = self._ending(limit)
        if limit is Limit.NONE and error is not None and is_out_of_memory(error):
            limit = Limit.MEMORY
        if limit is Limit.NONE and self.journal.quota_hit and exit_code:
            limit = Limit.WORKSPACE
        message = None
        if limit is not Limit.NONE:
            message = texts.limit_message(limit, self.policy)
        elif isinstance(self.outcome, Trapped):
            message = f"Aborted: {texts.ABORTED} ({self.outcome.message})"
        elif self.reply is None and isinstance(self.outcome, Returned):
            message = f"SandboxError: {texts.NO_END}"
        if message is not None:
            said = ("" if not stderr or stderr.endswith("\n") else "\n") + message + "\n"
            stderr += said
            if self._on_event is not None:
                self._on_event(StreamEvent("stderr", said))
        changes = [c for c in file_changes(self.journal.changes()) if c.path != USER_CODE]
        by_kind: dict[str, list[str]] = {"created": [], "modified": [], "deleted": []}
        for change in changes:
            by_kind[change.change].append(change.path)
        return SandboxResult.model_construct(
            success=exit_code == 0 and limit is Limit.NONE,
            stdout=stdout,
            stderr=stderr,
            exit_code=exit_code,
            fuel_consumed=self.fuel.user_consumed,
            fuel_overhead=self.fuel.shell_consumed,
            memory_used_bytes=self.memory_bytes,
            memory_peak_bytes=self.memory_bytes,
            duration_ms=seconds * 1000,
            guest_ms=self.guest_seconds * 1000,
            files_created=by_kind["created"],
            files_modified=by_kind["modified"],
            files_deleted=by_kind["deleted"],
            files=changes,
            workspace_path=str(self.workspace.root),
            limit=limit,
            stdout_bytes=self.stdout.written,
            stderr_bytes=self.stderr.written,
            stdout_truncated=self.stdout.truncated,
            stderr_truncated=self.stderr.truncated,
            error=error,
            metadata=self._metadata(exit_code, limit),
        )

    def _metadata(self, exit_code: int, limit: Limit) -> dict[str, Any]:
        """Plain facts under the names that tools around sandboxes look for."""
        trapped = isinstance(self.outcome, Trapped)
        return {
            "runtime": RuntimeType.PYTHON.value,
            "exit_code": exit_code,
            "memory_pages": self.memory_bytes // WASM_PAGE_BYTES,
            "trapped": trapped,
            "stdout_truncated": self.stdout.truncated,
            "stderr_truncated": self.stderr.truncated,
            **({"trap_reason": _TRAP_REASONS.get(limit, "trap")} if trapped else {}),
        }

    def _ending(self, limit: Limit) -> tuple[int, CellError | None]:
        """The exit code, and the exception that ended the script."""
        if isinstance(self.outcome, Exited):
            return self.outcome.code, None
        if isinstance(self.outcome, Trapped):
            return (130 if limit is Limit.INTERRUPTED else 1), None
        if self.reply is None:
            return 1, CellError.model_construct(name="SandboxError", value=texts.NO_END)
        exit_code, name, value = (
            self.reply.get(field) for field in ("exit_code", "error", "value")
        )
        error = None
        if isinstance(name, str) and name:
            text = value[:2_000] if isinstance(value, str) else ""
            error = CellError.model_construct(name=plain_text(name[:200]), value=plain_text(text))
        return exit_code if isinstance(exit_code, int) and abs(exit_code) < 2**31 else 1, error


def start_request(policy: ExecutionPolicy, image: Image | None, guest: Guest) -> dict[str, Any]:
    """What a guest is told when it begins: its environment and its randomness.

    ``image`` is what its memory is as, if it is as any; the host's own randomness goes there.
    """
    randomness = "seeded" if policy.deterministic else "own"
    if image is not None and image.seeds and not policy.deterministic:
        image.stir(guest.memory)
        randomness = "host"
    return {"env": policy.env, "randomness": randomness, "seed": policy.seed}
