"""What the host itself shows in a notebook: metrics, limit panels, file lists.

Everything that a guest can influence (file names, messages) is escaped here; each piece has a
plain-text twin for the console.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from wasm_kernel.core.data import dataclass
from wasm_kernel.core.guidance import raised
from wasm_kernel.core.models import ExecutionPolicy, FileChange, Limit, SandboxResult
from wasm_kernel.core.texts import fuel_used
from wasm_kernel.core.units import (
    format_bytes,
    format_count,
    format_seconds,
    write_bytes,
    write_fuel,
    write_seconds,
)
from wasm_kernel.notebook.sanitize import sanitize_text
from wasm_kernel.notebook.sanitize.names import NO_MATH

FILES_SHOWN_MAX = 8
_MUTED = "color: var(--jp-ui-font-color2, #616161); font-size: 0.8em"
_PANEL = (
    "border-left: 3px solid var(--jp-warn-color1, #f57c00); padding: 4px 10px; "
    "color: var(--jp-ui-font-color1, inherit); font-size: 0.9em; line-height: 1.5"
)

_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}
"""The ampersand first: the others bring one."""


@dataclass(frozen=True)
class Rendered:
    """One thing to show, in both forms."""

    html: str
    text: str

    @property
    def bundle(self) -> dict[str, Any]:
        """As a MIME bundle."""
        return {"text/html": self.html, "text/plain": self.text}


def metrics(result: SandboxResult, policy: ExecutionPolicy, links: Path | None = None) -> Rendered:
    """One quiet line: time, fuel, memory, files; ``links`` is the workspace as the page sees it."""
    parts = [
        format_seconds(result.duration_ms / 1000),
        f"fuel {fuel_used(result)} of {format_count(policy.fuel_budget)}",
        f"memory {format_bytes(result.memory_used_bytes)} of {format_bytes(policy.memory_bytes)}",
    ]
    cut = [name for name in ("stdout", "stderr") if getattr(result, f"{name}_truncated")]
    if cut:
        written = format_bytes(result.stdout_bytes + result.stderr_bytes)
        fields = " and ".join(f"{name}_max_bytes" for name in cut)
        parts.append(f"output cut ({written} written; raise {fields})")
    html_parts = [escape(part) for part in parts]
    text_parts = list(parts)
    for kind in ("created", "modified", "deleted"):
        changes = [change for change in result.files if change.change == kind]
        if changes:
            html_parts.append(f"{kind} {_html_files(changes, links)}")
            text_parts.append(f"{kind} {_text_files(changes)}")
    separator = " &middot; "
    return Rendered(
        html=f'<div class="{NO_MATH}" style="{_MUTED}">{separator.join(html_parts)}</div>',
        text="[" + " · ".join(text_parts) + "]",
    )


def escape(text: str) -> str:
    """As ``html.escape`` does it, whose module brings the names of two thousand characters."""
    for character, name in _ESCAPES.items():
        text = text.replace(character, name)
    return text


def _html_files(changes: list[FileChange], links: Path | None) -> str:
    shown = [_html_file(change, links) for change in changes[:FILES_SHOWN_MAX]]
    more = len(changes) - FILES_SHOWN_MAX
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _html_file(change: FileChange, links: Path | None) -> str:
    name = escape(clean_name(change.path))
    if change.change == "deleted":
        return f"<s>{name}</s>"
    size = f" ({format_bytes(change.size)})"
    if links is None:
        return f"{name}{size}"
    # A relative link opens the file in JupyterLab; quoting leaves nothing that could be a scheme.
    target = quote(f"{links.as_posix()}/{change.path}")
    return f'<a href="./{target}">{name}</a>{size}'


def _text_files(changes: list[FileChange]) -> str:
    names = [clean_name(change.path) for change in changes[:FILES_SHOWN_MAX]]
    more = len(changes) - FILES_SHOWN_MAX
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def clean_name(path: str) -> str:
    """A file name as one harmless line of text."""
    return sanitize_text(path).replace("\n", "␤").replace("\r", "␍").replace("\t", " ")[:200]


def limit_panel(result: SandboxResult, command: str | None) -> Rendered:
    """What a cell that a limit ended had used, and the command that gives it more.

    The error of the cell has said what happened and that it was rolled back.
    """
    used = (
        f"The cell had used {fuel_used(result)} instructions and "
        f"{format_bytes(result.memory_peak_bytes)} in {format_seconds(result.duration_ms / 1000)}."
    )
    if not result.rolled_back and result.execution_count is not None:
        # An exception of Python's, such as MemoryError: the cell is kept as far as it came.
        used += " What it did until then is kept, and can be undone."
    if command is None:
        return Rendered(html=f'<div style="{_PANEL}">{escape(used)}</div>', text=used)
    return Rendered(
        html=f'<div style="{_PANEL}">{escape(used)} To give it more: '
        f"<code>{escape(command)}</code></div>",
        text=f"{used} To give it more: {command}",
    )


def is_problem(result: SandboxResult) -> bool:
    """Whether a limit or an abort ended the cell; an interrupt was somebody's wish."""
    if result.limit is Limit.INTERRUPTED:
        return False
    return result.rolled_back or result.limit is not Limit.NONE


_WRITTEN: dict[str, Callable[[float], str]] = {
    "fuel_budget": write_fuel,
    "timeout_seconds": write_seconds,
    "memory_bytes": write_bytes,
    "workspace_max_bytes": write_bytes,
    "workspace_max_files": str,
}
KERNEL_ADVICE: dict[Limit, str] = {
    Limit.FUEL: "%policy fuel_budget={}",
    Limit.TIME: "%policy timeout_seconds={}",
    Limit.MEMORY: "%policy memory_bytes={}",
    Limit.WORKSPACE: "%policy workspace_max_bytes={} workspace_max_files={}",
}
MAGIC_ADVICE: dict[Limit, str] = {
    Limit.FUEL: "%%sandbox --fuel {}",
    Limit.TIME: "%%sandbox --timeout {}",
    Limit.MEMORY: "%%sandbox --memory {}",
    Limit.WORKSPACE: "%sandbox policy workspace_max_bytes={} workspace_max_files={}",
}
RUN_ADVICE: dict[Limit, str] = {
    Limit.FUEL: "--fuel {}",
    Limit.TIME: "--timeout {}",
    Limit.MEMORY: "--memory {}",
}
"""For ``wasm-kernel run``; the workspace's quota has no option there."""


def advice(
    commands: dict[Limit, str], limit: Limit, policy: ExecutionPolicy, ceiling: ExecutionPolicy
) -> str | None:
    """The command that gives more of what ran out; None where the ceiling has no more."""
    if limit not in commands:
        return None
    more = raised(limit, policy, ceiling)
    if not more:
        return None
    return commands[limit].format(*(_WRITTEN[name](value) for name, value in more.items()))


def as_metadata(result: SandboxResult, policy: ExecutionPolicy) -> dict[str, Any]:
    """The numbers of a cell as JSON, for the reply's metadata."""
    return {
        "fuel_consumed": result.fuel_consumed,
        "fuel_overhead": result.fuel_overhead,
        "fuel_budget": policy.fuel_budget,
        "memory_bytes": result.memory_used_bytes,
        "memory_limit": policy.memory_bytes,
        "duration_ms": round(result.duration_ms, 3),
        "guest_ms": round(result.guest_ms, 3),
        "rolled_back": result.rolled_back,
        "limit": result.limit.value,
        "files": [change.model_dump() for change in result.files[:1000]],
        "stdout_truncated": result.stdout_truncated,
        "stderr_truncated": result.stderr_truncated,
    }
