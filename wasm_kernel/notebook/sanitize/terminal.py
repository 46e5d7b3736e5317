"""Terminal text: colours stay, everything else that steers a terminal or hides text goes.

Streams come in pieces, so a sequence may begin in one piece and end in the next.
"""

from __future__ import annotations

from wasm_kernel.core.patterns import pattern
from wasm_kernel.notebook.sanitize.links import Links, few_paths
from wasm_kernel.notebook.sanitize.marks import Marks
from wasm_kernel.notebook.sanitize.turns import Turns

LINE_MAX = 20_000
"""Characters of a line before it is folded: a browser lays out a longer one for seconds."""
SGR_MAX = 20_000
"""Colour changes of one text; each becomes an element of the page."""
BACKSPACES_MAX = 512
RETURNS_MAX = 50
"""Backspaces and carriage returns of one line: JupyterLab copies the whole text for each."""
TEXT_LINES_MAX = 50_000
"""Lines of one text; after them its line ends are shown and not obeyed."""
STREAM_LINES_MAX = 1_000_000
"""The same of a stream, which a page receives and lays out piece by piece."""
STRING_MAX = 100_000
"""Characters after which a command string that never ends counts as ended."""

BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Direction marks, embeddings, overrides and isolates, for a character class."""

_C0 = r"\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f"
_SPECIAL = pattern(rf"[{_C0}\x1b\x80-\x9f{BIDI}\ud800-\udfff]")
_SPECIAL_BYTES = bytes({*range(32), 127} - {8, 9, 10, 13})
_SGR = pattern(r"\x1b\[[0-9;:]{0,64}m")
_SEQUENCE = pattern(
    r"(?P<sgr>\x1b\[[0-9;:]{0,64}m)"
    r"|(?P<string>\x1b[P\]X^_]|[\x90\x98\x9d\x9e\x9f])"
    r"|(?:\x1b\[|\x9b)[0-?]{0,256}[ -/]{0,8}[@-~]"
    r"|\x1b[ -/]{0,8}[0-OQ-WYZ\\`-~]"
    rf"|(?P<surrogate>[\ud800-\udfff])|[{_C0}\x1b\x80-\x9f{BIDI}]"
)
_UNFINISHED = pattern(r"(?:\x1b\[|\x9b)[0-?]{0,256}[ -/]{0,8}\Z|\x1b[ -/]{0,8}\Z")
# A command string ends at ST or BEL, is cancelled by CAN, SUB or another escape, and here also ends
# with its line: a stray introducer must not swallow the rest of a cell's output.
_STRING_END = pattern(r"[\x07\x18\x1a\x9c]|\x1b\\|(?=\x1b[^\\])|(?=\n)")
# Line ends to some readers only; here to all of them.
_SEPARATORS = pattern("[\u2028\u2029]")
_MANY_BACKSPACES = pattern(r"\x08")


class TextSanitizer:
    """Makes the pieces of one stream safe, whatever the places they were cut at."""

    def __init__(self, lines_max: int = STREAM_LINES_MAX) -> None:
        self._lines_max = lines_max
        self._begin()

    def _begin(self) -> None:
        self._pending = ""
        self._string_left = 0
        self._column = 0
        self._sgr_left = SGR_MAX
        self._lines_left = self._lines_max
        self._links = Links()
        self._marks = Marks()
        self._turns = Turns()

    def feed(self, chunk: str) -> str:
        """The safe text of the next piece; an unfinished sequence waits for the one after it."""
        text = self._pending + chunk if self._pending else chunk
        if not text.isascii():
            text = _SEPARATORS.sub("\n", text)
        self._pending = ""
        if self._string_left or (_is_special(text) and not self._is_only_coloured(text)):
            text = self._strip(text)
        text = self._turns.bounded(self._marks.bounded(text))
        if "\b" in text or "\r" in text:
            text = "\n".join(_bounded_line(line) for line in text.split("\n"))
        return self._fold(self._links.bounded(self._with_few_lines(text)))

    def finish(self) -> str:
        """Nothing more comes: what is unfinished is dropped and the next text starts anew."""
        self._begin()
        return ""

    def _with_few_lines(self, text: str) -> str:
        lines = text.count("\n")
        if lines > self._lines_left:
            parts = text.split("\n", self._lines_left)
            parts[-1] = parts[-1].replace("\n", "␤")
            text = "\n".join(parts)
        self._lines_left = max(self._lines_left - lines, 0)
        return text

    def _is_only_coloured(self, text: str) -> bool:
        """Whether colours are all there is to a text; the usual case, and ten times faster."""
        colours = len(_SGR.findall(text))
        if colours != text.count("\x1b") or colours > self._sgr_left:
            return False
        if _is_special(text.replace("\x1b", "")):
            return False
        self._sgr_left -= colours
        return True

    def _strip(self, text: str) -> str:
        kept: list[str] = []
        position = 0
        while position < len(text):
            if self._string_left:
                position = self._skip_string(text, position)
                continue
            match = _SEQUENCE.search(text, position)
            if match is None:
                kept.append(text[position:])
                break
            kept.append(text[position : match.start()])
            position = match.end()
            if match["string"]:
                self._string_left = STRING_MAX
            elif match["sgr"]:
                if self._sgr_left:
                    self._sgr_left -= 1
                    kept.append(match[0])
            elif match["surrogate"]:
                kept.append("\ufffd")
            elif match[0] in ("\x1b", "\x9b"):
                unfinished = _UNFINISHED.match(text, match.start())
                if unfinished:
                    self._pending = unfinished[0]
                    break
        return "".join(kept)

    def _skip_string(self, text: str, position: int) -> int:
        end = _STRING_END.search(text, position, position + self._string_left)
        if end:
            self._string_left = 0
            return end.end()
        if len(text) - position >= self._string_left:
            position += self._string_left
            self._string_left = 0
            return position
        if text.endswith("\x1b"):
            self._pending = "\x1b"
        self._string_left -= len(text) - position
        return len(text)

    def _fold(self, text: str) -> str:
        last = text.rfind("\n")
        if len(text) + self._column <= LINE_MAX:
            self._column = len(text) - last - 1 if last >= 0 else self._column + len(text)
            return text
        lines = text.split("\n")
        lines[0] = _folded(lines[0], self._column)
        lines[1:] = [_folded(line, 0) if len(line) > LINE_MAX else line for line in lines[1:]]
        tail = lines[-1]
        fold = tail.rfind("\n")
        start = self._column if len(lines) == 1 and fold < 0 else 0
        self._column = start + len(tail) - fold - 1
        return "\n".join(lines)


def _is_special(text: str) -> bool:
    if text.isascii():
        return len(text.encode("ascii").translate(None, _SPECIAL_BYTES)) != len(text)
    return _SPECIAL.search(text) is not None


def _folded(line: str, column: int) -> str:
    """The line with a break after every ``LINE_MAX`` columns, the first part already begun."""
    first = max(LINE_MAX - column, 0)
    if len(line) <= first:
        return line
    parts = [line[:first]]
    parts += [line[start : start + LINE_MAX] for start in range(first, len(line), LINE_MAX)]
    return "\n".join(parts)


def _bounded_line(line: str) -> str:
    if line.count("\r") > RETURNS_MAX:
        # Each part of a progress bar draws the whole bar: the last ones are all one ever sees.
        line = "\r" + "\r".join(line.split("\r")[-RETURNS_MAX:])
    surplus = line.count("\b") - BACKSPACES_MAX
    return _MANY_BACKSPACES.sub("", line, count=surplus) if surplus > 0 else line


def one_kind_of_line_end(text: str) -> str:
    """The text of an output that is complete: nothing in it overwrites its own lines.

    What nbconvert indents, line by line, must have no other kind of line that Markdown knows.
    """
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def sanitize_text(text: str) -> str:
    """A whole text, made safe for a terminal and for a notebook page."""
    return TextSanitizer(TEXT_LINES_MAX).feed(text)


def sanitize_traceback(lines: list[str]) -> list[str]:
    """The pieces of a traceback, made safe as the one text that a page shows."""
    sanitizer = TextSanitizer(TEXT_LINES_MAX)
    # A line end of our own, so that nothing of a piece waits for the next one.
    whole = (one_kind_of_line_end(line) for line in lines)
    return few_paths([sanitizer.feed(f"{line}\n")[:-1] for line in whole])
