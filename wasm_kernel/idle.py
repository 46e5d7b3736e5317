"""Sessions that nobody uses for a while: without their instances they take half of the memory.

One thread looks after all of a process, as long as there is one to wait for.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Protocol

IDLE_SECONDS = 30.0
"""How long after its last use a session rests: its next cell takes some 8 ms longer then."""


class Restable(Protocol):
    """What can be told to rest."""

    def rest(self) -> None:
        """Give back what can be made again."""


class Idle:
    """When each session was last used. It keeps none of them alive."""

    def __init__(self, seconds: float = IDLE_SECONDS) -> None:
        self._seconds = seconds
        self.forget()

    def forget(self) -> None:
        """Begin anew: in a process that was forked the thread is not there."""
        self._lock = threading.Lock()
        self._used: weakref.WeakKeyDictionary[Restable, float] = weakref.WeakKeyDictionary()
        self._is_watched = False

    def note(self, session: Restable) -> None:
        """A session has just been used."""
        with self._lock:
            self._used[session] = time.monotonic()
            if self._is_watched:
                return
            self._is_watched = True
        try:
            threading.Thread(target=self._watch, name="wasm-idle", daemon=True).start()
        except RuntimeError:
            # There is no thread to be had. Nobody asked for it: the next use tries again.
            self._is_watched = False

    def drop(self, session: Restable) -> None:
        """A session is closed: there is nothing to wait for."""
        with self._lock:
            self._used.pop(session, None)

    def _watch(self) -> None:
        while (pause := self._rest_those_due()) is not None:
            time.sleep(pause)

    def _rest_those_due(self) -> float | None:
        """Seconds until the next one is due; None where there is none."""
        with self._lock:
            now = time.monotonic()
            due = [one for one, used in self._used.items() if now - used >= self._seconds]
            for session in due:
                del self._used[session]
            self._is_watched = bool(due or self._used)
            if not self._is_watched:
                return None
            # Whoever is used from here on is due later than all of these.
            pause = min((*self._used.values(), now)) + self._seconds - now
        for session in due:
            session.rest()
        return 0.0 if due else pause


idle = Idle()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=idle.forget)
