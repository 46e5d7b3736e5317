"""What is left of a session after a limit ended one of its cells: the same questions for all.

Standard library only. A peer gives a small adaptor; the answers are yes or no.
"""

from __future__ import annotations

from typing import Any, Protocol

from protocol import Unsupported

LOOP = "while True: pass"
CELLS = {
    "time": LOOP,
    "fuel": LOOP,
    "interrupt": LOOP,
    "memory": "held = []\nwhile True: held.append(bytearray(16_000_000))",
    "exit": "import os\nos._exit(3)",
}
"""What a cell does after it has changed a variable and begun to write a file."""


class Sessions(Protocol):
    """What a peer has to offer for these questions."""

    def open(self, limit: str) -> None:
        """A new session under a limit; raises ``Unsupported`` where there is none."""

    def cell(self, code: str) -> str:
        """Run a cell; what it printed. Raises where the session is gone."""

    def hit(self, limit: str, code: str) -> None:
        """Run a cell that the limit ends; whatever is raised is fine."""

    def close(self) -> None:
        """End the session, if there is one."""


def ask(sessions: Sessions, limit: str) -> dict[str, Any]:
    """The answers for one limit: is there such a limit, and what is left after it."""
    try:
        sessions.open(limit)
    except Unsupported as reason:
        return {"limit": False, "note": str(reason)}
    try:
        sessions.cell("x = 41")
        begun = "x = 99\nfile = open('half.txt', 'w')\nfile.write('half')\nfile.close()\n"
        try:
            sessions.hit(limit, _quiet(begun) + CELLS[limit])
        except Exception as error:
            note = f"{type(error).__name__}: {error}"[:200]
        else:
            note = ""
        try:
            value = sessions.cell("print(x)").strip()
        except Exception as error:
            gone = f"{type(error).__name__}: {error}"[:200]
            return {"limit": True, "session": False, "variables": False, "undone": False} | {
                "note": gone
            }
        try:
            exists = sessions.cell("import os; print(os.path.exists('half.txt'))").strip()
        except Exception:
            exists = "unknown"
        return {
            "limit": True,
            "session": True,
            "variables": value in ("41", "99"),
            "undone": value == "41" and exists != "True",
            "note": note,
        }
    finally:
        sessions.close()


def _quiet(begun: str) -> str:
    """A session without a folder to write to fails only to write."""
    first, *rest = begun.splitlines()
    body = "\n".join(f"    {line}" for line in rest)
    return f"{first}\ntry:\n{body}\nexcept OSError:\n    pass\n"
