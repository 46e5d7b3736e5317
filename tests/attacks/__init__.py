"""Hostile cases: the guest is the attacker, and the tests look from the host's side."""
