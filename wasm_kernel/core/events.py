"""What a running cell sends, in the order in which it happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from wasm_kernel.core.data import dataclass, field

MimeBundle = dict[str, Any]
"""MIME type to text, bytes, or JSON data."""


@dataclass(frozen=True)
class StreamEvent:
    """Text on stdout or stderr."""

    name: Literal["stdout", "stderr"]
    text: str


@dataclass(frozen=True)
class DisplayEvent:
    """A rich output."""

    data: MimeBundle
    metadata: dict[str, Any] = field(default_factory=dict)
    display_id: str | None = None


@dataclass(frozen=True)
class UpdateEvent:
    """A new content for an earlier rich output."""

    data: MimeBundle
    metadata: dict[str, Any]
    display_id: str


@dataclass(frozen=True)
class ResultEvent:
    """The value of the cell's last expression."""

    data: MimeBundle
    metadata: dict[str, Any]
    execution_count: int


@dataclass(frozen=True)
class ErrorEvent:
    """An exception of the cell, or the limit that ended it."""

    name: str
    value: str
    traceback: list[str]


@dataclass(frozen=True)
class ClearEvent:
    """The outputs so far shall go, at once or when the next one comes."""

    wait: bool


@dataclass(frozen=True)
class InputEvent:
    """The cell asks for a line of text; whoever handles the event returns it.

    A handler that waits looks at ``is_stopped`` from time to time and returns None then.
    """

    prompt: str
    password: bool
    is_stopped: Callable[[], bool]


Event = (
    StreamEvent | DisplayEvent | UpdateEvent | ResultEvent | ErrorEvent | ClearEvent | InputEvent
)
OnEvent = Callable[[Event], str | None]
"""Called on the thread that runs the guest; only the answer to an ``InputEvent`` matters."""
