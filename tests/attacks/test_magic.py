"""Attacks from a cell of ``%%sandbox`` on the notebook around it.

Each attack is plain code: run by the host itself it reaches the canary, which shows that the test
would notice; run by ``%%sandbox`` it reaches nothing.
"""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from host_shell import HostShell, Ran
from IPython.core.interactiveshell import InteractiveShell

from wasm_kernel.runtimes.python import decoding

from .conftest import SECRET_VARIABLE, Canary, fingerprint
from .test_host_side import CRAFTED, MEGABYTE, SEND_BACK, limited_memory

ATTACKS = {
    "get_ipython: read a variable": "print(get_ipython().user_ns.get('mine'))",
    "get_ipython: set a variable": "get_ipython().user_ns['touched'] = 'changed'",
    "get_ipython: push": "get_ipython().push({'touched': 'changed'})",
    "get_ipython: run code": "get_ipython().ex('touched = \"changed\"')",
    "get_ipython: write the next cell": "get_ipython().set_next_input('import os')",
    "a name of the host": "print(mine)",
    "set a name of the host": "touched = 'changed'",
    "the last value": "print(_)",
    "all values": "print(Out)",
    "the inputs": "print(In)",
    "the history": "%history",
    "all objects": (
        "import gc\n"
        "print([o.get('mine') for o in gc.get_objects() if isinstance(o, dict) and 'mine' in o])"
    ),
    "the caller's frames": (
        "import sys\nframe = sys._getframe()\n"
        "while frame:\n    print(frame.f_globals.get('mine'))\n    frame = frame.f_back"
    ),
    "open: read": "with open({file!r}) as file: print(file.read())",
    "open: write": "with open({file!r}, 'w') as file: file.write('changed')",
    "open: make": "open({folder!r} + '/made.txt', 'w').close()",
    "pathlib: read upwards": (
        "import pathlib\nfor path in pathlib.Path('..').glob('**/outside/secret.txt'):\n"
        "    print(path.read_text())"
    ),
    "remove": "import os\nos.remove({file!r})",
    "the environment": "import os\nprint(dict(os.environ))",
    "set the environment": f"import os\nos.environ[{SECRET_VARIABLE!r}] = 'changed'",
    "os.system": "import os\nos.system('touch {folder}/made')",
    "a shell line": "!touch {folder}/made",
    "a shell cell": "%%bash\ntouch {folder}/made",
    "subprocess": "import subprocess\nsubprocess.run(['touch', {folder!r} + '/made'])",
    "a socket": "import socket\nsocket.create_connection(('127.0.0.1', {port})).close()",
    "run a file": "%run {folder}/secret.py\nprint(VALUE)",
    "import a file": (
        "import sys\nsys.path.insert(0, {folder!r})\nimport secret\nprint(secret.VALUE)"
    ),
    "nested: another workspace": "%%sandbox --workspace {folder}\nprint(open('secret.txt').read())",
    "nested: data": "%%sandbox --session d --data {folder}\nprint(open('/data/secret.txt').read())",
    "nested: a variable in": "%%sandbox -i mine\nprint(mine)",
    "nested: a variable out": "%%sandbox -o touched\ntouched = 'changed'",
    "nested: put a file": "%sandbox put {file}",
    "nested: by hand": (
        "get_ipython().run_cell_magic('sandbox', '-o touched', \"touched = 'changed'\")"
    ),
    "the package of the host": "import wasm_kernel\nprint(wasm_kernel.Session, mine)",
    "a display that runs script": (
        "from IPython.display import HTML, display\n"
        "display(HTML('<script>steal()</script><img src=x onerror=steal()>'))"
    ),
    "a display of a type that runs": (
        "from IPython.display import Javascript, display\ndisplay(Javascript('steal()'))"
    ),
    "a display of the host": (
        "from IPython.display import display, update_display\n"
        "display('imitation', display_id='of-the-host')\n"
        "update_display('imitation', display_id='of-the-host')"
    ),
    "the title of the terminal": "print('\\x1b]0;steal()\\x07')",
}  # fmt: skip


@dataclass
class Prey:
    """A host with secrets in all places, and what an attack made of them."""

    host: HostShell
    canary: Canary
    workspace: Path

    def attack(self, name: str) -> str:
        """The code of an attack on this host."""
        parts = {
            "{file!r}": repr(str(self.canary.file)),
            "{folder!r}": repr(str(self.canary.folder)),
            "{file}": str(self.canary.file),
            "{folder}": str(self.canary.folder),
            "{port}": str(self.canary.port),
        }
        code = ATTACKS[name]
        for part, meaning in parts.items():
            code = code.replace(part, meaning)
        return code

    def harm(self, ran: Ran) -> list[str]:
        """What the attack reached."""
        shell: InteractiveShell = self.host.shell
        signs = {
            "a secret was shown": self.canary.secret in ran.everything,
            "script was shown": "steal()" in active_parts(ran),
            "a display was taken": "of-the-host" in map(display_id, ran.outputs),
            "a variable changed": self.host.variables.get("touched") != "as it was",
            "the next cell was written": getattr(shell, "rl_next_input", None) is not None,
            "a file changed": bool(self.canary.changed()),
            "a file was copied": self.canary.secret in held_texts(self.workspace),
            "the environment changed": os.environ[SECRET_VARIABLE] != self.canary.secret,
            "a connection was made": self.canary.connections() > 0,
        }
        return [sign for sign, is_there in signs.items() if is_there]


def active_parts(ran: Ran) -> str:
    """What a page or a terminal would act upon."""
    rich = [data for o in ran.outputs for mime, data in o.data.items() if mime != "text/plain"]
    titles = [part.split("\x07")[0] for part in ran.stdout.split("\x1b]")[1:]]
    return repr(rich + titles)


def display_id(output: object) -> str | None:
    """The name of a display, if it has one."""
    found = (getattr(output, "transient", None) or {}).get("display_id")
    return str(found) if found else None


def held_texts(folder: Path) -> str:
    """The contents of all files of a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.exists() else []
    return "".join(path.read_text(errors="replace") for path in files)


@pytest.fixture
def prey(host: HostShell, canary: Canary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prey:
    monkeypatch.setattr(host.shell, "rl_next_input", None, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    host.ok(f"mine = {canary.secret!r}")
    host.ok("touched = 'as it was'")
    host.ok("mine")
    return Prey(host, canary, tmp_path / "workspace")


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_from_a_sandboxed_cell(prey: Prey, name: str) -> None:
    ran = prey.host.run(f"%%sandbox --no-metrics\n{prey.attack(name)}")
    assert prey.harm(ran) == []
    assert prey.host.ok("%%sandbox --no-metrics\nprint('alive')").stdout == "alive\n"


@pytest.mark.parametrize("name", ATTACKS)
def test_control_the_same_attack_from_the_host(prey: Prey, name: str) -> None:
    """The canary notices."""
    assert prey.harm(prey.host.run(prey.attack(name))) != []


# Variables.

HOSTILE_VALUES = [
    "nothing", "objects", "objects in a structure", "a structure", "a shape of ten gigabytes",
    "an index of ten gigabytes", "a picture of ten gigabytes", "text that is not UTF-8",
    "text whose lengths do not add up", "codes beyond the categories", "a zone that is a path",
    "columns of other lengths", "bytes of a negative buffer", "a kind of its own",
]  # fmt: skip


def send_back(name: str) -> str:
    """A cell that answers the question for any variable with a crafted value."""
    value, buffers = CRAFTED[name]
    header = base64.b64encode(json.dumps(value).encode()).decode()
    return SEND_BACK.format(header=header, buffers=[base64.b64encode(b).decode() for b in buffers])


@pytest.mark.parametrize("name", HOSTILE_VALUES)
def test_a_crafted_value_binds_nothing(prey: Prey, name: str) -> None:
    with limited_memory(5_000 * MEGABYTE):
        ran = prey.host.sandbox("--no-metrics -o touched", send_back(name))
    assert ran.usage_error.startswith("-o touched: ")
    assert prey.harm(ran) == []


@pytest.mark.parametrize("name", ["a structure", "bytes of a negative buffer"])
def test_control_a_decoder_that_believes(
    prey: Prey, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(decoding._Decoder, "_dtype", lambda _, text: np.dtype(text))
    monkeypatch.setattr(decoding._Decoder, "_buffer", lambda self, place: self._buffers[place])
    ran = prey.host.sandbox("--no-metrics -o touched", send_back(name))
    # Not by its text: an array has no single truth.
    assert ran.error is None
    assert not isinstance(prey.host.variables["touched"], str)


HOSTILE_ANSWERS = {
    "ten gigabytes": "({'value': {'kind': 'bytes', 'buffer': 0}}, [bytes(100_000_000)] * 100)",
    "no answer": "None",
    "an end of the process": "__import__('os')._exit(0)",
    "an abort": "__import__('os').abort()",
    "a type that steers the terminal": r"{'type': '\x1b]0;steal()\x07' + 'x' * 10_000}",
    "a failure that steers the terminal": r"{'failed': '\x1b]0;steal()\x07'}",
}


@pytest.mark.parametrize("name", HOSTILE_ANSWERS)
def test_a_hostile_answer_is_one_short_sentence(prey: Prey, name: str) -> None:
    ran = prey.host.sandbox(
        "--no-metrics -o touched",
        f"from wasm_guest import driver\ndriver._steps['get'] = lambda *_: {HOSTILE_ANSWERS[name]}",
    )
    assert ran.usage_error.startswith("-o touched: ")
    assert len(ran.stderr) < 2_000
    assert "\x1b" not in ran.stderr
    assert prey.harm(ran) == []


def test_a_type_named_to_steer_the_terminal(prey: Prey) -> None:
    ran = prey.host.sandbox(
        "--no-metrics -o touched", r"touched = type('\x1b]0;steal()\x07', (), {})()"
    )
    assert "\x1b" not in ran.usage_error
    assert "cannot cross the border" in ran.usage_error


@pytest.mark.parametrize(
    "code",
    [
        "touched = lambda: None",
        "touched = print",
        "touched = __import__('os')",
        "import numpy as np\ntouched = np.array([print], dtype=object)",
        "import pandas as pd\ntouched = pd.Series([print])",
        "import pandas as pd\ntouched = pd.DataFrame({'a': [object()]})",
        "class Text(str):\n    def __eq__(self, other): return True\ntouched = [Text, Text('a')]",
        "touched = {'__reduce__': print}",
        "touched = property(lambda self: 1)",
    ],
)
def test_code_never_comes_out(prey: Prey, code: str) -> None:
    ran = prey.host.sandbox("--no-metrics -o touched", code)
    assert "cannot cross the border" in ran.usage_error
    assert prey.harm(ran) == []


def test_a_subclass_comes_out_as_its_plain_type(prey: Prey) -> None:
    code = "class Text(str):\n    def __eq__(self, other): return True\nx = Text('a')"
    prey.host.ok(f"%%sandbox --no-metrics -o x\n{code}")
    assert type(prey.host.variables["x"]) is str


def test_what_goes_in_is_a_copy(prey: Prey) -> None:
    prey.host.ok("given = ['as it was']")
    code = "given.clear()\ngiven.append('changed')"
    prey.host.ok(f"%%sandbox --no-metrics -i given\n{code}")
    assert prey.host.variables["given"] == ["as it was"]
    prey.host.ok(code)
    assert prey.host.variables["given"] == ["changed"], "the control: the host's own cell"


@pytest.mark.parametrize("option", ["-i", "-o", "--result"])
@pytest.mark.parametrize(
    "name", ["'x;import os'", "__builtins__", "__import__", "a.b", "x[0]", "class", "'x y'", "*"]
)
def test_a_name_is_nothing_but_a_name(prey: Prey, option: str, name: str) -> None:
    before = dict(prey.host.variables)
    ran = prey.host.sandbox(f"{option} {name}", "1")
    assert "variable name" in ran.usage_error or "a name of Python's own" in ran.usage_error
    changed = {n for n, v in prey.host.variables.items() if before.get(n) is not v}
    assert [n for n in changed if not n.startswith("_i")] == [], "IPython's own inputs aside"


# Files.


def test_get_writes_no_file_but_a_new_one(prey: Prey, tmp_path: Path) -> None:
    (tmp_path / "linked.txt").symlink_to(prey.canary.file)
    prey.host.ok("%%sandbox --no-metrics\nfor n in ('linked.txt', 'x'): open(n, 'w').write('evil')")
    assert "exists here already" in prey.host.run("%sandbox get linked.txt").usage_error
    assert prey.canary.changed() == []
    prey.host.ok("%sandbox get x")
    assert (tmp_path / "x").read_text() == "evil", "the control: a name that is free"


def test_a_link_in_the_workspace_is_not_followed(prey: Prey, tmp_path: Path) -> None:
    """Links cannot be made by a guest; a user may have put one there."""
    prey.host.ok("%%sandbox --no-metrics\n1;")
    (prey.workspace / "secret.txt").symlink_to(prey.canary.file)
    (prey.workspace / "inner").symlink_to(prey.canary.folder)
    before = fingerprint(tmp_path)
    for path in ("secret.txt", "inner/secret.txt"):
        assert "cannot be read" in prey.host.run(f"%sandbox get {path}").usage_error
    assert fingerprint(tmp_path) == before
    (tmp_path / "secret.txt").write_text("new")
    prey.host.ok("%sandbox put secret.txt")
    assert prey.canary.changed() == []
    assert (prey.workspace / "secret.txt").read_text() == "new", "the control: it was written"
