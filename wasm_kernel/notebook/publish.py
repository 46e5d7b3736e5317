"""From a session's events to Jupyter's messages: sanitised, batched, in order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Literal

from wasm_kernel.core.events import (
    ClearEvent,
    DisplayEvent,
    ErrorEvent,
    Event,
    InputEvent,
    ResultEvent,
    StreamEvent,
    UpdateEvent,
)
from wasm_kernel.notebook.sanitize import (
    Sanitized,
    TextSanitizer,
    sanitize,
    sanitize_text,
    sanitize_traceback,
)

EMPTY = Sanitized({})

Send = Callable[[str, dict[str, Any]], None]
"""Sends one message on iopub: its type and its content."""

Ask = Callable[[InputEvent], str | None]
Later = Callable[[float, Callable[[], None]], None]
"""Calls something after some seconds, from any thread."""

BATCH_SECONDS = 0.05
BATCH_CHARACTERS = 65_536
DISPLAYS_MAX = 10_000


class Displays:
    """The displays that cells made: the guest's name of each, and the one that the page has.

    Only the latest are known: a cell can make a million of them, and each stays for later updates.
    """

    def __init__(self, name: Callable[[str], str] = str) -> None:
        """``name`` gives a display of the guest the page's name for it."""
        self._name = name
        self._names: dict[str, str] = {}

    def add(self, guest_id: str) -> str:
        """The page's name of a display that a cell makes, perhaps once more."""
        known = self._names.pop(guest_id, None)
        self._names[guest_id] = name = self._name(guest_id) if known is None else known
        if len(self._names) > DISPLAYS_MAX:
            del self._names[next(iter(self._names))]
        return name

    def get(self, guest_id: str) -> str | None:
        """The page's name of a display that a cell made; None where it made none."""
        return self._names.get(guest_id)


class Publisher:
    """Publishes the outputs of one cell. Called on the guest's thread and by a timer."""

    def __init__(
        self,
        send: Send,
        ask: Ask,
        later: Later,
        *,
        html: Literal["safe", "isolated", "text"],
        displays: Displays,
        silent: bool = False,
    ) -> None:
        self._send_message = send
        self._ask = ask
        self._later = later
        self.html = html
        self._displays = displays
        self._silent = silent
        self._lock = threading.Lock()
        self._name: str | None = None
        self._parts: list[str] = []
        self._length = 0
        self._is_scheduled = False
        self._sanitizers = {"stdout": TextSanitizer(), "stderr": TextSanitizer()}

    def __call__(self, event: Event) -> str | None:
        """Publish one event; the answer to an input event is what the user typed."""
        if isinstance(event, InputEvent):
            self.flush()
            return self._ask(event)
        if self._silent:
            return None
        if isinstance(event, StreamEvent):
            self._stream(event)
            return None
        self.flush()
        if isinstance(event, DisplayEvent):
            self._display(event)
        elif isinstance(event, UpdateEvent):
            self._update(event)
        elif isinstance(event, ResultEvent):
            self._bundle("execute_result", event, {"execution_count": event.execution_count})
        elif isinstance(event, ErrorEvent):
            self.send("error", error_content(event))
        elif isinstance(event, ClearEvent):
            self.send("clear_output", {"wait": event.wait})
        return None

    def _stream(self, event: StreamEvent) -> None:
        text = self._sanitizers[event.name].feed(event.text)
        with self._lock:
            if self._name != event.name:
                self._flush_locked()
                self._name = event.name
            self._parts.append(text)
            self._length += len(text)
            if self._length >= BATCH_CHARACTERS:
                self._flush_locked()
            elif not self._is_scheduled:
                self._is_scheduled = True
                self._later(BATCH_SECONDS, self._on_timer)

    def _on_timer(self) -> None:
        with self._lock:
            self._is_scheduled = False
            self._flush_locked()

    def flush(self) -> None:
        """Send what is still held back."""
        with self._lock:
            self._flush_locked()

    def finish(self) -> None:
        """The cell ended: nothing stays behind."""
        for name, sanitizer in self._sanitizers.items():
            rest = sanitizer.finish()
            if rest:
                self.flush()
                self.send("stream", {"name": name, "text": rest})
        self.flush()

    def _flush_locked(self) -> None:
        text = "".join(self._parts)
        self._parts.clear()
        self._length = 0
        if text and self._name is not None:
            self.send("stream", {"name": self._name, "text": text})

    def _display(self, event: DisplayEvent) -> None:
        transient = {}
        if event.display_id is not None:
            transient["display_id"] = self._displays.add(event.display_id)
        self._bundle("display_data", event, {"transient": transient})

    def _update(self, event: UpdateEvent) -> None:
        # A page may hold displays that this kernel never made: those are not for it to change.
        name = self._displays.get(event.display_id)
        if name is not None:
            content = {"transient": {"display_id": name}}
            self._bundle("update_display_data", event, content)

    def _bundle(
        self, kind: str, event: DisplayEvent | UpdateEvent | ResultEvent, more: dict[str, Any]
    ) -> None:
        # A display without anything in it is a place for updates to come.
        clean = sanitize(event.data, event.metadata, html=self.html) if event.data else EMPTY
        self.send(kind, {"data": clean.data, "metadata": clean.metadata, **more})
        if clean.notes:
            self.send("stream", {"name": "stderr", "text": notes_text(clean.notes)})

    def send(self, kind: str, content: dict[str, Any]) -> None:
        """Publish a message of the host's own for this cell, unless the cell is a silent one."""
        if not self._silent:
            self._send_message(kind, content)


def notes_text(notes: list[str]) -> str:
    """What the sanitizer left out: each sentence in a line of its own."""
    return "".join(f"[{note}]\n" for note in notes[:5])


def error_content(event: ErrorEvent) -> dict[str, Any]:
    """The content of an error message; its text comes from the guest."""
    return {
        "ename": sanitize_text(event.name),
        "evalue": sanitize_text(event.value),
        "traceback": sanitize_traceback(event.traceback),
    }


def clean_reply_bundle(data: dict[str, Any]) -> dict[str, Any]:
    """A bundle that travels in a reply (inspection, user expressions): text only."""
    clean = {}
    for mime, value in data.items():
        if mime == "text/plain" and isinstance(value, str):
            clean[mime] = sanitize_text(value)
    return clean
