"""``python`` as a command: a script, a module or a text, as another process would run it."""

import contextlib
import importlib
import os
import re
import sys
import types

from wasm_guest import ending, packages

_LIBRARY = "/usr/"
_PACKAGES = "/site-packages/"


def python(words, source):
    """Run Python in a namespace of its own; its exit code."""
    words = _without_options(words)
    if words[:1] in (["--version"], ["-V"]):
        print("Python", sys.version.split()[0])
        return 0
    if words[:2] == ["-m", "pip"]:
        return packages.pip(words[2:], source)
    if words and not words[0].startswith("-") and not os.path.exists(words[0]):
        path = os.path.abspath(words[0])
        print(
            f"python: can't open file {path!r}: [Errno 2] No such file or directory",
            file=sys.stderr,
        )
        return 2
    # Held until its files are written: the collector may come at any time.
    names = None
    try:
        with _as_another_process():
            names = _run(words, source)
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        print(stop.code, file=sys.stderr)
        return 1
    except Exception as error:
        _print_traceback(error)
        return 1
    finally:
        del names
        ending.end()
    return 0


def _without_options(words):
    """Those before the script mean nothing here."""
    words = list(words)
    while words and (option := re.fullmatch(r"-(?:[bBdEiIOPqsSuvx]+|[WX](.*))", words[0])):
        # The two that take a word have it in their own, or as the next one.
        del words[: 2 if option[1] == "" else 1]
    return words


def _run(words, source):
    """Run it; what it has defined."""
    import runpy

    if words[:1] == ["-c"]:
        sys.argv = ["-c", *words[2:]]
        return _run_text(words[1], "<string>")
    if words[:1] == ["-m"]:
        sys.argv = words[1:]
        return runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    if words and words[0] != "-":
        sys.argv = list(words)
        if os.path.isdir(words[0]):
            return runpy.run_path(words[0], run_name="__main__")
        return _run_file(os.path.abspath(words[0]))
    sys.argv = ["-"]
    return _run_text(source.read(), "<stdin>")


def _run_text(text, name):
    names = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), names)
    return names


def _run_file(path):
    main = types.ModuleType("__main__")
    main.__file__ = path
    sys.path.insert(0, os.path.dirname(path))
    before, sys.modules["__main__"] = sys.modules["__main__"], main
    try:
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec")
        exec(code, vars(main))
    finally:
        sys.modules["__main__"] = before
    return vars(main)


@contextlib.contextmanager
def _as_another_process():
    """Its arguments, its path, and the modules that the user has written, are its own.

    It reads these from their files, which may have changed, and what it does to them stays with
    it. The library and packages are shared: they do not change, and would take long.
    """
    arguments, path = sys.argv, list(sys.path)
    aside = {name: sys.modules.pop(name) for name in _of_the_user()}
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.argv, sys.path[:] = arguments, path
        for name in _of_the_user():
            del sys.modules[name]
        sys.modules.update(aside)


def _of_the_user():
    """The names of the modules that were loaded from files of the user."""
    return [name for name, module in list(sys.modules.items()) if _is_of_the_user(module)]


def _is_of_the_user(module):
    places = vars(module) if hasattr(module, "__dict__") else {}
    place = places.get("__file__") or next(iter(places.get("__path__") or ()), None)
    if not isinstance(place, str) or not place.startswith("/"):
        return False
    return not place.startswith(_LIBRARY) and _PACKAGES not in place


def _print_traceback(error):
    """The error as another process would have printed it: without what runs it here."""
    import traceback

    trace = error.__traceback__
    own = (__file__, "<frozen runpy>")
    while trace is not None and trace.tb_frame.f_code.co_filename in own:
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace))
    print(text, end="", file=sys.stderr)
