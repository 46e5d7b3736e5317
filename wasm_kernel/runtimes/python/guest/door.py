"""The guest's side of the door: one call, a JSON header and raw buffers each way."""

import contextlib
import json
import struct

import _host


def _bare(operation):
    """The frame of a message that is nothing but its name."""
    text = json.dumps({"op": operation}).encode()
    return struct.pack("<II", len(text), 0) + text


# What every request needs, made once: encoding JSON costs more than the rest of a message.
_BEGIN, _END, _SHOW, _NEXT = _bare("begin"), _bare("end"), _bare("show"), _bare("next")
_REPLY = json.dumps({"op": "reply"}).encode()
_scan = json.JSONDecoder().scan_once
"""Decodes JSON that has no space around it, without the searches for such space."""


def user_code(is_running):
    """Tell the host whose fuel is burnt from here on: the user's, or the shell's."""
    _host.call(_BEGIN if is_running else _END)


def showing():
    """The same for what a cell shows: the shell's fuel, and the user's when that is gone."""
    _host.call(_SHOW)


class DoorClosed(RuntimeError):
    """The host refused a message."""


def call(header, buffers=()):
    """Send one message and return the host's answer as ``(header, buffers)``."""
    text = json.dumps(header, separators=(",", ":")).encode("utf-8", "surrogatepass")
    words = [len(text), len(buffers), *map(len, buffers)]
    frame = b"".join([struct.pack(f"<{len(words)}I", *words), text, *buffers])
    return _decoded(_host.call(frame))


def next_request():
    """What the host wants done, as ``(header, buffers)``; an empty header if nothing."""
    return _decoded(_host.call(_NEXT))


def reply(answer, buffers=()):
    """Hand over the answer to a request.

    It goes as a buffer: headers are short, tracebacks and histories are not.
    """
    words = struct.pack(
        f"<{3 + len(buffers)}I", len(_REPLY), 1 + len(buffers), len(answer), *map(len, buffers)
    )
    _host.call(b"".join([words, _REPLY, answer, *buffers]))


def _decoded(answer):
    if not answer:
        return {}, []
    size, count = struct.unpack_from("<II", answer)
    lengths = struct.unpack_from(f"<{count}I", answer, 8)
    start = 8 + 4 * count
    reply, _ = _scan(answer[start : start + size].decode("utf-8", "surrogatepass"), 0)
    start += size
    parts = []
    for length in lengths:
        parts.append(answer[start : start + length])
        start += length
    if "refused" in reply:
        raise DoorClosed(reply["refused"])
    return reply, parts


class _Nobody:
    """Takes every message and answers none."""

    @staticmethod
    def call(_frame):
        return b""


@contextlib.contextmanager
def muted():
    """While an image is built nobody listens: messages go nowhere."""
    global _host
    plain, _host = _host, _Nobody
    try:
        yield
    finally:
        _host = plain
