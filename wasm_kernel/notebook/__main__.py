"""``python -P -m wasm_kernel.notebook -f CONNECTION_FILE``: the kernel process."""

from __future__ import annotations

import argparse
import gc
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

HISTORY_IN_MEMORY = "--HistoryManager.hist_file=:memory:"
"""What nbclient asks of every kernel, and so do papermill and nbconvert; here it is always so."""

SPARE_OPTION = "--spare"
"""For a process that is to wait: a server passes what it will be told its launch by."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Start the kernel; what a sandbox kernel has no use for is kept from being imported."""
    if not sys.flags.safe_path and sys.path[0] in ("", str(Path.cwd())):
        # Started without -P, by a kernelspec of somebody's own. The notebook's folder can be the
        # workspace, or be in one: what a cell left there must not be imported here.
        del sys.path[0]
    # Nothing that is imported is garbage: looking for it takes a tenth of the start. The kernel
    # turns it on when its session is there.
    gc.disable()
    # The kernel takes it when it listens; until then it would end the process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    options = parse(sys.argv[1:] if arguments is None else arguments)
    if options.spare is not None:
        from wasm_kernel.notebook.waiting import wait_for_launch

        options = parse(wait_for_launch(options.spare))
    logging.basicConfig(format="[%(name)s] %(levelname)s %(message)s", level=options.log_level)

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
    KernelProcess(WasmKernel, channels).run()


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The arguments of a kernelspec; one that is not known is no reason not to start."""
    parser = argparse.ArgumentParser(
        prog="python -m wasm_kernel.notebook",
        description="The Jupyter kernel wasm-python. JupyterLab starts it; so does "
        "`jupyter console --kernel wasm-python`.",
        allow_abbrev=False,
    )
    parser.add_argument(
        *("-f", "--f", "--connection-file"),
        dest="connection_file",
        metavar="FILE",
        help="the connection file that the front end wrote; one is made where there is none",
    )
    parser.add_argument(
        "--ip", default="127.0.0.1", help="where to listen, if the kernel makes that file"
    )
    parser.add_argument(
        "--log-level", default="WARNING", metavar="LEVEL", help="DEBUG, INFO, WARNING, ERROR"
    )
    parser.add_argument(
        "--debug", dest="log_level", action="store_const", const="DEBUG", help="log everything"
    )
    parser.add_argument(SPARE_OPTION, type=int, metavar="DESCRIPTOR", help=argparse.SUPPRESS)
    options, unknown = parser.parse_known_args(arguments)
    options.log_level = options.log_level.upper()
    if options.log_level not in logging.getLevelNamesMapping():
        parser.error(f"--log-level takes DEBUG, INFO, WARNING or ERROR, not {options.log_level}")
    ignored = [argument for argument in unknown if argument != HISTORY_IN_MEMORY]
    if ignored:
        sys.stderr.write(f"wasm-python: ignored: {' '.join(ignored)}\n")
    return options


if __name__ == "__main__":
    main()
