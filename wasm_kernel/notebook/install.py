"""Kernelspecs: the one the wheel carries, and more of them with policies of their own."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from jupyter_core.paths import jupyter_data_dir

from wasm_kernel.core.errors import WasmKernelError
from wasm_kernel.core.policies import NOTEBOOK_POLICY, load_policy
from wasm_kernel.notebook.settings import ENV_DATA, ENV_POLICY, ENV_WORKSPACE

KERNEL_NAME = "wasm-python"
DISPLAY_NAME = "Python (WASM sandbox)"
MODULE = "wasm_kernel.notebook"
KERNEL_ARGUMENTS = ("-P", "-m", MODULE, "-f", "{connection_file}")
"""What Python is started with; -P keeps it from importing what lies beside a notebook."""


class KernelSpecError(WasmKernelError):
    """A kernelspec could not be installed or removed."""


@dataclass(frozen=True)
class Spec:
    """What a kernelspec is made from."""

    name: str = KERNEL_NAME
    display_name: str = DISPLAY_NAME
    policy: Path | None = None
    workspace: Path | None = None
    data: Path | None = None

    def as_json(self) -> dict[str, Any]:
        """The contents of ``kernel.json``."""
        env = {
            ENV_POLICY: self.policy,
            ENV_WORKSPACE: self.workspace,
            ENV_DATA: self.data,
        }
        return {
            "argv": [sys.executable, *KERNEL_ARGUMENTS],
            "display_name": self.display_name,
            "language": "python",
            "interrupt_mode": "message",
            "env": {name: str(path.absolute()) for name, path in env.items() if path is not None},
            "metadata": {"debugger": False, "supported_encryption": ["curve"]},
        }


def install(spec: Spec, *, user: bool = False, prefix: str | None = None) -> str:
    """Install a kernelspec; the folder it is in."""
    if spec.policy is not None:
        if not spec.policy.is_file():
            raise KernelSpecError(f"there is no policy file {spec.policy}")
        load_policy(spec.policy, base=NOTEBOOK_POLICY)
    if spec.data is not None and not spec.data.is_dir():
        raise KernelSpecError(f"the data folder {spec.data} does not exist")
    if spec.workspace is not None and spec.workspace.exists() and not spec.workspace.is_dir():
        raise KernelSpecError(f"the workspace {spec.workspace} is not a folder")
    _refuse_to_replace_others(spec.name, prefix)
    with tempfile.TemporaryDirectory(prefix="wasm-kernel-spec-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        text = json.dumps(spec.as_json(), indent=1)
        (folder / "kernel.json").write_text(text, encoding="utf-8")
        for logo in _logos():
            shutil.copyfile(logo, folder / logo.name)
        try:
            installed: str = KernelSpecManager().install_kernel_spec(
                name, spec.name, user=user, prefix=prefix
            )
        except (OSError, ValueError) as error:
            raise KernelSpecError(f"the kernelspec could not be installed: {error}") from error
    return installed


def _refuse_to_replace_others(name: str, prefix: str | None) -> None:
    """Jupyter replaces whatever has the name; python3 is the ordinary kernel of an environment."""
    data = Path(prefix, "share", "jupyter") if prefix else Path(jupyter_data_dir())
    folder = data / "kernels" / name.lower()
    try:
        spec = json.loads((folder / "kernel.json").read_bytes())
    except (OSError, ValueError):
        return
    if not isinstance(spec, dict) or MODULE not in spec.get("argv", []):
        raise KernelSpecError(f"{folder} is another kernel's; give another name with --name")


def is_found(folder: str) -> bool:
    """Whether Jupyter looks for kernelspecs where one was installed."""
    return str(Path(folder).parent) in KernelSpecManager().kernel_dirs


def uninstall(name: str) -> str:
    """Remove one of our kernelspecs; the folder it was in."""
    if name not in ours():
        known = ", ".join(sorted(ours())) or "none"
        raise KernelSpecError(
            f"{name!r} is not a kernelspec of wasm-kernel; installed are: {known}"
        )
    removed: str = KernelSpecManager().remove_kernel_spec(name)
    return removed


def ours() -> dict[str, str]:
    """The installed kernelspecs that start this kernel: name to folder."""
    manager = KernelSpecManager()
    found = {}
    for name, folder in manager.find_kernel_specs().items():
        try:
            if MODULE in manager.get_kernel_spec(name).argv:
                found[name] = folder
        except (NoSuchKernel, ValueError, OSError):
            continue
    return found


def _logos() -> list[Path]:
    """The logos of a checkout, or those that the wheel put into the environment."""
    places = [
        Path(__file__).resolve().parents[2] / "kernelspec",
        Path(sys.prefix) / "share" / "jupyter" / "kernels" / KERNEL_NAME,
    ]
    for place in places:
        if place.is_dir():
            return sorted(place.glob("logo-*"))
    return []
