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
    second_name_of: str | None = None
    """A folder of the workspace that is meant; ``host`` is an empty one that keeps the place."""
