"""Reads JPEG files, which the guest's Pillow has no codec for: sequential and progressive ones.

Pillow reads what is said about a picture by itself, and asks for a decoder when its pixels are
needed. Beside Pillow's own picture, that takes up to three bytes a pixel, or nine if the file is
progressive.
"""

import io

from PIL import Image, ImageFile
from wasm_guest import jpeg_headers, jpeg_pixels, jpeg_progressive, jpeg_sequential
from wasm_guest.jpeg_headers import broken, cut_short

_SIDE = 8
_RED_GREEN_BLUE = [ord(letter) for letter in "RGB"]


class Decoder(ImageFile.PyDecoder):
    """What Pillow calls with the file, and with the size and the mode that it wants."""

    _pulls_fd = True

    def init(self, args):
        """Take Pillow's wishes: the mode of the pixels, and the scale that ``draft`` has set."""
        self._wanted = args[0] if args else self.mode
        self._scale = args[2] if len(args) > 2 else 1

    def decode(self, buffer):
        """Read the picture, and put it into Pillow's."""
        contents = jpeg_headers.Contents(self.fd or io.BytesIO(buffer))
        frame = _read(contents, _SIDE // self._scale)
        left, top, right, bottom = self.state.extents()
        size = right - left, bottom - top
        if size != (-(-frame.width // self._scale), -(-frame.height // self._scale)):
            raise broken("it has another size than its header said")
        convert = _conversion(contents, self._wanted)
        for first, last, parts in jpeg_pixels.strips(frame, size):
            raw = Image._getdecoder(self.mode, "raw", (self._wanted, 0, 1))
            raw.setimage(self.im, (left, top + first, right, top + last))
            raw.decode(convert(parts).tobytes())
        return -1, 0


def _read(contents, side):
    """The frame of a file, with all samples of its components."""
    picture = _Picture(contents, side)
    try:
        picture.read()
    except OSError:
        if picture.frame is None or not ImageFile.LOAD_TRUNCATED_IMAGES:
            raise
    if picture.frame is None:
        raise broken("there is no picture in it")
    picture.complete()
    return picture.frame


class _Picture:
    """What is read of a picture."""

    def __init__(self, contents, side):
        self._contents, self._side = contents, side
        self.frame = self._collected = None

    def read(self):
        """Read scan by scan, to the end of the picture."""
        may_be_cut = ImageFile.LOAD_TRUNCATED_IMAGES
        left = None
        for scan in self._contents.scans():
            if left is None:
                self._begin()
                left = set(self.frame.components)
            if self.frame.is_progressive:
                if scan.is_cut and not may_be_cut:
                    raise cut_short()
                self._collected.add(scan)
            elif jpeg_sequential.read(scan, may_be_cut=may_be_cut):
                left.difference_update(scan.components)
                if not left:
                    return
        if not self._contents.is_whole and not may_be_cut:
            raise cut_short()

    def _begin(self):
        self.frame = self._contents.frame
        self.frame.measure(self._side)
        if self.frame.is_progressive:
            self._collected = jpeg_progressive.Collected(self.frame)

    def complete(self):
        """Compute what could not be before all was read."""
        if self._collected is not None:
            self._collected.transform()


def _conversion(contents, wanted):
    """How the components become what Pillow wants."""
    count = len(contents.frame.components)
    if count == 1:
        return jpeg_pixels.plain
    if count == 4:
        return jpeg_pixels.plain if contents.adobe in (None, 0) else jpeg_pixels.coloured
    if contents.has_jfif:
        has_light = True
    elif contents.adobe is not None:
        has_light = contents.adobe != 0
    else:
        has_light = [each.name for each in contents.frame.components] != _RED_GREEN_BLUE
    if wanted == "L":
        return jpeg_pixels.light if has_light else jpeg_pixels.light_of_colours
    if has_light == (wanted == "YCbCr"):
        return jpeg_pixels.plain
    if not has_light:
        raise broken("it has no light and colours that could be shown")
    return jpeg_pixels.coloured
