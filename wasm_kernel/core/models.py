"""What everything speaks: the policy a guest runs under and the result of a run.

No Wasmtime and no Jupyter here. Both models are plain data that survive a JSON round trip.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from wasm_kernel.core.record import Record, field

if TYPE_CHECKING:
    from pydantic import ValidationError

DEFAULT_ENV: dict[str, str] = {
    "PYTHONUTF8": "1",
    "LC_ALL": "C.UTF-8",
    "PYTHONIOENCODING": "utf-8",
}

KIBI = 1024
MEBI = 1024 * KIBI
GIBI = 1024 * MEBI

WASM_PAGE_BYTES = 64 * KIBI
WASM_MEMORY_MAX_BYTES = 4 * GIBI
"""A 32-bit linear memory cannot be larger, whatever a policy says."""


class RuntimeType(str, Enum):  # noqa: UP042 - the specification names both bases
    """The language a sandbox runs."""

    PYTHON = "python"
    JAVASCRIPT = "javascript"


class Limit(StrEnum):
    """Which limit ended a run."""

    NONE = "none"
    FUEL = "fuel"
    TIME = "time"
    MEMORY = "memory"
    OUTPUT = "output"
    STACK = "stack"
    WORKSPACE = "workspace"
    INTERRUPTED = "interrupted"


def _plain_absolute_path(path: str | None) -> str | None:
    if path is None:
        return None
    parts = path.split("/")
    if len(parts) < 2 or parts[0] or any(part in ("", ".", "..") for part in parts[1:]):
        raise ValueError("must be an absolute path such as /app, without '.', '..' or '//'")
    if path.startswith("/usr") or "\0" in path:
        raise ValueError("must not lie below /usr, where the guest's own files are")
    return path


def _plain_environment(env: dict[str, str]) -> dict[str, str]:
    for name, value in env.items():
        if not name or "=" in name or "\0" in name + value:
            raise ValueError(f"{name!r} is not a usable environment variable")
    return env


def _plain_arguments(argv: list[str]) -> list[str]:
    if any("\0" in argument for argument in argv):
        raise ValueError("an argument must not contain NUL")
    return argv


class ExecutionPolicy(Record, frozen=True, extra="forbid"):
    """Everything a guest is allowed: how much it may use and what it may reach."""

    fuel_budget: int = field(
        default=2_000_000_000,
        gt=0,
        le=2**62,
        description="WebAssembly instructions for the user's code",
    )
    memory_bytes: int = field(
        default=128_000_000,
        gt=0,
        le=WASM_MEMORY_MAX_BYTES,
        description="linear memory of the guest",
    )
    stdout_max_bytes: int = field(
        default=2_000_000, gt=0, description="bytes of stdout that are kept"
    )
    stderr_max_bytes: int = field(
        default=1_000_000, gt=0, description="bytes of stderr that are kept"
    )
    display_max_bytes: int = field(
        default=20_000_000, gt=0, description="bytes of rich output that one cell may send"
    )
    display_max_count: int = field(
        default=1_000, gt=0, description="rich outputs that one cell may send"
    )
    code_max_bytes: int = field(
        default=1_000_000, gt=0, description="bytes of source that one run takes"
    )
    timeout_seconds: float | None = field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="wall time of one run; None for no limit",
    )
    workspace_max_bytes: int = field(
        default=1 * GIBI, gt=0, description="bytes that all files of the workspace may hold"
    )
    workspace_max_files: int = field(
        default=20_000, gt=0, description="files and folders that the workspace may hold"
    )
    mount_host_dir: str = field(
        default="workspace", min_length=1, description="the workspace on the host"
    )
    guest_mount_path: str = field(default="/app", description="where the guest sees the workspace")
    mount_data_dir: str | None = field(
        default=None, min_length=1, description="a folder the guest may read; optional"
    )
    guest_data_path: str | None = field(
        default=None, description="where the guest sees that folder"
    )
    argv: list[str] = field(
        default_factory=lambda: ["python", "/app/user_code.py"],
        description="sys.argv of a script, after the interpreter's name",
    )
    env: dict[str, str] = field(
        default_factory=lambda: dict(DEFAULT_ENV),
        description="the guest's whole environment; nothing is inherited from the host",
    )
    deterministic: bool = field(
        default=False,
        description="seeded randomness, a virtual clock and sorted directory listings",
    )
    seed: int = field(default=0, ge=0, lt=2**63, description="the seed of the deterministic mode")
    html: Literal["safe", "isolated", "text"] = field(
        default="safe", description="how a notebook shows HTML that a cell made"
    )

    model_checks: ClassVar[dict[str, Callable[[Any], Any]]] = {
        "guest_mount_path": _plain_absolute_path,
        "guest_data_path": _plain_absolute_path,
        "env": _plain_environment,
        "argv": _plain_arguments,
    }

    @classmethod
    def model_completed(cls, values: dict[str, Any]) -> dict[str, Any]:
        """A folder of data without a path of its own is at /data."""
        if values.get("mount_data_dir") is not None and values.get("guest_data_path") is None:
            return {**values, "guest_data_path": "/data"}
        return values

    @classmethod
    def model_agree(cls, values: Mapping[str, Any]) -> None:
        """Both mounts cannot be at one place."""
        if values.get("guest_data_path") == values.get("guest_mount_path", "/app"):
            raise ValueError("guest_data_path and guest_mount_path must differ")

    @classmethod
    def model_refusal(cls, error: ValidationError) -> Exception:
        """Our own exception, which is pydantic's too."""
        from wasm_kernel.core.validation import PolicyValidationError

        return PolicyValidationError.from_validation(error)

    def replace(self, **changes: Any) -> ExecutionPolicy:
        """The same policy with some fields changed, validated anew."""
        return self.model_replaced(changes)


class FileChange(Record, frozen=True):
    """One file of the workspace that a run created, modified or deleted."""

    path: str
    change: Literal["created", "modified", "deleted"]
    size: int = 0
    type: str = "application/octet-stream"


class SandboxResult(Record):
    """What one run did, what it used and what ended it."""

    success: bool
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    fuel_consumed: int | None = field(
        default=None, description="fuel of the user's code; the least it was where a clock ended it"
    )
    fuel_overhead: int = field(default=0, description="fuel of the shell around the user's code")
    memory_used_bytes: int = field(default=0, description="linear memory at the end of the run")
    memory_peak_bytes: int = field(default=0, description="largest linear memory during the run")
    duration_ms: float = 0.0
    guest_ms: float = field(
        default=0.0, description="the part of duration_ms spent inside the guest"
    )
    files_created: list[str] = field(default_factory=list)
    files_modified: list[str] = field(default_factory=list)
    files_deleted: list[str] = field(default_factory=list)
    files: list[FileChange] = field(default_factory=list)
    workspace_path: str
    limit: Limit = Limit.NONE
    rolled_back: bool = False
    stdout_bytes: int = field(default=0, description="bytes written to stdout, kept or not")
    stderr_bytes: int = field(default=0, description="bytes written to stderr, kept or not")
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    pages_committed: int = 0
    """Pages of 4,096 bytes that a cell changed."""
    execution_count: int | None = None
    error: CellError | None = None
    user_expressions: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)


class CellError(Record, frozen=True):
    """An exception of the user's code, or the sentence about the limit that ended it."""

    name: str
    value: str
    traceback: list[str] = field(default_factory=list)
