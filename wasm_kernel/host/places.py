"""Where the cache is, and whether what lies there is ours alone.

What a process asks before it has imported anything: of ``os`` alone, and of names as plain text.
"""

from __future__ import annotations

import os
import stat
import sys

ENV_CACHE_DIR = "WASM_KERNEL_CACHE_DIR"


def plain_cache_place() -> str | None:
    """The cache folder where the variables that decide it say it plainly; None where not."""
    chosen = os.environ.get(ENV_CACHE_DIR)
    if chosen:
        return chosen if os.path.isabs(chosen) else None
    if sys.platform == "linux":
        # What platformdirs says in the plain cases; its import is a twentieth of a cold start.
        home = os.environ.get("HOME")
        for base in (os.environ.get("XDG_CACHE_HOME"), home and os.path.join(home, ".cache")):
            if base and os.path.isabs(base):
                return os.path.join(base, "wasm-kernel")
    return None


def stranger(path: str, found: os.stat_result) -> str | None:
    """Why a file or folder of the cache may be somebody else's, and what to do; None if it is not.

    ``found`` is its ``lstat``. Folders must be closed to everybody else: whoever may list them may
    race us.
    """
    if stat.S_ISLNK(found.st_mode):
        return f"{path} is a symbolic link; remove it: the cache must hold real files"
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        return f"{path} belongs to another user; set {ENV_CACHE_DIR} to a folder of yours"
    forbidden = 0o077 if stat.S_ISDIR(found.st_mode) else 0o022
    if os.name == "posix" and found.st_mode & forbidden:
        mode = stat.filemode(found.st_mode)
        return f"{path} is open to other users ({mode}); run: chmod go-rwx '{path}'"
    return None
