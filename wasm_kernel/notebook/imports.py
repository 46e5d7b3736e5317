"""What a kernel imports, kept together in one file.

For each of some 300 modules Python looks through folders, opens a file, checks it and reads it: a
sixth of a kernel's start. Here all of their code lies in the cache, in one file that is mapped.

A module is taken from there while its source is as it was, by size and time, which is how Python
itself decides about its bytecode; and the file as a whole while the folders that Python looks
through are as they were, because what has been installed since may come first. A kernel that
finds none that fits starts as ever, and has it written for the next one, by another process.
"""

from __future__ import annotations

import contextlib
import marshal
import mmap
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from wasm_kernel.core.digests import name_of
from wasm_kernel.core.errors import CacheError
from wasm_kernel.host import cache

_MAGIC = b"wasm-kernel imports 1\n"
_NUMBER_BYTES = 8
_SUFFIX = ".imports"

Entry = tuple[str, bool, int, int, int, int]
"""A module: its source, whether it is a package, the source's time and size, where its code is."""


def own_name() -> str:
    """A name for whatever decides which modules an interpreter finds."""
    facts = (sys.version, sys.flags.optimize, sys.prefix, sys.path)
    return name_of(repr(facts))


def place_of(name: str) -> Path:
    """Where the file of that name lies, if there is one."""
    return cache.cache_root() / "imports" / f"{name}{_SUFFIX}"


def lock_of(name: str) -> Path:
    """Held by whoever writes the file of that name; its time says when that was last of use."""
    return place_of(name).with_suffix(".lock")


def _folders() -> list[int]:
    """The times of the folders that Python looks through, 0 for what is not there."""
    times = []
    for folder in sys.path:
        try:
            times.append(Path(folder).stat().st_mtime_ns)
        except OSError:
            times.append(0)
    return times


class KeptModules:
    """Finds modules in the file; for ``sys.meta_path``."""

    def __init__(self, entries: dict[str, Entry], code: memoryview) -> None:
        self._entries = entries
        self._code = code

    @classmethod
    def open(cls, path: Path) -> KeptModules | None:
        """Those in a file; None where it is not for this interpreter as it is now."""
        cache.require_private(path)
        with path.open("rb") as file:
            content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        numbers = len(_MAGIC), len(_MAGIC) + _NUMBER_BYTES
        begin = numbers[1] + _NUMBER_BYTES
        if bytes(content[: len(_MAGIC)]) != _MAGIC:
            return None
        whole, header = (_number(content, at) for at in numbers)
        if whole != len(content):
            return None
        folders, entries = marshal.loads(content[begin : begin + header])
        return cls(entries, content[begin + header :]) if folders == _folders() else None

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
        if (found.st_mtime_ns, found.st_size) != (time, size):
            return None
        loader = _Loader(name, file, self._code[begin : begin + length])
        inside = [file.rpartition(os.sep)[0]] if is_package else None
        return spec_from_file_location(name, file, loader=loader, submodule_search_locations=inside)


class _Loader(SourceFileLoader):
    """Python's own, but for where the code comes from."""

    def __init__(self, name: str, file: str, code: memoryview) -> None:
        super().__init__(name, file)
        self._code = code

    def get_code(self, fullname: str) -> CodeType | None:
        code = marshal.loads(self._code)
        return code if isinstance(code, CodeType) else None


def _number(content: memoryview, at: int) -> int:
    return int.from_bytes(content[at : at + _NUMBER_BYTES], "little")


def install() -> bool:
    """Let this process import from the file; whether there is one that fits."""
    name = own_name()
    kept = _opened(name)
    if kept is None:
        return False
    with contextlib.suppress(OSError):
        lock_of(name).touch()
    sys.meta_path.insert(0, kept)
    return True


def _opened(name: str) -> KeptModules | None:
    try:
        return KeptModules.open(place_of(name))
    except (OSError, CacheError, ValueError, EOFError, TypeError):
        return None


def write_beside() -> None:
    """Have the file written for the next kernel, by a process that this one does not wait for."""
    import subprocess
    import threading

    with contextlib.suppress(OSError, CacheError):
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, own_name()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        # Whoever starts a process waits for its end, or it stays as a zombie.
        threading.Thread(target=process.wait, name="wasm-imports", daemon=True).start()


def write(path: Path, folders: list[int] | None = None) -> None:
    """Write down what this process has imported from source files, and has looked for there.

    ``folders`` are the times of the folders before the first import: what was installed during the
    imports may come first as well.
    """
    folders = _folders() if folders is None else folders
    entries: dict[str, Entry] = {}
    codes: list[bytes] = []
    begin = 0
    for module in list(sys.modules.values()):
        spec = getattr(module, "__spec__", None)
        if spec is None or spec.origin is None or type(spec.loader) is not SourceFileLoader:
            continue
        if spec.name in entries:
            continue
        found = Path(spec.origin).stat()
        code = marshal.dumps(spec.loader.get_code(spec.name))
        is_package = spec.submodule_search_locations is not None
        place = found.st_mtime_ns, found.st_size, begin, len(code)
        entries[spec.name] = (spec.origin, is_package, *place)
        codes.append(code)
        begin += len(code)
    header = marshal.dumps((folders, entries))
    whole = len(_MAGIC) + 2 * _NUMBER_BYTES + len(header) + begin
    with cache.new_file(path) as temporary, temporary.open("wb") as file:
        file.write(_MAGIC)
        for number in (whole, len(header)):
            file.write(number.to_bytes(_NUMBER_BYTES, "little"))
        file.writelines((header, *codes))


def main(name: str) -> None:
    """Import what every kernel imports, and write it down under a name."""
    if name != own_name():
        # Whoever asked looks through other folders, so this would never be found.
        return
    if hasattr(os, "nice"):
        os.nice(19)
    path = place_of(name)
    cache.private_folder(path.parent)
    with cache.locked(lock_of(name)):
        if _opened(name) is None:  # nobody else was faster
            from wasm_kernel.notebook.waiting import load

            folders = _folders()
            load()
            write(path, folders)
    lock_of(name).touch()
    cache.prune(path.parent)


if __name__ == "__main__":
    main(*sys.argv[1:])
