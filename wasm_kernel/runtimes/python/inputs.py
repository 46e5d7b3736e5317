"""What a run is given: its code, its folder of data, its environment and its randomness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wasm_kernel.core.data import dataclass
from wasm_kernel.core.errors import WorkspaceError
from wasm_kernel.core.models import ExecutionPolicy
from wasm_kernel.host.guest import Guest
from wasm_kernel.host.memory import Image


def check_code(code: object, policy: ExecutionPolicy) -> None:
    """Raise on what is not a source text that any Python could take."""
    if not isinstance(code, str):
        raise TypeError(f"code must be a str, not {type(code).__name__}")
    if "\0" in code:
        raise ValueError("code must not contain NUL characters")
    try:
        size = len(code.encode("utf-8"))
    except UnicodeEncodeError:
        raise ValueError("code must not contain lone surrogates; it is not valid text") from None
    if size > policy.code_max_bytes:
        raise ValueError(
            f"code has {size:,} bytes; at most {policy.code_max_bytes:,} are taken (code_max_bytes)"
        )


def data_folder(policy: ExecutionPolicy) -> Path | None:
    """The data folder of a policy, checked."""
    if policy.mount_data_dir is None:
        return None
    folder = Path(policy.mount_data_dir).expanduser().absolute()
    if not folder.is_dir():
        raise WorkspaceError(f"mount_data_dir {folder} is not a folder")
    return folder


def data_path(policy: ExecutionPolicy) -> str:
    """Where a guest finds its data; where there is none, it finds an empty folder."""
    if policy.guest_data_path is not None:
        return policy.guest_data_path
    return "/data" if policy.guest_mount_path != "/data" else "/data-folder"


@dataclass(frozen=True)
class Beginning:
    """What a guest is told when it begins: its environment and its randomness."""

    env: tuple[tuple[str, str], ...]
    deterministic: bool
    seed: int

    @classmethod
    def of(cls, policy: ExecutionPolicy) -> Beginning:
        """As a policy says."""
        return cls(tuple(policy.env.items()), policy.deterministic, policy.seed)

    def request(self, image: Image | None, guest: Guest) -> dict[str, Any]:
        """The words for it, to a guest whose memory is as in ``image``, if it is as in any.

        The host's own randomness goes there.
        """
        randomness = "seeded" if self.deterministic else "own"
        if image is not None and image.seeds and not self.deterministic:
            image.stir(guest.memory)
            randomness = "host"
        return {"env": dict(self.env), "randomness": randomness, "seed": self.seed}
