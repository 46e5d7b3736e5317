"""The sentences a user reads when something was left out of an output. One place, one voice."""

from __future__ import annotations

from wasm_kernel.core.patterns import pattern
from wasm_kernel.core.units import format_bytes

INTERACTIVE_LEFT_OUT = (
    "Interactive parts of this HTML were left out; a policy with html = 'isolated' shows them in "
    "a frame."
)
EXTERNAL_LEFT_OUT = "Pictures that would load from elsewhere were left out."
EMBEDDED_LEFT_OUT = "Forms or embedded documents were left out of this HTML."
FRAMES_LEFT_OUT = "Frames that load a page were left out; open the page in a tab of its own."
PLAYERS_LEFT_OUT = (
    "Players were left out; save a sound or a film as a file and open it from the file browser."
)
HTML_AS_TEXT = "This output is shown as plain text because the policy has html = 'text'."
MATH_NOT_TYPESET = "Formulas are shown as source: there is too much math in this output."
MATH_COMMANDS_OFF = "Some LaTeX commands were switched off."
TEXT_CUT = "The text was cut because it is too large."
NOTHING_LEFT = "This output has no form that is safe to show."
FAILED = "This output could not be checked, so only its text is shown."
WIDGETS_LEFT_OUT = (
    "Not shown: widgets, for code of the page and of a cell cannot reach each other here. Set the "
    "value in the cell and run it again."
)
_WIDGET = "application/vnd.jupyter.widget-view+json"
_PLAIN_TYPE = pattern(r"[a-z0-9][a-z0-9.+-]{0,60}/[a-z0-9][a-z0-9.+-]{0,60}")
_TYPES_NAMED = 3


def type_names(types: list[str]) -> str:
    """Some MIME types for a sentence; a spelling a stranger chose is not repeated."""
    plain = [name for name in types if _PLAIN_TYPE.fullmatch(name)]
    named = plain[:_TYPES_NAMED]
    others = len(types) - len(named)
    if not named:
        return "one type" if others == 1 else f"{others:,} types"
    return ", ".join(named) + (f" and {others:,} more" if others else "")


def types_left_out(types: list[str]) -> str:
    """Types that are not on the list."""
    if types == [_WIDGET]:
        return WIDGETS_LEFT_OUT
    return f"Not shown: {type_names(types)} (not a type this kernel shows)."


def left_out(mime: str, reason: str) -> str:
    """A known type whose content was refused."""
    return f"Not shown: {mime} ({reason})."


def too_large(limit: int) -> str:
    """The reason for a refusal by size."""
    return f"larger than {format_bytes(limit)}"
