"""The Huffman codes of a JPEG file: tables of all that 16 bits may begin with, and the bits.

A scan is read twice. A loop in Python goes from code to code and finds where each block begins;
the rest is NumPy's, which reads the codes of thousands of blocks side by side. In such loops the
numbers from here are written out, since a global takes longer to look up.
"""

import itertools

import numpy as np
from wasm_guest.jpeg_headers import broken

PLACES = 64
END = 256
"""A step over more places than there are: a band ends. Above it is the size of how often."""
LENGTH_BITS = 7
_WINDOW = 0xFFFF
_SIXTEEN_ZEROS = 0xF0
SPARE = 4096
"""Zeros after the data: a block that begins in it may be read to its end."""
_STRETCH = 1 << 16
"""Bytes whose words are made into a list together."""


class Bits:
    """The data of a scan without what was put between: its bytes, and its restart intervals."""

    def __init__(self, data, *, has_intervals):
        plain = np.frombuffer(data, "uint8")
        [found] = np.nonzero(plain[:-1] == 0xFF)
        follows = plain[found + 1]
        markers = found[(follows != 0) & (follows != 0xFF)]
        left_out = [found[follows == 0] + 1, found[follows == 0xFF], markers, markers + 1]
        left_out = np.sort(np.concatenate(left_out))
        kept = np.delete(plain, left_out)
        restarts = markers[plain[markers + 1] >= 0xD0]
        borders = ((restarts - np.searchsorted(left_out, restarts)) * 8).tolist()
        self.intervals, end = [], len(kept) * 8
        if has_intervals:
            self._divide(borders, (plain[restarts + 1] & 7).tolist(), end)
        else:
            # Then there are no markers in it, and what comes after one belongs to nothing.
            self.intervals.append((0, borders[0] if borders else end))
        self.bytes = np.concatenate([kept, np.zeros(SPARE + 2, "uint8")])
        self._begin, self._stretch = 0, []

    def _divide(self, borders, numbers, end):
        """Where each interval begins and ends. Their markers count: one or two may be lost."""
        begin, wanted = 0, 0
        for border, number in zip(borders, numbers, strict=True):
            lost = (number - wanted) % 8
            if lost > 2:
                lost = 0
            self.intervals += [(begin, border), *[(border, border)] * lost]
            begin, wanted = border, wanted + 1 + lost
        self.intervals.append((begin, end))

    def words(self, first, last):
        """For each of these bytes a number of 24 bits, which begins with it."""
        part = self.bytes[first : last + 2].astype("int32")
        return (part[:-2] << 16) | (part[1:-1] << 8) | part[2:]

    def stretch(self, at):
        """A list of words for a walk from this bit on; the bits before it; how far to go."""
        place = (at >> 3) - self._begin
        if not 0 <= place < len(self._stretch) - SPARE:
            self._begin = at >> 3
            self._stretch = self.words(self._begin, self._begin + _STRETCH + SPARE).tolist()
        return self._stretch, self._begin * 8, (len(self._stretch) - SPARE) * 8

    def around(self, starts):
        """The words for blocks that start at these bits, and the bits counted from the first."""
        first = int(starts[0]) >> 3
        return self.words(first, (int(starts[-1]) >> 3) + SPARE), starts - first * 8


def windows(words, at):
    """The 16 bits from each of these on."""
    return (words[at >> 3] >> (8 - (at & 7))) & _WINDOW


def numbers(words, at, sizes):
    """The numbers of so many bits each: those that begin with a zero are negative."""
    found = windows(words, at) >> (16 - sizes)
    full = np.int32(1) << sizes
    return np.where(found < full >> 1, found + 1 - full, found)


def entries(spec):
    """For each 16 bits the length of the code that they begin with, and its symbol below it."""
    found = [(length << 8) | symbol for length, symbol in _codes(spec)]
    return np.repeat(np.array(found, "int32"), _shares(spec))


def mean_entries(spec):
    """The same for means, whose symbols are the sizes of numbers."""
    if spec is not None and max(spec[1], default=0) > 15:
        raise broken("a Huffman table has a size that no number can have")
    return entries(spec)


def steps(spec, step):
    """For each 16 bits what a walk does with the code that they begin with."""
    found = []
    for (length, symbol), share in zip(_codes(spec), _shares(spec), strict=True):
        found += [step(length, symbol)] * share
    return found


def mean_step(length, size):
    """How many bits a mean takes, with its code."""
    return length + size


def step(length, symbol):
    """How many places a code goes on, a run of zeros and a number; and the bits of both."""
    run, size = symbol >> 4, symbol & 15
    places = run + 1 if size or symbol == _SIXTEEN_ZEROS else PLACES
    return (places << LENGTH_BITS) | (length + size)


def step_of_run(length, symbol):
    """The same where a band may end in many blocks at once: some bits more say in how many."""
    run, size = symbol >> 4, symbol & 15
    if size or symbol == _SIXTEEN_ZEROS:
        return step(length, symbol)
    return (END + run << LENGTH_BITS) | (length + run)


def _codes(spec):
    """The lengths and symbols of all codes, and last of what is none: the end of a block."""
    if spec is None:
        raise broken("a Huffman table is missing")
    counts, symbols = spec
    lengths = itertools.chain.from_iterable(map(itertools.repeat, range(1, 17), counts))
    return [*zip(lengths, symbols, strict=True), (17, 0)]


def _shares(spec):
    """How many of all 16 bits begin with each code."""
    found = [1 << 16 - length for length, _ in _codes(spec)[:-1]]
    left = (1 << 16) - sum(found)
    if left < 0:
        raise broken("a Huffman table has more codes than there can be")
    return [*found, left]


def coefficients(words, at, which, tables, first, last):
    """Read the codes of blocks that start at these bits, one of each block at a time.

    Yields the blocks' numbers, the places of their coefficients, and these. ``which`` says where
    in ``tables`` the table of each block begins.
    """
    blocks = np.arange(len(at))
    places = np.full(len(at), first - 1)
    while len(blocks):
        entry = tables[which + windows(words, at)]
        at = at + (entry >> 8)
        sizes = entry & 15
        is_number = sizes > 0
        goes_on = is_number | (entry & 0xFF == _SIXTEEN_ZEROS)
        places = places + ((entry >> 4) & 15) + 1
        some = np.flatnonzero(is_number)
        found = numbers(words, at[some], sizes[some])
        yield blocks[some], np.minimum(places[some], last), found
        left = np.flatnonzero(goes_on & (places < last))
        blocks, places, which = blocks[left], places[left], which[left]
        at = at[left] + sizes[left]
