"""IPython inside the sandbox: a shell whose outputs leave through the door."""

import ast
import builtins
import sys
import tokenize
import traceback
import types

from IPython.core import pylabtools, ultratb
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import StdinNotImplementedError, UsageError
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
from wasm_guest import (
    commands,
    debugging,
    door,
    environment,
    loop,
    magics,
    missing,
    older_python,
    outputs,
    processes,
    programs,
    quick,
    streams,
    threads,
)
from wasm_guest.error_numbers import as_on_linux

TRACEBACK_FRAMES_MAX = 20
TRACEBACK_PARSED_LINES_MAX = 500
"""Of a longer file a traceback shows the lines as they are; to parse it takes up to a second."""

_INCOMPLETE = "_IncompleteInputError"
"""What newer Pythons call a syntax error where the end of the code is the error."""


class GuestDisplayPublisher(DisplayPublisher):
    """``display()`` and its updates."""

    def publish(self, data, metadata=None, *, transient=None, update=False, **_):
        kind = "update" if update else "display"
        outputs.send(kind, data, metadata, display_id=(transient or {}).get("display_id"))

    def clear_output(self, wait=False):
        streams.flush()
        door.call({"op": "clear", "wait": bool(wait)})


class GuestDisplayHook(DisplayHook):
    """The value of a cell's last expression."""

    code_without_history = None
    """The running cell, where its input is not kept in the history."""

    def quiet(self):
        """Whether the cell ends in a semicolon, which IPython looks up in the history."""
        if self.code_without_history is None:
            return super().quiet()
        try:
            return self.semicolon_at_end_of_expression(self.code_without_history)
        except (SyntaxError, tokenize.TokenError):
            return False

    def __call__(self, result=None):
        door.showing()
        before = self.shell.last_error
        try:
            super().__call__(result)
        finally:
            # A result that could not be shown fails the cell, as in ipykernel.
            if self.shell.last_error is not before:
                self.shell.failed_to_show = True
            door.user_code(True)

    def write_output_prompt(self):
        self._count = self.prompt_count

    def write_format_data(self, format_dict, md_dict=None):
        text = format_dict.get("text/plain")
        if text is not None:
            text = as_on_linux(text)
            format_dict = {**format_dict, "text/plain": text}
            self.shell.history_manager.output_hist_reprs[self._count] = text
        outputs.send("result", format_dict, md_dict, execution_count=self._count)

    def finish_displayhook(self):
        streams.flush()

    def log_output(self, format_dict):
        if "text/plain" in format_dict and self.shell.logger.log_output:
            super().log_output(format_dict)


class ZMQInteractiveShell(InteractiveShell):
    """The shell of a session.

    Its name is that of ipykernel's: code that asks whether it runs in a notebook looks for it.
    """

    __module__ = "ipykernel.zmqshell"

    # By this, and by IPKernelApp in the configuration, packages tell a notebook from a terminal.
    kernel = types.SimpleNamespace(implementation="wasm_kernel")

    exit_requested = failed_to_show = False
    last_error = last_advice = None

    def init_hooks(self):
        super().init_hooks()
        from IPython.core import page

        self.set_hook("show_in_pager", page.as_hook(page.display_page), 90)

    def init_history(self):
        self.history_manager = quick.QuickHistory(shell=self, parent=self)
        self.configurables.append(self.history_manager)

    def init_display_formatter(self):
        super().init_display_formatter()
        # The host decides what a page may show; the shell offers all it has.
        self.display_formatter.active_types = self.display_formatter.format_types

    def _showtraceback(self, etype, evalue, stb):
        streams.flush()
        name = getattr(etype, "__name__", str(etype))
        lines = [as_on_linux(str(line)) for line in (stb if isinstance(stb, list) else [stb])]
        if name == _INCOMPLETE:
            name = "SyntaxError"
            lines = [line.replace(_INCOMPLETE, name) for line in lines]
        # An error of syntax is shown without being looked at: it has none.
        advice, self.last_advice = self.last_advice, None
        self.last_error = {
            "name": name,
            "value": as_on_linux(_safe_text(evalue, self.compile)),
            "traceback": lines,
            "advice": advice,
        }
        outputs.send_error(self.last_error)

    async def run_ast_nodes(self, *args, **kwargs):
        door.user_code(True)
        try:
            return await super().run_ast_nodes(*args, **kwargs)
        finally:
            threads.finish()
            door.user_code(False)

    def _get_exc_info(self, exc_tuple=None):
        kind, value, trace = super()._get_exc_info(exc_tuple)
        return kind, value, _shortened(trace)

    def showtraceback(self, *args, **kwargs):
        door.user_code(False)
        self.last_advice = missing.note_missing(sys.exc_info()[1], in_notebook=True)
        try:
            super().showtraceback(*args, **kwargs)
        except StdinNotImplementedError:
            # %pdb is on, and the error was shown before its debugger asked.
            print(debugging.NOBODY)

    def _format_exception_for_storage(self, exception, *args, **kwargs):
        # IPython formats each traceback a second time for its history; the first will do.
        error = self.last_error or {"name": type(exception).__name__, "value": "", "traceback": []}
        return {
            "ename": error["name"],
            "evalue": error["value"],
            "traceback": error["traceback"],
        }

    def ask_exit(self):
        self.exit_requested = True

    def system(self, command):
        if command.rstrip().endswith("&"):
            # As ipykernel says it.
            raise OSError("Background processes not supported.")
        self.user_ns["_exit_code"] = commands.run(self.var_expand(command, depth=1))
        streams.flush()

    system_piped = system_raw = system

    def getoutput(self, command, split=True, depth=0):
        from IPython.utils.text import SList

        text = commands.capture(self.var_expand(command, depth=depth + 1))
        return SList(text.splitlines()) if split else text

    def enable_matplotlib(self, gui=None):
        if gui in (None, "auto"):
            gui = "inline"
        if gui not in ("inline", "agg", "svg", "pdf", "ps"):
            if gui not in ("widget", "ipympl"):
                # A name that nothing has is an error, as everywhere.
                pylabtools.find_gui_and_backend(gui)
            print(f"there is no screen in the sandbox for {gui}: figures are shown inline")
            gui = "inline"
        return super().enable_matplotlib(gui)

    def enable_gui(self, gui=None):
        if gui not in (None, "inline", "agg", "asyncio"):
            raise UsageError("there is no screen in the sandbox; use %matplotlib inline")

    def debugger(self, force=False):
        # What is typed there is the user's code; it asks by input(), as every notebook's does.
        door.user_code(True)
        super().debugger(force)

    def _find_with_lazy_load(self, type_, magic_name):
        # Here and not around the call of a magic, where a frame of ours would be in its tracebacks.
        found = super()._find_with_lazy_load(type_, magic_name)
        if found is None and type_ == "line":
            magics.refuse_host_command(magic_name)
        return found

    def set_next_input(self, text, replace=False):
        # The front end must not take text for a cell from untrusted code; show it instead.
        print(f"[copy this into a cell: the sandbox cannot write cells]\n{text}")


def _shortened(trace):
    """A traceback without its middle, if it is long: each frame takes milliseconds to format."""
    frames = missing.frames_to_read(trace)
    if len(frames) > TRACEBACK_FRAMES_MAX:
        half = TRACEBACK_FRAMES_MAX // 2
        frames = frames[:half] + frames[-half:]
    return missing.traceback_of(frames)


def make_shell():
    """The one shell of this interpreter."""
    config = Config()
    config.IPKernelApp.connection_file = ""
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.ast_node_interactivity = "last_expr"
    shell = ZMQInteractiveShell.instance(
        config=config,
        display_pub_class=GuestDisplayPublisher,
        displayhook_class=GuestDisplayHook,
        compiler_class=quick.CellCompiler,
    )
    shell.input_transformer_manager = quick.QuickTransformer()
    threads.let_start()
    processes.install()
    programs.install()
    loop.install(shell)
    # The name that argparse gives a program that was not called by one.
    sys.argv = ["notebook"]
    # As in any notebook: modules beside it can be imported, and packages the user put somewhere.
    sys.path.insert(0, "")
    sys.path.extend(environment.package_folders())
    _install_input()
    debugging.install()
    magics.install(shell)
    shell.extension_manager.load_extension("storemagic")
    _remember_inputs(shell.history_manager)
    _spare_autoreload()
    _quicken_inspect()
    _spare_missing_sources()
    older_python.pass_over_warnings()
    shell.last_error = None
    shell.InteractiveTB.tb_offset = 1
    ultratb.FAST_THRESHOLD = TRACEBACK_PARSED_LINES_MAX
    return shell


def _install_input():
    import getpass

    def ask(prompt="", password=False):
        __tracebackhide__ = True
        streams.flush()
        reply, _ = door.call({"op": "input", "prompt": str(prompt), "password": password})
        if "value" not in reply:
            # As ipykernel says it.
            asked = "getpass" if password else "raw_input"
            raise StdinNotImplementedError(
                f"{asked} was called, but this frontend does not support input requests."
            )
        return reply["value"]

    def input(prompt="", /):
        """Ask the user for a line of text."""
        __tracebackhide__ = True
        return ask(prompt)

    def hidden(prompt="Password: ", stream=None, **_):
        """Ask the user for a text that is not shown."""
        __tracebackhide__ = True
        return ask(prompt, password=True)

    builtins.input = input
    getpass.getpass = hidden


def _remember_inputs(manager):
    """The last inputs are those of this session; there is no database of earlier ones."""

    def get_tail(n=10, raw=True, output=False, include_latest=False):
        rows = list(manager.get_range(0, 1, None, raw=raw, output=output))
        rows = rows if include_latest else rows[:-1]
        return rows[-n:] if n else []

    def search(pattern="*", raw=True, search_raw=True, output=False, n=None, unique=False):
        rows = manager.get_range(0, 1, None, raw=raw, output=output)
        return _search(rows, {"pattern": pattern, "n": n, "unique": unique}, output)

    manager.get_tail, manager.search = get_tail, search


def _install_matplotlib(shell):
    """``%matplotlib inline`` from the start, as every notebook has it."""
    import matplotlib

    shell.enable_matplotlib("inline")
    matplotlib.rcParamsDefault["backend"] = matplotlib.rcParams["backend"]
    # It warns where there may be a screen, which it looks for on Linux only.
    from matplotlib.backend_bases import FigureManagerBase

    FigureManagerBase.show = lambda self: None


def _spare_autoreload():
    """%autoreload looks at every module before every cell; the image's own never change."""
    from IPython.extensions.autoreload import ModuleReloader

    plain = ModuleReloader.filename_and_mtime

    def filename_and_mtime(self, module):
        if (getattr(module, "__file__", None) or "/usr/").startswith("/usr/"):
            return None, None
        return plain(self, module)

    ModuleReloader.filename_and_mtime = filename_and_mtime


_NO_MODULES = ("<", "/tmp/ipykernel_")
"""How the file names of code begin that belongs to cells, or to no file at all."""


def _quicken_inspect():
    """A traceback asks for the module of each frame, which inspect answers by looking at all."""
    import inspect

    plain = inspect.getmodule

    def getmodule(object, _filename=None):
        if isinstance(object, types.TracebackType):
            object = object.tb_frame
        if isinstance(object, types.FrameType):
            return sys.modules.get(object.f_globals.get("__name__"))
        if isinstance(object, types.CodeType) and object.co_filename.startswith(_NO_MODULES):
            return None
        return plain(object, _filename)

    inspect.getmodule = getmodule


def _spare_missing_sources():
    """IPython guesses why a frame has no source lines; the image's own modules never have them.

    Frames that Cython compiled have relative names: ``pandas/_libs/index.pyx``.
    """
    from IPython.core.tbtools import FrameInfo

    plain = FrameInfo.__init__

    def __init__(self, description, filename, *args, **kwargs):
        plain(self, description, filename, *args, **kwargs)
        if self._sd is None and _is_of_image(filename):
            self.raw_lines = []

    FrameInfo.__init__ = __init__


def _is_of_image(filename):
    if filename.startswith("/"):
        return filename.startswith("/usr/")
    return filename.startswith("<frozen ") or filename.endswith((".pyx", ".pxi", ".pxd"))


def _quiet_tqdm():
    """No monitor thread, no advice to install widgets that could not work here: bars are text."""
    import tqdm
    import tqdm.notebook

    tqdm.tqdm.monitor_interval = 0
    tqdm.notebook.IProgress = object
    for name in ("tqdm", "tqdm_notebook"):
        setattr(tqdm.notebook, name, tqdm.tqdm)
    for name in ("trange", "tnrange"):
        setattr(tqdm.notebook, name, tqdm.trange)


def execute(shell, request):
    """Run one cell."""
    silent = request.get("silent", False)
    store_history = request.get("store_history", True) and not silent
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "new_cell"):
            stream.new_cell()
    for folder in environment.package_folders():
        if sys.path_importer_cache.get(folder, shell) is None:
            # It was not there when it was last looked for.
            del sys.path_importer_cache[folder]
    shell.last_error = None
    shell.failed_to_show = shell.exit_requested = False
    shell.displayhook.code_without_history = None if store_history else request["code"]
    result = loop.run_cell(shell, request["code"], store_history, silent)
    streams.flush()
    error = shell.last_error
    if not result.success and error is None:
        failure = result.error_before_exec or result.error_in_exec
        error = {
            "name": type(failure).__name__,
            "value": _safe_text(failure),
            "traceback": [],
        }
    return {
        "error": error if not result.success or shell.failed_to_show else None,
        # The last cell that was counted: a silent one, or one without history, is not.
        "execution_count": shell.execution_count - 1,
        "exit": shell.exit_requested,
        "user_expressions": _user_expressions(shell, request) if error is None else {},
    }


def _user_expressions(shell, request):
    answers = {}
    expressions = request.get("user_expressions") or {}
    for name, expression in expressions.items():
        try:
            source = compile(expression, "<user expression>", "eval")
            value = shell.guest_context.run(eval, source, shell.user_ns)
            data, metadata = shell.guest_context.run(shell.display_formatter.format, value)
            answers[name] = {
                "status": "ok",
                "data": outputs.as_text(data),
                "metadata": outputs.plain(metadata),
            }
        except BaseException as error:
            answers[name] = {
                "status": "error",
                "ename": type(error).__name__,
                "evalue": _safe_text(error),
                "traceback": traceback.format_exception_only(error),
            }
    return answers


def complete(shell, request):
    """Completions at a place of the code, with their types."""
    from IPython.core.completer import provisionalcompleter, rectify_completions

    code, cursor = request["code"], request["cursor"]
    with provisionalcompleter():
        found = list(shell.Completer.completions(code, cursor))
        found = list(rectify_completions(code, found))
    start = found[0].start if found else cursor
    end = found[0].end if found else cursor
    return {
        "matches": [completion.text for completion in found],
        "start": start,
        "end": end,
        "types": [
            {
                "start": completion.start,
                "end": completion.end,
                "text": completion.text,
                "type": completion.type or "<unknown>",
                "signature": completion.signature or "",
            }
            for completion in found
        ],
    }


def inspect(shell, request):
    """What ``?`` says about the name at a place of the code."""
    from IPython.utils.tokenutil import token_at_cursor

    name = token_at_cursor(request["code"], request["cursor"])
    try:
        bundle = shell.object_inspect_mime(name, detail_level=request.get("detail", 0))
    except KeyError:
        return {"found": False}
    if not shell.enable_html_pager:
        bundle.pop("text/html", None)
    return {"found": True, "data": outputs.as_text(bundle)}


def is_complete(shell, request):
    """Whether a cell could run as it is, and how far its next line is indented."""
    status, indent = shell.input_transformer_manager.check_complete(request["code"])
    return {"status": status, "indent": " " * (indent or 0)}


def history(shell, request):
    """Inputs (and outputs) of this session."""
    manager = shell.history_manager
    kind = request["access"]
    raw, output = request.get("raw", True), request.get("output", False)
    everything = list(manager.get_range(0, 1, None, raw=raw, output=output))
    if kind == "tail":
        rows = everything[-request["n"] :] if request["n"] else []
    elif kind == "range":
        rows = list(
            manager.get_range(
                0, request.get("start") or 1, request.get("stop"), raw=raw, output=output
            )
        )
    else:
        rows = _search(everything, request, output)
    return {"history": [_history_row(row, output) for row in rows]}


def _search(rows, request, output):
    import fnmatch

    found = []
    for row in rows:
        text = row[2][0] if output else row[2]
        if fnmatch.fnmatchcase(text, request.get("pattern") or "*"):
            if not (request.get("unique") and any(row[2] == other[2] for other in found)):
                found.append(row)
    return found[-request["n"] :] if request.get("n") else found


def _history_row(row, output):
    session, line, text = row
    if output:
        source, result = text
        return [session, line, [source, None if result is None else str(result)]]
    return [session, line, text]


def _safe_text(value, compiler=None):
    try:
        if compiler is not None and isinstance(value, SyntaxError):
            return compiler.message(value)
        return str(value)
    except BaseException:
        return f"<{type(value).__name__} whose text could not be made>"


def warm_up(shell):
    """Pay now for what the first cells would pay for: the image holds the result."""
    # As cells do it: pandas looks for the shell when it is imported.
    with shell.builtin_trap:
        environment.import_science()
    _install_matplotlib(shell)
    _quiet_tqdm()
    with door.muted():
        for code in (
            "x = 1",
            "x",
            "import pandas as pd, numpy as np\npd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})",
            "_.describe(), _.groupby('b').sum()",
            "import matplotlib.pyplot as plt\nplt.plot([1, 2])",
            "def f():\n    return 1 / 0\nf()",
            "from IPython.display import HTML, Markdown, display\ndisplay(HTML('<b>x</b>'))",
            "await __import__('asyncio').sleep(0)",
            "%who\n%time x = 2",
            "!ls | head",
            "%pwd",
        ):
            execute(shell, {"code": code})
        complete(shell, {"code": "import os\nos.pa", "cursor": 15})
        complete(shell, {"code": "pd.DataF", "cursor": 8})
        complete(shell, {"code": "pri", "cursor": 3})
        inspect(shell, {"code": "pd.DataFrame", "cursor": 5})
        inspect(shell, {"code": "len", "cursor": 2, "detail": 1})
        is_complete(shell, {"code": "for i in range(3):"})
        # Once more at the end: a traceback looks at every module that was imported by then.
        execute(shell, {"code": "f()"})


def forget(shell):
    """Take back what the warm-up left: the first cell of a session is its first."""
    shell.reset(new_session=True, aggressive=False)
    # A reset keeps the texts of outputs, which would answer for the user's first cells.
    shell.history_manager.output_hist_reprs.clear()
    shell.history_manager._i00 = ""
    shell.user_ns.pop("_exit_code", None)
    shell.user_module.__doc__ = "Automatically created module for IPython interactive environment"
    for name in ("__loader__", "__package__", "__spec__"):
        setattr(shell.user_module, name, None)
    for owner, names in (
        (shell.displayhook, ("_", "__", "___")),
        (shell.history_manager, ("_i", "_ii", "_iii")),
    ):
        for name in names:
            setattr(owner, name, "")
            shell.user_ns[name] = ""
    shell.execution_count = 1
    shell.last_error = None
    pyplot = sys.modules["matplotlib.pyplot"]
    pyplot.draw_if_interactive.called = False
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        if hasattr(sys, name):
            delattr(sys, name)
    ast.parse("x = 1")
