"""What a kernel is started with: the environment variables of its kernelspec, in one table."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from wasm_kernel.core import errors
from wasm_kernel.core.data import dataclass
from wasm_kernel.core.models import GIBI, ExecutionPolicy
from wasm_kernel.core.policies import NOTEBOOK_POLICY, load_policy

ENV_POLICY = "WASM_KERNEL_POLICY"
ENV_WORKSPACE = "WASM_KERNEL_WORKSPACE"
ENV_DATA = "WASM_KERNEL_DATA"
ENV_METRICS = "WASM_KERNEL_METRICS"
ENV_SPARE = "WASM_KERNEL_SPARE"
"""``off``: a server keeps no process ready for the next kernel."""

METRICS_MODES = ("auto", "on", "off", "problems")
"""``auto`` shows metrics where a person looks at a notebook, and not to tools that compare it."""

DEFAULT_CEILING = NOTEBOOK_POLICY.replace(
    fuel_budget=5_000_000_000_000,
    memory_bytes=4 * GIBI - 65536,
    workspace_max_bytes=20 * GIBI,
)
"""How far ``%policy`` may go where the kernel was installed without a policy of its own."""

NO_CEILING = NOTEBOOK_POLICY.replace(
    fuel_budget=2**62,
    memory_bytes=4 * 1024**3,
    stdout_max_bytes=2**40,
    stderr_max_bytes=2**40,
    display_max_bytes=2**40,
    display_max_count=2**40,
    code_max_bytes=2**40,
    workspace_max_bytes=2**60,
    workspace_max_files=2**40,
)
"""In the host notebook it is the user who sets limits, and nobody above."""


@dataclass(frozen=True)
class Settings:
    """Where a kernel's cells run, under which limits, and how far those can be raised."""

    policy: ExecutionPolicy
    ceiling: ExecutionPolicy
    workspace: Path
    metrics: str = "auto"

    @classmethod
    def from_environment(cls, env: Mapping[str, str] | None = None) -> Settings:
        """The settings of this process; the notebook's own folder is its working directory."""
        values = os.environ if env is None else env
        here = Path.cwd()
        policy = ceiling = None
        if values.get(ENV_POLICY):
            file = Path(values[ENV_POLICY]).expanduser()
            if not file.is_file():
                raise errors.PolicyValidationError.from_message(
                    ENV_POLICY, str(file), "there is no such policy file"
                )
            policy = ceiling = load_policy(file, base=NOTEBOOK_POLICY)
        policy = policy or NOTEBOOK_POLICY
        workspace = Path(values.get(ENV_WORKSPACE) or here / policy.mount_host_dir).expanduser()
        data = _data_folder(values.get(ENV_DATA), here, workspace)
        if data is not None:
            policy = policy.replace(mount_data_dir=str(data))
        metrics = values.get(ENV_METRICS) or "auto"
        return cls(
            policy=policy,
            ceiling=ceiling or DEFAULT_CEILING,
            workspace=workspace,
            metrics=metrics if metrics in METRICS_MODES else "auto",
        )


def _data_folder(named: str | None, here: Path, workspace: Path) -> Path | None:
    """The folder that cells may read: the one that was named, else ``data`` beside the notebook.

    In a workspace that is the notebook's own folder, cells find it there.
    """
    if named:
        return Path(named).expanduser()
    beside = here / "data"
    if beside.is_symlink() or not beside.is_dir():
        return None
    return None if beside.is_relative_to(workspace.absolute()) else beside
