"""What is done to a module as soon as it is imported, or at once where it is there already."""

import importlib.machinery
import sys

_CHANGES = {}


def change(name, function):
    """Call a function with the module of that name whenever it is loaded."""
    if not _CHANGES:
        sys.meta_path.insert(0, _Finder)
    functions = _CHANGES.setdefault(name, [])
    if function not in functions:
        functions.append(function)
    if name in sys.modules:
        function(sys.modules[name])


class _Finder:
    """Finds a module as everybody does, and has it changed."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in _CHANGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader:
    """In the place of a module's loader until it is loaded; that one has others to load as well."""

    def __init__(self, plain):
        self._plain = plain

    def __getattr__(self, name):
        # Whoever only looks for a module asks its loader for sources, or whether it is a package.
        return getattr(self._plain, name)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self._plain
        self._plain.exec_module(module)
        for function in _CHANGES[module.__name__]:
            function(module)
