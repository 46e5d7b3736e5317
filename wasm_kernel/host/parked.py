"""A session's memory on disk: written whole or not at all, and checked whole before it is read.

A saved session is untrusted like any guest: its pages only ever go into a guest's memory, and
its header is data. The digest is against accidents, not against forgers.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from wasm_kernel.core.errors import SavedSessionError
from wasm_kernel.host.memory import WASM_PAGE
from wasm_kernel.host.pages import PAGE, CommittedMemory

if TYPE_CHECKING:
    from hashlib import _Hash

_MAGIC = b"wasm-kernel session 1\n"
_HEADER_MAX = 16 * 1024 * 1024
_RUN_PAGES_MAX = 4096
_SIZE_MAX = 1 << 32
_FILE_MAX = 2 * _SIZE_MAX
_WORDS = struct.Struct("<III")


def write(path: Path, header: dict[str, Any], memory: CommittedMemory) -> int:
    """Save a memory; the file that was there stays until the new one is complete."""
    target = path.expanduser().absolute()
    try:
        with _Replacement(target) as file:
            return _write(file, header, memory)
    except OSError as error:
        raise SavedSessionError(f"{target} cannot be written: {error.strerror}") from error


class _Replacement:
    """A file that takes the place of another when it is complete.

    While it is written it has no name, where the system offers that: whoever kills the process
    leaves nothing behind.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._temporary = target.parent / f".{target.name}.{os.urandom(8).hex()}"
        self._is_nameless = False

    def __enter__(self) -> BinaryIO:
        self._folder = os.open(self._target.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._file = os.fdopen(self._open(), "wb")
        except BaseException:
            os.close(self._folder)
            raise
        return self._file

    def _open(self) -> int:
        nameless = getattr(os, "O_TMPFILE", None)
        flags = os.O_RDWR | os.O_CLOEXEC
        if nameless is not None:
            with contextlib.suppress(OSError):
                descriptor = os.open(self._target.parent, flags | nameless, 0o600)
                self._is_nameless = True
                return descriptor
        return os.open(self._temporary, flags | os.O_CREAT | os.O_EXCL, 0o600)

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._file.flush()
                os.fsync(self._file.fileno())
                if self._is_nameless:
                    self._name()
                self._temporary.replace(self._target)
                os.fsync(self._folder)
        finally:
            self._file.close()
            self._temporary.unlink(missing_ok=True)
            os.close(self._folder)

    def _name(self) -> None:
        # Python follows the link of the source, as this needs, only if it is given a folder.
        source = f"/proc/self/fd/{self._file.fileno()}"
        os.link(source, self._temporary, src_dir_fd=self._folder)


def _new_digest() -> _Hash:
    import hashlib  # not above: it brings OpenSSL, and few sessions are parked

    return hashlib.sha256()


def _write(file: BinaryIO, header: dict[str, Any], memory: CommittedMemory) -> int:
    digest = _new_digest()
    text = json.dumps({**header, "size": memory.size}).encode()

    def put(content: bytes) -> None:
        digest.update(content)
        file.write(content)

    file.write(_MAGIC)
    put(struct.pack("<I", len(text)) + text)
    for first, content in memory.runs():
        for start in range(0, len(content), _RUN_PAGES_MAX * PAGE):
            part = content[start : start + _RUN_PAGES_MAX * PAGE]
            packed = zlib.compress(part, 1)
            put(_WORDS.pack(first + start // PAGE, len(part) // PAGE, len(packed)) + packed)
    put(_WORDS.pack(0, 0, 0))
    file.write(digest.digest())
    return file.tell()


class Parked:
    """An open saved session whose digest was checked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            # Never a link, and never a FIFO that would block.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            self._file = os.fdopen(os.open(path, flags), "rb")
        except FileNotFoundError:
            raise SavedSessionError(f"there is no saved session at {path}") from None
        except OSError as error:
            raise SavedSessionError(f"{path} cannot be opened: {error.strerror}") from error
        try:
            self.header = self._checked_header()
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Parked:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _checked_header(self) -> dict[str, Any]:
        found = os.fstat(self._file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise SavedSessionError(f"{self.path} is not a file")
        if found.st_size > _FILE_MAX:
            # It would be read to its end first, holes and all.
            raise SavedSessionError(f"{self.path} is larger than any saved session")
        if self._file.read(len(_MAGIC)) != _MAGIC:
            raise SavedSessionError(f"{self.path} is not a saved session")
        left = found.st_size - len(_MAGIC) - 32
        digest = _new_digest()
        while left > 0:
            part = self._file.read(min(left, 1 << 20))
            if not part:
                break
            digest.update(part)
            left -= len(part)
        if self._file.read(33) != digest.digest():
            raise SavedSessionError(f"{self.path} is damaged or was not written to its end")
        self._file.seek(len(_MAGIC))
        (length,) = struct.unpack("<I", self._file.read(4))
        if length > _HEADER_MAX:
            raise SavedSessionError(f"{self.path} has a header that is too long")
        try:
            header = json.loads(self._file.read(length).decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise SavedSessionError(f"{self.path} has a damaged header") from error
        if not isinstance(header, dict):
            raise SavedSessionError(f"{self.path} has a damaged header")
        size = header.get("size")
        if not isinstance(size, int) or not 0 < size <= _SIZE_MAX:
            raise SavedSessionError(f"{self.path} has a damaged header")
        return header

    def load_into(self, memory: CommittedMemory) -> None:
        """Put the saved pages over the image's."""
        size = self.header["size"]
        if size % WASM_PAGE or not memory.image.size <= size <= memory.max_size:
            raise SavedSessionError(f"{self.path} has a memory of an impossible size")
        memory.size = size
        try:
            for first, content in self._runs():
                memory.restore_run(first, content)
        except (ValueError, zlib.error, struct.error) as error:
            raise SavedSessionError(f"{self.path} has damaged pages: {error}") from error

    def _runs(self) -> Iterator[tuple[int, bytes]]:
        end = 0
        while True:
            first, pages, length = _WORDS.unpack(self._file.read(_WORDS.size))
            if pages == 0:
                return
            if pages > _RUN_PAGES_MAX or length > 2 * _RUN_PAGES_MAX * PAGE:
                raise ValueError("a run of pages is too long")
            # Each page once: a small file could name the same ones for hours.
            if first < end:
                raise ValueError("a run of pages is out of order")
            end = first + pages
            packed = self._file.read(length)
            unpacker = zlib.decompressobj()
            # One byte more than there should be, so that a bomb is told from a good run.
            content = unpacker.decompress(packed, pages * PAGE + 1)
            if len(content) != pages * PAGE:
                raise ValueError("a run of pages has another length than it says")
            yield first, content
