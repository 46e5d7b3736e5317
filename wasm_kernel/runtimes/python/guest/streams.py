"""``sys.stdout`` and ``sys.stderr``: at once for the first lines of a cell, in batches after.

Each write that reaches the host costs microseconds there, and each line of Python that looks at a
write costs the user's fuel. A progress line must be seen at once; a million prints must not take
a minute. What the two streams are given arrives in the order in which it was written.
"""

import functools
import io
import sys
import time

from wasm_guest.error_numbers import as_on_linux

_AT_ONCE = 500
_AT_ONCE_CHARACTERS = 256
_BATCH_SECONDS = 0.05
_QUICK_SECONDS = 0.01
_UNCHECKED_MAX = 63


def flush():
    """Flush what stands for stdout and stderr now, whatever the user put there."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, ValueError, OSError):
            pass


_plain_sleep = time.sleep


@functools.wraps(_plain_sleep)
def sleep(seconds, /):
    flush()
    _plain_sleep(seconds)


def flush_before_sleep():
    """Whoever waits sees everything that was printed before."""
    time.sleep = sleep


class OutputText(io.TextIOWrapper):
    """A text stream that decides when to hand its text to the host."""

    _last = None
    """The stream that was written to last; it has everything that waits."""

    def __init__(self, descriptor):
        raw = io.FileIO(descriptor, "w", closefd=False)
        raw.name = "<stdout>" if descriptor == 1 else "<stderr>"
        super().__init__(
            io.BufferedWriter(raw, 1 << 16),
            encoding="utf-8",
            errors="backslashreplace",
            newline="\n",
        )
        self._writes = 0
        self._pending = 0
        self._unchecked = 0
        self._begun = self._checked = self._flushed = 0.0
        self.write, self._check_next = self._writers(super().write)

    def _writers(self, plain):
        """``write``, and what makes its next call look at the clock again.

        While text comes in quickly most of it is passed on unseen: the clock and the counting
        cost more than the writing.
        """
        unchecked = 0

        def write(text, /):
            """Write some text; returns the number of its characters."""
            nonlocal unchecked
            if unchecked:
                unchecked -= 1
                return plain(text)
            self._take_turn()
            if type(text) is str:
                plain(as_on_linux(text))
                count = len(text)
            else:
                count = plain(text)
            unchecked = self._after(text, count)
            return count

        def check_next():
            nonlocal unchecked
            unchecked = 0

        return write, check_next

    def _take_turn(self):
        """What the other stream holds was written before."""
        other = OutputText._last
        if other is not self:
            if other is not None and not other.closed:
                other._check_next()
                other.flush()
            OutputText._last = self

    def _after(self, text, count):
        """Hand text on if it is time to; returns how many writes need not be looked at."""
        self._writes += 1
        if self._writes <= _AT_ONCE:
            self._pending += count
            if text.endswith("\n") or self._pending > _AT_ONCE_CHARACTERS or self._is_late():
                self.flush()
                self._pending = 0
            return 0
        now = time.monotonic()
        if now - self._flushed > _BATCH_SECONDS:
            self.flush()
            self._flushed = now
        is_quick = now - self._checked < _QUICK_SECONDS
        self._unchecked = min(2 * self._unchecked + 1, _UNCHECKED_MAX) if is_quick else 0
        self._checked = now
        return self._unchecked

    def _is_late(self):
        """Whether the beginning of a line has waited for its end for too long."""
        now = time.monotonic()
        if not self._begun:
            self._begun = now
            return False
        return now - self._begun > _BATCH_SECONDS

    def flush(self):
        super().flush()
        self._begun = 0.0

    def new_cell(self):
        """The first lines of each cell appear at once."""
        self._writes = 0
        self._check_next()

    def isatty(self):
        return False

    def _is_master_process(self):
        # ipykernel's stream has it, and its tests of a kernel ask it first; nothing forks here.
        return True
