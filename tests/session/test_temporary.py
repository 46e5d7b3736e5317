"""``/tmp``: the temporary folder of the workspace by the name that programs know, and ``/``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wasm_kernel import NOTEBOOK_POLICY, Limit, Session, create_sandbox

from .conftest import Cell

RunCell = Callable[..., Cell]
MakeSession = Callable[..., Session]

ENDLESS = "\nwhile True: pass"


def run(cell: RunCell, session: Session, code: str) -> Cell:
    """Run a cell that ends well."""
    ran = cell(session, "import os, tempfile\n" + code)
    assert ran.result.success, ran.result.error
    return ran


def folder(session: Session) -> Path:
    """Where the host has what the guest sees as ``/tmp``."""
    return session.workspace / ".wasm_kernel" / "tmp"


def test_files_go_there_and_are_found_by_both_names(session: Session, cell: RunCell) -> None:
    code = (
        "import pandas as pd, numpy as np, sqlite3\n"
        "with open('/tmp/x', 'w') as file: _ = file.write('hi')\n"
        "os.makedirs('/tmp/a/b')\n"
        "pd.DataFrame({'n': [1]}).to_csv('/tmp/x.csv', index=False)\n"
        "np.save('/tmp/a/x.npy', np.ones(2))\n"
        "sqlite3.connect('/tmp/db').execute('create table t (n)')\n"
        "same = os.path.samefile('/tmp/x', '/app/.wasm_kernel/tmp/x')\n"
        "sorted(os.listdir('/tmp')), open('/tmp/x').read(), same, os.path.realpath('/tmp/a/..')"
    )
    names = "['a', 'db', 'x', 'x.csv']"
    assert run(cell, session, code).value == f"({names}, 'hi', True, '/tmp')"
    assert (folder(session) / "x.csv").read_text() == "n\n1\n"
    assert cell(session, "1").result.files == []


def test_shell_lines_and_the_working_directory(session: Session, cell: RunCell) -> None:
    ran = run(cell, session, "!echo hi > /tmp/q; cat /tmp/q; ls /tmp")
    assert ran.stdout == "hi\nq\n"
    code = "os.chdir('/tmp')\nopen('here', 'w').close()\nos.getcwd(), sorted(os.listdir())"
    assert run(cell, session, code).value == "('/tmp', ['here', 'q'])"


def test_names_move_between_the_two(session: Session, cell: RunCell) -> None:
    code = (
        "open('/app/a', 'w').close()\n"
        "os.rename('/app/a', '/tmp/b')\nos.rename('/tmp/b', '/tmp/c')\n"
        "os.utime('/tmp/c', (1, 1))\nos.replace('/tmp/c', '/app/d')\n"
        "os.mkdir('/tmp/f')\nos.rmdir('/tmp/f')\nos.stat('/app/d').st_mtime, os.listdir('/tmp')"
    )
    assert run(cell, session, code).value == "(1.0, [])"


def test_it_is_there_before_it_is_made(session: Session, cell: RunCell) -> None:
    code = "os.path.isdir('/tmp'), os.path.exists('/tmp/x'), os.stat('/tmp').st_size > 0"
    assert run(cell, session, code).value == "(True, False, True)"
    assert cell(session, "open('/tmp/missing')").error.name == "FileNotFoundError"
    assert cell(session, "os.remove('/tmp/missing')").error.name == "FileNotFoundError"
    assert list(session.workspace.iterdir()) == []
    assert run(cell, session, "os.listdir('/tmp')").value == "[]"


def test_it_comes_back_after_its_folder_was_removed(session: Session, cell: RunCell) -> None:
    code = (
        "import shutil\nopen('/tmp/old', 'w').close()\nshutil.rmtree('/app/.wasm_kernel')\n"
        "open('/tmp/new', 'w').close()\nos.listdir('/tmp')"
    )
    assert run(cell, session, code).value == "['new']"


@pytest.mark.parametrize("deterministic", [False, True])
def test_what_a_cell_did_there_is_rolled_back_with_it(
    make_session: MakeSession, cell: RunCell, deterministic: bool
) -> None:
    session = make_session(fuel_budget=3_000_000_000, deterministic=deterministic)
    first = "with open('/tmp/kept', 'w') as file: _ = file.write('before')"
    ran = cell(session, first + ENDLESS)
    assert ran.result.limit is Limit.FUEL
    assert list(session.workspace.iterdir()) == []
    run(cell, session, first)
    change = (
        "open('/tmp/kept', 'w').write('after')\nos.makedirs('/tmp/a/b')\n"
        "open('/tmp/a/b/c', 'w').close()\nos.rename('/tmp/a', '/tmp/d')"
    )
    assert cell(session, change + ENDLESS).result.rolled_back
    assert [path.name for path in folder(session).iterdir()] == ["kept"]
    assert (folder(session) / "kept").read_text() == "before"
    # The control: the same cell without its end does change all of that.
    run(cell, session, change)
    assert sorted(path.name for path in folder(session).iterdir()) == ["d", "kept"]
    assert session.undo() == []
    assert (folder(session) / "kept").read_text() == "before"
    assert session.undo() == []
    assert list(session.workspace.iterdir()) == []


def test_an_open_file_survives_a_rollback_and_a_nap(
    make_session: MakeSession, cell: RunCell, tmp_path: Path
) -> None:
    session = make_session(fuel_budget=3_000_000_000)
    run(cell, session, "file = open('/tmp/log', 'w')\nfile.write('one')\nfile.flush()")
    assert cell(session, "file.write('lost')\nfile.flush()" + ENDLESS).result.rolled_back
    run(cell, session, "file.write(' two')\nfile.flush()")
    session.save(tmp_path / "parked")
    with Session.load(tmp_path / "parked", workspace=session.workspace) as resumed:
        run(cell, resumed, "file.write(' three')\nfile.flush()")
        run(cell, resumed.fork(), "open('/tmp/log', 'a').write(' four')")
    assert (folder(session) / "log").read_text() == "one two three four"


def test_it_counts_against_the_quota(make_session: MakeSession, cell: RunCell) -> None:
    session = make_session(workspace_max_bytes=100_000, workspace_max_files=5)
    ran = cell(session, "open('/tmp/big', 'wb').write(bytes(200_000))")
    assert ran.result.limit is Limit.WORKSPACE
    # The folder itself is two of the five.
    ran = cell(session, "for n in range(9): open(f'/tmp/{n}', 'w').close()")
    assert ran.result.limit is Limit.WORKSPACE
    assert len(list(session.workspace.rglob("*"))) == 5
    session.change_policy(session.policy.replace(workspace_max_bytes=10**6, workspace_max_files=20))
    run(cell, session, "open('/tmp/big', 'wb').write(bytes(200_000))")


def test_a_full_workspace_has_no_room_for_the_folder_either(
    make_session: MakeSession, cell: RunCell
) -> None:
    session = make_session(workspace_max_files=1)
    run(cell, session, "open('only', 'w').close()")
    assert cell(session, "open('/tmp/x', 'w')").result.limit is Limit.WORKSPACE
    assert run(cell, session, "os.path.isdir('/tmp'), os.path.exists('/tmp/x')").value == (
        "(True, False)"
    )


def test_a_folder_of_the_users_may_be_called_so(make_session: MakeSession, cell: RunCell) -> None:
    session = make_session(guest_mount_path="/tmp")
    code = "open('/tmp/x', 'w').close()\ntempfile.gettempdir(), os.getcwd()"
    value = run(cell, session, code).value
    assert value == "('/tmp/.wasm_kernel/tmp', '/tmp')"
    assert (session.workspace / "x").exists()


ONE_SHOT = """
import os, tempfile
with tempfile.NamedTemporaryFile("w", prefix="made", delete=False) as file:
    file.write("text")
os.makedirs("/tmp/a/b", exist_ok=True)
found = os.stat(file.name), os.stat("/tmp"), os.stat("/tmp/a")
print(file.name, sorted(os.listdir("/tmp")), found, list(os.walk("/tmp")))
"""


def test_scripts_have_it_too(tmp_path: Path) -> None:
    with create_sandbox(workspace=tmp_path / "w") as sandbox:
        result = sandbox.execute(ONE_SHOT)
        assert result.success, result.stderr
        assert result.stdout.startswith("/tmp/made")
        assert result.files == []
        result = sandbox.execute("import os; print(len(os.listdir('/tmp')))")
        assert result.stdout == "2\n"


def test_deterministic_scripts_cannot_tell_two_runs_apart(tmp_path: Path) -> None:
    policy = NOTEBOOK_POLICY.replace(deterministic=True)

    def printed(place: str) -> str:
        with create_sandbox(policy=policy, workspace=tmp_path / place) as sandbox:
            result = sandbox.execute(ONE_SHOT)
        assert result.success, result.stderr
        return result.stdout

    assert printed("one") == printed("two")
    policy = NOTEBOOK_POLICY
    assert printed("three") != printed("four")
