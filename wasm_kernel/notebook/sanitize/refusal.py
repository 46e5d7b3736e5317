"""The one way in which a treatment says that a value cannot be shown."""

from __future__ import annotations


class Refused(Exception):
    """A value that is not shown; the message is the reason, for a note."""
