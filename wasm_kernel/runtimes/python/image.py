"""Memory images: interpreters that were started once and are mapped ever after.

``core`` has Python and our driver, for runs under small memory limits. ``science`` has numpy,
pandas and pyplot imported on top. ``notebook`` has an IPython shell as well, with the first
traceback, completion and figure already paid for.
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
from collections.abc import Sequence
from pathlib import Path

from wasm_kernel.core.data import dataclass
from wasm_kernel.core.digests import name_of
from wasm_kernel.core.errors import InvalidRuntimeError
from wasm_kernel.host import cache
from wasm_kernel.host.door import Frame
from wasm_kernel.host.engine import module_key
from wasm_kernel.host.guest import FIRST_PREOPEN, Guest, GuestSettings, Mount, Program, Returned
from wasm_kernel.host.journal import Journal, Quota
from wasm_kernel.host.memory import SEED_BYTES, GuestMemory, Image
from wasm_kernel.host.streams import OutputStream
from wasm_kernel.host.workspace import TEMPORARY_FOLDER, Workspace
from wasm_kernel.runtimes.python import artifacts
from wasm_kernel.runtimes.python.bundle import bundle_key, ensure_bundle

IMAGES = ("core", "science", "notebook")
ONE_SHOT_IMAGES = ("science", "core")
"""Best first; the policy's memory decides which one a one-shot run starts from."""

HEADROOM_BYTES = 16 * 1024 * 1024
"""An image is used where at least this much memory is left for the user's code."""

GUEST_BUNDLE = "/usr/local/lib/wasm_kernel"
_BUILD_MEMORY = 512 * 1024 * 1024
_BUILD_FUEL = 10**12
_FORMAT = "image-6"
_TEMPORARY = "/tmp"
_NULL = "/dev/null"


@dataclass(frozen=True)
class Layout:
    """The mounts of a Python guest, always in this order.

    An image has the descriptors of its mounts in its memory, so every instance that uses it has
    the same mounts at the same places; where there is no data folder, an empty one stands in.
    """

    binary: Path
    workspace_path: str = "/app"
    data_path: str = "/data"

    def mounts(self, workspace: Path, data: Path | None = None) -> tuple[Mount, ...]:
        """The mounts of an instance."""
        return (
            *_own_mounts(self.binary),
            Mount(workspace, self.workspace_path, is_workspace=True),
            Mount(data if data is not None else empty_folder(), self.data_path),
            self._root_mount(),
        )

    def descriptors(self) -> range:
        """The numbers that the mounts have in the guest."""
        return range(FIRST_PREOPEN, FIRST_PREOPEN + len(_own_mounts(self.binary)) + 3)

    @property
    def temporary_path(self) -> str:
        """Where the guest has its temporary files."""
        if _TEMPORARY in (self.workspace_path, self.data_path):
            return f"{self.workspace_path}/{TEMPORARY_FOLDER}"
        return _TEMPORARY

    def _root_mount(self) -> Mount:
        return root_mount("/usr/local/lib", self.workspace_path, self.data_path)

    def key(self, name: str) -> str:
        """What an image depends on, as part of its file name."""
        digest = cache.known_sha256(self.binary)
        facts = [_FORMAT, module_key(digest), bundle_key(), self.workspace_path, self.data_path]
        return f"{name}-{name_of(repr(facts))}"

    def path(self, name: str) -> Path:
        """Where an image lies in the cache."""
        return cache.private_folder(cache.cache_root() / "images") / f"{self.key(name)}.image"

    def lock(self, name: str) -> Path:
        """Held by whoever builds an image; its time says when the image was last used."""
        return self.path(name).with_suffix(".lock")


@functools.lru_cache(maxsize=8)
def _own_mounts(binary: Path) -> tuple[Mount, ...]:
    """The read-only mounts that every guest has."""
    files = runtime_files(binary)
    return (
        Mount(files / "lib", "/usr/local/lib"),
        Mount(files / "mpl-data", "/usr/local/lib/python315.zip/matplotlib/mpl-data"),
        Mount(ensure_bundle(), GUEST_BUNDLE),
    )


def runtime_files(binary: Path) -> Path:
    """The folder with the standard library that belongs to a reactor binary."""
    beside = binary.resolve().parent
    return beside if (beside / "lib" / "python315.zip").exists() else artifacts.artifact_folder()


@functools.cache
def empty_folder() -> Path:
    """A folder with nothing in it, for a data mount that was not asked for."""
    return cache.private_folder(cache.cache_root() / "empty")


@functools.lru_cache(maxsize=64)
def root_mount(*others: str) -> Mount:
    """What a guest finds at ``/``: the names of its other mounts, ``/tmp`` and ``/dev/null``.

    There is nothing behind them: a folder of our own, whose folders are empty.
    """
    names = sorted({*others, _TEMPORARY})
    root = cache.private_folder(cache.cache_root() / f"root-{name_of(repr(names), 16)}")
    for name in names:
        (root / name[1:]).mkdir(mode=0o700, parents=True, exist_ok=True)
    null = root / _NULL[1:]
    null.parent.mkdir(mode=0o700, exist_ok=True)
    null.touch(mode=0o600)
    # A deterministic guest must not learn from it when it was made.
    os.utime(null, (0, 0))
    second_names = () if _TEMPORARY in others else ((_TEMPORARY[1:], TEMPORARY_FOLDER),)
    return Mount(root, "/", second_names=second_names, null=_NULL[1:])


def is_built(layout: Layout, name: str) -> bool:
    """Whether an image is in the cache, complete."""
    return cache.is_sealed(layout.path(name))


@functools.lru_cache(maxsize=16)
def ensure_image(program: Program, layout: Layout, name: str) -> Image:
    """An image, built now if need be; one process does the work, and it is opened once."""
    path = layout.path(name)
    if not cache.is_sealed(path):
        with cache.locked(layout.lock(name)):
            if not cache.is_sealed(path):
                with cache.new_file(path) as temporary:
                    seeds = _build(program, layout, name, temporary)
                cache.seal(path, seeds=seeds)
    layout.lock(name).touch()
    seeds = cache.read_json(cache.manifest_of(path)).get("seeds", [])
    return Image(path, layout.key(name), tuple(seeds))


def choose_image(
    program: Program, layout: Layout, names: Sequence[str], memory_bytes: int
) -> Image | None:
    """The first of some images that leaves room under a memory limit; None where none does."""
    for name in names:
        image = ensure_image(program, layout, name)
        if image.size + HEADROOM_BYTES <= memory_bytes:
            return image
    return None


def _build(program: Program, layout: Layout, name: str, target: Path) -> list[int]:
    """Write an image; returns where its random generators have their states."""
    import tempfile

    ensure_bundle()
    owners: list[int] = []

    def door(data: bytes) -> bytes:
        owners.extend(Frame.decode(data, max_bytes=len(data)).header["owners"])
        return b""

    stdout, stderr = OutputStream(1 << 20), OutputStream(1 << 20)
    with tempfile.TemporaryDirectory(prefix="wasm-kernel-image-") as scratch:
        with Workspace(Path(scratch)) as workspace:
            settings = GuestSettings(
                mounts=layout.mounts(workspace.root),
                memory_bytes=_BUILD_MEMORY,
                env=(("WASM_KERNEL_WORKSPACE", layout.workspace_path),),
            )
            journal = Journal(workspace, Quota(1 << 30, 100_000))
            with Guest(program, settings, stdout=stdout, stderr=stderr, journal=journal) as guest:
                outcome = guest.turn(boot_source(layout, name), fuel=_BUILD_FUEL)
                if not isinstance(outcome, Returned) or outcome.value != 0:
                    raise InvalidRuntimeError(
                        f"the {name} image could not be built: {outcome}\n{stderr.finish()}"
                    )
                guest.door = door
                guest.turn(_TELL_SEEDS, fuel=_BUILD_FUEL)
                with target.open("wb") as file:
                    memory = (ctypes.c_char * guest.memory.size).from_address(guest.memory.base)
                    file.write(memoryview(memory))
                return [_seed_at(owner, guest.memory) for owner in owners]


def _seed_at(owner: int, memory: GuestMemory) -> int:
    """Where in an object the state is that the guest has marked."""
    place = memory.read(owner, 4 * SEED_BYTES).find(_MARKED_SEED)
    if place < 0:
        raise InvalidRuntimeError("a random generator of the image has no state that can be found")
    return owner + place


_MARKED_SEED = struct.pack("<624I", *((0x9E3779B9 * n) & 0xFFFFFFFF for n in range(1, 625)))
_TELL_SEEDS = b"__import__('sys').modules['wasm_guest.environment'].tell_seeds()"


def boot_source(layout: Layout, name: str) -> bytes:
    """The turn that makes an interpreter ready."""
    lines = [
        "import os, sys",
        f"os.environ['WASM_KERNEL_WORKSPACE'] = {layout.workspace_path!r}",
        f"os.environ['WASM_KERNEL_DATA'] = {layout.data_path!r}",
        f"os.environ['TMPDIR'] = {layout.temporary_path!r}",
        f"sys.path.append({GUEST_BUNDLE!r})",
        "import wasm_guest.driver",
        f"wasm_guest.driver.boot({name!r})",
    ]
    if name != "notebook":
        # One-shot scripts see the interpreter's own path; the driver is imported by now.
        lines.append(f"sys.path.remove({GUEST_BUNDLE!r})")
    return ("exec(" + repr("\n".join(lines)) + ")").encode()


SERVE = b"assert __turn__() is None"
"""The one line that enters the driver. It binds no name and shows no value; a builtin is found at
less than half of what an import costs."""
