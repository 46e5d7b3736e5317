"""``python benchmarks/kill9.py``: kill -9 at random moments of save and commit, 200 times.

A child runs cells and saves its session after each, for ever. It is killed at a random moment,
and the file it leaves has to load and to hold the last state that was saved or the one that was
being saved.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TextIO

from wasm_kernel import Session, WasmKernelError

NOISE_BYTES = 1_000_000
"""Random bytes in each state, so that a save takes a while and no two files are alike."""


def save_for_ever(path: Path, workspace: Path, announce: int) -> None:
    """What the child does until it is killed: say ``run N``, run a cell, say ``save N``, save."""
    session = Session(workspace=workspace)
    for number in range(1, 10**9):
        os.write(announce, f"run {number}\n".encode())
        session.execute(
            f"n = {number}\nimport os\nnoise = os.urandom({NOISE_BYTES})\n"
            f"open('file', 'w').write('x' * {number})"
        )
        os.write(announce, f"save {number}\n".encode())
        session.save(path)


def kill_once(path: Path, workspace: Path, moments: random.Random) -> tuple[str, int]:
    """Start a child, kill it at a random moment after its first save; what it was doing, and N."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        save_for_ever(path, workspace, writer)
    os.close(writer)
    with open(reader) as announced:
        line = _until(announced, "run 2")
        select.select([], [], [], moments.uniform(0, 0.15))
        os.kill(child, signal.SIGKILL)
        line = (announced.readlines() or [line])[-1]
    os.waitpid(child, 0)
    doing, number = line.split()
    return doing, int(number)


def _until(lines: TextIO, wanted: str) -> str:
    for line in lines:
        if line.strip() == wanted:
            return line
    raise SystemExit("the child ended before it was killed")


def found_in(path: Path, workspace: Path) -> int:
    """The state that a file holds, loaded in a process of its own.

    This process forks, so it never starts a guest itself: threads do not survive a fork.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with Session.load(path, workspace=workspace) as session:
                complete = len(session.get("noise")) == NOISE_BYTES
                os.write(writer, str(session.get("n") if complete else -1).encode())
        except WasmKernelError as error:
            os.write(writer, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    try:
        return int(text)
    except ValueError:
        print(f"  the file does not load: {text or 'no answer'}")
        return -1


def main() -> int:
    """Kill, load, count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=9)
    options = parser.parse_args()
    moments = random.Random(options.seed)
    killed: Counter[str] = Counter()
    bad = 0
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="wasm-kernel-kill9-") as name:
        path, workspace = Path(name, "parked"), Path(name, "workspace")
        for _ in range(options.times):
            doing, number = kill_once(path, workspace, moments)
            killed[doing] += 1
            # A file that was complete when the child was killed may not have been announced yet.
            allowed = (number - 1,) if doing == "run" else (number - 1, number)
            found = found_in(path, workspace)
            if found not in allowed:
                bad += 1
                print(f"  killed during {doing} {number}, found {found}")
        left = sum(1 for file in Path(name).iterdir() if file.name.startswith("."))
    print(
        f"kill -9: {options.times} times ({killed['save']} in a save, {killed['run']} in a cell), "
        f"{options.times - bad} loaded the last good state, {bad} did not; "
        f"{left} unfinished files left behind; {time.monotonic() - started:.0f} s"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
