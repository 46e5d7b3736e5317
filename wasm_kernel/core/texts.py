"""The sentences a user reads when a limit ended a run. One place, one voice."""

from __future__ import annotations

from wasm_kernel.core.data import dataclass
from wasm_kernel.core.models import ExecutionPolicy, Limit, SandboxResult
from wasm_kernel.core.units import format_bytes, format_count, format_seconds

TRACEBACK_COLUMNS = 75
"""As wide as the rule above IPython's tracebacks."""

NAMES_SHOWN_MAX = 10
"""Names of files in a sentence: the code decides how many there are."""

LIMIT_NAMES: dict[Limit, str] = {
    Limit.FUEL: "OutOfFuel",
    Limit.TIME: "TimeLimit",
    Limit.MEMORY: "MemoryLimit",
    Limit.STACK: "StackOverflow",
    Limit.WORKSPACE: "WorkspaceQuota",
    Limit.OUTPUT: "OutputLimit",
    Limit.INTERRUPTED: "KeyboardInterrupt",
}


@dataclass(frozen=True)
class Advice:
    """What happened, and what to do about it."""

    happened: str
    do: str

    def __str__(self) -> str:
        return f"{self.happened}; {self.do}"


def limit_advice(limit: Limit, policy: ExecutionPolicy) -> Advice:
    """What happened at a limit, and how to raise it."""
    if limit is Limit.FUEL:
        return Advice(
            f"the code used all of its fuel ({format_count(policy.fuel_budget)} instructions)",
            "raise fuel_budget if it needs more",
        )
    if limit is Limit.TIME:
        seconds = format_seconds(policy.timeout_seconds or 0)
        return Advice(f"the code ran longer than {seconds} and timed out", "raise timeout_seconds")
    if limit is Limit.MEMORY:
        return Advice(
            f"the code needed more than its memory ({format_bytes(policy.memory_bytes)})",
            "raise memory_bytes",
        )
    if limit is Limit.STACK:
        return Advice(
            "the code recursed too deeply",
            "the stack of the sandbox cannot be raised: use a loop, or fewer levels",
        )
    if limit is Limit.WORKSPACE:
        return Advice(
            f"the workspace may hold {format_bytes(policy.workspace_max_bytes)} in "
            f"{policy.workspace_max_files:,} files",
            "raise workspace_max_bytes or workspace_max_files",
        )
    return Advice("the code wrote more than is kept", "raise stdout_max_bytes or stderr_max_bytes")


def limit_sentence(limit: Limit, policy: ExecutionPolicy) -> str:
    """The same in one sentence; what no limit ended needs no advice."""
    if limit is Limit.INTERRUPTED:
        return "the code was interrupted"
    if limit is Limit.NONE:
        return "the code ended by itself"
    return str(limit_advice(limit, policy))


def fuel_used(result: SandboxResult) -> str:
    """The fuel of a run in words.

    Wasmtime counts in a register and stores the count at calls: where the clock or an interrupt
    stopped the code, what it burned since the last call is not known.
    """
    known = format_count(result.fuel_consumed or 0)
    return f"at least {known}" if result.limit in (Limit.TIME, Limit.INTERRUPTED) else known


SHELL_OUT_OF_FUEL = Advice(
    "showing the result or the traceback took more fuel than a cell has for that",
    "show less of it (for instance a slice, or str(error))",
)
ABORTED = "the interpreter aborted inside the sandbox"
LOST = "the session is lost: start a new one, or resume a saved one"
NO_END = "the interpreter did not say how the script ended: the script damaged it"
NO_ANSWER = (
    "the shell inside the sandbox gave no answer: this cell or one before it damaged it "
    "(if other cells fail as well, undo that one, or restart the kernel)"
)


def memory_full(policy: ExecutionPolicy) -> Advice:
    """Earlier cells filled the memory, so that a cell cannot even be read."""
    return Advice(
        f"the memory of the session is full ({format_bytes(policy.memory_bytes)}), and no cell can "
        "run in it",
        "undo the cell that filled it, or raise memory_bytes",
    )


def some_of(names: list[str]) -> str:
    """Names of files for a sentence: the first of them, and how many more there are."""
    more = len(names) - NAMES_SHOWN_MAX
    shown = ", ".join(names[:NAMES_SHOWN_MAX]) + (f" and {more:,} more" if more > 0 else "")
    return "".join(letter if letter.isprintable() else "?" for letter in shown)


def shell_failed(reason: str) -> str:
    """The shell around the code failed, so its outcome is not known."""
    return (
        f"the shell inside the sandbox failed ({reason}); a cell may have damaged it: "
        "undo that cell, or restart the kernel"
    )


def traceback_of(name: str, sentence: str) -> list[str]:
    """An error that has no frames, broken between words: a page breaks long lines anywhere."""
    import textwrap

    wrapper = textwrap.TextWrapper(
        TRACEBACK_COLUMNS, break_long_words=False, break_on_hyphens=False, subsequent_indent="  "
    )
    return [piece for line in f"{name}: {sentence}".splitlines() for piece in wrapper.wrap(line)]


def limit_message(limit: Limit, policy: ExecutionPolicy) -> str:
    """The sentence under its name, as the last line of a traceback has it."""
    return f"{LIMIT_NAMES[limit]}: {limit_sentence(limit, policy)}"
