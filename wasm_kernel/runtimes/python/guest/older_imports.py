"""How modules were found and loaded until Python 3.11.

Notebooks that import other notebooks still have a finder with ``find_module`` and a loader with
``load_module``, and many load a file by a ``SourceFileLoader``.
"""

import importlib
import importlib.machinery
import importlib.util
import sys
import warnings
from importlib import _bootstrap, _bootstrap_external

_FIND_LOADER = (
    "importlib.find_loader() was taken out of Python in 3.12; use importlib.util.find_spec()."
)


def install():
    """Put them back."""
    sys.meta_path.append(_FormerFinders)
    _bootstrap_external.FileLoader.load_module = load_module
    importlib.find_loader = find_loader


def load_module(self, fullname=None):
    """Load the file of this loader as a module, or load it again; ``exec_module`` does the same."""
    if fullname not in (None, self.name):
        raise ImportError(f"loader for {self.name} cannot handle {fullname}", name=fullname)
    spec = importlib.util.spec_from_file_location(self.name, self.path, loader=self)
    if self.name in sys.modules:
        return _bootstrap._exec(spec, sys.modules[self.name])
    return _bootstrap._load(spec)


def find_loader(name, path=None):
    """What loads a module, or None where there is no such module."""
    warnings.warn(_FIND_LOADER, DeprecationWarning, stacklevel=2)
    if path is None:
        spec = importlib.util.find_spec(name)
    else:
        spec = importlib.machinery.PathFinder.find_spec(name, path)
    return spec and spec.loader


class _FormerFinders:
    """Asks those of ``sys.meta_path`` that know ``find_module`` alone, after all others."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        for finder in sys.meta_path:
            if not hasattr(finder, "find_spec") and hasattr(finder, "find_module"):
                loader = finder.find_module(name, path)
                if loader is not None:
                    return importlib.util.spec_from_loader(name, _adapted(loader))
        return None


def _adapted(loader):
    return loader if hasattr(loader, "exec_module") else _Former(loader)


class _Former:
    """A loader that makes its module itself, in ``load_module``."""

    def __init__(self, plain):
        self._plain = plain

    def __getattr__(self, name):
        return getattr(self._plain, name)

    def create_module(self, spec):
        """It is made below."""

    def exec_module(self, module):
        """Have it made, and keep that one in the place of ours."""
        name, spec = module.__name__, module.__spec__
        # Such loaders hand back what they find there.
        del sys.modules[name]
        made = self._plain.load_module(name)
        made = sys.modules.setdefault(name, made)
        for attribute, value in (("__loader__", self._plain), ("__spec__", spec)):
            if getattr(made, attribute, None) is None:
                setattr(made, attribute, value)
