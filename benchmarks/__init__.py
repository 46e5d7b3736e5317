"""Benchmarks: wasm_kernel and its peers side by side, as ratios that anyone can repeat."""
