"""Magics that mean something else in a sandbox, or that ipykernel adds to IPython's own."""

import contextlib
import io
import json
import os
import subprocess
import sys
import types

from IPython import get_ipython
from IPython.core.error import UsageError
from wasm_guest import commands, packages, timing
from wasm_guest.refusals import PROCESSES

_PROGRAMS = ("bash", "sh", "python", "python2", "python3", "perl", "ruby", "pypy", "cmd")

_HOST_COMMANDS = frozenset(
    ("undo", "checkpoint", "restore", "checkpoints", "resume", "policy", "files", "metrics")
)
"""What a notebook says to its sandbox; no magics, or ``files`` alone would be one of them."""


def install(shell):
    """Register them with a shell."""
    for kind, names, function in (
        ("line", ("pip",), _pip),
        ("line", ("conda", "mamba", "micromamba", "uv"), _only_pip),
        ("cell", ("script",), _script),
        *(("cell", (name,), _script_of(name)) for name in _PROGRAMS),
        ("line", ("less", "more"), _page),
        ("line", ("man", "edit", "qtconsole", "connect_info"), _not_here),
        ("line", ("clear",), _clear),
        ("line", ("autosave",), _autosave),
    ):
        for name in names:
            shell.register_magic_function(function, kind, name)
    timing.install()
    shell.safe_execfile_ipy = types.MethodType(_run_notebook, shell)
    _say_that_this_is_the_sandbox(shell)


def _pip(line):
    """Say what is installed, or ask the host for more."""
    words = line.split()
    if packages.pip(words) == 0 and words[:1] == ["install"]:
        print("Note: nothing was installed; the sandbox has this already.")


def _only_pip(line):
    """There is no such program here."""
    raise UsageError("there is no conda and no uv in the sandbox; use %pip")


def _script(line, cell):
    """Run the cell's text by a program that the sandbox has: bash, sh, python or a command."""
    from IPython.core.magics.script import ScriptMagics
    from IPython.utils.process import arg_split

    arguments, words = ScriptMagics.shebang.parser.parse_known_args(arg_split(line, posix=True))
    names = get_ipython().user_ns
    names.update({name: "" for name in (arguments.out, arguments.err) if name})
    if not words or not commands.has_program(words[0]):
        # As IPython says it of programs that are not installed.
        print(f"Couldn't find program: {''.join(words[:1])!r} ({PROCESSES})")
        return
    texts = {}
    with contextlib.ExitStack() as stack:
        for name, redirect in (
            (arguments.out, contextlib.redirect_stdout),
            (arguments.err, contextlib.redirect_stderr),
        ):
            if name or arguments.bg:
                texts[name] = io.StringIO()
                stack.enter_context(redirect(texts[name]))
        code = commands.run_program(words, cell)
    texts.pop(None, None)
    for name, text in texts.items():
        # A program in the background has a pipe where others have a text.
        names[name] = io.BytesIO(text.getvalue().encode()) if arguments.bg else text.getvalue()
    if code and arguments.raise_error and not arguments.bg:
        raise subprocess.CalledProcessError(code, cell.encode())


def _script_of(program):
    def script(line, cell):
        _script(f"{program} {line}", cell)

    script.__doc__ = f"Run the cell's text by {program}, as %%script {program} does."
    return script


def _page(line):
    """Show a file."""
    from IPython.core import page

    with open(line.strip(), encoding="utf-8", errors="replace") as file:
        page.page(file.read())


def _not_here(line):
    """Say that the front end has no such thing for a sandbox."""
    raise UsageError("this magic needs a terminal or the host, which a sandbox has not")


def _clear(line):
    """Clear what the cell has shown."""
    get_ipython().display_pub.clear_output()


def _autosave(line):
    """The notebook's own saving is the front end's business."""
    print("autosave is up to the front end")


def _run_notebook(self, fname, shell_futures=False, raise_exceptions=False):
    """Run the code cells of another notebook, for ``%run other.ipynb``."""
    with open(os.path.expanduser(fname), encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and source.strip():
            result = self.run_cell(source, silent=True, shell_futures=shell_futures)
            if raise_exceptions:
                result.raise_error()
            elif not result.success:
                break


def refuse_host_command(name):
    """Say where a command for the host goes, of which IPython would say that there is none."""
    if name == "fork":
        raise UsageError(
            "there is no %fork in a notebook: %checkpoint and %restore go back and forth in its "
            "one session; Session.fork in Python, and %sandbox fork beside %%sandbox, make a second"
        )
    if name in _HOST_COMMANDS:
        raise UsageError(
            f"%{name} is for the sandbox and not for the code in it: give it a cell of its own "
            "(%sandbox?)"
        )


def _say_that_this_is_the_sandbox(shell):
    def sandbox(line, cell=None):
        """Say kindly that this is the sandbox."""
        command = line.split()[:1] if isinstance(line, str) and cell is None else []
        if command and command[0] in {*_HOST_COMMANDS, "save"}:
            raise UsageError(f"this notebook already runs in the sandbox: here it is %{line}")
        print("this notebook already runs in the sandbox; %%sandbox is not needed here")
        if cell:
            shell.run_cell(cell)

    shell.register_magic_function(sandbox, "line_cell", "sandbox")
    extension = types.ModuleType("wasm_kernel", "Stands in for the host's package.")
    extension.load_ipython_extension = sandbox
    sys.modules["wasm_kernel"] = extension
