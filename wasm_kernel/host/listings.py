"""What a guest finds in a folder, as WASI tells it piece by piece.

Wasmtime's own answer reads the whole folder for each piece, and asks for each entry what it is:
four thousand files took seven seconds. Here a folder is read once.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import NamedTuple

KEPT_MAX = 8
"""Listings that are half told at the same time; of others the beginning is read anew."""

_ENTRY = struct.Struct("<QQIB3x")
"""Where the next entry is, inode, length of the name that follows, kind."""
_UNKNOWN, _FOLDER, _FILE, _LINK = 0, 3, 4, 7


class Entry(NamedTuple):
    """A name in a folder, and what it stands for."""

    name: bytes
    inode: int
    kind: int


def entries_of(folder: int | str) -> list[Entry]:
    """The entries of a folder, by its descriptor or its path; links are named, not followed.

    A guest has no name for what is not UTF-8.
    """
    inode = os.stat(folder).st_ino
    found = [Entry(b".", inode, _FOLDER), Entry(b"..", inode, _FOLDER)]
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                name = entry.name.encode("utf-8")
            except UnicodeEncodeError:
                continue
            found.append(Entry(name, entry.inode(), _kind(entry)))
    return found


def _kind(entry: os.DirEntry[str]) -> int:
    if entry.is_symlink():
        return _LINK
    if entry.is_dir(follow_symlinks=False):
        return _FOLDER
    return _FILE if entry.is_file(follow_symlinks=False) else _UNKNOWN


class Listings:
    """The folders that are being listed, by descriptor."""

    def __init__(self, read: Callable[[int], list[Entry]]) -> None:
        """``read`` gives the entries of the folder that a descriptor stands for."""
        self._read = read
        self._half_told: dict[int, list[Entry]] = {}

    def tell(self, descriptor: int, begin: int, room: int) -> bytes:
        """The entries from ``begin`` on, as many bytes as there is room for."""
        entries = self._half_told.pop(descriptor, None)
        if begin == 0 or entries is None:
            entries = self._read(descriptor)
        parts = []
        left = room
        for index in range(begin, len(entries)):
            if left <= 0:
                break
            name, inode, kind = entries[index]
            parts.append(_ENTRY.pack(index + 1, inode, len(name), kind) + name)
            left -= len(parts[-1])
        if left <= 0:
            self._half_told[descriptor] = entries
            if len(self._half_told) > KEPT_MAX:
                del self._half_told[next(iter(self._half_told))]
        return b"".join(parts)[:room]

    def forget(self, descriptor: int) -> None:
        """The descriptor was closed."""
        self._half_told.pop(descriptor, None)
