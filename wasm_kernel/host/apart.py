"""Keeps what a guest may write apart from what the host loads and from what it may only read.

A guest that could write the cache of compiled modules, the host's own Python or a person's
settings would have its code run outside of the sandbox.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from wasm_kernel.core.errors import WorkspaceError
from wasm_kernel.host.cache import cache_place
from wasm_kernel.host.mounts import Mount


def require_own(workspace: Path) -> None:
    """Raise where a workspace holds something that the host loads."""
    places = tuple(sys.path)
    here = os.getcwd() if "" in places else ""
    problem = _problem(workspace, cache_place(), os.path.expanduser("~"), places, here)
    modules = len(sys.modules), next(reversed(sys.modules))
    problem = problem or _loaded(workspace, modules)
    if problem:
        raise WorkspaceError(problem)


def require_apart(mounts: Iterable[Mount]) -> None:
    """Raise where a folder to write holds a folder that the guest may only read."""
    folders = tuple(mounts)
    for outer in folders:
        for inner in folders if outer.is_workspace else ():
            if not inner.is_workspace and _holds(_real(outer.host), _real(inner.host)):
                raise WorkspaceError(
                    f"the workspace {outer.host} holds {inner.host}, which cells may only read "
                    f"({inner.guest}); choose another folder for one of them"
                )


@functools.lru_cache(maxsize=256)
def _problem(workspace: Path, cache: Path, home: str, places: tuple[str, ...], here: str) -> str:
    """What is wrong with a workspace; empty where nothing is."""
    root = _real(workspace)
    if _holds(root, _real(cache)) or _holds(_real(cache), root):
        return (
            f"the workspace {workspace} and the cache {cache} overlap, and cells could change "
            "what the host loads from there; choose another folder"
        )
    for what, folder in (
        ("your home folder", home),
        ("the Python that runs the host", sys.prefix),
        ("wasm_kernel itself", Path(__file__).parents[1]),
    ):
        if _holds(root, _real(folder)):
            return (
                f"the workspace {workspace} holds {what}, and cells could change files there; "
                "choose another folder"
            )
    for place in places:
        if _holds(root, _real(place or here)):
            return (
                f"this Python imports modules from {place or here}, and cells that can write to "
                f"{workspace} could leave some there; choose another folder such as "
                f"{workspace / 'workspace'}, or start Python with -P"
            )
    return ""


@functools.lru_cache(maxsize=256)
def _loaded(workspace: Path, _modules: tuple[int, str]) -> str:
    """What a workspace holds of the modules that are loaded, or that an editable install names.

    Their folders need not be among those that Python looks through: a package lies in one of them,
    and setuptools has a finder of its own. ``_modules`` tells whether others were loaded since.
    """
    roots = _real(workspace), os.path.join(os.path.abspath(workspace), "")
    for name, module in list(sys.modules.items()):
        # A script that is run with -P may lie in the workspace: that is what the text above says.
        if name in ("__main__", "__mp_main__"):
            continue
        for file in _files_of(name, module):
            if file.startswith(roots):
                return (
                    f"the workspace {workspace} holds code that this Python imports ({name}), "
                    "which cells could change; choose another folder"
                )
    return ""


def _files_of(name: str, module: object) -> list[str]:
    """Where a module comes from, and where an editable install's finder will look."""
    # Not by attributes: a module may import others when it is asked for one.
    names = getattr(module, "__dict__", None) or {}
    mapping = names.get("MAPPING") if name.startswith("__editable__") else None
    named = [f"{place}{os.sep}" for place in mapping.values()] if isinstance(mapping, dict) else []
    file = names.get("__file__")
    return [*named, file] if isinstance(file, str) else named


def _real(path: str | Path) -> str:
    return _real_of(os.path.abspath(path))


@functools.lru_cache(maxsize=1024)
def _real_of(path: str) -> str:
    return os.path.join(os.path.realpath(path), "")


def _holds(outer: str, inner: str) -> bool:
    """Whether one folder is in another, or is the other; both as ``_real`` writes them."""
    return inner.startswith(outer)
