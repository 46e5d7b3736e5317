"""Jupyter on the host: the kernel, the magics and what they show."""
