"""Versions of installed distributions, read from the names of their folders.

``importlib.metadata`` opens each one's description and imports a parser of mails for it; a cold
start asks for a dozen versions and would spend a tenth of its time on that.
"""

from __future__ import annotations

import functools
import os
import sys

_SUFFIX = ".dist-info"


def version_of(name: str) -> str:
    """The version of an installed distribution; raises ``PackageNotFoundError`` without one."""
    wanted = _normal(name)
    for place in sys.path:
        found = _versions_in(place or os.curdir).get(wanted)
        if found is not None:
            return found
    import importlib.metadata

    return importlib.metadata.version(name)


@functools.lru_cache(maxsize=64)
def _versions_in(place: str) -> dict[str, str]:
    try:
        names = [entry.name for entry in os.scandir(place)]
    except OSError:
        return {}
    found = (name.removesuffix(_SUFFIX).partition("-") for name in names if name.endswith(_SUFFIX))
    return {_normal(name): version for name, _, version in found if name and version}


def _normal(name: str) -> str:
    """As the index compares names, but for separators in a row, which no folder has."""
    return name.lower().replace("_", "-").replace(".", "-")
