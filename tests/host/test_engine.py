"""The compilation of a module, as far as it is a matter of processes."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

GUARD_SECONDS = 60
COMPILE = (
    "import pathlib, sys\n"
    "from wasm_kernel.host import engine\n"
    "engine._compile_in_child(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), None)\n"
)


def test_a_compilation_ends_with_the_process_that_waits_for_it(tmp_path: Path) -> None:
    """A module whose bytes never come: the child reads it until something ends the child."""
    module = tmp_path / "module.wasm"
    os.mkfifo(module)
    parent = subprocess.Popen([sys.executable, "-c", COMPILE, module, tmp_path / "compiled"])
    end = os.open(module, os.O_WRONLY)
    try:
        parent.kill()
        parent.wait()
        readers = select.poll()
        readers.register(end, 0)
        ((_, event),) = readers.poll(GUARD_SECONDS * 1000)
        assert event & select.POLLERR
    finally:
        os.close(end)
