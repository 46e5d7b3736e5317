"""Regular expressions that are compiled late are what ``re`` makes of them."""

from __future__ import annotations

import re

import pytest

from wasm_kernel.core.patterns import pattern


def test_it_is_used_like_a_compiled_one() -> None:
    late = pattern(r"(?P<name>[a-z]+)=(\d+)", re.IGNORECASE)
    match = late.fullmatch("Width=12")
    assert match is not None and match["name"] == "Width"
    assert late.sub("x", "a=1 B=2") == "x x"
    assert [found[0] for found in late.finditer("a=1 b=2")] == ["a=1", "b=2"]
    assert (late.pattern, late.groups) == (r"(?P<name>[a-z]+)=(\d+)", 2)
    assert pattern(rb"\x04+").split(b"a\4\4b") == [b"a", b"b"]


def test_a_wrong_one_says_so_when_it_is_used() -> None:
    wrong = pattern("(")
    with pytest.raises(re.error, match="unterminated"):
        wrong.search("")


def test_what_patterns_do_not_have_it_has_not() -> None:
    assert not hasattr(pattern("a"), "compile")
