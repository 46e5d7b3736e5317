"""What a guest answered to a question of the page, checked and put into Jupyter's words.

Cells can replace every part of the interpreter that answers: nothing here relies on the shape of
an answer, and what has another shape is left out.
"""

from __future__ import annotations

from typing import Any

from wasm_kernel.core.events import ErrorEvent
from wasm_kernel.notebook import commands
from wasm_kernel.notebook.publish import clean_reply_bundle, error_content
from wasm_kernel.notebook.sanitize import sanitize_text

Content = dict[str, Any]
"""The content of a reply, or what the guest gave for it."""

MATCH_MAX = 1_000
INDENT_MAX = 200
_TYPES = "_jupyter_types_experimental"
"""Where front ends look for the types; JupyterLab pairs its rows with the matches by place."""


def completion(found: Content, code: str, cursor: int) -> Content:
    """The guest's completions, and the host's own commands before them."""
    start, end = _place(found, code, cursor)
    given = [_row(row, start, end) for row in _list(found.get("types")) if isinstance(row, dict)]
    # A page inserts the only match by itself: no more than what is seen at a glance.
    rows = [row for row in given if len(row["text"]) <= MATCH_MAX and row["text"].isprintable()]
    line = code[:cursor].rpartition("\n")[2].lstrip()
    own = _commands(line, cursor) if line.startswith("%") and " " not in line else []
    if own:
        names = {row["text"] for row in own}
        same = (start, end) == (own[0]["start"], own[0]["end"])
        rows = own + [row for row in rows if same and row["text"] not in names]
        start, end = own[0]["start"], own[0]["end"]
    return {
        "status": "ok",
        "matches": [row["text"] for row in rows],
        "cursor_start": start,
        "cursor_end": end,
        "metadata": {_TYPES: rows},
    }


def _place(found: Content, code: str, cursor: int) -> tuple[int, int]:
    """What a match replaces: the guest's word for it, if it is a place around the cursor."""
    start, end = found.get("start"), found.get("end")
    if isinstance(start, int) and isinstance(end, int) and 0 <= start <= cursor <= end <= len(code):
        return start, end
    return cursor, cursor


def _commands(line: str, cursor: int) -> list[Content]:
    place = {"start": cursor - len(line), "end": cursor}
    return [
        {**place, "text": match, "type": "magic", "signature": ""}
        for match in commands.matches(line)
    ]


def _row(row: Content, start: int, end: int) -> Content:
    def text(name: str) -> str:
        return sanitize_text(str(row.get(name, "")))

    return {
        "start": start,
        "end": end,
        "text": text("text"),
        "type": text("type"),
        "signature": text("signature"),
    }


def inspection(found: Content) -> Content:
    """What the tooltip shows."""
    data = found.get("data")
    return {
        "status": "ok",
        "found": found.get("found") is True,
        "data": clean_reply_bundle(data if isinstance(data, dict) else {}),
        "metadata": {},
    }


def completeness(found: Content) -> Content:
    """Whether Enter runs the cell or begins a new line."""
    status = found.get("status")
    if status == "incomplete":
        # A console puts it into what is typed: never more than white space.
        indent = str(found.get("indent", ""))[:INDENT_MAX]
        return {"status": status, "indent": indent if not indent.strip(" \t") else ""}
    return {"status": status if status in ("complete", "invalid") else "unknown"}


def history(rows: Any) -> Content:
    """Inputs, or pairs of input and output."""
    return {"status": "ok", "history": [_history_row(row) for row in _list(rows)]}


def _history_row(row: Any) -> list[Any]:
    if not isinstance(row, list) or len(row) != 3:
        return [0, 0, ""]
    session, line, text = row
    if isinstance(text, list):
        text = [sanitize_text(str(part)) if part is not None else None for part in text[:2]]
    else:
        text = sanitize_text(str(text))
    return [_number(session), _number(line), text]


def _number(value: Any) -> int:
    """A count of sessions or lines."""
    return value if isinstance(value, int) and abs(value) < 2**31 else 0


def expressions(answers: Content) -> Content:
    """The values of user expressions, by name."""
    return {
        sanitize_text(str(name)): _expression(answer)
        for name, answer in answers.items()
        if isinstance(answer, dict)
    }


def _expression(answer: Content) -> Content:
    if answer.get("status") == "ok":
        data = answer.get("data")
        return {
            "status": "ok",
            "data": clean_reply_bundle(data if isinstance(data, dict) else {}),
            "metadata": {},
        }
    name, value = str(answer.get("ename", "Error")), str(answer.get("evalue", ""))
    return {"status": "error", **error_content(ErrorEvent(name, value, []))}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
