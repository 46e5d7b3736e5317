"""Modules that Python had until 3.11, in the parts that notebooks of that time use.

They say what they say there: that they are deprecated, and what to use instead.
"""

import functools
import importlib
import importlib.util
import os
import re
import shutil
import sys
import types
import warnings

_IMP = (
    "the imp module was taken out of Python in 3.12, and is here in parts only; use importlib: "
    "importlib.reload, importlib.util.find_spec"
)
_VERSIONS = "distutils Version classes are deprecated. Use packaging.version instead."
_IMPORTER_FRAMES = 4
"""From the warning up to the cell: two functions of this module, their finder, and (not counted by
warnings) what imports."""

_NUMBERS_AND_WORDS = re.compile(r"(\d+|[a-z]+|\.)")
_STRICT = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:([ab])(\d+))?", re.ASCII)


def names(module):
    """What one of the modules defines."""
    return _NAMES[module.__name__]()


def _imp():
    warnings.warn(_IMP, DeprecationWarning, stacklevel=_IMPORTER_FRAMES)

    def find_module(name, path=None):
        """Where a module is; an ImportError if it is nowhere."""
        if path is None:
            spec = importlib.util.find_spec(name)
        else:
            spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None:
            raise ImportError(f"No module named {name!r}", name=name)
        return None, spec.origin, (os.path.splitext(spec.origin or "")[1], "r", 1)

    def load_source(name, pathname, file=None):
        """Run a file as a module of this name."""
        spec = importlib.util.spec_from_file_location(name, pathname)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    return {
        "find_module": find_module,
        "load_source": load_source,
        "new_module": types.ModuleType,
        "reload": importlib.reload,
    }


@functools.total_ordering
class Version:
    """A number of a version, compared with others and with texts."""

    def __init__(self, vstring=None):
        if vstring:
            self.parse(vstring)
        warnings.warn(_VERSIONS, DeprecationWarning, stacklevel=2)

    def __repr__(self):
        return f"{type(self).__name__} ('{self}')"

    def _other(self, other):
        return type(self)(other) if isinstance(other, str) else other

    def __eq__(self, other):
        other = self._other(other)
        return self._key() == other._key() if isinstance(other, Version) else NotImplemented

    def __lt__(self, other):
        other = self._other(other)
        return self._key() < other._key() if isinstance(other, Version) else NotImplemented

    __hash__ = None


class LooseVersion(Version):
    """Any text: its numbers are compared as numbers, its words as words."""

    def parse(self, vstring):
        """Take it apart."""
        self.vstring = vstring
        parts = [part for part in _NUMBERS_AND_WORDS.split(vstring) if part and part != "."]
        self.version = [int(part) if part.isdecimal() else part for part in parts]

    def __str__(self):
        return self.vstring

    def _key(self):
        return self.version


class StrictVersion(Version):
    """Two or three numbers, and perhaps a mark of a pre-release: ``1.2.3a1``."""

    def parse(self, vstring):
        """Take it apart; anything else is a ValueError."""
        match = _STRICT.fullmatch(vstring)
        if match is None:
            raise ValueError(f"invalid version number '{vstring}'")
        major, minor, patch, letter, number = match.groups()
        self.version = (int(major), int(minor), int(patch or 0))
        self.prerelease = (letter, int(number)) if letter else None

    def __str__(self):
        numbers = self.version if self.version[2] else self.version[:2]
        mark = "".join(map(str, self.prerelease)) if self.prerelease else ""
        return ".".join(map(str, numbers)) + mark

    def _key(self):
        return self.version, self.prerelease is None, self.prerelease or ()


def _strtobool(val):
    """1 for a text that says yes, 0 for one that says no."""
    said = val.lower()
    if said in ("y", "yes", "t", "true", "on", "1"):
        return 1
    if said in ("n", "no", "f", "false", "off", "0"):
        return 0
    raise ValueError(f"invalid truth value {said!r}")


def _copy_tree(src, dst, *_, **__):
    """Copy a folder into another, which may be there; returns the files that were written."""
    if not os.path.isdir(src):
        raise OSError(f"cannot copy tree '{src}': not a directory")
    shutil.copytree(src, dst, dirs_exist_ok=True)
    return [
        os.path.join(dst, os.path.relpath(os.path.join(folder, name), src))
        for folder, _, files in os.walk(src)
        for name in files
    ]


_NAMES = {
    "imp": _imp,
    "distutils": dict,
    "distutils.dir_util": lambda: {
        "copy_tree": _copy_tree,
        "mkpath": functools.partial(os.makedirs, exist_ok=True),
        "remove_tree": shutil.rmtree,
    },
    "distutils.spawn": lambda: {"find_executable": shutil.which},
    "distutils.util": lambda: {"strtobool": _strtobool},
    "distutils.version": lambda: {
        "LooseVersion": LooseVersion,
        "StrictVersion": StrictVersion,
        "Version": Version,
    },
}
MODULES = tuple(_NAMES)
