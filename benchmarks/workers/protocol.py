"""What every worker script shares: requests and answers as JSON lines, and a stopwatch.

Standard library only: it is imported inside the environment of each peer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

Request = dict[str, Any]
Answer = dict[str, Any]
Handler = Callable[[Request], Answer]


class Unsupported(Exception):
    """The peer has no such thing; the sentence goes into the table."""


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Milliseconds of a call, and what it returned."""
    started = time.perf_counter()
    value = call()
    return (time.perf_counter() - started) * 1000, value


def timed_text(call: Callable[[], str]) -> Answer:
    """The usual answer: how long it took and what was printed."""
    ms, out = timed(call)
    return {"ms": ms, "out": out}


def repeat_for(call: Callable[[], str], request: Request) -> Answer:
    """Call again and again for some seconds; how often it came to the expected output."""
    count, started = 0, time.perf_counter()
    end = started + float(request["seconds"])
    while time.perf_counter() < end:
        out = call().strip()
        if out != request["expect"]:
            raise RuntimeError(f"expected {request['expect']!r}, got {out[:200]!r}")
        count += 1
    return {"count": count, "seconds": time.perf_counter() - started}


def serve(handlers: dict[str, Handler], cold: dict[str, Callable[[str], str]]) -> None:
    """Answer requests until stdin ends; or, as ``worker.py fresh CODE``, run one program and end.

    The latter is for cold starts, whose clock runs outside: ``fresh`` runs a program, ``session``
    the first cell of a session.
    """
    if len(sys.argv) == 3:
        out = cold[sys.argv[1]](sys.argv[2])
        sys.stdout.write(" ".join(out.split()) + "\n")
        sys.stdout.flush()
        return
    # A peer that prints on stdout must not speak into the conversation.
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = handlers[request["do"]](request)
        except KeyError as error:
            answer = {"unsupported": f"no {error}"}
        except Unsupported as error:
            answer = {"unsupported": str(error)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        answers.write(json.dumps(answer) + "\n")
