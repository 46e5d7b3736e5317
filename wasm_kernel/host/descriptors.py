"""The descriptors of a guest: where each of them lies, so that a new instance can have the same.

Linear memory survives a rollback, a fork or a nap on disk; descriptors live in Wasmtime and do
not. A guest that goes on in a new instance finds the files it had open at the same numbers, at
the same offsets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from wasm_kernel.core.data import dataclass

DESCRIPTORS_MAX = 1024
"""What a saved session may name as the number of an open file is below this."""


class Place(NamedTuple):
    """A path below one of the guest's mounts."""

    mount: int
    path: str


@dataclass(frozen=True)
class OpenFile:
    """An open file or folder, and how to open it again."""

    place: Place
    is_folder: bool
    writes: bool
    lookup: int
    rights: int
    inherited: int
    flags: int
    offset: int = 0
    inode: int = 0
    """What the name stood for in the workspace when it was opened."""
    discards: bool = False
    """It was opened to be written, and takes everything without keeping it."""


Descriptors = dict[int, OpenFile]


def to_json(descriptors: Descriptors) -> list[list[Any]]:
    """Descriptors as a saved session has them."""
    return [[number, vars(file)] for number, file in sorted(descriptors.items())]


def _is_text(path: Any) -> bool:
    try:
        return isinstance(path, str) and bool(path.encode("utf-8") or True)
    except UnicodeEncodeError:
        return False


def from_json(rows: Any, mounts: Iterable[int]) -> Descriptors:
    """Descriptors of a saved session; whatever is not well formed is left out.

    Nothing here grants anything: each file is opened again through the guest's own mounts.
    """
    allowed = set(mounts)
    found: Descriptors = {}
    for row in rows if isinstance(rows, list) else []:
        try:
            number, fields = row
            mount, path = fields["place"]
            numbers = {
                name: fields[name] for name in ("lookup", "rights", "inherited", "flags", "offset")
            }
        except (TypeError, ValueError, KeyError):
            continue
        whole = [number, mount, *numbers.values()]
        if any(not isinstance(value, int) or not 0 <= value < 2**63 for value in whole):
            continue
        if mount in allowed and _is_text(path) and number < DESCRIPTORS_MAX:
            found[number] = OpenFile(
                Place(mount, path),
                is_folder=fields.get("is_folder") is True,
                writes=fields.get("writes") is True,
                **numbers,
            )
    return found
