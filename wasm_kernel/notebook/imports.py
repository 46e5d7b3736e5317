"""What a kernel imports, kept together in one file.

For each of some 300 modules Python looks through folders, opens a file, checks it and reads it: a
sixth of a kernel's start. Here all of their code lies in the cache, in one file that is mapped;
``kept`` is what takes it from there. A kernel that finds no file that fits starts as ever, and has
it written for the next one, by another process.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

from wasm_kernel.core.errors import CacheError
from wasm_kernel.host import cache
from wasm_kernel.notebook import kept

_WRITER_NICENESS = 19


def place_of(name: str) -> Path:
    """Where the file of that name lies, if there is one."""
    return cache.cache_root() / "imports" / f"{name}{kept.SUFFIX}"


def lock_of(name: str) -> Path:
    """Held by whoever writes the file of that name; its time says when that was last of use."""
    return place_of(name).with_suffix(".lock")


def write_beside() -> None:
    """Have the file written for the next kernel, by a process that this one does not wait for."""
    import subprocess
    import threading

    with contextlib.suppress(OSError, CacheError):
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, kept.own_name()],
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
    folders = kept.folder_times() if folders is None else folders
    entries: dict[str, kept.Entry] = {}
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
    whole = len(kept.MAGIC) + 2 * kept.NUMBER_BYTES + len(header) + begin
    with cache.new_file(path) as temporary, temporary.open("wb") as file:
        file.write(kept.MAGIC)
        for number in (whole, len(header)):
            file.write(number.to_bytes(kept.NUMBER_BYTES, "little"))
        file.writelines((header, *codes))


def main(name: str) -> None:
    """Import what every kernel imports, and write it down under a name."""
    if name != kept.own_name():
        # Whoever asked looks through other folders, so this would never be found.
        return
    if hasattr(os, "nice"):
        os.nice(_WRITER_NICENESS)
    path = place_of(name)
    cache.private_folder(path.parent)
    with cache.locked(lock_of(name)):
        if kept.opened(str(path.parent), name) is None:  # nobody else was faster
            from wasm_kernel.notebook.waiting import load

            folders = kept.folder_times()
            load()
            write(path, folders)
    lock_of(name).touch()
    cache.prune(path.parent)


if __name__ == "__main__":
    main(*sys.argv[1:])
