"""Pieces of code that run inside the sandbox, and how the host reads what they tried."""

from __future__ import annotations

import json

from wasm_kernel import SandboxResult

ATTEMPT = '''
import json as _json

def attempt(name, action):
    """Try something and print how it ended, one JSON line each."""
    try:
        value = action()
    except Exception as error:
        print(_json.dumps({"name": name, "refused": type(error).__name__}))
    else:
        print(_json.dumps({"name": name, "value": repr(value)[:200]}))
'''
"""Defines ``attempt(name, action)`` in the guest."""

TOUCH_EVERYTHING = (
    ATTEMPT
    + """
import os, shutil

def touch(path):
    attempt(f"read {path}", lambda: open(path).read())
    attempt(f"list {path}", lambda: os.listdir(path))
    attempt(f"stat {path}", lambda: os.stat(path))
    attempt(f"append {path}", lambda: open(path, "a").write("x"))
    attempt(f"write {path}", lambda: open(path, "w").write("x"))
    attempt(f"truncate {path}", lambda: os.truncate(path, 0))
    attempt(f"utime {path}", lambda: os.utime(path, (1, 1)))
    attempt(f"mkdir {path}", lambda: os.mkdir(path))
    attempt(f"mkdir in {path}", lambda: os.mkdir(path + "/made"))
    attempt(f"create in {path}", lambda: open(path + "/made.txt", "x"))
    attempt(f"move in {path}", lambda: os.rename("own.txt", path + "/moved.txt"))
    attempt(f"replace {path}", lambda: os.replace("own.txt", path))
    attempt(f"take {path}", lambda: os.rename(path, "taken"))
    attempt(f"unlink {path}", lambda: os.unlink(path))
    attempt(f"rmdir {path}", lambda: os.rmdir(path))
    attempt(f"rmtree {path}", lambda: shutil.rmtree(path))

open("own.txt", "w").close()
os.makedirs("inner", exist_ok=True)
"""
)
"""Defines ``touch(path)``: sixteen things that one can try with a name."""

SEND = """
import json as _json, struct as _struct, _host

def frame(header, *buffers):
    text = header if isinstance(header, bytes) else _json.dumps(header).encode()
    words = [len(text), len(buffers), *map(len, buffers)]
    return b"".join([_struct.pack(f"<{len(words)}I", *words), text, *buffers])

def send(header, *buffers):
    return _host.call(frame(header, *buffers))
"""
"""Defines ``frame`` and ``send`` in the guest: well-formed messages with any header."""


def attempts(result: SandboxResult) -> dict[str, str]:
    """What was attempted: ``refused: <exception>`` or ``done: <value>`` by name."""
    found: dict[str, str] = {}
    for line in result.stdout.splitlines():
        try:
            outcome = json.loads(line)
        except ValueError:
            continue
        if isinstance(outcome, dict) and "name" in outcome:
            refused = outcome.get("refused")
            found[outcome["name"]] = f"refused: {refused}" if refused else f"done: {outcome}"
    return found


def done(result: SandboxResult) -> list[str]:
    """The attempts that were not refused."""
    return sorted(name for name, how in attempts(result).items() if how.startswith("done"))
