"""Importing from the file of kept modules, which ``imports`` writes.

The first thing that a kernel imports, and so in need of nothing but what Python itself has loaded
by then. A module is taken from the file while its source is as it was, by size and time, which is
how Python decides about its bytecode; and the file as a whole while the folders that Python looks
through are as they were, because what has been installed since may come first.
"""

from __future__ import annotations

import marshal
import mmap
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType

from wasm_kernel.core.digests import name_of
from wasm_kernel.host.places import plain_cache_place, stranger
from wasm_kernel.notebook.late import defer

MAGIC = b"wasm-kernel imports 2\n"
NUMBER_BYTES = 8
SUFFIX = ".imports"

RARELY_USED = frozenset(
    {
        *("base64", "calendar", "csv", "ipaddress", "linecache", "locale", "numbers"),
        *("pprint", "random", "secrets", "shlex", "token", "tokenize"),
    }
)
"""What others import, and no kernel asks for anything before its first cell: a module from here
runs when it is asked."""

Entry = tuple[str, bool, int, int, int, int]
"""A module: its source, whether it is a package, the source's time and size, where its code is."""


def own_name() -> str:
    """A name for whatever decides which modules an interpreter finds."""
    facts = (sys.version, sys.flags.optimize, sys.prefix, sys.path)
    return name_of(repr(facts))


def folder_times() -> list[int]:
    """The times of the folders that Python looks through, 0 for what is not there."""
    times = []
    for folder in sys.path:
        try:
            times.append(os.stat(folder).st_mtime_ns)  # noqa: PTH116 - before pathlib is there
        except OSError:
            times.append(0)
    return times


class KeptModules:
    """Finds modules in the file; for ``sys.meta_path``."""

    def __init__(self, entries: dict[str, Entry], code: memoryview) -> None:
        self._entries = entries
        self._code = code

    @classmethod
    def open(cls, path: str) -> KeptModules | None:
        """Those in a file; None where it is not ours alone, or for another interpreter."""
        if stranger(path, os.lstat(path)) is not None:
            return None
        with open(path, "rb") as file:
            content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        numbers = len(MAGIC), len(MAGIC) + NUMBER_BYTES
        begin = numbers[1] + NUMBER_BYTES
        if bytes(content[: len(MAGIC)]) != MAGIC:
            return None
        whole, header = (_number(content, at) for at in numbers)
        if whole != len(content):
            return None
        folders, entries = marshal.loads(content[begin : begin + header])
        return cls(entries, content[begin + header :]) if folders == folder_times() else None

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module of a name, if its source is as it was."""
        entry = self._entries.get(name)
        if entry is None:
            return None
        file, is_package, time, size, begin, length = entry
        try:
            found = os.stat(file)  # noqa: PTH116 - some 300 times in every start
        except OSError:
            return None
        if found.st_mtime_ns != time or found.st_size != size:
            return None
        loader = _Loader(name, file, self._code[begin : begin + length])
        spec = ModuleSpec(name, loader, origin=file, is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [file.rpartition(os.sep)[0]]
        return spec


class _Loader(SourceFileLoader):
    """Python's own, but for where the code comes from, and when it runs."""

    def __init__(self, name: str, file: str, code: memoryview) -> None:
        super().__init__(name, file)
        self._code = code

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ in RARELY_USED:
            defer(module, super().exec_module)
        else:
            super().exec_module(module)

    def get_code(self, fullname: str) -> CodeType | None:
        code = marshal.loads(self._code)
        return code if isinstance(code, CodeType) else None


def _number(content: memoryview, at: int) -> int:
    return int.from_bytes(content[at : at + NUMBER_BYTES], "little")


def opened(folder: str, name: str) -> KeptModules | None:
    """The modules in the file of a name, in the folder of all such files; None for none."""
    # A folder that others may write in can hold anything by the time that the file is opened.
    try:
        for place in (os.path.dirname(folder), folder):  # noqa: PTH120
            if stranger(place, os.lstat(place)) is not None:
                return None
        return KeptModules.open(os.path.join(folder, name + SUFFIX))  # noqa: PTH118
    except (OSError, ValueError, EOFError, TypeError):
        return None


def install() -> bool:
    """Let this process import from the file; whether there is one that fits."""
    cache = plain_cache_place()
    if cache is None:
        from wasm_kernel.host.cache import cache_place

        cache = str(cache_place())
    folder, name = os.path.join(cache, "imports"), own_name()  # noqa: PTH118
    kept = opened(folder, name)
    if kept is None:
        return False
    with suppress(OSError):
        # When it was last of use: what nobody uses is removed.
        os.utime(os.path.join(folder, name + ".lock"))  # noqa: PTH118
    sys.meta_path.insert(0, kept)
    return True
