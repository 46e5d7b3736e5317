"""The bytes that cells are about to lose, kept in a private folder, up to a budget."""

from __future__ import annotations

import os
import weakref
from pathlib import Path

from wasm_kernel.host.workspace import Workspace

COPIES_MAX = 100_000
"""A file system has room for so many files only, however small they are."""


class Preimages:
    """Copies of files. Whoever makes it closes it."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.used = 0
        self._copies = 0
        self._folder: Path | None = None
        self._closing: weakref.finalize[[Path], Preimages] | None = None
        self._next = 0

    def _slot(self) -> Path:
        if self._folder is None:
            import tempfile

            self._folder = Path(tempfile.mkdtemp(prefix="wasm-kernel-undo-"))
            self._closing = weakref.finalize(self, _remove, self._folder)
        self._next += 1
        return self._folder / str(self._next)

    def copy(self, workspace: Workspace, path: str, size: int) -> Path | None:
        """A copy of a file's bytes, or None where the budget or the disk does not allow it."""
        if self.used + size > self.budget or self._copies >= COPIES_MAX:
            return None
        import shutil

        slot = self._slot()
        try:
            with os.fdopen(workspace.open(path, os.O_RDONLY), "rb") as source:
                with slot.open("xb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
        except OSError:
            slot.unlink(missing_ok=True)
            return None
        self.used += size
        self._copies += 1
        return slot

    def drop(self, slot: Path, size: int) -> None:
        """Forget a copy."""
        slot.unlink(missing_ok=True)
        self.used -= size
        self._copies -= 1

    def close(self) -> None:
        """Remove the folder."""
        if self._closing is not None:
            self._closing()
        self._folder = None


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
