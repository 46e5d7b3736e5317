"""Modules that run when somebody asks them for something, and not when they are imported."""

from __future__ import annotations

from _thread import RLock
from collections.abc import Callable
from types import ModuleType


def defer(module: ModuleType, run: Callable[[ModuleType], None]) -> None:
    """Have ``run`` fill a module when it is asked for a name that it does not have yet."""
    vars(module)["__getattr__"] = _FrontDoor(module, run)


class _FrontDoor:
    """A module's ``__getattr__``: runs it once, for whichever thread is first."""

    def __init__(self, module: ModuleType, run: Callable[[ModuleType], None]) -> None:
        self._module = module
        self._run = run
        self._lock = RLock()
        self._is_open = False

    def __call__(self, name: str) -> object:
        with self._lock:
            if not self._is_open:
                self._is_open = True
                try:
                    self._run(self._module)
                except BaseException:
                    self._is_open = False  # whoever asks next is told the same
                    raise
                if vars(self._module).get("__getattr__") is self:
                    del vars(self._module)["__getattr__"]
                return getattr(self._module, name)
        if name in vars(self._module):  # another thread was waiting for it
            return vars(self._module)[name]
        raise AttributeError(f"module {self._module.__name__!r} has no attribute {name!r}")
