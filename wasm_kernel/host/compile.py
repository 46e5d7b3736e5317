"""The child process that compiles a module: ``python -m wasm_kernel.host.compile WASM TARGET``."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from wasm_kernel.host.engine import compile_to


def _end_with_the_parent() -> None:
    """Wait for the end of standard input, which the parent holds open."""
    # Not sys.stdin: a thread that reads it holds a lock that the interpreter's exit wants.
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    compile_to(Path(sys.argv[1]), Path(sys.argv[2]))
