"""How a list of names is written in this package."""

from __future__ import annotations


def words(*texts: str) -> frozenset[str]:
    """The words of some texts, as a set."""
    return frozenset(word for text in texts for word in text.split())
