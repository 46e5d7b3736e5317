"""Regular expressions that are compiled when they are first of use.

Compiling takes up to a millisecond each; a kernel starts with fifty of them and needs three.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As ``re.compile`` gives it, to whoever asks it for something."""
    return cast("re.Pattern[AnyStr]", _Late(text, flags))


class _Late:
    def __init__(self, text: str | bytes, flags: int) -> None:
        self._given: Any = text, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._given), name)
        vars(self)[name] = value
        return value
