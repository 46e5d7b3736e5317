"""The frames that cross the one host function: a JSON header and raw buffers.

Layout: header length, buffer count, each buffer's length (all little-endian u32), the header,
the buffers. Every frame from the guest is untrusted: it is measured before it is read, and a bad
one is an answer to the guest, never an exception in the host.
"""

from __future__ import annotations

import json
import struct
from typing import Any

from wasm_kernel.core.data import dataclass, field

HEADER_MAX_BYTES = 1024 * 1024
BUFFERS_MAX = 4096
_WORD = struct.Struct("<I")


def header_length(data: bytes) -> int:
    """How many bytes of a message are read as JSON, as far as it has so many."""
    return min(_WORD.unpack_from(data)[0], len(data)) if len(data) >= _WORD.size else 0


class BadFrame(Exception):
    """A frame that is not one; the text says what is wrong with it."""


@dataclass(frozen=True)
class Frame:
    """One message: a JSON object and the bytes that go with it."""

    header: dict[str, Any]
    buffers: list[bytes] = field(default_factory=list)
    size: int = field(default=0, compare=False)
    """Bytes it had on the way here; 0 for one of the host's own."""

    def encode(self) -> bytes:
        """The frame as bytes."""
        header = json.dumps(self.header, separators=(",", ":")).encode("utf-8", "surrogatepass")
        words = [len(header), len(self.buffers), *map(len, self.buffers)]
        return b"".join([struct.pack(f"<{len(words)}I", *words), header, *self.buffers])

    @classmethod
    def decode(cls, data: bytes, *, max_bytes: int) -> Frame:
        """A frame from untrusted bytes; raises ``BadFrame`` and nothing else."""
        if len(data) > max_bytes:
            raise BadFrame(f"the message is too long: at most {max_bytes:,} bytes are taken")
        if len(data) < 8:
            raise BadFrame("the message is too short")
        header_length, count = struct.unpack_from("<II", data)
        if count > BUFFERS_MAX or header_length > HEADER_MAX_BYTES:
            raise BadFrame("the message names too many buffers or too long a header")
        if len(data) < 8 + 4 * count:
            raise BadFrame("the message is truncated")
        lengths = struct.unpack_from(f"<{count}I", data, 8)
        start = 8 + 4 * count
        if start + header_length + sum(lengths) != len(data):
            raise BadFrame("the lengths of the message do not add up")
        try:
            header = json.loads(data[start : start + header_length].decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise BadFrame("the header of the message is not JSON") from error
        if not isinstance(header, dict):
            raise BadFrame("the header of the message is not an object")
        start += header_length
        buffers = []
        for length in lengths:
            buffers.append(data[start : start + length])
            start += length
        return cls(header, buffers, len(data))
