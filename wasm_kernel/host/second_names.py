"""A folder of a mount that is a second name for a folder of the workspace: ``/tmp``, of ``/``.

Wasmtime has an empty folder of that name there, which cannot be written: it is the right answer as
long as the folder in the workspace is not made. A call that names something below it becomes the
same call below the workspace before anybody looks at it, so it is checked, counted and reversed
like every other; nothing here grants anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wasm_kernel.host.wasi_abi import ACCES, EXIST, NAMES, NOENT, SUCCESS, Name, WasiFailure

if TYPE_CHECKING:
    from wasm_kernel.host.guest import Guest

_O_CREAT = 1
_OPEN_FLAGS_AT = 4
_STEPS = {b"": 0, b".": 0, b"..": -1}
_MAY_NAME_IT = ("path_filestat_get", "path_open")


def call(guest: Guest, function: str, arguments: tuple[int, ...]) -> int:
    """Make a call that names something by a second name as the call that it stands for."""
    guard = guest.wasi
    full: dict[Name, bytes] = {}
    for name in NAMES[function]:
        names = guard.second_names.get(arguments[name.folder])
        if names is None:
            continue
        text = guard.name_at(arguments[name.text], arguments[name.text + 1])
        first, _, rest = _from_the_last_root(text).partition(b"/")
        folder = names.get(first)
        if folder is None:
            continue
        is_itself = _depth(rest) == 0
        if is_itself and function not in _MAY_NAME_IT:
            raise WasiFailure(EXIST if function == "path_create_directory" else ACCES)
        if _needs_folder(function, name, arguments, is_itself):
            _make(guest, folder)
        elif is_itself and guest.journal.workspace.lstat(folder) is None:
            return _answer(guest, function, arguments)
        full[name] = f"{folder}/".encode() + rest
    if not full:
        return _answer(guest, function, arguments)

    def renamed(place: int) -> int:
        changed = list(arguments)
        for name, text in full.items():
            changed[name.folder] = guard.workspace_mount
            changed[name.text : name.text + 2] = place, len(text)
            place += len(text)
        return _answer(guest, function, tuple(changed))

    return guard.with_names(b"".join(full.values()), renamed)


def _answer(guest: Guest, function: str, arguments: tuple[int, ...]) -> int:
    number: int = getattr(guest.wasi, function)(*arguments)
    return number


def _needs_folder(function: str, name: Name, arguments: tuple[int, ...], is_itself: bool) -> bool:
    """Whether a call makes something new there, or opens the folder itself."""
    if function == "path_open":
        return is_itself or bool(arguments[_OPEN_FLAGS_AT] & _O_CREAT)
    is_target = function == "path_rename" and name.folder > 0
    return is_target or function == "path_create_directory"


def _from_the_last_root(text: bytes) -> bytes:
    """A name without the way that leads back to its mount: ``a/../b`` is ``b``."""
    if text.startswith(b"/"):
        raise WasiFailure(ACCES)
    parts = text.split(b"/")
    start = depth = 0
    for index, part in enumerate(parts):
        depth += _STEPS.get(part, 1)
        if depth < 0:
            raise WasiFailure(NOENT)
        if depth == 0:
            start = index + 1
    return b"/".join(parts[start:])


def _depth(text: bytes) -> int:
    """How far below its folder a name lies that does not leave it."""
    return sum(_STEPS.get(part, 1) for part in text.split(b"/"))


def _make(guest: Guest, folder: str) -> None:
    """Make the folder as the guest itself would: counted, and gone if the cell is rolled back."""
    if guest.journal.workspace.lstat(folder) is not None:
        return
    parts = folder.split("/")
    for depth in range(1, len(parts) + 1):
        number = _make_one(guest, "/".join(parts[:depth]).encode())
        if number not in (SUCCESS, EXIST):
            raise WasiFailure(number)


def _make_one(guest: Guest, name: bytes) -> int:
    guard = guest.wasi
    mount, length = guard.workspace_mount, len(name)
    return guard.with_names(name, lambda place: guard.path_create_directory(mount, place, length))
