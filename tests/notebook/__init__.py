"""The Jupyter side: real kernels, real tools, a real browser."""
