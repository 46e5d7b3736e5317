"""A host folder as the guest sees it."""

from __future__ import annotations

from pathlib import Path

from wasm_kernel.core.data import dataclass


@dataclass(frozen=True)
class Mount:
    """A preopened folder; only the workspace can be written."""

    host: Path
    guest: str
    is_workspace: bool = False
    second_names: tuple[tuple[str, str], ...] = ()
    """Folders right below it that stand for folders of the workspace; here they are empty ones."""
    null: str | None = None
    """An empty file below it that takes whatever is written, and keeps nothing."""
