"""One execution of a script in an interpreter of its own."""

from __future__ import annotations

import os
from typing import Any, Literal

from wasm_kernel.core import guidance, texts
from wasm_kernel.core.errors import SandboxExecutionError, WorkspaceError
from wasm_kernel.core.events import OnEvent, StreamEvent
from wasm_kernel.core.models import (
    WASM_PAGE_BYTES,
    CellError,
    ExecutionPolicy,
    Limit,
    RuntimeType,
    SandboxResult,
)
from wasm_kernel.host.guest import (
    AtRest,
    Exited,
    Folders,
    Guest,
    GuestSettings,
    Mount,
    Outcome,
    Program,
    Returned,
    Trapped,
)
from wasm_kernel.host.journal import Journal, Quota
from wasm_kernel.host.streams import OutputStream, TextSink
from wasm_kernel.host.workspace import Workspace
from wasm_kernel.host.world import VirtualWorld
from wasm_kernel.runtimes.python.conversation import Fuel
from wasm_kernel.runtimes.python.image import Layout, root_mount
from wasm_kernel.runtimes.python.inputs import Beginning, data_folder, data_path
from wasm_kernel.runtimes.python.outcomes import (
    file_changes,
    is_out_of_memory,
    limit_of,
    name_files,
    plain_text,
)
from wasm_kernel.runtimes.python.ready import Kind, Script, pool

USER_CODE = "user_code.py"

OVERHEAD_FUEL = 2_000_000_000
"""What the driver itself may use: a long traceback is the most it does."""

_TRAP_REASONS = {
    Limit.FUEL: "out_of_fuel",
    Limit.TIME: "timeout",
    Limit.MEMORY: "memory_limit",
    Limit.STACK: "stack_overflow",
    Limit.INTERRUPTED: "interrupted",
}


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


class Run:
    """One execution, from the instance to the result."""

    def __init__(
        self,
        policy: ExecutionPolicy,
        workspace: Workspace,
        on_event: OnEvent | None = None,
    ) -> None:
        self._on_event = on_event
        self.policy = policy
        self.workspace = workspace
        self.stdout = OutputStream(policy.stdout_max_bytes, self._sink("stdout"))
        self.stderr = OutputStream(policy.stderr_max_bytes, self._sink("stderr"))
        quota = Quota(policy.workspace_max_bytes, policy.workspace_max_files)
        self.journal = Journal(workspace, quota)
        self.fuel = Fuel(policy.fuel_budget, OVERHEAD_FUEL)
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
        """Run in an interpreter that has started already."""
        policy = self.policy
        layout = Layout(program.path, policy.guest_mount_path, data_path(policy))
        mounts = layout.mounts(self.workspace.root, data_folder(policy))
        request = {
            "code": code,
            "name": f"{policy.guest_mount_path}/{USER_CODE}",
            "argv": policy.argv[1:],
            "setup": setup,
        }
        script = Script(
            request,
            Folders.open(GuestSettings(mounts, policy.memory_bytes)),
            self.stdout,
            self.stderr,
            self.journal,
            self.fuel,
        )
        kind = Kind(program, layout, policy.memory_bytes, Beginning.of(policy))
        interpreter = pool.take(kind)
        try:
            self.outcome = interpreter.run(script, timeout=policy.timeout_seconds)
            self.reply = script.reply
            self._after(interpreter.guest)
        except BaseException:
            interpreter.close()
            raise
        pool.give_back(interpreter)

    def command(self, program: Program, *, setup: bool) -> None:
        """Run a CPython that starts from nothing and ends with the script."""
        policy = self.policy
        mounts = [Mount(self.workspace.root, policy.guest_mount_path, is_workspace=True)]
        data = data_folder(policy)
        if data is not None:
            mounts.append(Mount(data, data_path(policy)))
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
        with Guest(
            program,
            settings,
            stdout=self.stdout,
            stderr=self.stderr,
            journal=self.journal,
            rest=AtRest(VirtualWorld.seeded(policy.seed)),
        ) as guest:
            self.outcome = guest.start(fuel=policy.fuel_budget, timeout=policy.timeout_seconds)
            self.fuel.settle(guest.fuel)
            self._after(guest)
        code_of = self.outcome.code if isinstance(self.outcome, Exited) else 0
        self.reply = {"exit_code": code_of, "error": None}

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
        message = self._message(limit)
        if message is not None:
            said = ("" if not stderr or stderr.endswith("\n") else "\n") + message + "\n"
            stderr += said
            if self._on_event is not None:
                self._on_event(StreamEvent("stderr", said))
        result = SandboxResult.model_construct(
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
            workspace_path=str(self.workspace.root),
            limit=limit,
            stdout_bytes=self.stdout.written,
            stderr_bytes=self.stderr.written,
            stdout_truncated=self.stdout.truncated,
            stderr_truncated=self.stderr.truncated,
            error=error,
            metadata=self._metadata(exit_code, limit, error),
        )
        changes = file_changes(self.journal.changes())
        name_files(result, [change for change in changes if change.path != USER_CODE])
        return result

    def _message(self, limit: Limit) -> str | None:
        """What the host has to say of the end, below what the script wrote; mostly nothing."""
        if limit is not Limit.NONE:
            return texts.limit_message(limit, self.policy)
        if isinstance(self.outcome, Trapped):
            return f"Aborted: {texts.ABORTED} ({self.outcome.message})"
        if self.reply is None and isinstance(self.outcome, Returned):
            return f"SandboxError: {texts.NO_END}"
        return None

    def _metadata(self, exit_code: int, limit: Limit, error: CellError | None) -> dict[str, Any]:
        """Plain facts under the names that tools around sandboxes look for."""
        trapped = isinstance(self.outcome, Trapped)
        found = None
        if exit_code or limit is not Limit.NONE:
            told = self.reply.get("advice") if self.reply is not None else None
            found = guidance.error_guidance(limit, error, told, self.policy)
        return {
            "runtime": RuntimeType.PYTHON.value,
            "exit_code": exit_code,
            "memory_pages": self.memory_bytes // WASM_PAGE_BYTES,
            "trapped": trapped,
            "stdout_truncated": self.stdout.truncated,
            "stderr_truncated": self.stderr.truncated,
            **({"trap_reason": _TRAP_REASONS.get(limit, "trap")} if trapped else {}),
            "fuel_analysis": guidance.fuel_analysis(self.fuel.user_consumed, limit, self.policy),
            **({"error_guidance": found} if found else {}),
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
        return exit_code if type(exit_code) is int and abs(exit_code) < 2**31 else 1, error
