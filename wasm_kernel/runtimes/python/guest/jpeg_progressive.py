"""Scans of progressive JPEG files: each brings some of the coefficients, or one more bit."""

import numpy as np
from wasm_guest import jpeg_codes as codes
from wasm_guest import jpeg_pixels as pixels
from wasm_guest import jpeg_refinement
from wasm_guest.jpeg_headers import broken
from wasm_guest.jpeg_sequential import summed

_BLOCKS_AT_ONCE = 4096


class Collected:
    """The coefficients of a picture, which its scans bring bit by bit."""

    def __init__(self, frame):
        self._frame = frame
        self._found, self._scales = {}, {}
        for each in frame.components:
            self._found[each] = np.zeros((each.rows * each.columns, codes.PLACES), "int16")

    def add(self, scan):
        """Take in what a scan has."""
        for each in scan.components:
            # The first table counts: a file may define another one of its number later.
            if self._scales.setdefault(each, scan.quantisation.get(each.table)) is None:
                raise broken("a quantisation table is missing")
        bits = codes.Bits(scan.data, has_intervals=scan.interval > 0)
        if scan.first == 0:
            self._add_means(scan, bits)
            return
        [component] = scan.components
        blocks, _ = _order_of(scan.components, self._frame)
        spans = _spans(bits, scan.interval, len(blocks))
        read = jpeg_refinement.read if scan.before else _begin
        read(self._found[component], blocks, bits, spans, scan)

    def transform(self):
        """Compute the samples."""
        for each, scale in self._scales.items():
            pixels.transform(each, self._found.pop(each), scale)

    def _add_means(self, scan, bits):
        blocks, owners = _order_of(scan.components, self._frame)
        spans = _spans(bits, scan.interval * len(owners), len(blocks))
        if scan.before:
            which, steps = _single_bits(bits, spans)
        else:
            which, steps = _mean_steps(bits, spans, scan, owners)
        found = np.zeros(len(blocks), "int32")
        found[which] = steps
        is_there = np.zeros(len(blocks), bool)
        is_there[which] = True
        for n, each in enumerate(scan.components):
            mine = np.resize(owners == n, len(blocks))
            values = found[mine]
            if not scan.before:
                count = int((owners == n).sum())
                values, _ = summed(values, 0, count, scan.interval, 0)
            values = (values * is_there[mine]) << scan.shift
            self._found[each][blocks[mine], 0] |= values.astype("int16")


def _order_of(components, frame):
    """The blocks of a scan in its order, by their numbers in their components; whose they are."""
    if len(components) == 1:
        [each] = components
        rows = np.arange(each.own_rows)[:, None] * each.columns
        return (rows + np.arange(each.own_columns)).reshape(-1), np.zeros(1, "intp")
    parts, owners = [], []
    for n, each in enumerate(components):
        shape = frame.unit_rows, each.down, frame.unit_columns, each.across
        every = np.arange(each.rows * each.columns).reshape(shape)
        units = frame.unit_rows * frame.unit_columns
        parts.append(every.transpose(0, 2, 1, 3).reshape(units, -1))
        owners += [n] * parts[-1].shape[1]
    return np.concatenate(parts, axis=1).reshape(-1), np.array(owners, "intp")


def _spans(bits, interval, count):
    """Of each restart interval, which blocks it has: first, last; and where its bits are."""
    firsts = range(0, count, interval or count)
    for first, (begin, end) in zip(firsts, bits.intervals, strict=False):
        yield first, min(first + interval, count) if interval else count, begin, end


def _single_bits(bits, spans):
    """Which blocks have a bit each, and these."""
    which, at = [], []
    for first, last, begin, end in spans:
        count = min(last - first, end - begin)
        which.append(np.arange(first, first + count))
        at.append(np.arange(begin, begin + count))
    which, at = np.concatenate(which), np.concatenate(at)
    return which, (bits.bytes[at >> 3] >> (7 - (at & 7))) & 1


def _mean_steps(bits, spans, scan, owners):
    """Which blocks have a mean, as the step from the one before; and these steps."""
    tables = [codes.mean_entries(spec[0]) for spec in scan.codes]
    lists = [codes.steps(spec[0], codes.mean_step) for spec in scan.codes]
    kinds = [lists[owner] for owner in owners]
    which, starts = [], []
    for first, last, at, end in spans:
        while first < last and at < end:
            words, before, far = bits.stretch(at)
            at -= before
            stop = min(end - before, far)
            while first < last and at < stop:
                which.extend(range(first, first + len(kinds)))
                first += len(kinds)
                for steps in kinds:
                    starts.append(at + before)
                    at += steps[words[at >> 3] >> 8 - (at & 7) & 65535]
            at += before
    if not which:
        return [], []
    words, at = bits.around(np.array(starts, "intp"))
    tables_of = np.resize(owners, len(at)) << 16
    entry = np.concatenate(tables)[tables_of + codes.windows(words, at)]
    return which, codes.numbers(words, at + (entry >> 8), entry & 15)


def _begin(found, blocks, bits, spans, scan):
    """The first bits of a band."""
    [(_, spec)] = scan.codes
    table, steps = codes.entries(spec), codes.steps(spec, codes.step_of_run)
    which, starts = [], []
    for first, last, at, end in spans:
        while first < last and at < end:
            words, before, far = bits.stretch(at)
            stop = min(end - before, far)
            mine, begun, first, at = _band_starts(
                words, at - before, stop, first, last, scan, steps
            )
            which += mine
            starts += [each + before for each in begun]
            at += before
    for first in range(0, len(which), _BLOCKS_AT_ONCE):
        chosen = blocks[which[first : first + _BLOCKS_AT_ONCE]]
        words, near = bits.around(np.array(starts[first : first + _BLOCKS_AT_ONCE], "intp"))
        none = np.zeros(len(chosen), "intp")
        read = codes.coefficients(words, near, none, table, scan.first, scan.last)
        for each, places, numbers in read:
            found[chosen[each], places] = numbers << scan.shift


def _band_starts(words, at, stop, block, count, scan, steps):
    """Which blocks have codes, and where they begin; the next block, and where it begins."""
    which, found = [], []
    add_block, add_start = which.append, found.append
    before, last = scan.first - 1, scan.last
    while block < count and at < stop:
        add_block(block)
        add_start(at)
        place = before
        while place < last:
            step = steps[words[at >> 3] >> 8 - (at & 7) & 65535]
            at += step & 127
            step >>= 7
            place += step
        block += 1
        if step > 256:
            # The end of this band, and of so many after it as the last bits say.
            size = step - 256
            seen = words[at - size >> 3] >> 8 - (at - size & 7) & 65535
            block += (1 << size) + (seen >> 16 - size) - 1
    return which, found, block, at
