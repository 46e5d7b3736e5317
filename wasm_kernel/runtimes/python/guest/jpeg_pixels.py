"""From the coefficients of a JPEG file to its pixels: blocks, planes, and colours.

Planes that have fewer samples than the picture are made larger as libjpeg does it, with weights of
three to one between neighbours, so that pixels are those that Pillow shows elsewhere.
"""

import itertools

import numpy as np

_SIDE = 8
_AT_ONCE = 1 << 18
"""Pixels, or samples, that are computed together."""
_ORDER = sorted(
    itertools.product(range(_SIDE), repeat=2),
    key=lambda at: (sum(at), at[0] if sum(at) % 2 else at[1]),
)
ZIGZAG = np.array([row * _SIDE + column for row, column in _ORDER])
"""Where the coefficients of a block belong, in the order of the file."""
_MIDDLE = 128
_HALF = 1 << 15

_COSINES = np.cos(np.pi / _SIDE * np.outer(np.arange(_SIDE) + 0.5, np.arange(_SIDE)))
_COSINES *= np.sqrt(2 / _SIDE)
_COSINES[:, 0] /= np.sqrt(2)


def place(component, blocks, where):
    """Compute the samples of blocks, in the order of a scan, and put them into their plane."""
    top, height, columns, down, across = where
    side = component.side
    samples = _samples(blocks.reshape(-1, _SIDE), side)
    samples = samples.reshape(height, columns, down, across, side, side)
    # Each block lies on its side.
    samples = samples.transpose(0, 2, 5, 1, 3, 4)
    first = top * down * side
    wide = columns * across * side
    component.plane[first : first + height * down * side, :wide] = samples.reshape(-1, wide)


def _samples(lines, side):
    """The samples of blocks; fewer than eight are the means of neighbours."""
    waves = _COSINES.reshape(side, _SIDE // side, _SIDE).mean(axis=1).T.astype("float32")
    across = (lines @ waves).reshape(-1, _SIDE, side).transpose(0, 2, 1)
    found = across.reshape(-1, _SIDE) @ waves
    found += _MIDDLE + 0.5
    return np.clip(found, 0, 255, out=found).astype("uint8")


def transform(component, coefficients, table):
    """The samples of a whole component whose coefficients were collected, row of blocks by row."""
    back = np.argsort(ZIGZAG)
    columns = component.columns
    at_once = max(1, _AT_ONCE // (columns * _SIDE * _SIDE))
    for top in range(0, component.rows, at_once):
        height = min(at_once, component.rows - top)
        blocks = coefficients[top * columns : (top + height) * columns] * table
        place(component, blocks[:, back], (top, height, columns, 1, 1))


def strips(frame, size):
    """The picture from the top down: where a strip begins and ends, and its components."""
    width, height = size
    at_once = max(1, _AT_ONCE // width)
    for top in range(0, height, at_once):
        rows = np.arange(top, min(top + at_once, height))
        parts = [_enlarged(each, rows, width) for each in frame.components]
        yield top, top + len(rows), parts


def _enlarged(component, rows, width):
    """These rows of a component, as wide and as close as the picture."""
    across, down = component.steps
    plane = component.plane[: component.height, : component.width]
    if (across, down) == (1, 1):
        return plane[rows[0] : rows[-1] + 1, :width]
    if down == 2 and component.is_smooth and across <= 2:
        near = rows // 2
        far = np.clip(np.where(rows % 2, near + 1, near - 1), 0, component.height - 1)
        sums = 3 * plane[near].astype("int16") + plane[far]
        if across == 1:
            return (sums + (1 + rows % 2).astype("int16")[:, None]) >> 2
        return _twice_as_wide(sums, 8, 7, 4)[:, :width]
    lines = plane[rows // down]
    if (across, down) == (2, 1) and component.is_smooth:
        return _twice_as_wide(lines.astype("int16"), 1, 2, 2)[:, :width]
    return np.repeat(lines, across, axis=1)[:, :width]


def _twice_as_wide(lines, left, right, bits):
    found = np.empty((len(lines), lines.shape[1], 2), "int16")
    threefold = 3 * lines
    before = np.concatenate([lines[:, :1], lines[:, :-1]], axis=1)
    after = np.concatenate([lines[:, 1:], lines[:, -1:]], axis=1)
    found[..., 0] = (threefold + before + left) >> bits
    found[..., 1] = (threefold + after + right) >> bits
    return found.reshape(len(lines), -1)


def plain(parts):
    """Components that are shown as they are."""
    return np.stack(parts, axis=-1).astype("uint8")


def light(parts):
    """Grey of light and colours."""
    return parts[0].astype("uint8")


def light_of_colours(parts):
    """Grey of red, green and blue."""
    red, green, blue = (part.astype("int32") for part in parts)
    return ((19595 * red + 38470 * green + 7471 * blue + _HALF) >> 16).astype("uint8")


def coloured(parts):
    """Red, green and blue of light and colours; with black beside them, they are inks."""
    light, blue, red = (part.astype("int32") for part in parts[:3])
    blue -= _MIDDLE
    red -= _MIDDLE
    found = np.empty((*light.shape, len(parts)), "uint8")
    found[..., 0] = np.clip(light + ((91881 * red + _HALF) >> 16), 0, 255)
    found[..., 1] = np.clip(light + ((_HALF - 22554 * blue - 46802 * red) >> 16), 0, 255)
    found[..., 2] = np.clip(light + ((116130 * blue + _HALF) >> 16), 0, 255)
    if len(parts) == 4:
        # Ink is what keeps light away.
        found[..., :3] = 255 - found[..., :3]
        found[..., 3] = parts[3]
    return found
