"""Plain Python: a new process for each program, with no sandbox at all."""

from __future__ import annotations

import platform
import subprocess
import sys

import protocol
from protocol import Answer, Request


def _run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


def hello(_: Request) -> Answer:
    """Versions."""
    return {"versions": {"python": platform.python_version()}}


def fresh(request: Request) -> Answer:
    """One process."""
    return protocol.timed_text(lambda: _run(request["code"]))


def many(request: Request) -> Answer:
    """One process after the other."""
    return protocol.repeat_for(lambda: _run(request["code"]), request)


def cold_session(code: str) -> str:
    """Cold: an IPython shell and one cell, as a notebook has them; without a kernel around."""
    import contextlib
    import io

    from IPython.core.interactiveshell import InteractiveShell

    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        result = InteractiveShell.instance().run_cell(code)
    result.raise_error()
    return shown.getvalue()


if __name__ == "__main__":
    protocol.serve({"hello": hello, "fresh": fresh, "many": many}, {"session": cold_session})
