"""How the host starts another Python: one that imports nothing of the folder it happens to be in.

That can be a workspace, or the folder of a notebook: what a guest left there must not run here.
"""

from __future__ import annotations

import os
import sys


def command(module: str, *arguments: str) -> list[str]:
    """The command line that runs a module of this environment."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment(**more: str) -> dict[str, str]:
    """Its variables: it finds what this process finds, but for the current folder."""
    found = os.pathsep.join(filter(os.path.isabs, sys.path))
    return {**os.environ, "PYTHONPATH": found, **more}
