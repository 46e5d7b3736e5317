"""Wasmtime: the only place that imports it. Knows nothing of Jupyter or of policies."""
