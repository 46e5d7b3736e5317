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
from collections.abc import Iterator
from datetime import datetime, tzinfo
from types import ModuleType
from typing import Any

from wasm_kernel.notebook.late import defer

_DATE_PARSERS = ("_strptime_datetime", "_strptime_datetime_datetime")
"""What ``datetime.strptime`` asks for, before Python 3.14 and since."""
_THE_DATE = "2000-01-01", "%Y-%m-%d"


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
            # One of them parses a date to have this imported, with the names of the months.
            "_strptime": _module(**dict.fromkeys(_DATE_PARSERS, _parse_date)),
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


def _parse_date(cls: type[datetime], text: str, form: str) -> datetime:
    """What ``datetime.strptime`` calls from now on: Python keeps what it finds at first."""
    if (text, form) == _THE_DATE:
        return cls(2000, 1, 1)
    import _strptime  # type: ignore[import-not-found]

    parse = next(found for name in _DATE_PARSERS if (found := getattr(_strptime, name, None)))
    return parse(cls, text, form)  # type: ignore[no-any-return]


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
    defer(package, spec.loader.exec_module)
    sys.modules[name] = package
