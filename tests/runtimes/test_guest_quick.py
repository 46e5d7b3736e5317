"""What the guest does faster than IPython, it does alike."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ipykernel.compiler import get_tmp_hash_seed, murmur2_x86
from IPython.core.inputtransformer2 import TransformerManager

import wasm_kernel

SOURCE = Path(wasm_kernel.__file__).parent / "runtimes" / "python" / "guest" / "quick.py"


def loaded() -> ModuleType:
    """The guest's module; it needs nothing but IPython."""
    spec = importlib.util.spec_from_file_location("quick", SOURCE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


quick = loaded()

PIECES = st.sampled_from(
    ["x", "=", "1", " ", "\n", "%", "%%", "!", "!=", "?", "??", ",", ";", "/", ">>> ", "... ",
     "In [1]: ", "   ...: ", "Out[2]: ", "\t", "    ", "\\\n", "'", '"', '"""', "#", "(", ")",
     "[", "]", "{", "}", ":", "def f():", "if x:", "print(1)", "\f", "\r\n", "%time ", "ls",
     "a = !ls", "b = %who_ls", "f'{x!r}'", "\x1c", "\u2028", "@", "lambda: 0", "*", "await x"]
)  # fmt: skip


@settings(max_examples=3000)
@given(st.lists(PIECES, max_size=12).map("".join))
@example("")
@example("\n")
@example("x != 1")
@example("x = 1\n/print 2")
@example(">>> x = 1\n... y = 2")
@example("  x = 1\n  y = 2")
def test_a_cell_is_transformed_as_ipython_does(cell: str) -> None:
    assert outcome(quick.QuickTransformer(), cell) == outcome(TransformerManager(), cell)


def outcome(manager: TransformerManager, cell: str) -> object:
    """The transformed cell, or the kind of the exception."""
    with warnings.catch_warnings():
        # IPython warns of characters that no tokenizer knows; the cell itself fails then anyway.
        warnings.simplefilter("ignore")
        try:
            return manager.transform_cell(cell)
        except Exception as error:
            return type(error)


@pytest.mark.parametrize("cell", ["x = 1", "for n in range(3):\n    print(n != 1)\n", "import os"])
def test_plain_python_is_not_split_into_tokens(cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the test above compares two ways and not one."""
    monkeypatch.setattr(TransformerManager, "do_token_transforms", None)
    assert quick.QuickTransformer().transform_cell(cell).rstrip("\n") == cell.rstrip("\n")


def test_a_transformer_of_ones_own_is_asked() -> None:
    manager = quick.QuickTransformer()
    manager.cleanup_transforms.append(lambda lines: [line.upper() for line in lines])
    assert manager.transform_cell("x = 1") == "X = 1\n"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
@example("")
@example("x")
@example("print(1)")
def test_cells_are_numbered_as_ipykernel_does(code: str) -> None:
    seed = get_tmp_hash_seed()
    assert quick.murmur2(code.encode(), seed) == murmur2_x86(code, seed)
    assert seed == quick._SEED
