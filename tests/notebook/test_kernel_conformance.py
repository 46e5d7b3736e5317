"""The protocol as Jupyter's own test suite for kernels asks for it, with every sample filled in."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import jupyter_kernel_test
import pytest

from wasm_kernel.notebook.install import KERNEL_NAME

from .conftest import GUARD_SECONDS


@pytest.mark.usefixtures("jupyter")
class TestConformance(jupyter_kernel_test.KernelTests):
    kernel_name = KERNEL_NAME
    language_name = "python"
    file_extension = ".py"

    code_hello_world = "print('hello, world')"
    code_stderr = "import sys; print('to stderr', file=sys.stderr)"

    completion_samples: ClassVar[list[dict[str, Any]]] = [
        {"text": "zi", "matches": {"zip"}},
        {"text": "import itertool", "matches": {"itertools"}},
        {"text": "'abc'.isalph", "matches": {"isalpha"}},
        {"text": "%checkpoints", "matches": {"%checkpoints"}},
    ]
    complete_code_samples: ClassVar[list[str]] = [
        "1",
        "print('hello')",
        "def f(x):\n  return x*2\n\n",
        "%matplotlib inline",
        "%undo",
    ]
    incomplete_code_samples: ClassVar[list[str]] = [
        "print('''hello",
        "def f(x):\n  x*2",
        "for i in range(3):",
        "call(",
    ]
    invalid_code_samples: ClassVar[list[str]] = ["import = 7q", "1 +* 2", "return = 1"]

    # No sample for the pager: a payload lets a kernel act on the page, so none is ever sent, and
    # `len?` shows its text as an output. test_kernel_messages has the test of that.

    code_generate_error = "raise ValueError('wrong')"
    code_execute_result: ClassVar[list[dict[str, str]]] = [
        {"code": "1+2+3", "result": "6"},
        {"code": "[n*n for n in range(1, 4)]", "result": "[1, 4, 9]"},
        {"code": "'text'", "result": "'text'"},
        {"code": "import pandas; pandas.DataFrame({'a': [1]})", "mime": "text/html"},
    ]
    code_display_data: ClassVar[list[dict[str, str]]] = [
        {"code": "from IPython.display import HTML, display; display(HTML('<b>x</b>'))",
         "mime": "text/html"},
        {"code": "from IPython.display import Math, display; display(Math('x^2'))",
         "mime": "text/latex"},
        # Markdown is turned into safe HTML before it is sent (docs/differences.md).
        {"code": "from IPython.display import Markdown, display; display(Markdown('**x**'))",
         "mime": "text/html"},
        {"code": "import matplotlib.pyplot as plt; plt.plot([1, 2]);", "mime": "image/png"},
    ]  # fmt: skip

    def execute_helper(self, *arguments: Any, **options: Any) -> Any:
        """Jupyter's, which gives each published message a tenth of a second: not on any machine."""
        channel = self.kc.iopub_channel
        plain = channel.get_msg

        def patient(timeout: float | None = None) -> Any:
            return plain(timeout=GUARD_SECONDS)

        with mock.patch.object(channel, "get_msg", patient):
            return super().execute_helper(*arguments, **options)

    code_history_pattern = "1?2*"
    supported_history_operations = ("tail", "range", "search")

    code_inspect_sample = "zip"
    code_clear_output = "from IPython.display import clear_output; clear_output()"


@pytest.mark.usefixtures("jupyter")
class TestWelcome(jupyter_kernel_test.IopubWelcomeTests):
    kernel_name = KERNEL_NAME
    support_iopub_welcome = True


def test_only_the_pager_has_no_sample() -> None:
    samples = {
        name
        for name, value in vars(jupyter_kernel_test.KernelTests).items()
        if not callable(value) and not name.startswith("_") and value in ("", [], ())
    }
    assert samples - vars(TestConformance).keys() == {"code_page_something"}


def test_the_kernelspec_is_that_of_the_test_run(jupyter: Path) -> None:
    from jupyter_client.kernelspec import find_kernel_specs

    assert Path(find_kernel_specs()[KERNEL_NAME]).is_relative_to(jupyter)
