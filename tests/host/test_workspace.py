"""The workspace folder: made, measured and read without ever following a link."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from wasm_kernel import WorkspaceError
from wasm_kernel.host.workspace import Usage, Workspace


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with a canary that nothing here may reach."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "canary").write_text("alive")
    return folder


# Opening.


def test_missing_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    with Workspace(tmp_path / "a" / "b") as opened:
        assert opened.root == tmp_path / "a" / "b"
        assert opened.root.is_dir()


def test_relative_folder_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Workspace(Path("here")) as opened:
        assert opened.root == tmp_path / "here"


def test_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError, match="is not a folder"):
        Workspace(tmp_path / "file")


def test_folder_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError, match="cannot be"):
        Workspace(tmp_path / "file" / "folder")


def test_link_is_refused(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "link").symlink_to(outside)
    with pytest.raises(WorkspaceError, match="is a symbolic link"):
        Workspace(tmp_path / "link")


def test_dangling_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(WorkspaceError, match="is a symbolic link"):
        Workspace(tmp_path / "link")
    assert not (tmp_path / "nowhere").exists()


def test_folder_that_cannot_be_made_is_a_clear_error() -> None:
    with pytest.raises(WorkspaceError, match=r"/proc/no-such-folder cannot be made"):
        Workspace(Path("/proc/no-such-folder"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_write_permission_is_refused(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(WorkspaceError, match="is not writable"):
        Workspace(closed)


def test_closing_twice_is_fine(tmp_path: Path) -> None:
    opened = Workspace(tmp_path / "w")
    opened.close()
    opened.close()


def test_removed_folder_is_noticed(workspace: Path) -> None:
    with Workspace(workspace) as opened:
        opened.require_present()
        workspace.rmdir()
        with pytest.raises(WorkspaceError, match="was removed"):
            opened.require_present()


def test_replaced_folder_is_noticed(workspace: Path) -> None:
    with Workspace(workspace) as opened:
        before = opened.identity
        workspace.rename(workspace.with_name("moved"))
        workspace.mkdir()
        with pytest.raises(WorkspaceError, match="was replaced"):
            opened.require_present()
        with Workspace(workspace) as other:
            assert other.identity != before


# Links that the user put there.


@pytest.fixture
def linked(workspace: Path, outside: Path) -> Path:
    """A workspace with links to the outside, to a folder inside, and a file behind each."""
    (workspace / "real").mkdir(parents=True)
    (workspace / "real" / "file").write_text("inside")
    (workspace / "out").symlink_to(outside)
    (workspace / "canary").symlink_to(outside / "canary")
    (workspace / "in").symlink_to("real")
    return workspace


@pytest.mark.parametrize("path", ["canary", "out/canary", "in/file"])
def test_nothing_is_read_through_a_link(linked: Path, path: str) -> None:
    with Workspace(linked) as opened, pytest.raises(OSError, match=r"symbolic link|Not a dir"):
        opened.read(path, 100)


@pytest.mark.parametrize("path", ["out/canary", "in/file"])
def test_nothing_is_seen_behind_a_link(linked: Path, path: str) -> None:
    with Workspace(linked) as opened:
        assert opened.lstat(path) is None


def test_writing_replaces_a_link_and_leaves_its_target(linked: Path, outside: Path) -> None:
    with Workspace(linked) as opened:
        opened.write("canary", b"mine")
    assert (outside / "canary").read_text() == "alive"
    assert not (linked / "canary").is_symlink()
    assert (linked / "canary").read_text() == "mine"


@pytest.mark.parametrize("path", ["out/canary", "out/new", "in/file"])
def test_nothing_is_written_behind_a_link(linked: Path, outside: Path, path: str) -> None:
    with Workspace(linked) as opened, pytest.raises(OSError, match=r"symbolic link|Not a dir"):
        opened.write(path, b"mine")
    assert [entry.name for entry in outside.iterdir()] == ["canary"]
    assert (outside / "canary").read_text() == "alive"
    assert (linked / "real" / "file").read_text() == "inside"


def test_walk_lists_links_and_enters_none(linked: Path) -> None:
    with Workspace(linked) as opened:
        assert sorted(path for path, _ in opened.walk()) == [
            "canary",
            "in",
            "out",
            "real",
            "real/file",
        ]
        assert list(opened.walk("out")) == []
        assert [path for path, _ in opened.walk("real")] == ["real/file"]


def test_usage_counts_entries_and_bytes_of_real_files(linked: Path) -> None:
    with Workspace(linked) as opened:
        assert opened.usage() == Usage(size=len("inside"), entries=5)


# Other things that are no files.


def test_pipe_is_neither_read_nor_waited_for(workspace: Path) -> None:
    workspace.mkdir()
    os.mkfifo(workspace / "pipe")
    with Workspace(workspace) as opened, pytest.raises(OSError, match="not a regular file"):
        opened.read("pipe", 10)


def test_writing_replaces_a_pipe(workspace: Path) -> None:
    workspace.mkdir()
    os.mkfifo(workspace / "pipe")
    with Workspace(workspace) as opened:
        opened.write("pipe", b"mine")
    assert (workspace / "pipe").read_bytes() == b"mine"


def test_folder_is_not_overwritten_by_a_file(workspace: Path) -> None:
    (workspace / "folder" / "inner").mkdir(parents=True)
    with Workspace(workspace) as opened, pytest.raises(IsADirectoryError):
        opened.write("folder", b"mine")
    assert (workspace / "folder" / "inner").is_dir()


def test_reading_stops_at_the_limit(workspace: Path) -> None:
    workspace.mkdir()
    (workspace / "large").write_bytes(b"x" * 1000)
    with Workspace(workspace) as opened:
        assert opened.read("large", 10) == b"x" * 10
        assert opened.read("large", 5000) == b"x" * 1000


def test_writing_shortens_a_longer_file(workspace: Path) -> None:
    workspace.mkdir()
    (workspace / "file").write_bytes(b"long content")
    with Workspace(workspace) as opened:
        opened.write("file", b"short")
    assert (workspace / "file").read_bytes() == b"short"


def test_part_of_a_file_is_not_taken_for_the_whole(workspace: Path) -> None:
    """As on a full disk: the first write takes what fits, and says no more than its length."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Workspace(workspace) as opened:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, hard))
        try:
            with pytest.raises(OSError, match="File too large"):
                opened.write("script.py", b"#" * 9_000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        opened.write("script.py", b"#" * 9_000)
    assert (workspace / "script.py").read_bytes() == b"#" * 9_000


def test_no_descriptor_is_left_open(linked: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    with Workspace(linked) as opened:
        opened.usage()
        opened.lstat("real/file")
        opened.lstat("in/file")
        opened.read("real/file", 5)
        with pytest.raises(OSError, match=r"symbolic link"):
            opened.read("canary", 5)
    assert len(os.listdir("/dev/fd")) == before


def test_a_second_name_of_a_file_is_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    with Workspace(tmp_path / "workspace") as workspace:
        os.link(outside, workspace.root / "inside")
        workspace.write("inside", b"theirs")
        assert (workspace.root / "inside").read_text() == "theirs"
    assert outside.read_text() == "mine"
