"""Writes JPEG files, which the guest's Pillow has no codec for: baseline, with the usual tables.

NumPy does the work on all blocks of a strip at once.
"""

import itertools
import struct

import numpy as np

_QUALITY = 75
_MODES = ("1", "L", "RGB", "RGBX", "CMYK", "YCbCr")
_SIDE = 8
_AT_ONCE = 250_000
"""Pixels that are encoded together: what they take on the way is some 80 bytes each."""

_LUMINANCE = (
    *(16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55),
    *(14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62),
    *(18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92),
    *(49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99),
)
_CHROMINANCE = (
    *(17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99),
    *(24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99),
    *(99,) * 32,
)
# How many codes of each length there are, and their symbols: Annex K.3 of the standard.
_DC_COUNTS = (
    (0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0),
    (0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0),
)
_AC_COUNTS = (
    (0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125),
    (0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 119),
)
_AC_FIRST = (
    "01 02 03 00 04 11 05 12 21 31 41 06 13 51 61 07 22 71 14 32 81 91 a1 08 23 42 b1 c1 15 52 d1"
    " f0 24 33 62 72 82",
    "00 01 02 03 11 04 05 21 31 06 12 41 51 07 61 71 13 22 32 81 08 14 42 91 a1 b1 c1 09 23 33 52"
    " f0 15 62 72 d1 0a 16 24 34 e1 25 f1",
)

_LIGHT_AND_COLOURS = np.array(
    [[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]], "float32"
)
_ORDER = sorted(
    itertools.product(range(_SIDE), repeat=2),
    key=lambda at: (sum(at), at[0] if sum(at) % 2 else at[1]),
)
_ZIGZAG = np.array([row * _SIDE + column for row, column in _ORDER])
_COSINES = np.sqrt(2 / _SIDE) * np.cos(
    np.pi / _SIDE * np.outer(np.arange(_SIDE), np.arange(_SIDE) + 0.5)
)
_COSINES[0] /= np.sqrt(2)
_COSINES = _COSINES.astype("float32")

_END_OF_BLOCK, _SIXTEEN_ZEROS = 0x00, 0xF0
_PLACES = 1024
"""Numbers for the order in which the codes of a block follow each other."""


def save(image, file):
    """Write a picture of Pillow's to an open file, as its own plugin would."""
    if 0 in image.size:
        raise ValueError("cannot write empty image as JPEG")
    if image.mode not in _MODES:
        raise OSError(f"cannot write mode {image.mode} as JPEG")
    options = image.encoderinfo
    quality = options.get("quality", _QUALITY)
    if not isinstance(quality, int) or quality <= 0:
        # The name of one of Pillow's settings, or its word for the usual one.
        quality = _QUALITY
    is_full = options.get("subsampling") in (0, "4:4:4")
    file.write(encoded(image, quality, is_full=is_full, dpi=options.get("dpi") or (0, 0)))


def encoded(image, quality, *, is_full=False, dpi=(0, 0)):
    """A picture of Pillow's as the bytes of a JPEG file; ``is_full`` keeps all of its colours."""
    is_grey = image.mode in ("1", "L")
    step = 1 if is_grey or is_full else 2
    tables = [_scaled(table, quality) for table in (_LUMINANCE, _CHROMINANCE)]
    width, height = image.size
    side = _SIDE * step
    rows = max(1, _AT_ONCE // (width * side)) * side
    before, bits = [0, 0, 0], []
    for top in range(0, height, rows):
        strip = image.crop((0, top, width, min(top + rows, height)))
        parts = _parts(strip, is_grey, step, tables)
        bits.append(_scan(parts, before))
        before = [int(part[-1, -1, 0]) for part in parts]
    head = _head((height, width), tables, 1 if is_grey else 3, step, dpi)
    return head + _packed(bits) + b"\xff\xd9"


def _parts(strip, is_grey, step, tables):
    """The coefficients of each component of a strip."""
    if is_grey:
        planes = [np.asarray(strip.convert("L"), "float32")]
    else:
        colours = np.asarray(strip.convert("RGB"), "float32") @ _LIGHT_AND_COLOURS.T
        planes = [colours[..., n] + (128 if n else 0) for n in range(3)]
    padded = [_padded(plane, _SIDE * step) for plane in planes]
    parts = [_coefficients(padded[0], tables[0], step)]
    for plane in padded[1:]:
        small = plane.reshape(plane.shape[0] // step, step, plane.shape[1] // step, step)
        parts.append(_coefficients(small.mean(axis=(1, 3)), tables[1], 1))
    return parts


def _scaled(table, quality):
    quality = min(max(quality, 1), 100)
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    return np.clip((np.array(table, "int32") * scale + 50) // 100, 1, 255)


def _padded(plane, side):
    height, width = plane.shape
    return np.pad(plane, ((0, -height % side), (0, -width % side)), mode="edge")


def _coefficients(plane, table, step):
    """By the unit that all components are divided into: (units, blocks of a unit, 64)."""
    rows, columns = (length // (_SIDE * step) for length in plane.shape)
    blocks = (plane - 128).astype("float32").reshape(rows, step, _SIDE, columns, step, _SIDE)
    blocks = blocks.transpose(0, 3, 1, 4, 2, 5).reshape(-1, _SIDE, _SIDE)
    # Both ways as one product of two tables each, which is quicker than one for each block.
    across = (blocks.reshape(-1, _SIDE) @ _COSINES.T).reshape(blocks.shape)
    down = across.transpose(0, 2, 1).reshape(-1, _SIDE) @ _COSINES.T
    flat = down.reshape(blocks.shape).transpose(0, 2, 1).reshape(-1, _SIDE * _SIDE)
    found = np.rint(flat / table.astype("float32")).astype("int32")
    return found[:, _ZIGZAG].reshape(rows * columns, step * step, _SIDE * _SIDE)


def _scan(parts, before):
    """The codes of a strip's blocks as bits, after blocks with these means."""
    units = parts[0].shape[0]
    counts = [part.shape[1] for part in parts]
    blocks = np.concatenate(parts, axis=1).reshape(-1, _SIDE * _SIDE)
    is_colour = np.tile(np.repeat(np.arange(len(parts)) > 0, counts), units).astype("int32")
    values, lengths, places = zip(
        _of_first(parts, counts, is_colour, before), *_of_others(blocks, is_colour), strict=True
    )
    order = np.argsort(np.concatenate(places), kind="stable")
    codes, lengths = np.concatenate(values)[order], np.concatenate(lengths)[order]
    ends = np.cumsum(lengths, dtype="int32")
    behind = np.repeat(ends, lengths) - 1 - np.arange(ends[-1], dtype="int32")
    return ((np.repeat(codes, lengths) >> behind) & 1).astype("uint8")


def _of_first(parts, counts, is_colour, before):
    """Of each block's mean the difference to the last one of its component."""
    means = zip(parts, counts, before, strict=False)
    steps = [
        np.diff(part[..., 0].reshape(-1), prepend=last).reshape(-1, n) for part, n, last in means
    ]
    steps = np.concatenate(steps, axis=1).reshape(-1)
    sizes = _sizes(steps)
    codes, lengths = _DC[:, is_colour, sizes]
    places = np.arange(len(steps), dtype="int64") * _PLACES
    return (codes << sizes) | _bits(steps, sizes), lengths + sizes, places


def _of_others(blocks, is_colour):
    """What is not zero, with the zeros before it; sixteen of those in a row; ends of blocks."""
    block, place = np.nonzero(blocks[:, 1:])
    block, place = block.astype("int64"), place.astype("int32") + 1
    numbers = blocks[block, place]
    is_next = np.diff(block, prepend=-1) == 0
    zeros = place - 1 - np.where(is_next, np.roll(place, 1), 0)
    sizes = _sizes(numbers)
    codes, lengths = _AC[:, is_colour[block], (zeros % 16) << 4 | sizes]
    where = block * _PLACES + place * 10
    yield (codes << sizes) | _bits(numbers, sizes), lengths + sizes, where + 5
    for count in (1, 2, 3):
        long = zeros >= 16 * count
        codes, lengths = _AC[:, is_colour[block[long]], _SIXTEEN_ZEROS]
        yield codes, lengths, where[long] + count
    last = np.zeros(len(blocks), "int32")
    last[block] = place
    short = np.flatnonzero(last < _SIDE * _SIDE - 1).astype("int64")
    codes, lengths = _AC[:, is_colour[short], _END_OF_BLOCK]
    yield codes, lengths, short * _PLACES + _PLACES - 1


def _sizes(numbers):
    """How many bits each number needs."""
    return np.frexp(np.abs(numbers).astype("float32"))[1].astype("int32")


def _bits(numbers, sizes):
    """A number's bits; of negative ones those of the number less one."""
    return np.where(numbers < 0, numbers + (1 << sizes) - 1, numbers)


def _packed(strips):
    bits = np.concatenate(strips)
    full = np.concatenate([bits, np.ones(-len(bits) % 8, "uint8")])
    return np.packbits(full).tobytes().replace(b"\xff", b"\xff\x00")


def _head(shape, tables, count, step, dpi):
    kinds = range(min(count, 2))
    across, down = (round(number) for number in dpi)
    density = struct.pack(">BHHBB", int(across > 0 and down > 0), across or 1, down or 1, 0, 0)
    pieces = [b"\xff\xd8", _segment(0xE0, b"JFIF\0\x01\x01" + density)]
    pieces += [_segment(0xDB, bytes([n, *tables[n][_ZIGZAG]])) for n in kinds]
    components = [(1, step << 4 | step, 0), (2, 0x11, 1), (3, 0x11, 1)][:count]
    frame = struct.pack(">BHHB", 8, shape[0], shape[1], count)
    pieces.append(_segment(0xC0, frame + bytes(itertools.chain(*components))))
    for n in kinds:
        for kind, counts, symbols in (
            (0, _DC_COUNTS[n], range(12)),
            (16, _AC_COUNTS[n], _ac_symbols(n)),
        ):
            pieces.append(_segment(0xC4, bytes([kind | n, *counts, *symbols])))
    chosen = bytes(itertools.chain(*((name, kind << 4 | kind) for name, _, kind in components)))
    pieces.append(_segment(0xDA, bytes([count]) + chosen + b"\0\x3f\0"))
    return b"".join(pieces)


def _segment(marker, content):
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def _ac_symbols(n):
    """The rare ones, all of the same length, come in the order of their numbers."""
    first = bytes.fromhex(_AC_FIRST[n])
    every = {run << 4 | size for run in range(16) for size in range(1, 11)}
    return [*first, *sorted(every - set(first))]


def usual_codes():
    """The tables that files have which bring none: counts and symbols, by kind and number."""
    found = {(0, n): (bytes(_DC_COUNTS[n]), bytes(range(12))) for n in (0, 1)}
    found |= {(1, n): (bytes(_AC_COUNTS[n]), bytes(_ac_symbols(n))) for n in (0, 1)}
    return found


def _codes(counts, symbols):
    """By the symbol: the code, and how long it is."""
    found = np.zeros((2, 256), "int32")
    code, symbols = 0, iter(symbols)
    for length, count in enumerate(counts, 1):
        for symbol in itertools.islice(symbols, count):
            found[:, symbol] = code, length
            code += 1
        code <<= 1
    return found


_DC = np.stack([_codes(counts, range(12)) for counts in _DC_COUNTS], axis=1)
_AC = np.stack([_codes(counts, _ac_symbols(n)) for n, counts in enumerate(_AC_COUNTS)], axis=1)
