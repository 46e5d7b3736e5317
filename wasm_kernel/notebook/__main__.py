"""``python -P -m wasm_kernel.notebook -f CONNECTION_FILE``: the kernel process."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Start the kernel; what a sandbox kernel has no use for is kept from being imported."""
    if not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109
        # Started without -P, by a kernelspec of somebody's own. The notebook's folder can be the
        # workspace, or be in one: what a cell left there must not be imported here.
        del sys.path[0]
    # Nothing that is imported is garbage: looking for it takes a tenth of the start. The kernel
    # turns it on when its session is there.
    gc.disable()
    from wasm_kernel.notebook import kept

    has_them = kept.install()

    import signal

    # The kernel takes it when it listens; until then it would end the process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    from wasm_kernel.notebook.arguments import parse, set_up_logging

    options = parse(sys.argv[1:] if arguments is None else arguments)
    if options.spare is not None:
        from wasm_kernel.notebook.waiting import wait_for_launch

        options = parse(wait_for_launch(options.spare))
    set_up_logging(options.log_level)

    import zmq

    from wasm_kernel.notebook.channels import Channels
    from wasm_kernel.notebook.connection import ConnectionFileError

    try:
        channels = Channels(options.connection_file, options.ip)
    except (ConnectionFileError, OSError, zmq.ZMQError) as error:
        sys.exit(f"wasm-python: {error}")

    from wasm_kernel.notebook.lean import import_jupyter

    import_jupyter()

    from wasm_kernel.notebook.app import KernelProcess
    from wasm_kernel.notebook.kernel import WasmKernel

    # The session's modules are imported on a thread; the front end must not wait behind that.
    sys.setswitchinterval(0.001)
    KernelProcess(WasmKernel, channels, None if has_them else _keep_imports).run()


def _keep_imports() -> None:
    from wasm_kernel.notebook import imports

    imports.write_beside()


if __name__ == "__main__":
    main()
