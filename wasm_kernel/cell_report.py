"""What a cell came to: the guest's answer, told as a result and in the sentences that people read.

Knows what was kept and what was taken back, and does neither.
"""

from __future__ import annotations

from typing import Any

from wasm_kernel.core import guidance, texts
from wasm_kernel.core.data import dataclass
from wasm_kernel.core.models import (
    CellError,
    ExecutionPolicy,
    FileChange,
    Limit,
    SandboxResult,
)
from wasm_kernel.host.guest import Exited, Returned
from wasm_kernel.host.journal import Journal
from wasm_kernel.runtimes.python.conversation import Fuel
from wasm_kernel.runtimes.python.live import Answer
from wasm_kernel.runtimes.python.outcomes import (
    is_full,
    is_out_of_memory,
    limit_of,
    name_files,
    reason_of,
)
from wasm_kernel.runtimes.python.outputs import CellOutputs, error_of


@dataclass(frozen=True)
class CellReport:
    """Tells of one cell, which has ended."""

    policy: ExecutionPolicy
    workspace: str
    answer: Answer
    fuel: Fuel
    outputs: CellOutputs

    def kept(
        self, journal: Journal, changes: list[FileChange], execution_count: int
    ) -> SandboxResult:
        """The cell is part of the session now, whether its code ended well or with an error."""
        assert self.answer.reply is not None
        reply = self.answer.reply.header
        result = self._result(self.answer.memory_bytes, execution_count)
        name_files(result, changes)
        if "failed" in reply:
            # The shell itself failed: a cell can replace any part of it.
            self._fail(result, "SandboxError", texts.shell_failed(reason_of(reply)))
        elif isinstance(reply.get("error"), dict):
            result.error = error_of(reply["error"])
            result.exit_code = 1
            if is_out_of_memory(result.error):
                result.limit = Limit.MEMORY
            elif journal.quota_hit:
                result.limit = Limit.WORKSPACE
        result.success = result.error is None
        result.user_expressions = self.outputs.expressions(self.answer.reply)
        result.metadata = {
            "exit": reply.get("exit") is True,
            "not_restorable": sorted(set(journal.unrestorable)),
        }
        found = None
        if result.error is not None and "failed" not in reply:
            told = reply["error"].get("advice")
            found = guidance.error_guidance(result.limit, result.error, told, self.policy)
        return self._completed(result, found)

    def rolled_back(
        self, lost: list[str], memory_bytes: int, execution_count: int
    ) -> SandboxResult:
        """The cell never happened, but for the files that are ``lost``; the memory is as before."""
        result = self._result(memory_bytes, execution_count)
        result.rolled_back = True
        result.limit = self._limit()
        result.exit_code = 130 if result.limit is Limit.INTERRUPTED else 1
        name, ending = self._ending(result.limit)
        if result.limit is Limit.MEMORY and is_full(memory_bytes, self.policy):
            ending = texts.memory_full(self.policy)
        sentence = f"{ending}; the cell was rolled back: variables and files are as before it"
        if lost:
            sentence += f" (except {texts.some_of(lost)}: too large to be kept, or changed since)"
        self._fail(result, name, sentence)
        result.metadata = {"exit": False, "not_restorable": lost}
        found = None
        if isinstance(ending, texts.Advice):
            found = guidance.limit_guidance(result.limit, ending, self.policy)
        return self._completed(result, found)

    def _result(self, memory_bytes: int, execution_count: int) -> SandboxResult:
        return SandboxResult.model_construct(
            success=False,
            execution_count=execution_count,
            workspace_path=self.workspace,
            fuel_consumed=self.fuel.user_consumed,
            fuel_overhead=self.fuel.shell_consumed,
            memory_used_bytes=memory_bytes,
            memory_peak_bytes=self.answer.memory_bytes,
            guest_ms=self.answer.guest_seconds * 1000,
            stdout_bytes=self.outputs.stdout.written,
            stderr_bytes=self.outputs.stderr.written,
        )

    def _completed(self, result: SandboxResult, found: dict[str, Any] | None) -> SandboxResult:
        """Add what follows from the rest, and the streams, with the limit's sentence."""
        consumed = result.fuel_consumed or 0
        result.metadata["fuel_analysis"] = guidance.fuel_analysis(
            consumed, result.limit, self.policy
        )
        if found is not None:
            result.metadata["error_guidance"] = found
        stdout, stderr = self.outputs.stdout, self.outputs.stderr
        result.stdout, result.stderr = stdout.finish(), stderr.finish()
        result.stdout_truncated, result.stderr_truncated = stdout.truncated, stderr.truncated
        return result

    def _fail(self, result: SandboxResult, name: str, sentence: str) -> None:
        """An error that the host reports, not the cell's own code."""
        result.error = CellError.model_construct(
            name=name, value=sentence, traceback=texts.traceback_of(name, sentence)
        )
        result.exit_code = result.exit_code or 1
        self.outputs.error(name, sentence, result.error.traceback)

    def _limit(self) -> Limit:
        """Which limit ended a cell that was not kept."""
        answer = self.answer
        if isinstance(answer.outcome, Returned) and answer.failure is None:
            # The shell gave no answer; where there is no memory left, it could not make one.
            return Limit.MEMORY if is_full(answer.memory_bytes, self.policy) else Limit.NONE
        return limit_of(answer.outcome, answer.memory_bytes, self.policy)

    def _ending(self, limit: Limit) -> tuple[str, texts.Advice | str]:
        """The name of what ended a cell, and what to say of it: advice where there is some."""
        answer = self.answer
        if limit is Limit.FUEL and (self.fuel.is_showing or self.fuel.shell_left == 0):
            return texts.LIMIT_NAMES[limit], texts.SHELL_OUT_OF_FUEL
        if limit is Limit.INTERRUPTED:
            return texts.LIMIT_NAMES[limit], texts.limit_sentence(limit, self.policy)
        if limit is not Limit.NONE:
            return texts.LIMIT_NAMES[limit], texts.limit_advice(limit, self.policy)
        if answer.failure is not None:
            return "SandboxError", f"the host failed while it served the cell: {answer.failure!r}"
        if isinstance(answer.outcome, Exited):
            return "ProcessExit", f"the cell ended its process with code {answer.outcome.code}"
        if isinstance(answer.outcome, Returned):
            return "SandboxError", texts.NO_ANSWER
        return "Aborted", texts.ABORTED
