"""``/`` and ``/dev/null``: what programs expect of every system, with nothing behind it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wasm_kernel import NOTEBOOK_POLICY, Session, create_sandbox

from .conftest import Cell

RunCell = Callable[..., Cell]
MakeSession = Callable[..., Session]

ENDLESS = "\nwhile True: pass"


def run(cell: RunCell, session: Session, code: str) -> Cell:
    """Run a cell that ends well."""
    ran = cell(session, "import os\n" + code)
    assert ran.result.success, ran.result.error
    return ran


def test_what_is_written_to_null_is_gone(session: Session, cell: RunCell) -> None:
    code = (
        "import contextlib, pathlib, sys\n"
        "with open(os.devnull, 'w') as file, contextlib.redirect_stdout(file): print('hidden')\n"
        "sys.stdout, kept = open('/dev/null', 'w'), sys.stdout\n"
        "print('hidden too')\n"
        "sys.stdout = kept\n"
        "pathlib.Path(os.devnull).write_text('x')\n"
        "number = os.open(os.devnull, os.O_RDWR)\n"
        "many = open(os.devnull, 'wb', buffering=0).write(bytes(10**7))\n"
        "many, os.write(number, b'ab'), os.read(number, 9), open(os.devnull, 'a').write('abc')"
    )
    ran = run(cell, session, code)
    assert (ran.value, ran.stdout) == ("(10000000, 2, b'', 3)", "")
    code = "open(os.devnull).read(), os.path.exists(os.devnull), os.stat(os.devnull).st_size"
    assert run(cell, session, code).value == "('', True, 0)"
    assert (
        run(cell, session, "!echo hidden > /dev/null; cat /dev/null; echo seen").stdout == "seen\n"
    )
    assert list(session.workspace.iterdir()) == []


def test_null_takes_no_room(make_session: MakeSession, cell: RunCell) -> None:
    session = make_session(workspace_max_bytes=1000, workspace_max_files=1)
    code = "open('own', 'w').close()\nopen(os.devnull, 'w').write('x' * 100_000)"
    assert run(cell, session, code).value == "100000"


def test_an_open_null_survives_a_rollback_and_a_nap(
    make_session: MakeSession, cell: RunCell, tmp_path: Path
) -> None:
    session = make_session(fuel_budget=3_000_000_000)
    run(cell, session, "log, kept = open(os.devnull, 'w', buffering=1), open('kept', 'w')")
    assert cell(session, "log.write('lost\\n')" + ENDLESS).result.rolled_back
    assert run(cell, session, "log.write('line\\n'), kept.write('a')").value == "(5, 1)"
    session.save(tmp_path / "parked")
    with Session.load(tmp_path / "parked", workspace=session.workspace) as resumed:
        code = "numbers = log.fileno(), kept.fileno()\nlog.write('line\\n'), kept.write('b')"
        assert run(cell, resumed, code).value == "(5, 1)"
        assert run(cell, resumed.fork(), "os.write(numbers[0], b'abc')").value == "3"
        run(cell, resumed, "kept.close(), log.close()")
    assert (session.workspace / "kept").read_text() == "ab"


def test_the_root_lists_what_there_is(session: Session, cell: RunCell) -> None:
    code = "sorted(os.listdir('/')), os.listdir('/dev'), os.path.isdir('/'), os.listdir('/data')"
    names = "['app', 'data', 'dev', 'tmp', 'usr']"
    assert run(cell, session, code).value == f"({names}, ['null'], True, [])"
    run(cell, session, "open('/tmp/x', 'w').close(); open('/app/y', 'w').close()")
    code = (
        "os.chdir('/')\nfound = os.listdir('tmp'), os.path.exists('app/y')\nos.chdir('app')\n"
        "found, os.getcwd(), [where for where, _, files in os.walk('/') if 'x' in files]"
    )
    places = "['/app/.wasm_kernel/tmp', '/tmp']"
    assert run(cell, session, code).value == f"((['x'], True), '/app', {places})"


def test_folders_that_are_there_are_made_if_they_may_exist(session: Session, cell: RunCell) -> None:
    code = "for name in ('/', '/tmp', '/app', '/tmp/a'): os.makedirs(name, exist_ok=True)"
    run(cell, session, code)
    for name in ("/tmp", "/app", "/data", "/dev"):
        assert cell(session, f"os.mkdir({name!r})").error.name in (
            "FileExistsError",
            "PermissionError",
        )
    assert cell(session, "os.mkdir('/new')").error.name == "PermissionError"


@pytest.mark.parametrize(
    ("name", "listed"),
    [("/dev/../tmp", "['x']"), ("/tmp/../tmp/", "['x']"), ("//./tmp/.", "['x']"), ("/tmp/..", "5")],
)
def test_a_way_back_to_the_root_is_understood(
    session: Session, cell: RunCell, name: str, listed: str
) -> None:
    code = f"open('/dev/../tmp/x', 'w').close()\nnames = os.listdir({name!r})\n"
    assert run(cell, session, code + "names if len(names) < 5 else 5").value == listed


def test_folders_of_other_names_are_listed(make_session: MakeSession, cell: RunCell) -> None:
    session = make_session(guest_mount_path="/work/here")
    code = "sorted(os.listdir('/')), os.listdir('/work'), os.getcwd(), open('/dev/null').read()"
    names = "['data', 'dev', 'tmp', 'usr', 'work']"
    assert run(cell, session, code).value == f"({names}, ['here'], '/work/here', '')"


LOOK = """
import os
with open(os.devnull, "w") as file:
    print(os.stat("/"), os.stat("/dev/null"), os.fstat(file.fileno()), list(os.walk("/dev")))
"""


def test_scripts_have_them_and_deterministic_ones_learn_nothing(tmp_path: Path) -> None:
    policy = NOTEBOOK_POLICY.replace(deterministic=True)

    def printed(place: str) -> str:
        with create_sandbox(policy=policy, workspace=tmp_path / place) as sandbox:
            result = sandbox.execute(LOOK)
        assert result.success, result.stderr
        return result.stdout

    assert printed("one") == printed("two")
