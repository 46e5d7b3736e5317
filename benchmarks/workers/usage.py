"""Memory and resources of a process, from /proc. Standard library only."""

from __future__ import annotations

import os
import time
from pathlib import Path

PRIVATE = ("Private_Clean", "Private_Dirty")


def private_bytes(pid: int | str = "self") -> int:
    """Memory that would be free if the process ended, memfds it holds included.

    Pages of a memfd count by the file's blocks, mapped or not, and once, however often they are
    mapped; of its mappings only private copies count on top.
    """
    total, fields, is_memfd = 0, {}, False
    for line in [*Path(f"/proc/{pid}/smaps").read_text().splitlines(), "0-0 end"]:
        name, _, rest = line.partition(":")
        if rest and " " not in name:
            fields[name] = rest
            continue
        if fields:
            counted = ("Anonymous",) if is_memfd else PRIVATE
            total += sum(int(fields[key].split()[0]) for key in counted if key in fields)
        fields, is_memfd = {}, "/memfd:" in line
    return total * 1024 + memfd_bytes(pid)


def memfd_bytes(pid: int | str = "self") -> int:
    """Bytes in the memfds that the process has open."""
    found = {}
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if str(entry.readlink()).startswith("/memfd:"):
                status = os.stat(entry)  # noqa: PTH116 - follows the link of /proc itself
                found[status.st_ino] = status.st_blocks * 512
        except FileNotFoundError:
            continue
    return sum(found.values())


def proportional_bytes(pid: int | str = "self") -> int:
    """The kernel's proportional share (PSS): shared pages divided by how many use them."""
    return _rollup(pid, "Pss")


def _rollup(pid: int | str, field: str) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name == field:
            return int(rest.split()[0]) * 1024
    return 0


def counts() -> dict[str, int]:
    """Descriptors, threads and mappings of this process."""
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": len(list(Path("/proc/self/task").iterdir())),
        "mappings": len(Path("/proc/self/maps").read_text().splitlines()),
    }


def is_at_rest(pid: int, seconds: float = 0.3) -> bool:
    """Whether a process waits for something, and has used no processor for some time."""
    before = _processor_ticks(pid)
    time.sleep(seconds)
    return _processor_ticks(pid) == before


def _processor_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
