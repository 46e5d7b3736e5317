"""Scans of baseline and other sequential JPEG files: each block is there at once."""

import numpy as np
from wasm_guest import jpeg_codes as codes
from wasm_guest import jpeg_pixels as pixels
from wasm_guest.jpeg_headers import broken, cut_short

_BLOCKS_AT_ONCE = 8192


def read(scan, *, may_be_cut):
    """Read a scan's blocks into the planes of its components; whether all of them are there."""
    tables = [scan.quantisation.get(each.table) for each in scan.components]
    if any(table is None for table in tables):
        raise broken("a quantisation table is missing")
    owners = np.repeat(np.arange(len(scan.components)), scan.counts)
    walk, means = _Walk(scan, owners), _Means(scan)
    blocks = _Blocks(scan, owners, np.stack(tables))
    at_once = max(1, _BLOCKS_AT_ONCE // (scan.columns * len(owners)))
    for top in range(0, scan.rows, at_once):
        rows = min(at_once, scan.rows - top)
        units = rows * scan.columns
        places, starts = walk.take(units)
        if walk.is_short and scan.is_cut and not may_be_cut:
            raise cut_short(len(scan.data) - walk.at // 8)
        if walk.is_over and not len(places):
            break
        found = np.zeros((units * len(owners), codes.PLACES), "float32")
        blocks.fill(found, places, starts, walk.bits)
        means.add_up(found, places, top * scan.columns, [table[0] for table in tables])
        found = found.reshape(units, len(owners), codes.PLACES)
        parts = np.split(found, np.cumsum(scan.counts)[:-1], axis=1)
        for each, (down, across), part in zip(scan.components, scan.shapes, parts, strict=True):
            pixels.place(each, part, (top, rows, scan.columns, down, across))
    return not walk.is_short


class _Walk:
    """Goes through the data, and finds where each block begins."""

    def __init__(self, scan, owners):
        self.bits = codes.Bits(scan.data, has_intervals=scan.interval > 0)
        self.is_short = self.is_over = False
        self.at = self._end = 0
        self._count = len(owners)
        self._interval = scan.interval or 1 << 62
        self._intervals = iter(self.bits.intervals)
        self._left = 0
        lists = {}
        for spec in scan.codes:
            if spec not in lists:
                means = codes.steps(spec[0], codes.mean_step)
                lists[spec] = means, codes.steps(spec[1], codes.step)
        self._kinds = [lists[scan.codes[owner]] for owner in owners]

    def take(self, units):
        """The next units' blocks: which of them are there, and where they start."""
        places, starts, done = [], [], 0
        while done < units:
            if not self._left:
                self._begin()
            if self.is_over:
                break
            count = min(units - done, self._left)
            found = self._go(count)
            places.append(np.arange(len(found)) + done * self._count)
            starts.append(found)
            self._left -= count
            done += count
        if not places:
            return np.zeros(0, "intp"), np.zeros(0, "intp")
        return np.concatenate(places), np.concatenate(starts)

    def _begin(self):
        self._left = self._interval
        found = next(self._intervals, None)
        if found is None:
            self.is_short = self.is_over = True
        else:
            self.at, self._end = found

    def _go(self, units):
        """Go through so many units, or to the end of the interval, which is short then."""
        pieces = []
        while units and self.at < self._end:
            words, before, far = self.bits.stretch(self.at)
            stop = min(self._end - before, far)
            found, at = _starts(words, self.at - before, stop, units, self._kinds)
            pieces.append(np.array(found, "intp") + before)
            units -= len(found) // self._count
            self.at = at + before
        if units or self.at > self._end:
            self.is_short = True
            self.at = min(self.at, self._end)
        found = np.concatenate(pieces) if pieces else np.zeros(0, "intp")
        return found[found < self._end]


def _starts(words, at, stop, units, kinds):
    """Where each block of the next units begins, and where the last one ends."""
    found = []
    append = found.append
    for _ in range(units):
        if at >= stop:
            break
        for means, others in kinds:
            append(at)
            at += means[words[at >> 3] >> 8 - (at & 7) & 65535]
            place = 0
            while place < 63:
                step = others[words[at >> 3] >> 8 - (at & 7) & 65535]
                at += step & 127
                place += step >> 7
    return found, at


class _Blocks:
    """Reads blocks of all components of a scan side by side: their tables lie in one row."""

    def __init__(self, scan, owners, quantisation):
        self._owners, self._quantisation = owners, quantisation.reshape(-1)
        self._means = np.concatenate([codes.mean_entries(spec[0]) for spec in scan.codes])
        self._others = np.concatenate([codes.entries(spec[1]) for spec in scan.codes])

    def fill(self, found, places, starts, bits):
        """The coefficients of these blocks, times their quantisation; means only as steps."""
        if not len(starts):
            return
        owners = self._owners[places % len(self._owners)]
        which = owners << 16
        words, at = bits.around(starts)
        entry = self._means[which + codes.windows(words, at)]
        at = at + (entry >> 8)
        sizes = entry & 15
        found[places, 0] = codes.numbers(words, at, sizes)
        at = at + sizes
        flat, shift = found.reshape(-1), owners * codes.PLACES
        last = codes.PLACES - 1
        for blocks, where, numbers in codes.coefficients(words, at, which, self._others, 1, last):
            scaled = numbers * self._quantisation[shift[blocks] + where]
            flat[places[blocks] * codes.PLACES + pixels.ZIGZAG[where]] = scaled


class _Means:
    """Each block has its mean as the step from the last one of its component."""

    def __init__(self, scan):
        self._interval, self._counts = scan.interval, scan.counts
        self._last = [0] * len(scan.counts)

    def add_up(self, found, places, unit, scales):
        """Replace steps by means; the first of these blocks belong to this unit."""
        total = sum(self._counts)
        units = len(found) // total
        is_there = np.zeros(len(found), bool)
        is_there[places] = True
        found = found.reshape(units, total, -1)
        is_there = is_there.reshape(units, total)
        first = 0
        for n, count in enumerate(self._counts):
            mine = found[:, first : first + count, 0].reshape(-1).astype("int32")
            last, self._last[n] = summed(mine, unit, count, self._interval, self._last[n])
            last *= is_there[:, first : first + count].reshape(-1)
            found[:, first : first + count, 0] = (last * scales[n]).reshape(units, count)
            first += count


def summed(steps, unit, count, interval, before):
    """The sums of steps, which begin anew with each restart interval, and the last of them."""
    sums = np.cumsum(steps, dtype="int32")
    if not interval:
        sums += before
    else:
        units = len(steps) // count
        starts = np.arange(-unit % interval, units, interval) * count
        lost = np.concatenate([[-before], sums[starts[starts > 0] - 1], [0]]).astype("int32")
        if len(starts) and starts[0] == 0:
            starts = starts[1:]
            lost[0] = 0
        borders = np.concatenate([[0], starts, [len(steps)]])
        sums -= np.repeat(lost[:-1], np.diff(borders))
    return sums, int(sums[-1])
