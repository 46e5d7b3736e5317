"""What the numbers depend on: the processor, the system, the versions, the load."""

from __future__ import annotations

import os
import platform
import time
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("wasm-kernel", "wasmtime", "ipykernel", "ipython", "jupyter_client", "pandas", "numpy")


def describe() -> dict[str, Any]:
    """The machine and our own versions."""
    return {
        "when": time.strftime("%Y-%m-%d %H:%M %Z"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
    }


def load() -> list[float]:
    """The load of the last minute, five and fifteen."""
    return [round(value, 2) for value in os.getloadavg()]


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
