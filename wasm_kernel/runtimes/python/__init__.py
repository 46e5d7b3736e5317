"""CPython in a sandbox."""

from wasm_kernel.runtimes.python.sandbox import PythonSandbox

__all__ = ["PythonSandbox"]
