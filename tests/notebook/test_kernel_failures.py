"""When things go wrong around a kernel: it says what happened, and nothing else is lost."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from wasm_kernel.notebook.install import Spec, install

from .conftest import Kernel, MakeKernel

# The process dies.


def test_kill_9_loses_the_session_and_no_file(make_kernel: MakeKernel, tmp_path: Path) -> None:
    kernel = make_kernel()
    kernel.run("x = 1; open('kept.txt', 'w').write('kept');")
    os.kill(kernel.pid, signal.SIGKILL)
    kernel.until_dead()
    kernel.restart()
    assert kernel.value("open('kept.txt').read(), 'x' in globals()") == "('kept', False)"
    assert {path.name for path in tmp_path.iterdir()} == {"workspace"}


def test_kill_9_in_the_middle_of_a_cell(make_kernel: MakeKernel, tmp_path: Path) -> None:
    kernel = make_kernel()
    kernel.run("open('before.txt', 'w').write('before');")
    pending = kernel.start(
        "open('during.txt', 'w').write('half')\nopen('before.txt', 'w').write('changed')\n"
        "print('running', flush=True)\nwhile True: pass"
    )
    pending.until("stream", "running")
    kernel.manager.provisioner.process.kill()
    kernel.until_dead()
    kernel.restart()
    assert kernel.value("open('before.txt').read()") in ("'before'", "'changed'")
    assert kernel.run("open('after.txt', 'w').write('works');").status == "ok"
    assert (tmp_path / "workspace" / "after.txt").read_text() == "works"


def test_a_parked_session_outlives_its_process(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("x = {'deep': [1, 2]}")
    kernel.run("%save safe")
    kernel.manager.provisioner.process.kill()
    kernel.until_dead()
    kernel.restart()
    kernel.run("%resume safe")
    assert kernel.value("x") == "{'deep': [1, 2]}"


def test_sigint_to_the_process_is_an_interrupt(make_kernel: MakeKernel) -> None:
    """What a manager sends that does not read the kernelspec's interrupt mode."""
    kernel = make_kernel()
    kernel.run("x = 1")
    pending = kernel.start("print('running')\nwhile True: pass")
    pending.until("stream", "running")
    kernel.manager.provisioner.process.send_signal(signal.SIGINT)
    assert pending.finish().error["ename"] == "KeyboardInterrupt"
    assert kernel.value("x") == "1"


def test_sigint_to_an_idle_kernel_harms_nothing(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("x = 1")
    kernel.manager.provisioner.process.send_signal(signal.SIGINT)
    # Served by the thread that takes the signal: it has been taken when the answer is here.
    assert kernel.ask("kernel_info_request")["status"] == "ok"
    assert kernel.value("x") == "1"
    assert kernel.is_alive


def test_it_ends_even_if_its_temporary_files_are_gone(
    make_kernel: MakeKernel, tmp_path: Path
) -> None:
    (tmp_path / "temporary").mkdir()
    kernel = make_kernel(TMPDIR=str(tmp_path / "temporary"))
    kernel.run("open('a.txt', 'w').write('1');")
    kernel.run("open('a.txt', 'w').write('2');")
    shutil.rmtree(tmp_path / "temporary")
    assert kernel.control("shutdown_request", restart=False)["status"] == "ok"
    kernel.until_dead()


# The workspace goes away.


def test_a_workspace_deleted_under_the_kernel(make_kernel: MakeKernel, tmp_path: Path) -> None:
    kernel = make_kernel()
    kernel.run("x = 1; open('lost.txt', 'w').write('lost');")
    shutil.rmtree(tmp_path / "workspace")
    cell = kernel.run("open('new.txt', 'w').write('new');", stop_on_error=False)
    assert cell.error["ename"] == "WorkspaceError"
    assert "workspace" in cell.error["evalue"]
    assert "\n" not in cell.error["evalue"]
    assert kernel.is_alive
    assert kernel.ask("kernel_info_request")["status"] == "ok"
    (tmp_path / "workspace").mkdir()
    kernel.restart()
    assert kernel.run("open('new.txt', 'w').write('new');").status == "ok"


def test_a_workspace_replaced_by_a_link(make_kernel: MakeKernel, tmp_path: Path) -> None:
    kernel = make_kernel()
    kernel.run("x = 1")
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "workspace").rename(tmp_path / "moved")
    (tmp_path / "workspace").symlink_to(outside)
    kernel.run("open('new.txt', 'w').write('new')", stop_on_error=False)
    assert list(outside.iterdir()) == []
    assert kernel.is_alive


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_workspace_that_cannot_be_made(make_kernel: MakeKernel, tmp_path: Path) -> None:
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o500)
    kernel = make_kernel(folder)
    assert "workspace" in kernel.run("1").error["evalue"]
    assert kernel.is_alive


def test_a_workspace_that_is_a_file(make_kernel: MakeKernel, tmp_path: Path) -> None:
    (tmp_path / "workspace").write_text("in the way")
    kernel = make_kernel()
    cell = kernel.run("1 + 1", stop_on_error=False)
    assert cell.status == "error"
    assert "workspace" in cell.error["evalue"]
    (tmp_path / "workspace").unlink()
    assert kernel.value("1 + 1") == "2"


def test_a_full_workspace_is_an_error_of_the_cell(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("x = 1")
    kernel.run("%policy workspace_max_bytes=1MB")
    cell = kernel.run("open('big.bin', 'wb').write(b'x' * 2_000_000)", stop_on_error=False)
    assert cell.error["ename"] == "OSError"
    assert "Quota exceeded" in cell.error["evalue"]
    assert cell.metadata["limit"] == "workspace"
    assert kernel.value("x") == "1"


# The kernel is not set up, or set up wrongly.


def assert_alive_and_answering(kernel: Kernel) -> None:
    assert kernel.ask("kernel_info_request")["implementation"] == "wasm_kernel"
    assert kernel.control("kernel_info_request")["implementation"] == "wasm_kernel"
    # Questions of the front end get an empty answer, not an error and not silence.
    assert kernel.complete("zi")["matches"] == []
    assert kernel.inspect("zip")["found"] is False
    assert kernel.ask("is_complete_request", code="1")["status"] == "unknown"
    assert kernel.is_alive


def test_no_runtime_and_no_package_index(make_kernel: MakeKernel, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir(mode=0o700)
    kernel = make_kernel(
        WASM_KERNEL_CACHE_DIR=str(tmp_path / "empty"),
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS="",
        PIP_CONFIG_FILE=os.devnull,
    )
    assert kernel.ask("kernel_info_request")["status"] == "ok"
    for _ in range(2):
        cell = kernel.run("1 + 1", stop_on_error=False)
        assert cell.status == "error"
        assert cell.error["ename"] == "RuntimeNotReadyError"
        assert "wasm-kernel setup" in cell.error["evalue"]
    assert kernel.control("kernel_info_request")["status"] == "ok"
    assert kernel.is_alive


def test_a_cache_that_others_may_write(make_kernel: MakeKernel, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    kernel = make_kernel(WASM_KERNEL_CACHE_DIR=str(tmp_path / "shared"))
    cell = kernel.run("1 + 1", stop_on_error=False)
    assert cell.error["ename"] == "CacheError"
    assert str(tmp_path / "shared") in cell.error["evalue"]
    assert_alive_and_answering(kernel)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no such policy file"),
        ("fuel_budget = ", "is not valid TOML"),
        ("fuel_budget = 'much'", "fuel_budget"),
        ("speed = 9", "speed: there is no such field"),
    ],
    ids=["missing", "not TOML", "wrong type", "unknown field"],
)
def test_a_bad_policy_file(
    make_kernel: MakeKernel, tmp_path: Path, text: str | None, words: str
) -> None:
    file = tmp_path / "policy.toml"
    if text is not None:
        file.write_text(text)
    kernel = make_kernel(WASM_KERNEL_POLICY=str(file))
    cell = kernel.run("1 + 1", stop_on_error=False)
    assert cell.error["ename"] == "PolicyValidationError"
    assert cell.error["evalue"].startswith("invalid execution policy: ")
    assert words in cell.error["evalue"]
    assert_alive_and_answering(kernel)
    # Once the file is right the next cell runs, without a restart.
    file.write_text("fuel_budget = 4_000_000_000\n")
    assert kernel.value("1 + 1") == "2"
    assert "fuel_budget           4G" in kernel.run("%policy").shown


def test_a_policy_with_too_little_memory(make_kernel: MakeKernel, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("memory_bytes = 10_000_000\n")
    kernel = make_kernel(WASM_KERNEL_POLICY=str(tmp_path / "policy.toml"))
    cell = kernel.run("1 + 1", stop_on_error=False)
    assert "needs at least" in cell.error["evalue"]
    assert "memory_bytes is 10 MB" in cell.error["evalue"]
    assert_alive_and_answering(kernel)


def test_a_data_folder_that_is_not_there(make_kernel: MakeKernel, tmp_path: Path) -> None:
    kernel = make_kernel(WASM_KERNEL_DATA=str(tmp_path / "nowhere"))
    cell = kernel.run("1 + 1", stop_on_error=False)
    assert cell.status == "error"
    assert "nowhere" in cell.error["evalue"]
    assert kernel.is_alive


def test_a_metrics_setting_that_does_not_exist_is_the_default(make_kernel: MakeKernel) -> None:
    kernel = make_kernel(WASM_KERNEL_METRICS="loud")
    assert kernel.run("x = 1").kinds == []


def test_the_policy_of_a_kernelspec_reaches_its_kernel(
    make_kernel: MakeKernel, jupyter: Path, tmp_path: Path
) -> None:
    (tmp_path / "strict.toml").write_text("fuel_budget = 1_000_000_000\n")
    spec = Spec(
        name="wasm-strict",
        display_name="Strict",
        policy=tmp_path / "strict.toml",
        workspace=tmp_path / "elsewhere",
    )
    install(spec, prefix=str(jupyter / "prefix"))
    kernel = make_kernel(name="wasm-strict")
    assert kernel.run("while True: pass").error["ename"] == "OutOfFuel"
    assert kernel.run("open('here.txt', 'w');").status == "ok"
    assert (tmp_path / "elsewhere" / "here.txt").is_file()


# What a cell does to itself.


def test_a_sleep_that_a_limit_ended_is_never_a_success(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("import time")
    kernel.run("%policy timeout_seconds=0.02")
    endings = {
        kernel.run("time.sleep(60)", stop_on_error=False).content.get("ename") for _ in range(40)
    }
    assert endings == {"TimeLimit"}


@pytest.mark.parametrize(
    "code",
    [
        "def down(n): return down(n + 1)\ndown(0)",
        "x = []\nx.append(x)\nhash(tuple(x)) if False else repr(x)",
        "print('\\ud800')",
        "class Bad:\n    def __repr__(self): raise ValueError('no')\nBad()",
        "raise type('E\\x1b[2J', (Exception,), {})('\\x07' * 1000)",
        "import sys; sys.stdout = None; print(1)",
        "from IPython.display import display; display({'text/plain': b'\\xff'}, raw=True)",
        "get_ipython().display_pub.publish({'x/y': {'a': [1, {'b': None}]}})",
    ],
)
def test_odd_cells_leave_the_kernel_well(kernel: Kernel, code: str) -> None:
    assert kernel.run(code, stop_on_error=False).status in ("ok", "error")
    after = kernel.run("print('fine'); 1 + 1", stop_on_error=False)
    assert after.status == "ok"
    assert after.result == "2"
    kernel.run("import sys; sys.stdout = sys.__stdout__")


def test_a_cell_that_spoils_its_own_interpreter_can_be_undone(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("x = 1")
    kernel.run("import sys; sys.stdout.close()")
    assert kernel.run("print('closed')", stop_on_error=False).status == "error"
    kernel.run("%undo 2")
    assert kernel.run("print('open')").stdout == "open\n"
