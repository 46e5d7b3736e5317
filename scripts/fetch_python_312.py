#!/usr/bin/env python3
"""Fetch the CPython 3.12 that starts from nothing, link it into bin/ and print where it is.

Only the tests need it, which check that such a binary works too. It comes like the runtime itself:
with pip, checked against the SHA-256 that is pinned in wasm_kernel.runtimes.python.artifacts.
"""

from __future__ import annotations

import sys

from wasm_kernel.core.errors import WasmKernelError
from wasm_kernel.runtimes.python import artifacts, fetching


def main() -> int:
    """The exit code; the path is on stdout, what went wrong on stderr."""
    try:
        binary = fetching.fetch(artifacts.PYTHON_312_COMMAND) / "python-3.12.wasm"
    except WasmKernelError as error:
        print(error, file=sys.stderr)
        return 1
    artifacts.link_into_checkout(binary.name, binary)
    print(binary)
    return 0


if __name__ == "__main__":
    sys.exit(main())
