"""Turns of the writing direction: a browser needs the square of their number to lay out a block.

Where a text has too many, the letters that are written from right to left are no longer shown.
"""

from __future__ import annotations

from wasm_kernel.core.patterns import pattern

TURNS_MAX = 20_000
"""Turns of one text: a second's work."""
WORK_MAX = 16_000_000
"""Turns of a block of HTML times what stands in it: its turns and its tags."""

# What Unicode sets aside for such writing, its digits included.
_RIGHT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff"
_LETTER = pattern(f"[{_RIGHT}]")
_TURN = pattern(rf"[{_RIGHT}][^\w{_RIGHT}]*+(?![{_RIGHT}])\w")
_BLOCK = pattern(r"(</?(?:blockquote|caption|dd|div|dt|h[1-6]|li|p|pre|table|td|th|tr)\b[^<>]*>)")


class Turns:
    """Leaves so many turns in the pieces of one text, wherever it was cut."""

    def __init__(self) -> None:
        self._left = TURNS_MAX
        self._ends_right = ""
        """The last letter of what has come so far, where it is one from right to left."""

    def bounded(self, text: str) -> str:
        """The next piece, in which surplus letters from right to left are replaced."""
        if text.isascii() and not self._ends_right:
            return text
        whole, seam = self._ends_right + text, len(self._ends_right)
        cut = seam
        for turn in _TURN.finditer(whole) if self._left >= 0 else ():
            self._left -= 1
            if self._left < 0:
                cut = max(turn.end(), seam)
                break
        if self._left < 0:
            whole = whole[:cut] + _LETTER.sub("\ufffd", whole[cut:])
        last = next((one for one in reversed(whole) if one.isalnum() or _LETTER.match(one)), "")
        self._ends_right = last if _LETTER.match(last) else ""
        return whole[seam:]


def few_turns(text: str) -> str:
    """A whole text with so many turns."""
    return text if text.isascii() else Turns().bounded(text)


def few_turns_in_html(body: str, *, is_free: bool) -> str:
    """Clean HTML with so many turns in each block; ``is_free`` where styles make the blocks."""
    if body.isascii():
        return body
    left = 4 * WORK_MAX
    parts = [body] if is_free else _BLOCK.split(body)
    for place, part in enumerate(parts):
        turns = 0 if part.isascii() else len(_TURN.findall(part))
        work = turns * (turns + part.count("<"))
        if work > min(WORK_MAX, left):
            parts[place] = _LETTER.sub("\ufffd", part)
        else:
            left -= work
    return "".join(parts)
