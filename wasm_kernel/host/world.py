"""Clock and randomness of a deterministic guest: plain data that a cell commits with its memory."""

from __future__ import annotations

from wasm_kernel.core.data import dataclass

BEGIN_NS = 1_700_000_000_000_000_000
"""When a deterministic guest begins, and the time of all of its folders."""

_TIME_MAX_NS = 2**63 - 1
_WORD = 2**64 - 1


@dataclass()
class VirtualWorld:
    """What a deterministic guest sees of the world around it."""

    time_ns: int
    random_state: int

    @classmethod
    def seeded(cls, seed: int) -> VirtualWorld:
        """The world at its beginning."""
        return cls(BEGIN_NS, (seed * 0x9E3779B97F4A7C15 + 1) & _WORD)

    @classmethod
    def resumed(cls, saved: object, seed: int) -> VirtualWorld:
        """The world of a saved session, as far as that is well formed."""
        world = cls.seeded(seed)
        if isinstance(saved, dict):
            for name, most in (("time_ns", _TIME_MAX_NS), ("random_state", _WORD)):
                value = saved.get(name)
                if isinstance(value, int) and 0 <= value <= most:
                    setattr(world, name, value)
        return world

    def advance(self, nanoseconds: int) -> int:
        """Let time pass; returns what the clock says then."""
        self.time_ns = min(self.time_ns + nanoseconds, _TIME_MAX_NS)
        return self.time_ns

    def random_bytes(self, size: int) -> bytes:
        """Seeded randomness (splitmix64): repeatable, and not for secrets."""
        words = []
        for _ in range(-(-size // 8)):
            self.random_state = (self.random_state + 0x9E3779B97F4A7C15) & _WORD
            word = self.random_state
            word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
            word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WORD
            words.append((word ^ (word >> 31)).to_bytes(8, "little"))
        return b"".join(words)[:size]
