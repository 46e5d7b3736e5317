"""What a JPEG file says around its data: the size, the tables, and where each scan begins."""

import functools
import struct

import numpy as np
from wasm_guest import jpeg

_SIDE = 8
_CHUNK = 1 << 16
_SCANS_MAX = 100
"""Real files have about ten; each one more is work on the whole picture again."""
_BLOCKS_OF_UNIT_MAX = 10
_BLOCKS_OF_BYTE_MAX = 128
"""A block takes a bit at least; more is for data that ends too early, and is shown in part."""
_SPARE = 64

_START, _END, _SCAN, _RESTARTS = 0xD8, 0xD9, 0xDA, range(0xD0, 0xD8)
_CODES, _QUANTISATION, _INTERVAL, _JFIF, _ADOBE = 0xC4, 0xDB, 0xDD, 0xE0, 0xEE
_PROGRESSIVE = 0xC2
_FRAMES = (0xC0, 0xC1, _PROGRESSIVE)
_IGNORED = (0xCC, 0xDC, *range(0xE0, 0xF0), 0xFE)
_OTHER_FRAMES = {
    **dict.fromkeys((0xC3, 0xC7), "lossless coding"),
    **dict.fromkeys((0xC5, 0xC6), "hierarchical coding"),
    **dict.fromkeys((0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF), "arithmetic coding"),
}


def broken(what):
    """The error for a file that contradicts itself: Pillow's words, and what is wrong."""
    return OSError(f"broken data stream when reading image file: {what}")


def cut_short(left=0):
    """The error for a file that ends where more must follow, in Pillow's words."""
    return OSError(f"image file is truncated ({left} bytes not processed)")


class Component:
    """One of the planes of a picture, and how many samples and blocks it has."""

    def __init__(self, name, across, down, table):
        self.name, self.across, self.down, self.table = name, across, down, table

    @functools.cached_property
    def plane(self):
        """All its samples: grey, until they are read."""
        return np.full((self.rows * self.side, self.columns * self.side), 128, "uint8")

    def count(self, frame):
        """Set how many blocks it has."""
        self.rows, self.columns = frame.unit_rows * self.down, frame.unit_columns * self.across
        # A scan of this component alone has no blocks that lie outside of the picture.
        self.own_rows = -(-frame.height * self.down // (frame.down * _SIDE))
        self.own_columns = -(-frame.width * self.across // (frame.across * _SIDE))

    def measure(self, frame, side):
        """Set how many samples it has, where the widest component has ``side`` of them a block."""
        across, down = frame.across, frame.down
        self.side = side
        while (
            self.side < _SIDE
            and not across * side % (self.across * self.side * 2)
            and not down * side % (self.down * self.side * 2)
        ):
            self.side *= 2
        self.steps = (
            across * side // (self.across * self.side),
            down * side // (self.down * self.side),
        )
        wanted = self.steps[0] * self.across * self.side, self.steps[1] * self.down * self.side
        if wanted != (across * side, down * side):
            raise broken("its components have sizes that do not divide each other")
        self.width = -(-frame.width * self.across * self.side // (across * _SIDE))
        self.height = -(-frame.height * self.down * self.side // (down * _SIDE))
        self.is_smooth = side > 1 and (self.steps[0] == 1 or self.width > 2)


class Frame:
    """The size of a picture, and its components."""

    def __init__(self, content, *, is_progressive):
        if len(content) < 6 or len(content) != 6 + 3 * content[5]:
            raise broken("its frame header has the wrong length")
        bits, self.height, self.width, count = struct.unpack_from(">BHHB", content)
        if bits != 8:
            raise OSError(f"a JPEG file with {bits} bits a sample cannot be read in the sandbox")
        if not (self.height and self.width and count in (1, 3, 4)):
            raise broken("its frame header has no size, or another number of components")
        self.is_progressive = is_progressive
        self.components = [
            Component(content[at], content[at + 1] >> 4, content[at + 1] & 15, content[at + 2])
            for at in range(6, len(content), 3)
        ]
        for each in self.components:
            if not (1 <= each.across <= 4 and 1 <= each.down <= 4):
                raise broken("a component has no size")
        self.across = max(each.across for each in self.components)
        self.down = max(each.down for each in self.components)
        self.unit_columns = -(-self.width // (_SIDE * self.across))
        self.unit_rows = -(-self.height // (_SIDE * self.down))
        for each in self.components:
            each.count(self)

    def measure(self, side):
        """Set how many samples each component has."""
        for each in self.components:
            each.measure(self, side)


class Scan:
    """One pass over the picture: its components with their tables, its band, and its data."""

    def __init__(self, content, frame, tables):
        count = content[0] if content else 0
        if frame is None or not 1 <= count <= 4 or len(content) != 4 + 2 * count:
            raise broken("a scan header has the wrong length or place")
        self.components, self.codes = [], []
        for at in range(1, 1 + 2 * count, 2):
            found = [each for each in frame.components if each.name == content[at]]
            found = [each for each in found if each not in self.components]
            if not found:
                raise broken("a scan names a component that is not there")
            self.components.append(found[0])
            chosen = content[at + 1]
            self.codes.append((tables.get((0, chosen >> 4)), tables.get((1, chosen & 15))))
        self.first, self.last, steps = content[-3:]
        self.before, self.shift = steps >> 4, steps & 15
        blocks = sum(each.across * each.down for each in self.components)
        if count > 1 and blocks > _BLOCKS_OF_UNIT_MAX:
            raise broken("a scan has too many blocks in a unit")
        if frame.is_progressive:
            self._check_band()
        if count == 1:
            [each] = self.components
            self.rows, self.columns, self.shapes = each.own_rows, each.own_columns, [(1, 1)]
        else:
            self.rows, self.columns = frame.unit_rows, frame.unit_columns
            self.shapes = [(each.down, each.across) for each in self.components]
        self.counts = [down * across for down, across in self.shapes]

    def take(self, data, *, is_cut):
        """Set the data, with which the file may have ended. It must be able to hold the blocks."""
        self.data, self.is_cut = data, is_cut
        blocks = self.rows * self.columns * sum(self.counts)
        if self.first == 0 and blocks > _BLOCKS_OF_BYTE_MAX * (len(data) + _SPARE):
            raise cut_short() if is_cut else broken("its data cannot hold so many pixels")

    def _check_band(self):
        is_good = self.first <= self.last < _SIDE * _SIDE and self.shift <= 13
        if self.first == 0:
            is_good = is_good and self.last == 0
        else:
            is_good = is_good and len(self.components) == 1
        if not is_good or self.before not in (0, self.shift + 1):
            raise broken("a scan has a band or a precision that no scan can have")


class Contents:
    """A file that is read from its beginning to the end of the picture, scan by scan."""

    def __init__(self, file):
        self._file, self._held, self._at = file, b"", 0
        self.frame = None
        self.tables, self.quantisation, self.interval = {}, {}, 0
        self.has_jfif, self.adobe = False, None
        self.is_whole = False

    def scans(self):
        """Each scan with its data; ``is_whole`` tells afterwards whether the end was there."""
        count = 0
        try:
            while (marker := self._marker()) != _END:
                if marker == _SCAN:
                    count += 1
                    if count > _SCANS_MAX:
                        raise broken("it has too many scans")
                    yield self._scan()
                elif marker not in (_START, 0x01, *_RESTARTS):
                    self._segment(marker, self._content())
        except EOFError:
            return
        self.is_whole = True

    def _scan(self):
        tables = self.tables
        if self.frame is not None and not self.frame.is_progressive:
            tables = jpeg.usual_codes() | tables
        scan = Scan(self._content(), self.frame, tables)
        scan.interval = self.interval
        scan.quantisation = dict(self.quantisation)
        data, is_cut = self._data()
        scan.take(data, is_cut=is_cut)
        return scan

    def _segment(self, marker, content):
        if marker in _FRAMES:
            if self.frame is not None:
                raise broken("it has two frames")
            self.frame = Frame(content, is_progressive=marker == _PROGRESSIVE)
        elif marker in _OTHER_FRAMES:
            raise OSError(
                f"a JPEG file with {_OTHER_FRAMES[marker]} cannot be read in the sandbox; "
                "save it as an ordinary one, or as PNG, on your computer"
            )
        elif marker == _CODES:
            self._read_codes(content)
        elif marker == _QUANTISATION:
            self._read_quantisation(content)
        elif marker == _INTERVAL:
            if len(content) != 2:
                raise broken("its restart interval has the wrong length")
            [self.interval] = struct.unpack(">H", content)
        elif marker == _JFIF and content.startswith(b"JFIF\0"):
            self.has_jfif = True
        elif marker == _ADOBE and content.startswith(b"Adobe") and len(content) >= 12:
            self.adobe = content[11]
        elif marker not in _IGNORED:
            raise broken(f"it has a marker that means nothing: {marker:#04x}")

    def _read_codes(self, content):
        while content:
            counts = content[1:17]
            end = 17 + sum(counts)
            kind, number = content[0] >> 4, content[0] & 15
            if len(counts) < 16 or len(content) < end or end > 17 + 256 or kind > 1 or number > 3:
                raise broken("a Huffman table is not one")
            self.tables[kind, number] = (counts, content[17:end])
            content = content[end:]

    def _read_quantisation(self, content):
        while content:
            kind, number = content[0] >> 4, content[0] & 15
            end = 1 + (128 if kind else 64)
            if len(content) < end or kind > 1 or number > 3:
                raise broken("a quantisation table is not one")
            numbers = np.frombuffer(content[1:end], ">u2" if kind else "u1")
            self.quantisation[number] = numbers.astype("float32")
            content = content[end:]

    def _marker(self):
        """The next one, past whatever is before it."""
        while True:
            while (at := self._held.find(b"\xff", self._at)) < 0:
                self._at = len(self._held)
                self._take(1)
                self._at -= 1
            self._at = at
            while (found := self._take(1)) == b"\xff":
                pass
            if found != b"\0":
                return found[0]

    def _content(self):
        [length] = struct.unpack(">H", self._take(2))
        if length < 2:
            raise broken("a segment has no length")
        return self._take(length - 2)

    def _take(self, count):
        end = self._at + count
        while len(self._held) < end:
            more = self._file.read(max(_CHUNK, end - len(self._held)))
            if not more:
                raise EOFError
            self._held, self._at, end = self._held[self._at :] + more, 0, count
        found = self._held[self._at : end]
        self._at = end
        return found

    def _data(self):
        """The bytes up to the next marker that does not belong to the data."""
        pieces, piece = [], self._held[self._at :]
        while True:
            numbers = np.frombuffer(piece, "uint8")
            follows = numbers[1:]
            is_data = (follows == 0) | (follows == 0xFF) | ((follows >= 0xD0) & (follows <= 0xD7))
            if self.interval:
                # What no marker is was one; the next restart marker tells where to go on.
                is_data |= follows < 0xC0
            [places] = np.nonzero((numbers[:-1] == 0xFF) & ~is_data)
            if len(places):
                self._held, self._at = piece, int(places[0])
                return b"".join([*pieces, piece[: self._at]]), False
            more = self._file.read(_CHUNK)
            if not more:
                self._held, self._at = b"", 0
                return b"".join([*pieces, piece]), True
            # A marker may lie on both sides of the border.
            pieces.append(piece[:-1])
            piece = piece[-1:] + more
