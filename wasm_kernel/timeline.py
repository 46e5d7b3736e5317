"""The cells that a session has committed, as far as they can be taken back, and named places.

Keeps the record and its budget; what it takes to step back is done by the session.
"""

from __future__ import annotations

from collections import deque

from wasm_kernel.core.data import dataclass
from wasm_kernel.core.errors import CheckpointError
from wasm_kernel.host.guest import AtRest
from wasm_kernel.host.journal import Journal
from wasm_kernel.host.pages import UndoRecord
from wasm_kernel.host.threads import Task

UNDO_MEMORY_BYTES = 512 * 1024 * 1024
"""Pages and files that the undo records of one session may hold; the oldest are dropped first."""

UNDO_CELLS_MAX = 1_000
"""How many cells can be taken back at most: a session that only goes on shall not grow."""

NAME_MAX = 200


@dataclass()
class Step:
    """A committed cell, and what there was before it."""

    commit: Task[UndoRecord]
    journal: Journal
    count_before: int
    rest_before: AtRest
    was_started: bool = True
    is_input: bool = False
    """Whether it is a variable that was passed in, which belongs to the cell after it."""
    checkpoints: frozenset[str] = frozenset()
    """Names of the checkpoints that were set right before this cell."""
    cost: int = 0
    """Bytes it holds on to; known when its commit has ended."""


class Timeline:
    """Steps from the oldest that can be taken back to the present."""

    def __init__(self) -> None:
        self._steps: deque[Step] = deque()
        self._names_here: set[str] = set()
        self._dropped_names: set[str] = set()
        self.held_bytes = 0

    # Going on.

    def append(self, step: Step) -> None:
        """A cell was committed; the present has other names from now on, none at first."""
        step.checkpoints = frozenset(self._names_here)
        self._names_here.clear()
        self._steps.append(step)

    def settle(self) -> int:
        """The last commit has ended: weigh it, stay within the budget, return its pages."""
        step = self._steps[-1]
        record = step.commit.result()
        step.cost = record.cost + step.journal.cost
        self.held_bytes += step.cost
        while len(self._steps) > 1 and (
            self.held_bytes > UNDO_MEMORY_BYTES or len(self._steps) > UNDO_CELLS_MAX
        ):
            oldest = self._steps.popleft()
            self.held_bytes -= oldest.cost
            oldest.journal.forget()
            self._dropped_names |= oldest.checkpoints
        return record.pages

    # Going back.

    @property
    def depth(self) -> int:
        """How many cells can be taken back."""
        last = len(self._steps) - 1
        return sum(not step.is_input or place == last for place, step in enumerate(self._steps))

    def steps_of(self, cells: int) -> int:
        """How many steps the last cells are, with the variables that were passed in for them."""
        if cells < 1:
            raise CheckpointError("the number of cells to undo must be at least 1")
        depth = self.depth
        if cells > depth:
            raise CheckpointError(_why_not(cells, depth))
        steps = 0
        for _ in range(cells):
            steps += 1
            while steps < len(self._steps) and self._steps[-steps - 1].is_input:
                steps += 1
        return steps

    def steps_to(self, name: str) -> int:
        """How many steps lie between a checkpoint and the present."""
        if name in self._names_here:
            return 0
        for steps, step in enumerate(reversed(self._steps), 1):
            if name in step.checkpoints:
                return steps
        if name in self._dropped_names:
            raise CheckpointError(
                f"the checkpoint {name!r} was dropped to stay within the undo budget"
            )
        known = ", ".join(map(repr, self.names())) or "none"
        raise CheckpointError(f"there is no checkpoint {name!r}; there are: {known}")

    def pop(self) -> Step:
        """The last step, which is about to be taken back."""
        step = self._steps.pop()
        self.held_bytes -= step.cost
        # A checkpoint set right before the cell is where the session is then.
        self._names_here = set(step.checkpoints)
        return step

    # Names.

    def name(self, name: str) -> None:
        """Give the present a name; it is the only place of that name from now on."""
        if not name or len(name) > NAME_MAX:
            raise CheckpointError(f"a checkpoint needs a name of at most {NAME_MAX} characters")
        for step in self._steps:
            step.checkpoints -= {name}
        self._dropped_names.discard(name)
        self._names_here.add(name)

    def names(self) -> list[str]:
        """The names of all places, oldest first."""
        names = [name for step in self._steps for name in sorted(step.checkpoints)]
        return names + sorted(self._names_here)


def _why_not(cells: int, depth: int) -> str:
    """Why so many cells cannot be undone, where ``depth`` of them can."""
    if not depth:
        return "there is no cell to undo"
    return (
        f"{cells} cells cannot be undone: {depth} can (older ones were never run, or were dropped "
        "to stay within the undo budget)"
    )
