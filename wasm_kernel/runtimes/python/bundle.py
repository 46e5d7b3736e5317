"""The pure-Python packages that the guest imports: our driver, and IPython with its helpers.

They are copied from the host's own installed distributions, so the guest's IPython is the one
that the user's environment has, and mounted read-only.
"""

from __future__ import annotations

import functools
from pathlib import Path

from wasm_kernel.core.digests import blake2b
from wasm_kernel.core.distributions import version_of
from wasm_kernel.host import cache

GUEST_PACKAGE = "wasm_guest"
DISTRIBUTIONS = (
    "asttokens",
    "executing",
    "ipython",
    "ipython-pygments-lexers",
    "jedi",
    "matplotlib-inline",
    "parso",
    "prompt-toolkit",
    "pure-eval",
    "pygments",
    "stack-data",
    "traitlets",
    "wcwidth",
)
_LEFT_OUT = ("__pycache__", "tests", "test", "django-stubs")
_KEPT_SUFFIXES = (".py", ".pyi", ".json", ".typed", ".txt", ".css", ".js")


@functools.cache
def bundle_key() -> str:
    """Changes with our driver's source and with the version of any bundled package."""
    digest = blake2b(b"bundle-1", digest_size=32)
    for distribution in DISTRIBUTIONS:
        digest.update(f"{distribution}={version_of(distribution)}\n".encode())
    for file in sorted(_driver_folder().glob("*.py")):
        digest.update(f"{file.name}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:24]


def bundle_folder() -> Path:
    """Where the bundle lies in the cache, made or not."""
    return cache.private_folder(cache.cache_root() / "bundles") / bundle_key()


def ensure_bundle() -> Path:
    """The bundle's folder, made now if need be."""
    folder = bundle_folder()
    if folder.is_dir():
        folder.with_name(folder.name + ".lock").touch()
        return folder
    import shutil

    with cache.locked(folder.with_name(folder.name + ".lock")):
        if folder.is_dir():
            return folder
        with cache.new_folder(folder) as unpacked:
            shutil.copytree(
                _driver_folder(),
                unpacked / GUEST_PACKAGE,
                ignore=shutil.ignore_patterns("__pycache__"),
            )
            for distribution in DISTRIBUTIONS:
                _copy_distribution(distribution, unpacked)
    return folder


def _driver_folder() -> Path:
    return Path(__file__).parent / "guest"


def _copy_distribution(name: str, target: Path) -> None:
    import importlib.metadata
    import shutil

    for file in importlib.metadata.files(name) or []:
        parts = file.parts
        if ".." in parts or any(part in _LEFT_OUT for part in parts[1:]):
            continue
        is_metadata = parts[0].endswith(".dist-info") and file.name == "METADATA"
        if file.suffix not in _KEPT_SUFFIXES and not is_metadata:
            continue
        source = Path(str(file.locate()))
        place = target.joinpath(*parts)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
