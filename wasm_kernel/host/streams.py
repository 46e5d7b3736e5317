"""What a guest writes to stdout and stderr, capped while it streams."""

from __future__ import annotations

import codecs
from collections.abc import Callable

TextSink = Callable[[str], None]


class OutputStream:
    """Keeps the first bytes of a stream and hands them on as text; counts the rest."""

    def __init__(self, cap: int, sink: TextSink | None = None) -> None:
        self._cap = cap
        self._sink = sink
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: list[str] = []
        self._kept = 0
        self.written = 0

    @property
    def truncated(self) -> bool:
        """Whether bytes were dropped."""
        return self.written > self._kept

    @property
    def room(self) -> int:
        """How many more bytes are kept."""
        return self._cap - self._kept

    def write(self, data: bytes, total: int) -> None:
        """Take the first bytes of a write of ``total`` bytes; ``data`` has at most ``room``."""
        self.written += total
        self._kept += len(data)
        self._emit(self._decoder.decode(data))

    def finish(self) -> str:
        """The kept text; a character that was cut in half is left out where the cap cut it."""
        if not self.truncated:
            self._emit(self._decoder.decode(b"", final=True))
        return "".join(self._parts)

    def _emit(self, text: str) -> None:
        if not text:
            return
        self._parts.append(text)
        if self._sink is not None:
            self._sink(text)
