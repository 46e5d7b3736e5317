"""One-shot runs: a script in a ``__main__`` of its own, as ``python user_code.py`` runs it."""

import atexit
import gc
import linecache
import sys
import types

from wasm_guest import door, ending, environment, missing, streams
from wasm_guest.error_numbers import as_on_linux

_VALUE_MAX = 2_000
_THINGS_MAX = 2_000_000


def run(request):
    """Run a script; the answer has its exit code and the name of an exception that ended it.

    A request without one is for an interpreter that shall wait for it: here, where all is ready
    that can be. There may never be one, and then there is nothing to answer.
    """
    if "code" not in request:
        request, _ = door.next_request()
        if not request:
            return None
    name = request["name"]
    # A file may begin with the mark that some editors put there; a text for compile() may not.
    code = request["code"].removeprefix("\ufeff")
    main = types.ModuleType("__main__")
    main.__file__ = name
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    sys.argv = request.get("argv") or [name]
    if request.get("setup"):
        folder = name.rpartition("/")[0]
        of_workspace, of_data = environment.package_folders()
        sys.path[:0] = [of_workspace, folder, of_data]
    # Source lines for tracebacks and inspect, without reading the file again.
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    door.user_code(True)
    exit_code, error = _run(code, name, main)
    streams.flush()
    door.user_code(False)
    del main
    if _is_anything_to_end():
        door.user_code(True)
        _forget_main()
        streams.flush()
        door.user_code(False)
    if error is None:
        # What most runs come to, without the encoder.
        return b'{"exit_code":%d,"error":null,"value":""}' % exit_code
    return {"exit_code": exit_code, **error}


def _run(code, name, main):
    try:
        exec(compile(code, name, "exec", dont_inherit=True), main.__dict__)
        return _finish(0), None
    except SystemExit as stop:
        return _finish(_exit_code(stop.code)), None
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != name:
            trace = trace.tb_next
        trace = missing.traceback_of(missing.frames_to_read(trace))
        error.__traceback__ = trace
        advice = missing.note_missing(error, in_notebook=False)
        try:
            sys.excepthook(type(error), error, trace)
        except BaseException:
            sys.__excepthook__(type(error), error, trace)
        told = {"error": type(error).__name__, "value": _text(error), "advice": advice}
        return _finish(1), told


def _text(error):
    try:
        return as_on_linux(str(error)[:_VALUE_MAX])
    except BaseException:
        return ""


def _exit_code(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code
    print(code, file=sys.stderr)
    return 1


def _finish(exit_code):
    """What the interpreter does at its end, and a script may count on."""
    try:
        atexit._run_exitfuncs()
    except BaseException as error:
        print(f"Exception ignored in atexit: {error!r}", file=sys.stderr)
    return exit_code


def _is_anything_to_end():
    """Whether an object of the script would do something at its end: a file that is open, say.

    The image is frozen, so only what the script has made is looked at, and not even that where
    it would use up what the driver has for itself.
    """
    try:
        things = gc.get_objects()
        if len(things) > _THINGS_MAX:
            return False
        return any(hasattr(kind, "__del__") for kind in set(map(type, things)))
    except BaseException:
        return False


def _forget_main():
    """Let go of the script's objects, as the interpreter does at its end."""
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        ending.end()
    except BaseException as error:
        print(f"Exception ignored at the end: {error!r}", file=sys.stderr)
