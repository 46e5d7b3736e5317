"""What a reader of a traceback sees, and is told where a package or a file is missing."""

import os
import pathlib
import re
import sys
import traceback
import types

from wasm_guest import environment
from wasm_guest.packages import distribution_of, how_to_add, why_never
from wasm_guest.refusals import NETWORK, PROCESSES

_WIDGETS = ("anywidget", "bqplot", "comm", "ipyleaflet", "ipympl", "ipywidgets", "qgrid")
# As Pillow says it, and Matplotlib with it, where a codec was not built in.
_CODEC = re.compile(
    r"'(WEBP|AVIF)'|unknown file extension: \.(webp|avif)|encoder (jpeg2k) not available"
    r"|decoder (?P<read>jpeg2k) not available"
)
_NETWORK = (
    *("aiohttp", "anthropic", "boto3", "google", "httpx", "huggingface_hub", "kaggle"),
    *("openai", "paramiko", "requests", "selenium", "websockets", "wget", "yfinance"),
)
"""What many notebooks import for the network alone."""
_GONE = (
    *("aifc", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt", "imghdr"),
    *("lib2to3", "mailcap", "msilib", "nis", "nntplib", "ossaudiodev", "pipes", "smtpd", "sndhdr"),
    *("spwd", "sunau", "telnetlib", "uu", "xdrlib"),
)
"""Modules of the library that newer Pythons have not."""
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
_TAILS_MAX = 6
# numpy.loadtxt, what reads an archive, and IPython.display.Image leave the name to the text.
_NO_SUCH_FILE = re.compile(r"No such file or directory: '(?P<quoted>.+)'|(?P<found>.+) not found\.")
_REFUSED = {NETWORK: "NoNetwork", PROCESSES: "NoProcess"}
_OWN = os.path.dirname(__file__)
BETWEEN = tuple(
    f"{_OWN}/{name}.py"
    for name in (
        *("data_sets", "float_errors", "older_libraries", "scipy_gaps", "wide_classes"),
        *("wide_integers", "wide_libraries", "wide_methods", "wide_results"),
    )
)
"""The files that stand between a line and NumPy."""
_PANDAS_NEEDS = re.compile(r"`Import (\w+)` failed")
_SITE_HINT = ". Site initialization is disabled"


def install():
    """Leave out what Python says of ``site`` where a module is missing: users did not start it."""
    plain = traceback.TracebackException.__init__

    def __init__(self, exc_type, exc_value, *args, **kwargs):
        plain(self, exc_type, exc_value, *args, **kwargs)
        if isinstance(exc_value, ModuleNotFoundError):
            self._str = self._str.partition(_SITE_HINT)[0]

    traceback.TracebackException.__init__ = __init__


def frames_to_read(trace):
    """The frames of a traceback, without those that stand between a line and NumPy."""
    frames = []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename not in BETWEEN:
            frames.append(trace)
        trace = trace.tb_next
    return frames


def traceback_of(frames):
    """One that has these frames."""
    trace = None
    for frame in reversed(frames):
        trace = types.TracebackType(trace, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return trace


def note_missing(error, *, in_notebook):
    """Tell whoever reads the traceback how a package, or a file, gets here.

    Returns the same for a program: of which kind the error is, and what to do. None where the
    error says all there is to say.
    """
    found = _advice(error, in_notebook)
    if found is None or getattr(error, "__notes__", None):
        return found
    kind, advice = found
    if kind not in _REFUSED.values():  # these say in their own text what to do
        error.add_note(advice)
    return found


def _advice(error, in_notebook):
    if isinstance(error, ModuleNotFoundError):
        kind, advice = "MissingPackage", _about_module(error.name, in_notebook)
    elif type(error) is ImportError and (needed := _PANDAS_NEEDS.search(_text_of(error))):
        kind, advice = "MissingPackage", _about_module(needed[1], in_notebook)
    elif isinstance(error, OSError) and (refused := _refusal(error)):
        kind, advice = _REFUSED[refused], refused
    elif type(error) in (KeyError, OSError, ValueError):
        kind, advice = "MissingCodec", _about_picture(_text_of(error))
    elif type(error) in (FileNotFoundError, PermissionError):
        name = _name_of(error)
        kind = "PathRestriction" if _is_outside(name) else "MissingFile"
        is_missing = type(error) is FileNotFoundError
        advice = _about_file(name) if is_missing else _about_permission(name)
        if advice and not is_missing:
            kind = "PathRestriction"
    else:
        return None
    return (kind, advice) if advice else None


def _refusal(error):
    """Which of the sandbox's refusals an error is made of."""
    text = _text_of(error)
    return next((sentence for sentence in _REFUSED if sentence in text), None)


def _about_module(name, in_notebook):
    root = (name or "").partition(".")[0]
    if not root or name != root:
        return None
    if root in ("_curses", "_tkinter"):
        root = root[1:]
    if root in _GONE:
        return f"{root} was taken out of Python in 3.12 or 3.13; the sandbox's is {_PYTHON}"
    if root in sys.stdlib_module_names:
        return f"the sandbox's Python has no {root}, which needs a whole operating system"
    if root in _WIDGETS:
        return (
            "there are no widgets in the sandbox: code of the page and of a cell cannot reach each "
            "other. Set the value in the cell and run it again"
        )
    reason = why_never(distribution_of(root))
    if reason:
        return reason
    if root in _NETWORK:
        return f"{root} is not in the sandbox, and could do nothing there: {NETWORK}"
    listed = "; %pip list shows what is" if in_notebook else ""
    return (
        f"{root} is not in the sandbox{listed}. A module of your own goes into the workspace. A "
        f"package in pure Python can be added on your computer: {how_to_add(distribution_of(root))}"
    )


def _about_picture(text):
    codec = _CODEC.fullmatch(text)
    if codec is None:
        return None
    name = codec[codec.lastindex].upper()
    if codec["read"]:
        return f"Pillow in the sandbox cannot read {name}; convert it to PNG on your computer"
    return f"Pillow in the sandbox cannot write {name}; save it as PNG, JPEG or GIF"


def _text_of(error):
    try:
        return str(error)
    except Exception:
        return ""


def _name_of(error):
    name = error.filename
    if name is None and len(error.args) == 1:
        text = _text_of(error)
        said = _NO_SUCH_FILE.fullmatch(text)
        if said is not None:
            return said["quoted"] or said["found"]
        return text if text.startswith("/") else None
    return str(name) if isinstance(name, str | pathlib.PurePath) else None


def _about_file(name):
    """A notebook's files lie beside it elsewhere; here they are in the folders it was given."""
    if not name:
        return None
    path = _absolute(name)
    if path.startswith("/usr/"):
        if "/datasets/" not in path:
            return None
        return "this data set is not in the sandbox; put its file into the workspace, and read it"
    workspace, data = environment.folders()
    top = _top(path)
    if top not in ("/", workspace, data) and os.path.isdir(top):
        return None
    if name.startswith(f"{data}/"):
        return None
    parts = path.removeprefix(f"{workspace}/").strip("/").split("/")[-_TAILS_MAX:]
    tails = ["/".join(parts[first:]) for first in range(len(parts))]
    for folder in (data,) if top == workspace else (data, workspace):
        for tail in filter(None, tails):
            if os.path.exists(f"{folder}/{tail}"):
                return f"did you mean {folder}/{tail}?"
    return (
        f"the sandbox sees the workspace ({workspace}) and the data folder ({data}), and nothing "
        "else of your computer: a file must be there to be read"
    )


def _about_permission(name):
    """All that is not the workspace can be read at most."""
    workspace, _ = environment.folders()
    if not name or _top(_absolute(name)) in (workspace, "/tmp"):
        return None
    return f"files can be written in the workspace ({workspace}) and in /tmp, and nowhere else"


def _is_outside(name):
    """Whether a path leads out of every folder that the sandbox has."""
    return bool(name) and _top(_absolute(name)) not in (*environment.folders(), "/tmp", "/usr")


def _absolute(name):
    return os.path.normpath(os.path.join(os.getcwd(), name))


def _top(path):
    return "/" + path.strip("/").partition("/")[0]
