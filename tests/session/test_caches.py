"""``functools.lru_cache`` in the guest: deep recursion, and everything else as it always was."""

from __future__ import annotations

from collections.abc import Callable

from wasm_kernel import Session

from .conftest import Cell

RunCell = Callable[..., Cell]
LOOKING = "import functools\nfrom functools import cache, lru_cache\n"


def test_a_cached_function_may_call_itself_as_deep_as_the_limit(
    shared: Session, cell: RunCell
) -> None:
    code = "@cache\ndef fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(400) % 1000"
    assert cell(shared, LOOKING + code).value == "675"
    assert cell(shared, "fib.cache_info()").value == (
        "CacheInfo(hits=398, misses=401, maxsize=None, currsize=401)"
    )
    endless = cell(shared, "@cache\ndef down(n): return down(n - 1)\ndown(0)")
    assert endless.error.name == "RecursionError" and not endless.result.rolled_back


def test_the_least_recently_used_is_forgotten(shared: Session, cell: RunCell) -> None:
    code = (
        "asked = []\n"
        "@lru_cache(maxsize=2)\ndef f(x, *, y=0): asked.append(x)\n"
        "for x in (1, 2, 1, 3, 1, 2): f(x)\n"
        "asked, f.cache_info(), f.cache_parameters(), f.__name__"
    )
    assert cell(shared, LOOKING + code).value.split("\n") == [
        "([1, 2, 3, 2],",
        " CacheInfo(hits=2, misses=4, maxsize=2, currsize=2),",
        " {'maxsize': 2, 'typed': False},",
        " 'f')",
    ]
    assert cell(shared, "f.cache_clear()\nf.cache_info().currsize").value == "0"


def test_keys_are_those_of_the_standard_library(shared: Session, cell: RunCell) -> None:
    code = (
        "@lru_cache(typed=True)\ndef kind(x): return type(x).__name__\n"
        "@lru_cache(0)\ndef never(x): return x\n"
        "class A:\n    @lru_cache\n    def method(self, x=1): return x\n"
        "a = A()\n"
        "[kind(1), kind(1.0), never(2), never.cache_info().currsize, a.method(), a.method(x=5)]"
    )
    assert cell(shared, LOOKING + code).value == "['int', 'float', 2, 0, 1, 5]"
    assert cell(shared, "kind([])").error.name == "TypeError"
    assert "_lru_cache_wrapper" in cell(shared, "import re\ntype(lru_cache(re.escape))").value
