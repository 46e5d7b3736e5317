"""Jupyter's modules without what this kernel has no use for.

What a package imports for whoever imports it whole can cost more than the one module that is
wanted: ``jupyter_client.session`` signs messages, and ``jupyter_client`` brings every way to start
and to manage a kernel. Here the modules come alone, and the package's own names when asked for.
And a module that wants another for one function gets that function alone: the dates in messages
are in the one format that Python itself reads, so they need none of ``dateutil``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import sys
import threading
from collections.abc import Iterator
from datetime import datetime, tzinfo
from types import ModuleType
from typing import Any


def import_jupyter() -> None:
    """Import what a kernel is made of; for a thread that is alone, in a process of our own."""
    for package in ("ipykernel", "jupyter_client", "IPython"):
        defer_package(package)
    with _instead(
        {
            # Neither is there on every machine: who imports them does without.
            "ssl": None,
            "curses": None,
            "logging.config": _module(dictConfig=_configure_logging),
            # For the sake of three loggers it brings what formats a server's log.
            "tornado.log": _module(**_tornado_loggers()),
            "dateutil.parser": _module(isoparse=datetime.fromisoformat),
            "dateutil.tz": _module(tzlocal=_local_zone),
        }
    ):
        import ipykernel.kernelbase  # noqa: F401
        import tornado.platform.asyncio  # noqa: F401 - the loop


@contextlib.contextmanager
def _instead(modules: dict[str, ModuleType | None]) -> Iterator[None]:
    """Let imports find these instead, unless the real ones are there; later ones find those."""
    given = {name: module for name, module in modules.items() if name not in sys.modules}
    sys.modules.update(given)  # type: ignore[arg-type]  # None stands for "there is none"
    try:
        yield
    finally:
        for name in given:
            del sys.modules[name]


def _module(**names: Any) -> ModuleType:
    made = ModuleType("stand_in")
    vars(made).update(names)
    return made


def _tornado_loggers() -> dict[str, logging.Logger]:
    names = ("access", "application", "general")
    access, application, general = (logging.getLogger(f"tornado.{name}") for name in names)
    return {"access_log": access, "app_log": application, "gen_log": general}


def _configure_logging(config: dict[str, Any]) -> None:
    import logging.config

    logging.config.dictConfig(config)


def _local_zone() -> tzinfo | None:
    return datetime.now().astimezone().tzinfo


def defer_package(name: str) -> None:
    """Let modules of a package be imported without running the package's ``__init__``.

    That runs when somebody asks the package for a name that it does not have yet.
    """
    if name in sys.modules:
        return
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        return
    package = importlib.util.module_from_spec(spec)
    vars(package)["__getattr__"] = _FrontDoor(package)
    sys.modules[name] = package


class _FrontDoor:
    """A package's ``__getattr__``: runs its ``__init__`` once, for whichever thread is first."""

    def __init__(self, package: ModuleType) -> None:
        self._package = package
        self._lock = threading.RLock()
        self._is_open = False

    def __call__(self, name: str) -> Any:
        with self._lock:
            if not self._is_open:
                self._is_open = True
                spec = self._package.__spec__
                assert spec is not None and spec.loader is not None
                spec.loader.exec_module(self._package)
                if vars(self._package).get("__getattr__") is self:
                    del vars(self._package)["__getattr__"]
                return getattr(self._package, name)
        if name in vars(self._package):  # another thread was waiting for it
            return vars(self._package)[name]
        raise AttributeError(f"module {self._package.__name__!r} has no attribute {name!r}")
