"""Names for things that are kept: digests that need no OpenSSL.

``hashlib`` loads OpenSSL when it is imported, which takes longer than to make a session; BLAKE2 is
Python's own. What was fetched is checked against a SHA-256, by whoever fetches it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import blake2b
else:
    try:
        from _blake2 import blake2b  # where hashlib has it from
    except ImportError:
        from hashlib import blake2b

__all__ = ["blake2b", "name_of"]


def name_of(text: str, length: int = 24) -> str:
    """Hexadecimal digits that stand for a text; another text has others."""
    return blake2b(text.encode(), digest_size=32).hexdigest()[:length]
