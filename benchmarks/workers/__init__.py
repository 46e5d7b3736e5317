"""Scripts that run one peer each and answer requests as JSON lines.

They run in the peer's own environment, so they import nothing but the standard library, the peer
and each other.
"""
