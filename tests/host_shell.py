"""A real IPython in this process, for tests of ``%%sandbox``: what a cell did and showed."""

from __future__ import annotations

import atexit
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import RichOutput, capture_output
from traitlets.config import Config

FOOTER = re.compile(r"^\[.* · fuel .* · memory .*\]$", re.MULTILINE)
"""The line with metrics, as text."""


@dataclass
class Ran:
    """A cell of the host that ran."""

    error: BaseException | None
    stdout: str
    stderr: str
    outputs: list[RichOutput]

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The MIME bundles of its rich outputs, without the line of metrics."""
        bundles = [output.data for output in self.outputs]
        return [b for b in bundles if not FOOTER.match(b.get("text/plain", ""))]

    @property
    def texts(self) -> list[str]:
        """The plain texts of those."""
        return [str(bundle.get("text/plain")) for bundle in self.shown]

    @property
    def everything(self) -> str:
        """Whatever somebody could read of it."""
        return self.stdout + self.stderr + repr([output.data for output in self.outputs])

    @property
    def usage_error(self) -> str:
        """The one sentence of a refusal; there must be nothing else."""
        assert type(self.error).__name__ == "UsageError", self.error or "the cell succeeded"
        (line,) = self.stderr.splitlines()
        return line.removeprefix("UsageError: ")


class HostShell:
    """An IPython that has no terminal and no history on disk. Whoever makes it closes it."""

    def __init__(self) -> None:
        # A shell puts its own module in the place of the main one.
        self._main = sys.modules["__main__"]
        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "nocolor"
        # Whoever runs the tests may have another virtual environment active.
        config.InteractiveShell.warn_venv = False
        self.shell: InteractiveShell = InteractiveShell.instance(config=config)

    @property
    def variables(self) -> dict[str, Any]:
        """The namespace of the user."""
        namespace: dict[str, Any] = self.shell.user_ns
        return namespace

    def run(self, code: str) -> Ran:
        """Run a cell, whatever comes of it."""
        with capture_output() as captured:
            result = self.shell.run_cell(code, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        return Ran(error, captured.stdout, captured.stderr, captured.outputs)

    def ok(self, code: str) -> Ran:
        """Run a cell that must succeed."""
        ran = self.run(code)
        assert ran.error is None, ran.stdout + ran.stderr
        return ran

    def sandbox(self, options: str, code: str) -> Ran:
        """Run a cell in the sandbox, whatever comes of it."""
        return self.run(f"%%sandbox {options}\n{code}")

    @contextmanager
    def loaded(self) -> Iterator[HostShell]:
        """The extension, for as long as this lasts; the user's variables go with it."""
        before = set(self.variables)
        self.ok("%load_ext wasm_kernel")
        try:
            yield self
        finally:
            self.run("%unload_ext wasm_kernel")
            # IPython's own reset collects garbage each time, which takes longer than most tests.
            self.variables["Out"].clear()
            for name in self.variables.keys() - before:
                del self.variables[name]

    def close(self) -> None:
        """Forget the shell: the next one starts as the first."""
        atexit.unregister(self.shell.atexit_operations)
        self.shell.atexit_operations()
        InteractiveShell.clear_instance()
        sys.modules["__main__"] = self._main
