"""Scans of progressive JPEG files that tell more about a band: one bit of all that was not zero."""

import numpy as np
from wasm_guest import jpeg_codes as codes

_BLOCKS_AT_ONCE = 4096


def read(found, blocks, bits, spans, scan):
    """Read such a scan of these blocks, by its restart intervals, into what was found of them."""
    [(_, spec)] = scan.codes
    if spec is not None:
        # Of what is new there is the sign alone.
        spec = spec[0], bytes(each & 0xF0 | (each & 15 > 0) for each in spec[1])
    table, steps = codes.entries(spec), codes.steps(spec, codes.step_of_run)
    first, last, at, end = next(spans)
    skipped = 0
    for top in range(0, len(blocks), _BLOCKS_AT_ONCE):
        chosen = blocks[top : top + _BLOCKS_AT_ONCE]
        known = found[chosen, scan.first : scan.last + 1]
        piece = _Refinement(known, 1 << scan.shift)
        while True:
            here = first - top, min(last - top, len(chosen))
            at, skipped = piece.walk(bits, here, at, end, steps, skipped)
            if last > top + len(chosen):
                first = top + len(chosen)
                break
            first, last, at, end = next(spans, (len(blocks), len(blocks) + 1, 0, 0))
            skipped = 0
            if first >= top + len(chosen):
                break
        piece.add(bits, table)
        found[chosen, scan.first : scan.last + 1] = known


class _Refinement:
    """Bands of some blocks, whose codes count the coefficients that are zero so far.

    After a code comes a bit for each coefficient that it passes and that is not zero.
    """

    def __init__(self, known, one):
        self._known, self._one = known, one
        self._is_set = known != 0
        count, width = known.shape
        every = self._is_set.sum(axis=1, dtype="uint8")[:, None]
        self._zeros = width - every[:, 0].astype("intp")
        self._sums = np.concatenate([[0], np.cumsum(every, dtype="intp")])
        # By how many zeros were passed: the place behind the last of them, and how many bits
        # were passed with them; 128 more where the band is at its end.
        places = self._is_set.argsort(axis=1, kind="stable").astype("uint8")
        ranks = np.arange(width, dtype="uint8")
        is_zero = ranks < self._zeros[:, None].astype("uint8")
        self._behind = np.zeros((count, width + 17), "uint8")
        self._behind[:, 1 : width + 1] = places + np.uint8(1)
        self._bits = np.repeat(every | np.uint8(128), width + 17, axis=1)
        self._bits[:, 0] = 0
        is_last = (places == width - 1).view("uint8") << 7
        np.copyto(self._bits[:, 1 : width + 1], (places - ranks) | is_last, where=is_zero)
        self._passed, self._bits_before = self._bits.tobytes(), self._sums.tolist()
        self._which, self._starts, self._runs, self._end = [], [], [], 0

    def walk(self, bits, blocks, at, end, steps, skipped):
        """Find where blocks begin; where that ends, and how many blocks more are to be skipped.

        A place here does not count the bits between the codes of its block.
        """
        block, count = blocks
        span, passed, sums = self._bits.shape[1], self._passed, self._bits_before
        add_block, add_start = self._which.append, self._starts.append
        if at < end:
            at, block, skipped = self._skip(at, block, count, skipped)
        while block < count and at < end:
            words, before, far = bits.stretch(at)
            at -= before
            stop = min(end - before, far)
            while block < count and at < stop:
                add_block(block)
                add_start(at + before)
                zero = block * span
                between = passed[zero]
                while between < 128:
                    place = at + between
                    step = steps[words[place >> 3] >> 8 - (place & 7) & 65535]
                    at += step & 127
                    step >>= 7
                    if step >= 256:
                        break
                    zero += step
                    between = passed[zero]
                block += 1
                if step > 256:
                    # The band ends here, and in so many blocks after it as the last bits say.
                    size = step - 256
                    place = at + between - size
                    seen = words[place >> 3] >> 8 - (place & 7) & 65535
                    skipped = (1 << size) + (seen >> 16 - size) - 1
                at += sums[block] - sums[block - 1]
                if skipped:
                    at, block, skipped = self._skip(at + before, block, count, skipped)
                    at -= before
            at += before
        self._end = max(self._end, min(at, end))
        return at, skipped

    def _skip(self, at, block, count, skipped):
        """Go past blocks that have no codes; what is left to skip is for the next piece."""
        last = min(block + skipped, count)
        self._runs.append((block, last, at))
        return at + self._bits_before[last] - self._bits_before[block], last, skipped - last + block

    def add(self, bits, table):
        """Read the bits of these blocks, into what was known of them."""
        begin = np.full(len(self._known), -1, "intp")
        begin[self._which] = self._starts
        firsts, lasts, places = np.array(self._runs, "intp").reshape(-1, 3).T
        lengths = lasts - firsts
        each = np.arange(lengths.sum()) + np.repeat(firsts - lengths.cumsum() + lengths, lengths)
        begin[each] = np.repeat(places - self._sums[firsts], lengths) + self._sums[each]
        there = begin[begin >= 0]
        if not len(there):
            return
        first = int(there.min()) >> 3
        words = bits.words(first, (self._end >> 3) + codes.SPARE)
        lengths = self._read_codes(words, first * 8, table)
        rows, columns = np.nonzero(self._is_set)
        ranks = np.arange(len(rows)) - self._sums[rows]
        there = np.flatnonzero(begin[rows] >= 0)
        rows, columns, ranks = rows[there], columns[there], ranks[there]
        lengths = np.cumsum(lengths, axis=1, dtype="int16")
        at = begin[rows] + lengths[rows, columns - ranks] + ranks
        at = np.minimum(at, self._end) - first * 8
        known = self._known[rows, columns]
        has_bit = codes.windows(words, at) >> 15
        self._known[rows, columns] += (np.sign(known) * has_bit * self._one).astype("int16")

    def _read_codes(self, words, before, table):
        """Set what is new; how many bits each code takes, by how many zeros were passed."""
        lengths = np.zeros(self._bits.shape, "int16")
        blocks = np.array(self._which, "intp")
        at = np.array(self._starts, "intp") - before
        zeros = np.zeros(len(blocks), "intp")
        while len(blocks):
            here = at + (self._bits[blocks, zeros] & 127)
            entry = table[codes.windows(words, here)]
            runs, is_new = (entry >> 4) & 15, (entry & 1) > 0
            is_end = ~is_new & (runs < 15)
            used = (entry >> 8) + np.where(is_end, runs, is_new)
            lengths[blocks, zeros] = used
            zeros = zeros + runs + 1
            some = np.flatnonzero(is_new & (zeros <= self._zeros[blocks]))
            is_positive = codes.windows(words, (here + (entry >> 8))[some]) >> 15
            places = self._behind[blocks[some], zeros[some]] - 1
            self._known[blocks[some], places] = (2 * is_positive - 1) * self._one
            left = np.flatnonzero(~is_end)
            left = left[self._bits[blocks[left], zeros[left]] < 128]
            blocks, zeros, at = blocks[left], zeros[left], (at + used)[left]
        return lengths
