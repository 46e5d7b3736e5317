"""Session folders: files put in and taken out from outside, and an end for unused ones."""

from __future__ import annotations

import io
import json
import logging
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from wasm_kernel import (
    PruneResult,
    PythonSandbox,
    SandboxLogger,
    configure_logging,
    create_sandbox,
    delete_session_path,
    delete_session_workspace,
    list_session_files,
    prune_sessions,
    read_session_file,
    write_session_file,
)
from wasm_kernel.host.session_folder import SessionFolder

HOUR = 3600


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root of the test's sessions, not made yet."""
    return tmp_path / "sessions"


@pytest.fixture
def events() -> Iterator[io.StringIO]:
    """What is logged during the test."""
    logger = logging.getLogger("wasm_kernel")
    before = logger.handlers, logger.level, logger.propagate
    stream = io.StringIO()
    configure_logging(stream)
    yield stream
    logger.handlers, logger.level, logger.propagate = before


def names_of(stream: io.StringIO) -> list[str]:
    return [json.loads(line)["event"] for line in stream.getvalue().splitlines()]


def make_old(root: Path, session_id: str, hours: float) -> None:
    """As if the session was last used so long ago."""
    then = time.time() - hours * HOUR
    os.utime(root / ".sessions" / session_id, (then, then))


# The sandbox of a session


def test_sandbox_of_a_session_works_in_its_folder(root: Path) -> None:
    sandbox = PythonSandbox(session_id="talk-1", workspace_root=root)
    assert (sandbox.session_id, sandbox.workspace) == ("talk-1", root / "talk-1")
    assert sandbox.workspace_root == root
    assert sandbox.workspace.is_dir()
    result = sandbox.execute("open('a.txt', 'w').write('kept')")
    assert result.metadata["session_id"] == "talk-1"
    again = create_sandbox(session_id="talk-1", workspace_root=root)
    assert again.execute("print(open('a.txt').read())").stdout == "kept\n"


def test_session_without_an_id_is_a_new_one(root: Path) -> None:
    first, second = (create_sandbox(workspace_root=root) for _ in range(2))
    assert uuid.UUID(first.session_id).version == 4
    assert first.session_id != second.session_id and first.workspace != second.workspace


def test_sandbox_without_a_session_has_no_id(tmp_path: Path) -> None:
    sandbox = create_sandbox(workspace=tmp_path)
    assert sandbox.session_id is None
    assert "session_id" not in sandbox.execute("1").metadata
    with pytest.raises(TypeError, match=r"session_id=.* workspace_root="):
        list_session_files(sandbox.session_id)  # type: ignore[arg-type]


def test_root_of_sessions_is_not_the_workspace_of_other_sandboxes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_session_file("secret", "a.txt", "a")
    assert read_session_file("secret", "a.txt") == b"a"
    assert create_sandbox().execute("import os; print(os.listdir('/app'))").stdout == (
        "['user_code.py']\n"
    )
    assert create_sandbox(session_id="secret").workspace == tmp_path / "sessions" / "secret"


def test_workspace_and_session_exclude_each_other(root: Path) -> None:
    with pytest.raises(ValueError, match="not both"):
        create_sandbox(workspace=root, session_id="a")


def test_one_session_sees_nothing_of_another(root: Path) -> None:
    write_session_file("other", "canary", "canary", root)
    sandbox = create_sandbox(session_id="mine", workspace_root=root)
    code = (
        "import os\nfound = []\n"
        "for path in ('../other/canary', '/other/canary', '/app/../other/canary',\n"
        "             '../.sessions/mine', '/app/../.sessions'):\n"
        "    if os.path.exists(path): found.append(path)\nprint(found)"
    )
    assert sandbox.execute(code).stdout == "[]\n"


@pytest.mark.parametrize(
    "session_id",
    ["", ".", "..", "../up", "a/b", "a\\b", ".sessions", "a\nb", "a\0b", "x..y", "n" * 201],
)
def test_id_that_is_no_plain_name_is_refused(root: Path, session_id: str) -> None:
    with pytest.raises(ValueError, match="session_id"):
        create_sandbox(session_id=session_id, workspace_root=root)
    with pytest.raises(ValueError, match="session_id"):
        delete_session_workspace(session_id, root)
    assert not root.exists()


# Files


def test_files_go_in_and_come_out(root: Path) -> None:
    write_session_file("a", "in/numbers.csv", "n\n1\n", root)
    code = "text = open('in/numbers.csv').read()\nopen('out.bin', 'wb').write(text.encode() * 2)"
    assert create_sandbox(session_id="a", workspace_root=root).execute(code).success
    assert read_session_file("a", "out.bin", root) == b"n\n1\nn\n1\n"
    assert list_session_files("a", root) == ["in/numbers.csv", "out.bin", "user_code.py"]


def test_listing_takes_a_pattern_and_leaves_out_what_is_not_the_users(root: Path) -> None:
    for path in ("a.csv", "x/b.csv", "x/y/c.csv", "x/y/d.txt", ".wasm_kernel/tmp/e.csv"):
        write_session_file("a", path, b"", root)
    (root / "a" / "link.csv").symlink_to("a.csv")
    assert list_session_files("a", root, pattern="*.csv") == ["a.csv", "x/b.csv", "x/y/c.csv"]
    assert list_session_files("a", root, pattern="x/**/*.csv") == ["x/b.csv", "x/y/c.csv"]
    assert list_session_files("a", root, pattern="x/*") == ["x/b.csv"]
    assert list_session_files("a", root, pattern="**/d.???") == ["x/y/d.txt"]


def test_many_folders_and_many_stars_are_matched(root: Path) -> None:
    deep = "a/" * 60 + "f"
    write_session_file("a", deep, "", root)
    # Tried one after the other, the ways to divide the path would take years.
    stars = "**/*/" * 12
    assert list_session_files("a", root, pattern=f"{stars}none") == []
    assert list_session_files("a", root, pattern=f"{stars}f") == [deep]


def test_a_path_is_as_good_as_its_text(root: Path) -> None:
    write_session_file("a", Path("x/f.txt"), "text", root)
    assert read_session_file("a", Path("x") / "f.txt", root) == b"text"
    delete_session_path("a", Path("x"), root, recursive=True)
    assert list_session_files("a", root) == []


def test_session_that_is_not_there(root: Path) -> None:
    assert list_session_files("absent", root) == []
    delete_session_workspace("absent", root)
    for act in (read_session_file, delete_session_path):
        with pytest.raises(FileNotFoundError):
            act("absent", "a", root)
    assert not root.exists()


def test_file_is_replaced_unless_that_is_not_wanted(root: Path) -> None:
    write_session_file("a", "f", "long text", root)
    write_session_file("a", "f", b"", root)
    with pytest.raises(FileExistsError, match="already exists"):
        write_session_file("a", "f", "new", root, overwrite=False)
    assert read_session_file("a", "f", root) == b""
    write_session_file("a", "g", "new", root, overwrite=False)


def test_folders_are_deleted_when_that_is_said(root: Path) -> None:
    write_session_file("a", "folder/f", "x", root)
    write_session_file("a", "g", "x", root)
    with pytest.raises(IsADirectoryError):
        read_session_file("a", "folder", root)
    with pytest.raises(ValueError, match="recursive=True"):
        delete_session_path("a", "folder", root)
    delete_session_path("a", "g", root)
    delete_session_path("a", "folder", root, recursive=True)
    assert list_session_files("a", root) == []
    with pytest.raises(FileNotFoundError):
        delete_session_path("a", "g", root)


@pytest.mark.parametrize("path", ["", ".", "/etc/passwd", "../b/f", "x/../../b/f", "f\0"])
def test_path_that_leads_elsewhere_is_refused(root: Path, path: str) -> None:
    write_session_file("b", "f", "canary", root)
    write_session_file("a", "x/g", "", root)
    for act in (read_session_file, delete_session_path):
        with pytest.raises(ValueError, match=r"path within it|not the name of a file"):
            act("a", path, root)
    with pytest.raises(ValueError, match=r"path within it|not the name of a file"):
        write_session_file("a", path, "", root)
    assert read_session_file("b", "f", root) == b"canary"


def test_no_link_is_followed(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "canary").write_text("canary")
    write_session_file("a", "plain/f", "", root)
    (root / "a" / "folder").symlink_to(outside)
    (root / "a" / "file").symlink_to(outside / "canary")
    (root / "linked").symlink_to(outside)
    for path in ("folder/canary", "file"):
        with pytest.raises(OSError):
            read_session_file("a", path, root)
    with pytest.raises(OSError):
        write_session_file("a", "folder/new", "x", root)
    with pytest.raises(OSError):
        delete_session_path("a", "folder/canary", root)
    write_session_file("a", "file", "mine", root)
    delete_session_path("a", "folder", root, recursive=True)
    delete_session_workspace("linked", root)
    delete_session_workspace("a", root)
    assert os.listdir(outside) == ["canary"]
    assert (outside / "canary").read_text() == "canary"


# Pruning


def test_unused_sessions_are_pruned(root: Path) -> None:
    for name, hours in (("fresh", 1), ("old", 25), ("older", 100)):
        write_session_file(name, "f", b"x" * 10, root)
        make_old(root, name, hours)
    (root / "not-a-session").mkdir()
    planned = prune_sessions(24, root, dry_run=True)
    assert planned.deleted_sessions == ["old", "older"] and (root / "old").exists()
    assert str(planned) == "Would prune 2 sessions (1 skipped), reclaimed 20 B"
    result = prune_sessions(24, root)
    assert result == PruneResult(
        deleted_sessions=["old", "older"], skipped_sessions=["not-a-session"], reclaimed_bytes=20
    )
    assert sorted(os.listdir(root)) == [".sessions", "fresh", "not-a-session"]
    assert os.listdir(root / ".sessions") == ["fresh"]
    assert PruneResult.model_validate_json(result.model_dump_json()) == result


def test_use_keeps_a_session(root: Path) -> None:
    sandbox = create_sandbox(session_id="a", workspace_root=root)
    make_old(root, "a", 48)
    sandbox.execute("1")
    assert prune_sessions(24, root).deleted_sessions == []
    make_old(root, "a", 48)
    create_sandbox(session_id="a", workspace_root=root)
    assert prune_sessions(24, root).deleted_sessions == []


def test_code_cannot_make_its_session_younger(root: Path) -> None:
    sandbox = create_sandbox(session_id="a", workspace_root=root)
    code = (
        "import os, time\nfor folder in ('.', '/app', '/tmp'):\n"
        "    os.utime(folder, (2**31, 2**31))\n"
        "os.makedirs('.sessions'); open('.sessions/a', 'w').close()"
    )
    sandbox.execute(code)
    make_old(root, "a", 48)
    assert prune_sessions(24, root).deleted_sessions == ["a"]


def test_root_in_the_home_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_session_file("old", "f", "x", "~/sessions")
    make_old(tmp_path / "sessions", "old", 48)
    assert prune_sessions(24, "~/sessions").deleted_sessions == ["old"]
    assert not (tmp_path / "sessions" / "old").exists()


def test_age_that_is_no_number_deletes_nothing(root: Path) -> None:
    write_session_file("a", "f", "x", root)
    make_old(root, "a", 48)
    assert prune_sessions(float("nan"), root) == PruneResult()
    assert read_session_file("a", "f", root) == b"x"


def test_note_of_the_last_use_is_never_written_through_a_link(root: Path, tmp_path: Path) -> None:
    sandbox = create_sandbox(session_id="a", workspace_root=root)
    note = root / ".sessions" / "a"
    for target in (tmp_path / "there", tmp_path / "absent"):
        note.unlink()
        note.symlink_to(target)
        (tmp_path / "there").touch()
        os.utime(tmp_path / "there", (1, 1))
        os.utime(note, (1, 1), follow_symlinks=False)
        sandbox.execute("1")
        assert (tmp_path / "there").stat().st_mtime == 1
        assert not (tmp_path / "absent").exists()
        assert prune_sessions(24, root).deleted_sessions == []


def test_session_that_is_used_while_its_files_are_counted_is_kept(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session_file("a", "f", "x", root)
    make_old(root, "a", 48)
    plain = SessionFolder.size

    def size(folder: SessionFolder) -> int:
        create_sandbox(session_id="a", workspace_root=root)
        return plain(folder)

    monkeypatch.setattr(SessionFolder, "size", size)
    assert prune_sessions(24, root) == PruneResult()
    assert read_session_file("a", "f", root) == b"x"


def test_session_that_somebody_else_deletes_as_well_is_deleted(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session_file("a", "f", "x", root)
    import shutil

    plain = shutil.rmtree

    def rmtree(path: Path) -> None:
        plain(path)
        plain(path)

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    delete_session_workspace("a", root)
    assert os.listdir(root / ".sessions") == []


def test_session_that_cannot_be_deleted_keeps_no_other(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bad", "old"):
        write_session_file(name, "f", "", root)
        make_old(root, name, 48)
    import shutil

    plain = shutil.rmtree

    def rmtree(path: Path) -> None:
        if path.name == "bad":
            raise PermissionError("in use")
        plain(path)

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    result = prune_sessions(24, root)
    assert (result.deleted_sessions, result.errors) == (["old"], {"bad": "in use"})
    assert str(result) == "Pruned 1 session (1 failed), reclaimed 0 B"


def test_nothing_to_prune_is_fine(root: Path) -> None:
    assert prune_sessions(24, root) == PruneResult()
    assert not root.exists()


# Logs


def test_what_happens_to_sessions_is_logged(root: Path, events: io.StringIO) -> None:
    sandbox = create_sandbox(session_id="a", workspace_root=root)
    sandbox.execute("1")
    create_sandbox(session_id="a", workspace_root=root)
    write_session_file("a", "f", "x", root)
    read_session_file("a", "f", root)
    list_session_files("a", root)
    delete_session_path("a", "f", root)
    delete_session_workspace("a", root)
    prune_sessions(24, root)
    assert names_of(events) == [
        "session.created",
        "session.metadata.created",
        "execution.start",
        "session.metadata.updated",
        "execution.complete",
        "session.retrieved",
        "session.metadata.updated",
        "session.file.write",
        "session.file.read",
        "session.file.list",
        "session.file.delete",
        "session.deleted",
        "session.prune.started",
        "session.prune.completed",
    ]
    for line in events.getvalue().splitlines()[:12]:
        assert json.loads(line)["session_id"] == "a"


def test_logger_of_the_application_is_told(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    own = SandboxLogger(logging.getLogger("application"))
    with caplog.at_level(logging.INFO, logger="application"):
        write_session_file("a", "f", "x", root, logger=own)
        delete_session_workspace("a", root, logger=own)
    assert [record.message for record in caplog.records] == [
        "session.created",
        "session.metadata.created",
        "session.file.write",
        "session.deleted",
    ]
