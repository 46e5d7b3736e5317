"""What a run came to, in the words of the result: its limit, its files, its texts."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from wasm_kernel.core.models import CellError, ExecutionPolicy, FileChange, Limit, SandboxResult
from wasm_kernel.host.guest import Outcome, TrapKind, Trapped
from wasm_kernel.host.journal import Change

_LAST_BYTES = 4 * 1024 * 1024
_REASON_MAX = 1000


def limit_of(outcome: Outcome, memory_bytes: int, policy: ExecutionPolicy) -> Limit:
    """Which limit an outcome names, if it names one."""
    if not isinstance(outcome, Trapped):
        return Limit.NONE
    if outcome.kind is TrapKind.ABORT and is_full(memory_bytes, policy):
        # The interpreter met the end of its memory where it could not raise a MemoryError.
        return Limit.MEMORY
    return {
        TrapKind.FUEL: Limit.FUEL,
        TrapKind.TIME: Limit.TIME,
        TrapKind.INTERRUPTED: Limit.INTERRUPTED,
        TrapKind.STACK: Limit.STACK,
        TrapKind.ABORT: Limit.NONE,
    }[outcome.kind]


def is_full(memory_bytes: int, policy: ExecutionPolicy) -> bool:
    """Whether a guest has all of the memory that it may have."""
    return policy.memory_bytes - memory_bytes < _LAST_BYTES


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


def name_files(result: SandboxResult, changes: list[FileChange]) -> None:
    """What was done to files, as one list and by its kind."""
    result.files = changes
    for change in changes:
        getattr(result, f"files_{change.change}").append(change.path)


def reason_of(reply: dict[str, Any]) -> str:
    """What the guest says about its failure, as far as a sentence has room for it."""
    return plain_text(str(reply["failed"])[:_REASON_MAX])


def plain_text(text: str) -> str:
    """Text that any JSON can carry: what is not a character is replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")
