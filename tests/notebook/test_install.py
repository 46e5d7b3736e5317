"""Kernelspecs: those the command line installs, and the one the wheel carries."""

from __future__ import annotations

import importlib.util
import json
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jupyter_client.kernelspec import KernelSpecManager

from wasm_kernel import __version__
from wasm_kernel.cli import main
from wasm_kernel.notebook.install import DISPLAY_NAME, KERNEL_NAME, Spec, ours

ROOT = Path(__file__).resolve().parents[2]
LOGOS = {"logo-32x32.png", "logo-64x64.png", "logo-svg.svg"}


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place to install to that Jupyter looks into first, and nothing of the user's."""
    place = tmp_path / "prefix"
    monkeypatch.setenv("JUPYTER_PATH", str(place / "share" / "jupyter"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    return place


def kernels(place: Path) -> Path:
    return place / "share" / "jupyter" / "kernels"


def spec_in(folder: Path) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads((folder / "kernel.json").read_text(encoding="utf-8"))
    return spec


# install.


def test_install_below_a_prefix(prefix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "--prefix", str(prefix)]) == 0
    folder = kernels(prefix) / KERNEL_NAME
    assert capsys.readouterr().out == f"installed {KERNEL_NAME} in {folder}\n"
    assert {path.name for path in folder.iterdir()} == {"kernel.json", *LOGOS}
    assert spec_in(folder) == {
        "argv": [sys.executable, "-P", "-m", "wasm_kernel.notebook", "-f", "{connection_file}"],
        "display_name": "Python (WASM sandbox)",
        "language": "python",
        "interrupt_mode": "message",
        "env": {},
        "metadata": {"debugger": False, "supported_encryption": ["curve"]},
    }
    # Other users of a shared prefix must be able to read it.
    assert folder.stat().st_mode & 0o055 == 0o055


def test_install_in_this_environment_is_the_default(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(prefix))
    assert main(["install"]) == 0
    assert (kernels(prefix) / KERNEL_NAME / "kernel.json").is_file()
    assert main(["install", "--sys-prefix", "--name", "again"]) == 0
    assert (kernels(prefix) / "again" / "kernel.json").is_file()


def test_install_for_a_user(prefix: Path, tmp_path: Path) -> None:
    assert main(["install", "--user"]) == 0
    assert (tmp_path / "data" / "kernels" / KERNEL_NAME / "kernel.json").is_file()
    assert not kernels(prefix).exists()


def test_install_one_place_only(prefix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["install", "--user", "--prefix", str(prefix)])
    assert stopped.value.code == 2
    assert "not allowed with" in capsys.readouterr().err


def test_install_with_everything(
    prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "strict.toml").write_text("fuel_budget = 1_000_000_000\n")
    (tmp_path / "tables").mkdir()
    monkeypatch.chdir(tmp_path)
    arguments = [
        "install", "--prefix", str(prefix), "--name", "wasm-strict", "--display-name", "Strict",
        "--policy", "strict.toml", "--workspace", "work", "--data", "tables",
    ]  # fmt: skip
    assert main(arguments) == 0
    spec = spec_in(kernels(prefix) / "wasm-strict")
    assert spec["display_name"] == "Strict"
    # The kernel starts in the folder of a notebook: only whole paths mean the same there.
    assert spec["env"] == {
        "WASM_KERNEL_POLICY": str(tmp_path / "strict.toml"),
        "WASM_KERNEL_WORKSPACE": str(tmp_path / "work"),
        "WASM_KERNEL_DATA": str(tmp_path / "tables"),
    }


def test_install_again_replaces(prefix: Path) -> None:
    main(["install", "--prefix", str(prefix), "--display-name", "First"])
    assert main(["install", "--prefix", str(prefix), "--display-name", "Second"]) == 0
    assert spec_in(kernels(prefix) / KERNEL_NAME)["display_name"] == "Second"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--policy", "missing.toml"], "there is no policy file missing.toml"),
        (["--policy", "bad.toml"], "speed: there is no such field"),
        (["--data", "missing"], "the data folder missing does not exist"),
        (["--name", "with space"], "with space"),
        (["--name", "../escape"], "../escape"),
        (["--prefix", "file.txt"], "could not be installed"),
    ],
)
def test_install_refuses_and_says_why(
    prefix: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    sentence: str,
) -> None:
    (tmp_path / "bad.toml").write_text("speed = 9\n")
    (tmp_path / "file.txt").write_text("in the way")
    monkeypatch.chdir(tmp_path)
    place = [] if "--prefix" in arguments else ["--prefix", str(prefix)]
    assert main(["install", *place, *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("wasm-kernel: ")
    assert captured.err.count("\n") == 1
    assert sentence in captured.err
    assert not prefix.exists() or not list(kernels(prefix).glob("*"))


def test_install_does_not_replace_another_kernel(
    prefix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = kernels(prefix) / "python3"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text('{"argv": ["python", "-m", "ipykernel_launcher"]}')
    assert main(["install", "--prefix", str(prefix), "--name", "Python3"]) == 2
    said = f"wasm-kernel: {folder} is another kernel's; give another name with --name\n"
    assert capsys.readouterr() == ("", said)
    assert spec_in(folder)["argv"][-1] == "ipykernel_launcher"


def test_install_where_jupyter_does_not_look_says_so(
    prefix: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", "--prefix", str(prefix)]) == 0
    assert capsys.readouterr().err == ""
    assert main(["install", "--prefix", str(tmp_path / "apart")]) == 0
    data = tmp_path / "apart" / "share" / "jupyter"
    said = f"Jupyter does not look there; it does with JUPYTER_PATH={data}\n"
    assert capsys.readouterr().err == said


# list and uninstall.


def test_list_and_uninstall(prefix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["install", "--prefix", str(prefix), "--name", "wasm-one"])
    main(["install", "--prefix", str(prefix), "--name", "wasm-two"])
    capsys.readouterr()
    assert main(["list"]) == 0
    rows = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())
    assert rows["wasm-one"] == str(kernels(prefix) / "wasm-one")
    assert "python3" not in rows
    assert main(["uninstall", "wasm-one"]) == 0
    assert capsys.readouterr().out == f"removed {kernels(prefix) / 'wasm-one'}\n"
    assert not (kernels(prefix) / "wasm-one").exists()
    assert (kernels(prefix) / "wasm-two").exists()


def test_uninstall_touches_no_kernel_of_others(
    prefix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = kernels(prefix) / "other"
    other.mkdir(parents=True)
    spec = {"argv": ["other", "{connection_file}"], "display_name": "Other", "language": "x"}
    (other / "kernel.json").write_text(json.dumps(spec))
    assert main(["uninstall", "other"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("wasm-kernel: 'other' is not a kernelspec of wasm-kernel")
    assert (other / "kernel.json").is_file()
    assert main(["uninstall", "missing"]) == 2


def test_a_broken_kernelspec_of_somebody_else_is_passed_over(prefix: Path) -> None:
    broken = kernels(prefix) / "broken"
    broken.mkdir(parents=True)
    (broken / "kernel.json").write_text("{ not json")
    main(["install", "--prefix", str(prefix), "--name", "wasm-one"])
    assert "wasm-one" in ours()
    assert "broken" not in ours()


def test_jupyter_finds_what_was_installed(prefix: Path) -> None:
    main(["install", "--prefix", str(prefix)])
    spec = KernelSpecManager().get_kernel_spec(KERNEL_NAME)
    assert spec.interrupt_mode == "message"
    assert spec.language == "python"


# The kernelspec of the wheel.


def test_the_kernelspec_of_the_wheel_is_the_installed_one() -> None:
    shipped = spec_in(ROOT / "kernelspec")
    installed = Spec().as_json()
    assert shipped["display_name"] == DISPLAY_NAME
    # Jupyter puts the interpreter of the environment in the place of "python".
    assert shipped["argv"] == ["python", *installed["argv"][1:]]
    # Only a server of this environment runs that one: it has the provisioner. What is installed
    # with an interpreter of its own is seen by servers that do not.
    assert shipped["metadata"].pop("kernel_provisioner") == {"provisioner_name": "wasm-kernel"}
    for field in ("display_name", "language", "interrupt_mode", "metadata"):
        assert shipped[field] == installed[field]


def test_logos() -> None:
    for side in (32, 64):
        data = (ROOT / "kernelspec" / f"logo-{side}x{side}.png").read_bytes()
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        assert struct.unpack(">II", data[16:24]) == (side, side)
    drawing = ElementTree.parse(ROOT / "kernelspec" / "logo-svg.svg").getroot()
    assert drawing.tag.endswith("svg")
    assert not [element for element in drawing.iter() if "script" in str(element.tag)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel of this checkout, built without a network."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed, and fetching it is not for a test to do")
    folder = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [
            sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check",
            "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder),
            str(ROOT),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    (file,) = folder.glob("*.whl")
    return zipfile.ZipFile(file)


def test_the_wheel_carries_the_kernelspec(wheel: zipfile.ZipFile) -> None:
    place = f"wasm_kernel-{__version__}.data/data/share/jupyter/kernels/{KERNEL_NAME}/"
    carried = {name.removeprefix(place) for name in wheel.namelist() if name.startswith(place)}
    assert carried == {"kernel.json", *LOGOS}
    spec = json.loads(wheel.read(place + "kernel.json"))
    assert spec == spec_in(ROOT / "kernelspec")


def test_the_wheel_carries_the_guest_and_nothing_large(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    sources = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "wasm_kernel").rglob("*.py")
        if "__pycache__" not in path.parts
    }
    assert sources <= set(names)
    assert not [name for name in names if name.endswith((".wasm", ".ipynb", ".pyc"))]
    assert not [name for name in names if name.startswith(("tests/", "notebooks/", "bin/"))]
    assert sum(info.file_size for info in wheel.infolist()) < 3_000_000


def test_the_wheel_has_the_command(wheel: zipfile.ZipFile) -> None:
    points = wheel.read(f"wasm_kernel-{__version__}.dist-info/entry_points.txt").decode()
    assert "wasm-kernel = wasm_kernel.cli:main" in points
    assert "[jupyter_client.kernel_provisioners]" in points
