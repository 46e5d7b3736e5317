"""Takes one request of the host per turn and answers it."""

import builtins
import json

from wasm_guest import data_sets, door, environment, older_python, script, stand_ins, streams

_REHEARSALS = 30

_shell = None
_steps = {}


def boot(image):
    """Make the interpreter ready for an image; runs once, when the image is built."""
    environment.prepare()
    builtins.__turn__ = serve
    if image == "notebook":
        _boot_shell()
    else:
        if image == "science":
            environment.import_science()
        # A script ends with the interpreter's exit functions, which would end a shell.
        _steps["script"] = _run_script
        with door.muted():
            _run_script({"code": "import traceback\n1/0", "name": "warm-up"}, [])
        _rehearse({"op": "script", "code": "print(end='')", "name": "warm-up"})
    stand_ins.install()
    older_python.install()
    environment.complete_science()
    data_sets.install()
    environment.at_rest()


def _rehearse(request):
    """Answer a request as often as Python needs to adapt its code to it, for the image to keep."""
    with door.muted():
        for _ in range(_REHEARSALS):
            # The whole way, but for the question what to do.
            door.next_request()
            _answer({**request, "init": {"env": {}}}, [])


def _boot_shell():
    global _shell
    from wasm_guest import shell, transfer

    _shell = shell.make_shell()
    _steps.update(
        execute=lambda request, _: shell.execute(_shell, request),
        complete=lambda request, _: shell.complete(_shell, request),
        inspect=lambda request, _: shell.inspect(_shell, request),
        is_complete=lambda request, _: shell.is_complete(_shell, request),
        history=lambda request, _: shell.history(_shell, request),
        put=lambda request, buffers: transfer.put(_shell.user_ns, request, buffers),
        get=lambda request, _: transfer.get(_shell.user_ns, request),
    )
    shell.warm_up(_shell)
    _rehearse({"op": "execute", "code": "x = 1"})
    _rehearse({"op": "execute", "code": "print(end='')\n1 + 1"})
    shell.forget(_shell)


def _run_script(request, _):
    return script.run(request)


def serve():
    """Answer one request."""
    request, buffers = door.next_request()
    if request:
        _answer(request, buffers)


def _answer(request, buffers):
    if "init" in request:
        environment.start(**request["init"])
    try:
        reply = _steps[request["op"]](request, buffers)
    except Exception as error:
        reply = {"failed": f"{type(error).__name__}: {error}"}
    if isinstance(reply, tuple):
        reply, out = reply
    else:
        out = ()
    if reply is None:
        return
    streams.flush()
    if isinstance(reply, dict):
        reply = json.dumps(reply).encode("utf-8", "replace")
    door.reply(reply, out)
