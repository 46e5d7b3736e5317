"""What programs ask a system about itself, where WASI has not even the names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wasm_kernel import Session, create_sandbox

from .conftest import Cell

RunCell = Callable[..., Cell]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("len(os.sched_getaffinity(0)), os.cpu_count()", "(1, 1)"),
        ("os.umask(0o77), os.umask(0o22)", "(18, 63)"),
        ("len(os.getrandom(4)), os.getpgrp() == os.getpgid(0) == os.getpid()", "(4, True)"),
        ("os.getpriority(0, 0), os.nice(5), os.sync()", "(0, 0, None)"),
        ("0 <= time.thread_time() <= time.process_time() + 1", "True"),
        ("shutil.get_terminal_size().columns", "80"),
        ("time.tzset(), os.kill(os.getpid(), 0)", "(None, None)"),
    ],
)
def test_it_is_a_computer_with_one_processor(
    session: Session, cell: RunCell, code: str, expected: str
) -> None:
    ran = cell(session, f"import os, shutil, signal, time\n{code}")
    assert ran.result.success, ran.result.error
    assert ran.value == expected


@pytest.mark.parametrize(
    ("code", "name", "words"),
    [
        ("os.get_terminal_size()", "OSError", "Not a tty"),
        ("signal.alarm(3)", "OSError", "use asyncio.timeout"),
        ("signal.setitimer(signal.SIGALRM, 1)", "OSError", "%policy timeout_seconds"),
        ("os.environ['TZ'] = 'Europe/Berlin'; time.tzset()", "OSError", "zoneinfo"),
        ("os.kill(1, 15)", "ProcessLookupError", "No such process"),
        ("os.kill(os.getpid(), signal.SIGINT)", "KeyboardInterrupt", ""),
        ("import curses", "ModuleNotFoundError", "_curses"),
    ],
)
def test_what_it_cannot_do_it_says(
    session: Session, cell: RunCell, code: str, name: str, words: str
) -> None:
    ran = cell(session, f"import os, signal, time\n{code}")
    assert ran.result.error is not None
    assert ran.result.error.name == name
    assert words in ran.result.error.value


def test_a_signal_reaches_the_handler_that_was_set(session: Session, cell: RunCell) -> None:
    code = (
        "import os, signal\n"
        "signal.signal(signal.SIGUSR1, lambda number, frame: print('got', number))\n"
        "os.kill(os.getpid(), signal.SIGUSR1)\n"
        "signal.signal(signal.SIGUSR1, signal.SIG_IGN)\n"
        "os.kill(os.getpid(), signal.SIGUSR1)"
    )
    ran = cell(session, code)
    assert ran.result.success, ran.result.error
    assert ran.stdout.startswith("got ")


def test_a_cell_that_kills_its_process_is_rolled_back(session: Session, cell: RunCell) -> None:
    cell(session, "kept = 1")
    ran = cell(session, "import os, signal\nkept = 2\nos.kill(os.getpid(), signal.SIGKILL)")
    assert ran.result.error is not None
    assert ran.result.error.name == "ProcessExit"
    assert cell(session, "kept").value == "1"


def test_scripts_have_them_too(tmp_path: Path) -> None:
    result = create_sandbox(workspace=tmp_path).execute(
        "import os, time\nprint(os.sched_getaffinity(0), time.thread_time() >= 0)"
    )
    assert result.stdout == "{0} True\n", result.stderr


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("image.save('a.webp')", "cannot write WEBP; save it as PNG"),
        ("import matplotlib.pyplot as plt\nplt.savefig('a.webp')", "cannot write WEBP"),
        ("image.save('a.jp2')", "cannot write JPEG2K; save it as PNG"),
        ("Image.frombytes('RGB', (1, 1), b'', 'jpeg2k', 'RGB', '')", "cannot read JPEG2K; convert"),
        ("import curses", "has no curses"),
    ],
)
def test_what_is_not_there_comes_with_what_to_do(
    session: Session, cell: RunCell, code: str, words: str
) -> None:
    ran = cell(session, f"from PIL import Image\nimage = Image.new('RGB', (2, 2))\n{code}")
    assert ran.result.error is not None
    assert words in "".join(ran.result.error.traceback)
