"""NumPy's warnings of results that are not finite: whose line they name, and what they leave alone.

Which results they are given for is in the corpus (``numpy_faults``), as ipykernel gives them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from wasm_kernel import NOTEBOOK_POLICY, ExecutionPolicy, Session, create_sandbox

from .conftest import Cell

RunCell = Callable[..., Cell]
MakeSession = Callable[..., Session]


def test_a_warning_names_the_line_of_the_cell(shared: Session, cell: RunCell) -> None:
    ran = cell(shared, "import numpy as np\nx = np.zeros(2)\ny = x / x\nz = np.float64(1) / 0")
    assert re.search(r"/\d+\.py:3: RuntimeWarning: invalid .* in divide\n  y = x", ran.stderr)
    assert re.search(r":4: RuntimeWarning: divide by zero .* in scalar divide\n  z = ", ran.stderr)


def test_a_traceback_ends_at_the_line_that_failed(
    shared: Session, cell: RunCell, tmp_path: Path
) -> None:
    failing = "import numpy as np\nwith np.errstate(all='raise'):\n    np.zeros(2) / 0"
    error = cell(shared, failing).error
    assert error.name == "FloatingPointError"
    assert "float_errors" not in "\n".join(error.traceback)
    error = cell(shared, "np.ones(2) / np.ones(3)").error
    assert error.name == "ValueError" and "float_errors" not in "\n".join(error.traceback)
    ran = create_sandbox(policy=NOTEBOOK_POLICY, workspace=tmp_path).execute(failing)
    assert ran.stderr.endswith("FloatingPointError: invalid value encountered in divide\n")
    assert "np.zeros(2) / 0" in ran.stderr and "float_errors" not in ran.stderr


def test_what_is_cut_off_in_the_middle_is_whole_again(
    make_session: MakeSession, cell: RunCell
) -> None:
    """While another type's own division runs, NumPy's is as it was made; then comes the limit."""
    session = make_session(fuel_budget=2 * 10**9)
    cell(
        session,
        "import numpy as np\n"
        "class Endless:\n"
        "    def __array_ufunc__(self, *inputs, **options):\n"
        "        while True: pass\n",
    )
    assert cell(session, "np.ones(2) / Endless()").result.rolled_back
    assert "divide by zero" in cell(session, "np.ones(2) / 0").stderr


def test_numpy_stays_what_it_was(shared: Session, cell: RunCell) -> None:
    looked = cell(
        shared,
        "import numpy as np, gc\n"
        "gc.collect()\n"
        "try:\n"
        "    np.float64.extra = 1\n"
        "except TypeError as error:\n"
        "    print(error)\n"
        "np.log(np.e), np.add(1, 2), np.log.__call__(1.0), np.add.__call__(1, 2)",
    )
    assert looked.stdout == "cannot set 'extra' attribute of immutable type 'numpy.float64'\n"
    assert looked.value == "(np.float64(1.0), np.int32(3), np.float64(0.0), np.int32(3))"


def test_an_interpreter_that_starts_without_numpy_gets_it_complete(tmp_path: Path) -> None:
    """Under so little memory the image with NumPy does not fit."""
    policy = ExecutionPolicy(memory_bytes=80_000_000)
    ran = create_sandbox(policy=policy, workspace=tmp_path).execute(
        "import numpy as np\nprint(np.arange(100_000).sum(), np.log(np.zeros(1)))"
    )
    assert ran.stdout == "4999950000 [-inf]\n"
    assert "RuntimeWarning: divide by zero encountered in log" in ran.stderr
