"""Pictures made of pixels: the bytes must be what the MIME type says, and small enough to decode.

Only headers are read here; no picture is ever decoded on the host.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Callable, Iterator
from typing import Any

from wasm_kernel.core.data import dataclass
from wasm_kernel.core.patterns import pattern
from wasm_kernel.notebook.sanitize.refusal import Refused
from wasm_kernel.notebook.sanitize.texts import too_large

PIXELS_MAX = 50_000_000
"""A browser needs four bytes for each: more than this makes the page stop."""
SIDE_MAX = 32_767
GIF_PIXELS_MAX = 500_000_000
"""All frames of an animation together."""

Size = tuple[int, int]
_WHITESPACE = pattern(r"[ \t\r\n]+")
# Frame headers of JPEG; C4, C8 and CC in that range are tables.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = frozenset(range(0xD0, 0xD9)) | {0x01}
_GIF_FRAME, _GIF_EXTENSION, _GIF_END = 0x2C, 0x21, 0x3B


@dataclass(frozen=True)
class Picture:
    """A checked picture."""

    base64: str
    pixels: int


def raster_image(mime: str, value: Any, limit: int) -> Picture:
    """The picture, checked; ``value`` holds its bytes or their base64."""
    content = image_bytes(value, limit)
    reader = RASTER_READERS[mime]
    try:
        width, height = reader(content)
    except (struct.error, IndexError, ValueError):
        raise Refused("the bytes are not such a picture") from None
    if not (0 < width <= SIDE_MAX and 0 < height <= SIDE_MAX and width * height <= PIXELS_MAX):
        raise Refused(f"{width:,} x {height:,} pixels are too many")
    return Picture(base64.b64encode(content).decode("ascii"), width * height)


def image_bytes(value: Any, limit: int) -> bytes:
    """Raw bytes as they are, or strict base64 decoded."""
    if isinstance(value, bytes | bytearray | memoryview):
        content = bytes(value)
    elif isinstance(value, str):
        if len(value) > limit * 2:
            raise Refused(too_large(limit))
        try:
            content = base64.b64decode(_WHITESPACE.sub("", value), validate=True)
        except (binascii.Error, ValueError):
            raise Refused("the text is not base64") from None
    else:
        raise Refused("neither bytes nor base64")
    if len(content) * 4 // 3 > limit:
        raise Refused(too_large(limit))
    return content


def _png(content: bytes) -> Size:
    if content[:8] != b"\x89PNG\r\n\x1a\n" or content[12:16] != b"IHDR":
        raise ValueError
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def _jpeg(content: bytes) -> Size:
    if content[:3] != b"\xff\xd8\xff":
        raise ValueError
    position = 2
    while True:
        if content[position] != 0xFF:
            raise ValueError
        marker = content[position + 1]
        if marker == 0xFF:
            position += 1
        elif marker in _JPEG_FRAMES:
            height, width = struct.unpack(">HH", content[position + 5 : position + 9])
            return width, height
        elif marker in _JPEG_BARE:
            position += 2
        else:
            (length,) = struct.unpack(">H", content[position + 2 : position + 4])
            if length < 2:
                raise ValueError
            position += 2 + length


def _gif(content: bytes) -> Size:
    if content[:6] not in (b"GIF87a", b"GIF89a"):
        raise ValueError
    width, height = struct.unpack("<HH", content[6:10])
    frames = 1
    # A browser enlarges the picture to what its frames need, whatever the header says.
    for left, top, frame_width, frame_height in _gif_frames(content):
        width, height = max(width, left + frame_width), max(height, top + frame_height)
        frames += 1
    # Every frame starts after a block that ends in zero; counting too many is harmless.
    frames = max(frames, content.count(b"\x00\x2c") + 1)
    if width * height * frames > GIF_PIXELS_MAX:
        raise Refused("the animation has too many pixels")
    return width, height


def _gif_frames(content: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Where each frame lies and how large it is, up to the end or to where the bytes were cut."""
    position = 13 + _gif_colours(content[10])
    while position < len(content) and content[position] != _GIF_END:
        if content[position] == _GIF_FRAME:
            left, top, width, height, flags = struct.unpack(
                "<HHHHB", content[position + 1 : position + 10]
            )
            yield left, top, width, height
            position += 11 + _gif_colours(flags)
        elif content[position] == _GIF_EXTENSION:
            position += 2
        else:
            raise ValueError
        while position < len(content) and content[position]:
            position += 1 + content[position]
        position += 1


def _gif_colours(flags: int) -> int:
    """The bytes of a table of colours, if there is one."""
    return 3 * 2 ** (flags % 8 + 1) if flags & 0x80 else 0


def _webp(content: bytes) -> Size:
    if content[:4] != b"RIFF" or content[8:12] != b"WEBP":
        raise ValueError
    kind = content[12:16]
    if kind == b"VP8X":
        width = int.from_bytes(content[24:27], "little") + 1
        height = int.from_bytes(content[27:30], "little") + 1
        if len(content) < 30:
            raise ValueError
        return width, height
    if kind == b"VP8L":
        if content[20] != 0x2F:
            raise ValueError
        (bits,) = struct.unpack("<I", content[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and content[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", content[26:30])
        return width & 0x3FFF, height & 0x3FFF
    raise ValueError


RASTER_READERS: dict[str, Callable[[bytes], Size]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
}
