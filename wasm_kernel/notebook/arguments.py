"""The arguments of a kernel process, as kernelspecs and Jupyter give them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

from wasm_kernel.core.data import dataclass
from wasm_kernel.core.logging import LOGGER_NAME

KERNEL_LOGGER_NAME = f"{LOGGER_NAME}.kernel"
"""What the kernel process itself has to say."""

HISTORY_IN_MEMORY = "--HistoryManager.hist_file=:memory:"
"""What nbclient asks of every kernel, and so do papermill and nbconvert; here it is always so."""

SPARE_OPTION = "--spare"
"""For a process that is to wait: a server passes what it will be told its launch by."""


@dataclass()
class Arguments:
    """What a kernel process is told; ``spare`` is a descriptor."""

    connection_file: str | None = None
    ip: str = "127.0.0.1"
    log_level: str = "WARNING"
    spare: int | None = None


def parse(arguments: Sequence[str]) -> Arguments:
    """The arguments of a kernelspec; one that is not known is no reason not to start."""
    if len(arguments) == 2 and arguments[0] == "-f":
        # As nearly every front end says it; argparse would be a thirtieth of the start.
        return Arguments(arguments[1])

    import argparse

    default = Arguments()
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
        "--ip", default=default.ip, help="where to listen, if the kernel makes that file"
    )
    parser.add_argument(
        "--log-level",
        default=default.log_level,
        metavar="LEVEL",
        help="DEBUG, INFO, WARNING, ERROR",
    )
    parser.add_argument(
        "--debug", dest="log_level", action="store_const", const="DEBUG", help="log everything"
    )
    parser.add_argument(SPARE_OPTION, type=int, metavar="DESCRIPTOR", help=argparse.SUPPRESS)
    options, unknown = parser.parse_known_args(arguments)
    log_level = options.log_level.upper()
    if log_level not in logging.getLevelNamesMapping():
        parser.error(f"--log-level takes DEBUG, INFO, WARNING or ERROR, not {log_level}")
    ignored = [argument for argument in unknown if argument != HISTORY_IN_MEMORY]
    if ignored:
        sys.stderr.write(f"wasm-python: ignored: {' '.join(ignored)}\n")
    return Arguments(options.connection_file, options.ip, log_level, options.spare)


def set_up_logging(level: str) -> None:
    """Log to stderr; a console shows that between its cells, and a server in its own log.

    The notebook says what limit a cell met. In a log that is for whoever asks for everything.
    """
    logging.basicConfig(format="[%(name)s] %(levelname)s %(message)s", level=level)
    if level == Arguments().log_level:
        logging.getLogger(LOGGER_NAME).setLevel(logging.ERROR)
        logging.getLogger(KERNEL_LOGGER_NAME).setLevel(level)
