"""A worker process and the conversation with it, every answer within a time."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from typing import IO, Any

from benchmarks.environments import Prepared

ANSWER_SECONDS = 300.0


class WorkerFailed(Exception):
    """A worker has no answer; the sentence says why."""


class NotOffered(Exception):
    """The peer has no such thing."""


class Worker:
    """One worker process. Whoever starts it closes it."""

    def __init__(self, prepared: Prepared, script: str | None = None) -> None:
        command = list(prepared.command)
        if script is not None:
            command[1] = command[1].rpartition("/")[0] + "/" + script
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        self._rest = b""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=prepared.environ(),
            start_new_session=True,
        )

    def ask(self, request: dict[str, Any], seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
        """One request and its answer."""
        self.send(request)
        return self.receive(seconds)

    def send(self, request: dict[str, Any]) -> None:
        """A request whose answer is fetched later."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise WorkerFailed(f"the worker ended: {_last_words(self._log)}") from None

    def receive(self, seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
        """The next answer."""
        line = self._line(time.monotonic() + seconds)
        answer: dict[str, Any] = json.loads(line)
        if "unsupported" in answer:
            raise NotOffered(answer["unsupported"])
        if "error" in answer:
            raise WorkerFailed(answer["error"])
        return answer

    def _line(self, deadline: float) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                self.close()
                raise WorkerFailed("no answer in time; the worker was ended")
            chunk = os.read(descriptor, 65536)
            if not chunk:
                raise WorkerFailed(f"the worker ended: {_last_words(self._log)}")
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process and what it started; closing twice is fine."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(20 if self._process.poll() is None else 0)
        # The group is the worker's own: it was started as the leader of a new session.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(20)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()


def cold(prepared: Prepared, kind: str, code: str, seconds: float = 180.0) -> tuple[float, str]:
    """Milliseconds from no process at all to its first line, and that line."""
    with tempfile.TemporaryFile() as log:
        started = time.perf_counter()
        with subprocess.Popen(
            [*prepared.command, kind, code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env=prepared.environ(),
        ) as process:
            try:
                assert process.stdout is not None
                if not select.select([process.stdout], [], [], seconds)[0]:
                    raise WorkerFailed("no result in time")
                line = process.stdout.readline().decode()
                ms = (time.perf_counter() - started) * 1000
                process.wait(seconds)
            finally:
                if process.poll() is None:
                    process.kill()
        if process.returncode != 0:
            raise WorkerFailed(f"the cold process ended: {_last_words(log)}")
    return ms, line.strip()


def _last_words(log: IO[bytes]) -> str:
    """The last line of a log that tells of an error."""
    log.seek(0)
    lines = log.read()[-4000:].decode(errors="replace").strip().splitlines()
    telling = [line.strip() for line in lines if "Error" in line] or lines or ["without a word"]
    return telling[-1][:300]
