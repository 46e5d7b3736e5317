"""Sounds: a player written anew around samples that the HTML itself carries.

Only plain waves are taken. Their format is a header and numbers: it names no other file, as films
and lists of songs can, and a browser that guesses what the bytes are finds nothing else in them.
"""

from __future__ import annotations

import base64
import re
import struct

from wasm_kernel.notebook.sanitize.images import image_bytes
from wasm_kernel.notebook.sanitize.refusal import Refused

_SOURCE = re.compile(
    r"""<(?:audio|source)\b[^<>]{0,500}?\ssrc=(["'])data:audio/(?:wav|x-wav|wave|vnd\.wave);base64,"""
    r"([A-Za-z0-9+/=\s]*)\1"
)
_PLAIN_NUMBERS, _FLOATS = 1, 3
_CHANNELS_MAX = 8
_RATE_MAX = 384_000
_BITS = (8, 16, 24, 32, 64)
_CHUNKS_MAX = 100


def player(element: str, limit: int) -> str:
    """The player for one ``audio`` element; it begins when somebody asks for it."""
    found = _SOURCE.search(element)
    if found is None:
        raise Refused("the sound is not in the HTML")
    content = image_bytes(found[2], limit)
    try:
        _require_wave(content)
    except (struct.error, ValueError):
        raise Refused("the bytes are not such a sound") from None
    samples = base64.b64encode(content).decode("ascii")
    return f'<audio controls="controls" src="data:audio/wav;base64,{samples}"></audio>'


def _require_wave(content: bytes) -> None:
    """Raise unless the bytes are samples with the header of a plain wave."""
    if content[:4] != b"RIFF" or content[8:12] != b"WAVE":
        raise ValueError
    position = 12
    has_format = False
    for _ in range(_CHUNKS_MAX):
        name, size = struct.unpack_from("<4sI", content, position)
        position += 8
        if name == b"data":
            if has_format:
                return
            raise ValueError
        if name == b"fmt ":
            kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", content, position)
            is_plain = kind in (_PLAIN_NUMBERS, _FLOATS) and bits in _BITS
            if not (is_plain and 0 < channels <= _CHANNELS_MAX and 0 < rate <= _RATE_MAX):
                raise ValueError
            has_format = True
        position += size + size % 2
    raise ValueError
