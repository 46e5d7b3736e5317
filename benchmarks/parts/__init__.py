"""The parts of the suite, each of which ``python -m benchmarks --only NAME`` can run alone."""
