"""What a cell sends through the door, checked, counted and turned into events.

A message that is not well formed is refused; outputs beyond the caps are dropped and said so
once. Nothing here decides what a page may show: that is the notebook's sanitizer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from wasm_kernel.core.events import (
    ClearEvent,
    DisplayEvent,
    ErrorEvent,
    Event,
    InputEvent,
    MimeBundle,
    OnEvent,
    ResultEvent,
    StreamEvent,
    UpdateEvent,
)
from wasm_kernel.core.models import CellError, ExecutionPolicy
from wasm_kernel.core.units import format_bytes
from wasm_kernel.host.door import Frame
from wasm_kernel.host.streams import OutputStream
from wasm_kernel.runtimes.python.conversation import Handler, Refused
from wasm_kernel.runtimes.python.outcomes import plain_text

BUNDLE_TYPES_MAX = 64
MIME_NAME_MAX = 200
JSON_MAX_BYTES = 10_000_000
ERRORS_MAX = 100
DISPLAY_ID_MAX = 200
TRACEBACK_LINES_MAX = 2_000
TRACEBACK_BYTES_MAX = 2_000_000
TRACEBACK_BYTES_MIN = 20_000
"""What a cell may use to say why it failed, however little it may show otherwise."""
PROMPT_MAX = 10_000


class CellOutputs:
    """The streams and the message handlers of one cell."""

    def __init__(
        self,
        policy: ExecutionPolicy,
        on_event: OnEvent | None,
        *,
        allow_stdin: bool,
        is_stopped: Callable[[], bool],
    ) -> None:
        self._policy = policy
        self._on_event = on_event
        self._allow_stdin = allow_stdin
        self._is_stopped = is_stopped
        self._count = 0
        self._errors = 0
        self._error_bytes = max(
            min(TRACEBACK_BYTES_MAX, policy.display_max_bytes), TRACEBACK_BYTES_MIN
        )
        self._bytes = 0
        self._has_said_full = False
        self._cleared: ClearEvent | None = None
        self.stdout = OutputStream(policy.stdout_max_bytes, self._stdout)
        self.stderr = OutputStream(policy.stderr_max_bytes, self._stderr)

    @property
    def handlers(self) -> dict[str, Handler]:
        """What the guest may say while a cell runs."""
        return {
            "display": self._display,
            "update": self._update,
            "result": self._result,
            "error": self._error,
            "clear": self._clear,
            "input": self._input,
        }

    def _stdout(self, text: str) -> None:
        self._emit(StreamEvent("stdout", text))

    def _stderr(self, text: str) -> None:
        self._emit(StreamEvent("stderr", text))

    def error(self, name: str, value: str, traceback: list[str]) -> None:
        """An error of the host's own: a limit that ended the cell."""
        self._emit(ErrorEvent(name, value, traceback))

    def note(self, text: str) -> None:
        """A sentence of the host's own on stderr."""
        self._emit(StreamEvent("stderr", text + "\n"))

    def _emit(self, event: Event) -> str | None:
        self._cleared = event if isinstance(event, ClearEvent) else None
        return None if self._on_event is None else self._on_event(event)

    def _display(self, frame: Frame) -> None:
        bundle = self._admitted(frame)
        if bundle is not None:
            self._emit(DisplayEvent(bundle, _metadata(frame), _display_id(frame)))

    def _update(self, frame: Frame) -> None:
        display_id = _display_id(frame)
        if display_id is None:
            raise Refused("an update needs a display_id")
        bundle = self._admitted(frame)
        if bundle is not None:
            self._emit(UpdateEvent(bundle, _metadata(frame), display_id))

    def _result(self, frame: Frame) -> None:
        count = frame.header.get("execution_count")
        bundle = self._admitted(frame)
        if bundle is not None:
            number = count if isinstance(count, int) and 0 <= count < 2**31 else 0
            self._emit(ResultEvent(bundle, _metadata(frame), number))

    def _error(self, frame: Frame) -> None:
        # A cell that has shown too much must still be able to say why it failed.
        self._errors += 1
        if self._errors > ERRORS_MAX:
            return
        described = _json(frame.buffers[0]) if frame.buffers else frame.header
        error = error_of(described if isinstance(described, dict) else {}, self._error_bytes)
        self._error_bytes -= sum(map(len, error.traceback))
        self._emit(ErrorEvent(error.name, error.value, error.traceback))

    def _clear(self, frame: Frame) -> None:
        # What is cleared does not count any more: an animation may go on for ever.
        self._count = 0
        event = ClearEvent(frame.header.get("wait") is True)
        # Where nothing was shown since, there is nothing to clear: no flood of messages.
        if self._cleared is None or (self._cleared.wait and not event.wait):
            self._emit(event)

    def _input(self, frame: Frame) -> Frame:
        if not self._allow_stdin:
            return Frame({})
        prompt = frame.header.get("prompt")
        text = prompt[:PROMPT_MAX] if isinstance(prompt, str) else ""
        password = frame.header.get("password") is True
        answer = self._emit(InputEvent(text, password, self._is_stopped))
        return Frame({} if answer is None else {"value": answer})

    def _admitted(self, frame: Frame) -> MimeBundle | None:
        """The bundle of a message, or None where it is one too many."""
        return bundle_of(frame) if self._admit(frame.size) else None

    def expressions(self, reply: Frame) -> dict[str, Any]:
        """The values of ``user_expressions``, which count as outputs like any other."""
        found = reply.header.get("user_expressions")
        if not isinstance(found, dict) or not found or not self._admit(reply.size):
            return {}
        return found

    def _admit(self, size: int) -> bool:
        self._count += 1
        self._bytes += size
        if (
            self._count <= self._policy.display_max_count
            and self._bytes <= self._policy.display_max_bytes
        ):
            return True
        if not self._has_said_full:
            self._has_said_full = True
            self.note(
                f"this cell has sent more than {self._policy.display_max_count:,} rich outputs or "
                f"{format_bytes(self._policy.display_max_bytes)} of them; more are not shown "
                "(display_max_count, display_max_bytes)"
            )
        return False


def bundle_of(frame: Frame) -> MimeBundle:
    """The MIME bundle of a message: text, bytes or JSON data by MIME type."""
    data = frame.header.get("data")
    if not isinstance(data, dict) or len(data) > BUNDLE_TYPES_MAX:
        raise Refused(f"a rich output has at most {BUNDLE_TYPES_MAX} representations")
    bundle: MimeBundle = {}
    buffers = _Buffers(frame)
    for mime, value in data.items():
        if len(mime) > MIME_NAME_MAX or not isinstance(value, dict):
            raise Refused("a representation is not well formed")
        if isinstance(value.get("text"), str):
            bundle[mime] = value["text"]
        elif isinstance(value.get("buffer"), int):
            bundle[mime] = buffers.take(value["buffer"])
        elif isinstance(value.get("text_buffer"), int):
            bundle[mime] = buffers.take(value["text_buffer"]).decode("utf-8", "replace")
        elif isinstance(value.get("json_buffer"), int):
            bundle[mime] = _json(buffers.take(value["json_buffer"]))
        else:
            raise Refused("a representation is not well formed")
    return bundle


class _Buffers:
    """The buffers of a message, each for one representation: a second would be a second copy."""

    def __init__(self, frame: Frame) -> None:
        self._left = dict(enumerate(frame.buffers))

    def take(self, place: int) -> bytes:
        try:
            return self._left.pop(place)
        except KeyError:
            raise Refused("a representation names a buffer that is not there") from None


def _json(content: bytes) -> Any:
    if len(content) > JSON_MAX_BYTES:
        raise Refused(f"JSON data of more than {JSON_MAX_BYTES:,} bytes is not shown")
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Refused("a representation is not JSON") from error


def error_of(header: dict[str, Any], left: int = TRACEBACK_BYTES_MAX) -> CellError:
    """The error that a message describes; its traceback has ``left`` characters at most."""
    name, value, lines = header.get("name"), header.get("value"), header.get("traceback")
    traceback: list[str] = []
    for line in lines[:TRACEBACK_LINES_MAX] if isinstance(lines, list) else []:
        if isinstance(line, str) and left > 0:
            traceback.append(line[:left])
            left -= len(line)
    return CellError.model_construct(
        name=plain_text(name[:200]) if isinstance(name, str) else "Error",
        value=plain_text(value[:100_000]) if isinstance(value, str) else "",
        traceback=[plain_text(line) for line in traceback],
    )


def _metadata(frame: Frame) -> dict[str, Any]:
    metadata = frame.header.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _display_id(frame: Frame) -> str | None:
    display_id = frame.header.get("display_id")
    if isinstance(display_id, str) and 0 < len(display_id) <= DISPLAY_ID_MAX:
        return plain_text(display_id)
    return None
