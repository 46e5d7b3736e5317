"""Live sessions: cells, transactions, undo, fork and park, on a real guest."""
