"""Modules that packages look for and the guest cannot have, in the parts that are of use here.

Each is made when somebody asks for it. A real one that the user has put into the workspace comes
first, and what the image holds was imported without them.
"""

import importlib
import importlib.machinery
import sys

from wasm_guest import older_modules

_MODULES = {
    **dict.fromkeys(older_modules.MODULES, "wasm_guest.older_modules"),
    "PIL._imagingft": "wasm_guest.drawn_text",
    "_ssl": "wasm_guest.encryption",
    "grp": "wasm_guest.accounts",
    "nbformat": "wasm_guest.notebook_format",
    "nbformat.sign": "wasm_guest.notebook_format",
    "nbformat.v4": "wasm_guest.notebook_format",
    "pwd": "wasm_guest.accounts",
    "rpds.rpds": "wasm_guest.persistent",
}
_PACKAGES = ("distutils", "nbformat")


def install():
    """Let them be found, after everything else."""
    sys.meta_path.append(_Finder)


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in _MODULES:
            return None
        return importlib.machinery.ModuleSpec(name, _Finder, is_package=name in _PACKAGES)

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        vars(module).update(importlib.import_module(_MODULES[module.__name__]).names(module))
