"""What a guest may write lies apart from what the host loads."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

import wasm_kernel
from wasm_kernel import ExecutionPolicy, Session, create_sandbox
from wasm_kernel.core.errors import WorkspaceError
from wasm_kernel.host import apart
from wasm_kernel.host.cache import ENV_CACHE_DIR, cache_root
from wasm_kernel.host.mounts import Mount
from wasm_kernel.host.workspace import Workspace


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder that holds nothing else of the host's."""
    monkeypatch.setenv(ENV_CACHE_DIR, str(cache_root()))
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def test_home_is_no_workspace(home: Path) -> None:
    for folder in (home, home.parent, home / "inner" / ".."):
        with pytest.raises(WorkspaceError, match="holds your home folder"):
            create_sandbox(workspace=folder).execute("open('.profile', 'w').write('harm')")
        with pytest.raises(WorkspaceError, match="holds your home folder"):
            Session(workspace=folder)
    assert list(home.iterdir()) == []


def test_folder_below_home_is_a_workspace(home: Path) -> None:
    result = create_sandbox(workspace=home / "workspace").execute("open('a', 'w').write('a')")
    assert result.success, result.stderr


def test_home_behind_a_link_is_no_workspace(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link").symlink_to(tmp_path)
    with pytest.raises(WorkspaceError, match="holds your home folder"):
        Workspace(tmp_path / "elsewhere" / "link" / "home")


def test_cache_is_in_no_workspace_and_no_workspace_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "outer" / "cache"
    monkeypatch.setenv(ENV_CACHE_DIR, str(place))
    for folder in (tmp_path / "outer", place, place / "modules"):
        with pytest.raises(WorkspaceError, match="overlap"):
            Workspace(folder)
    Workspace(tmp_path / "outer" / "beside").close()


@pytest.mark.parametrize(
    ("what", "folder"),
    [
        ("the Python that runs the host", Path(sys.prefix)),
        ("wasm_kernel itself", Path(wasm_kernel.__file__).parent),
    ],
)
def test_code_of_the_host_is_in_no_workspace(what: str, folder: Path) -> None:
    with pytest.raises(WorkspaceError, match=f"holds {what}"):
        Workspace(folder)


def test_what_may_only_be_read_is_not_in_the_workspace(tmp_path: Path) -> None:
    data = tmp_path / "workspace" / "data"
    data.mkdir(parents=True)
    (data / "a").write_text("good")
    policy = ExecutionPolicy(mount_data_dir=str(data))
    with pytest.raises(WorkspaceError, match="which cells may only read"):
        create_sandbox(policy=policy, workspace=tmp_path / "workspace").execute(
            "open('data/a', 'w').write('harm')"
        )
    assert (data / "a").read_text() == "good"


def test_workspace_may_lie_in_what_may_be_read(tmp_path: Path) -> None:
    policy = ExecutionPolicy(mount_data_dir=str(tmp_path))
    result = create_sandbox(policy=policy, workspace=tmp_path / "workspace").execute(
        "open('a', 'w').write('mine')\nprint(open('/data/workspace/a').read())\n"
        "open('/data/workspace/a', 'w')"
    )
    assert result.stdout == "mine\n"
    assert not result.success


def test_what_the_host_imports_from_is_no_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that a cell leaves there would run outside of the sandbox at the next import."""
    code = tmp_path / "project" / "code"
    code.mkdir(parents=True)
    Workspace(code).close()
    monkeypatch.syspath_prepend(str(code))
    for folder in (code, tmp_path / "project"):
        with pytest.raises(WorkspaceError, match=r"imports modules from .*start Python with -P"):
            create_sandbox(workspace=folder).execute("open('json.py', 'w').write('harm')")
    assert create_sandbox(workspace=code / "workspace").execute("print(1)").success


def test_a_package_that_the_host_has_imported_is_no_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python looks through the folder above it, which such a workspace does not hold."""
    package = tmp_path / "project" / "apart_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(package.parent))
    # The control: as long as it is only a folder there, it can be one.
    Workspace(package).close()
    importlib.import_module(package.name)
    linked = tmp_path / "linked"
    linked.symlink_to(package)
    for folder in (package, linked):
        with pytest.raises(WorkspaceError, match=r"code that this Python imports \(apart_package"):
            create_sandbox(workspace=folder).execute("open('__init__.py', 'w').write('harm')")
    assert (package / "__init__.py").read_text() == ""
    Workspace(package / "workspace").close()


def test_what_is_installed_to_be_edited_is_no_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """setuptools names such packages to a finder; their folder is none that is looked through."""
    package = tmp_path / "project" / "edited"
    package.mkdir(parents=True)
    Workspace(package).close()
    finder = ModuleType("__editable___edited_finder")
    vars(finder)["MAPPING"] = {"edited": str(package)}
    monkeypatch.setitem(sys.modules, finder.__name__, finder)
    for folder in (package, package.parent):
        with pytest.raises(WorkspaceError, match="code that this Python imports"):
            Workspace(folder)


def test_the_current_folder_is_no_workspace_where_python_imports_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Workspace(tmp_path).close()
    monkeypatch.syspath_prepend("")
    with pytest.raises(WorkspaceError, match="imports modules from"):
        Workspace(tmp_path)


def test_a_relative_folder_is_looked_up_where_one_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second"):
        (tmp_path / name / "data").mkdir(parents=True)
    data = Mount(Path("data"), "/data")
    workspace = Mount(tmp_path / "second", "/app", is_workspace=True)
    monkeypatch.chdir(tmp_path / "first")
    apart.require_apart([workspace, data])
    monkeypatch.chdir(tmp_path / "second")
    with pytest.raises(WorkspaceError, match="which cells may only read"):
        apart.require_apart([workspace, data])
