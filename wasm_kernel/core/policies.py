"""Where policies come from: the defaults, the presets, and ``policy.toml``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wasm_kernel.core import errors
from wasm_kernel.core.models import GIBI, ExecutionPolicy

DEFAULT_POLICY = ExecutionPolicy()
"""One-shot runs: small and strict, as documented."""

NOTEBOOK_POLICY = DEFAULT_POLICY.replace(
    fuel_budget=1_000_000_000_000,
    memory_bytes=1 * GIBI,
    stdout_max_bytes=10_000_000,
    stderr_max_bytes=10_000_000,
    workspace_max_bytes=10 * GIBI,
    workspace_max_files=200_000,
)
"""Live sessions: room for real work, and no wall limit, because a person can interrupt.

The fuel is for a minute and a half of computing; a loop that never ends is ended by then.
"""

PRESETS: dict[str, ExecutionPolicy] = {"one-shot": DEFAULT_POLICY, "notebook": NOTEBOOK_POLICY}


def load_policy(
    path: str | Path = "config/policy.toml", *, base: ExecutionPolicy = DEFAULT_POLICY
) -> ExecutionPolicy:
    """The policy of a TOML file laid over ``base``; a missing file gives ``base`` itself.

    ``env`` is merged key by key; every other field of the file replaces the base's.
    """
    file = Path(path)
    try:
        text = file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return base
    except (OSError, UnicodeDecodeError) as error:
        raise errors.PolicyValidationError.from_message(
            "policy file", str(file), f"{file} cannot be read: {error}"
        ) from error
    import tomllib

    try:
        fields: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise errors.PolicyValidationError.from_message(
            "policy file", str(file), f"{file} is not valid TOML: {error}"
        ) from error
    return merge_policy(base, fields)


def check_policy(policy: object) -> None:
    """Refuse what is no policy where it is handed in, and not where its first field is missed."""
    if not isinstance(policy, ExecutionPolicy):
        raise TypeError(
            f"policy must be an ExecutionPolicy, not {type(policy).__name__}; "
            "make one with ExecutionPolicy(fuel_budget=...) or load_policy(FILE)"
        )


def merge_policy(base: ExecutionPolicy, fields: dict[str, Any]) -> ExecutionPolicy:
    """``base`` with some fields replaced and ``env`` merged key by key."""
    env = fields.get("env", {})
    if isinstance(env, dict):
        fields = {**fields, "env": {**base.env, **env}}
    return base.replace(**fields)


def within_ceiling(policy: ExecutionPolicy, ceiling: ExecutionPolicy) -> ExecutionPolicy:
    """``policy`` with every limit lowered to the ceiling's where it is looser."""
    numeric = (
        "fuel_budget",
        "memory_bytes",
        "stdout_max_bytes",
        "stderr_max_bytes",
        "display_max_bytes",
        "display_max_count",
        "code_max_bytes",
        "workspace_max_bytes",
        "workspace_max_files",
    )
    changes: dict[str, Any] = {
        name: min(getattr(policy, name), getattr(ceiling, name)) for name in numeric
    }
    timeouts = [t for t in (policy.timeout_seconds, ceiling.timeout_seconds) if t is not None]
    changes["timeout_seconds"] = min(timeouts) if timeouts else None
    return policy.replace(**changes)
