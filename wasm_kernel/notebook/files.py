"""The workspace as a notebook shows it: a list, and a preview of one file.

Names and contents come from the guest: names are escaped, contents go through the sanitizer, and
no link is followed.
"""

from __future__ import annotations

import csv
import io
import itertools
import stat
import time
from pathlib import Path
from typing import Any, Literal

from wasm_kernel.core.errors import WorkspaceError
from wasm_kernel.core.units import format_bytes
from wasm_kernel.host.workspace import PRIVATE_FOLDER, Workspace
from wasm_kernel.notebook.render import clean_name, escape
from wasm_kernel.notebook.sanitize import sanitize, sanitize_text
from wasm_kernel.notebook.sanitize.names import NO_MATH

LISTED_MAX = 500
PREVIEW_BYTES_MAX = 5_000_000
PREVIEW_ROWS = 20
PREVIEW_COLUMNS = 20
_IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif"}


def table_of_files(root: Path) -> dict[str, Any]:
    """Every file of the workspace with its size and time."""
    with Workspace(root) as workspace:
        rows = sorted(
            (path, found.st_size, found.st_mtime)
            for path, found in workspace.walk()
            if stat.S_ISREG(found.st_mode) and not path.startswith(PRIVATE_FOLDER + "/")
        )
    if not rows:
        return {"text/plain": "the workspace is empty"}
    shown = rows[:LISTED_MAX]
    lines = [
        f"{format_bytes(size):>10}  {_when(modified)}  {clean_name(path)}"
        for path, size, modified in shown
    ]
    if len(rows) > LISTED_MAX:
        lines.append(f"and {len(rows) - LISTED_MAX} more")
    cells = "".join(
        f"<tr><td style='text-align:left'>{escape(clean_name(path))}</td>"
        f"<td>{format_bytes(size)}</td><td>{_when(modified)}</td></tr>"
        for path, size, modified in shown
    )
    head = "<tr><th style='text-align:left'>file</th><th>size</th><th>changed</th></tr>"
    return {"text/plain": "\n".join(lines), "text/html": _table_html(f"{head}{cells}")}


def _table_html(rows: str) -> str:
    """A table around escaped text; a page would still look for formulas in it."""
    return f'<table class="{NO_MATH}">{rows}</table>'


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def preview(root: Path, name: str, *, html: Literal["safe", "isolated", "text"]) -> dict[str, Any]:
    """A picture, a small table or the beginning of a text."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts or ".." in parts or name.startswith("/"):
        raise WorkspaceError("name a file of the workspace, without '..' and without a leading '/'")
    with Workspace(root) as workspace:
        try:
            content = workspace.read("/".join(parts), PREVIEW_BYTES_MAX)
        except OSError as error:
            raise WorkspaceError(f"{clean_name(name)} cannot be shown: {error.strerror}") from error
    suffix = Path(name).suffix.lower()
    if suffix in _IMAGES:
        bundle = {_IMAGES[suffix]: content, "text/plain": clean_name(name)}
        return sanitize(bundle, {}, html=html).data
    text = content.decode("utf-8", "replace")
    if suffix in (".csv", ".tsv"):
        return _table(text, "\t" if suffix == ".tsv" else ",")
    lines = text.splitlines()
    return {"text/plain": sanitize_text("\n".join(lines[: 5 * PREVIEW_ROWS]))}


def _table(text: str, delimiter: str) -> dict[str, Any]:
    try:
        lines = csv.reader(io.StringIO(text), delimiter=delimiter)
        rows = [row[:PREVIEW_COLUMNS] for row in itertools.islice(lines, PREVIEW_ROWS + 1)]
    except csv.Error:
        return {"text/plain": sanitize_text(text[:2000])}
    if not rows:
        return {"text/plain": "the file is empty"}
    head, *body = rows
    cells = "".join(f"<th>{escape(clean_name(cell))}</th>" for cell in head)
    body_html = "".join(
        "<tr>" + "".join(f"<td>{escape(clean_name(cell))}</td>" for cell in row) + "</tr>"
        for row in body
    )
    plain = "\n".join("  ".join(clean_name(cell) for cell in row) for row in rows)
    html = _table_html(f"<thead><tr>{cells}</tr></thead><tbody>{body_html}</tbody>")
    return {"text/plain": plain, "text/html": html}
