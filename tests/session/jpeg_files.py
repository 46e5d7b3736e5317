"""JPEG files as the host's Pillow writes them, and some that it writes none of."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
from PIL import Image

HEIGHT, WIDTH = 43, 75


def picture(width: int = WIDTH, height: int = HEIGHT) -> Image.Image:
    """Waves of different colours with sharp lines in them, and some noise."""
    y, x = np.mgrid[0:height, 0:width]
    waves = [128 + 90 * np.sin(x / 9), 128 + 70 * np.cos(y / 7), 255 * (x % 16 == 0)]
    noise = np.random.default_rng(0).normal(0, 8, (height, width, 3))
    return Image.fromarray(np.uint8(np.clip(np.stack(waves, -1) + noise, 0, 255)))


def written(image: Image.Image, **options: Any) -> bytes:
    """A file of a picture."""
    file = io.BytesIO()
    image.save(file, "JPEG", **options)
    return file.getvalue()


def other_frame(data: bytes, kind: int, bits: int = 8) -> bytes:
    """The same file, said to be coded otherwise."""
    at = data.index(b"\xff\xc0")
    return data[: at + 1] + bytes([kind]) + data[at + 2 : at + 4] + bytes([bits]) + data[at + 5 :]


def other_size(data: bytes, width: int, height: int, sampling: int = 0x22) -> bytes:
    """The same blocks in other places: a picture of another size and subsampling."""
    at = data.index(b"\xff\xc0")
    changed = bytearray(data)
    changed[at + 5 : at + 9] = struct.pack(">HH", height, width)
    changed[at + 11] = sampling
    return bytes(changed)


def uneven(data: bytes) -> bytes:
    """The same file, said to have colours at two thirds of its width."""
    return other_size(data, WIDTH, HEIGHT, 0x31).replace(b"\x02\x11\x01\x03", b"\x02\x21\x01\x03")


def inks_by_light(data: bytes) -> bytes:
    """A CMYK file that is said to have light and colours instead of inks."""
    at = data.index(b"Adobe") + 11
    return data[:at] + b"\x02" + data[at + 1 :]


def plane_by_plane() -> bytes:
    """A sequential file with a scan for each component: three grey pictures behind each other."""
    parts = [written(plane, quality=80) for plane in picture().split()]
    frame = parts[0].index(b"\xff\xc0")
    scan = parts[0].index(b"\xff\xda")
    tables = parts[0][frame + 13 : scan]
    components = b"".join(bytes([name, 0x11, 0]) for name in (1, 2, 3))
    header = b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, HEIGHT, WIDTH, 3) + components
    scans = [
        b"\xff\xda\0\x08\x01" + bytes([name]) + b"\0\0\x3f\0" + part[part.index(b"\xff\xda") + 10 :]
        for name, part in zip((1, 2, 3), parts, strict=True)
    ]
    data = b"".join(part.removesuffix(b"\xff\xd9") for part in scans)
    return parts[0][:frame] + header + tables + data + b"\xff\xd9"


def files() -> dict[str, bytes]:
    """Files of all kinds, by their names."""
    colours = picture()
    found = {
        "grey": written(colours.convert("L")),
        "full": written(colours, subsampling=0, quality=90),
        "half": written(colours, subsampling=1),
        "quarter": written(colours, subsampling=2),
        "fine": written(colours, quality=100),
        "coarse": written(colours, quality=5),
        "own_codes": written(colours, optimize=True),
        "restarts": written(colours, restart_marker_blocks=1),
        "restart_rows": written(colours, restart_marker_rows=1),
        "progressive": written(colours, progressive=True),
        "progressive_fine": written(colours, progressive=True, quality=99, subsampling=0),
        "progressive_grey": written(colours.convert("L"), progressive=True),
        "progressive_restarts": written(colours, progressive=True, restart_marker_blocks=3),
        "progressive_inks": written(colours.convert("CMYK"), progressive=True),
        "inks": written(colours.convert("CMYK")),
        "inks_by_light": inks_by_light(written(colours.convert("CMYK"))),
        "no_light": written(colours, keep_rgb=True),
        "usual_codes": written(colours).replace(b"\xff\xc4", b"\xff\xe5"),
        "extended": other_frame(written(colours), 0xC1),
        "plane_by_plane": plane_by_plane(),
    }
    # 64 by 48 pixels are twelve units of 16 by 16, or of 32 by 8, or of 8 by 32.
    plain = written(picture(64, 48))
    found["four_across"] = other_size(plain, 125, 22, 0x41)
    found["four_down"] = other_size(plain, 30, 91, 0x14)
    found["two_down"] = other_size(written(picture(64, 48), subsampling=1), 29, 95, 0x12)
    for width, height in ((1, 1), (2, 3), (3, 5), (8, 8), (16, 16), (17, 13), (33, 1)):
        for kind in (False, True):
            name = f"small_{width}_{height}_{kind}"
            found[name] = written(picture(width, height), progressive=kind)
    return found
