"""Every hostile output goes through the sanitizer; what comes out is judged by other parsers."""

from __future__ import annotations

from collections import Counter

import nh3
import pytest

from wasm_kernel.notebook.sanitize import sanitize

from .page_checks import html_violations, isolated_violations, violations
from .page_vectors import VECTORS, Vector

CANARY = "http://127.0.0.1:9"


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
@pytest.mark.parametrize("mode", ["safe", "isolated", "text"])
def test_hostile_output_is_harmless(vector: Vector, mode: str) -> None:
    ready = vector.ready(CANARY)
    clean = sanitize(ready.data, ready.metadata, html=mode)  # type: ignore[arg-type]
    page = clean.data.get("text/html", "")
    if mode == "isolated" and "<iframe" in page:
        assert isolated_violations(page) == []
        rest = {mime: value for mime, value in clean.data.items() if mime != "text/html"}
        assert violations(rest, clean.metadata) == []
    else:
        assert violations(clean.data, clean.metadata) == []
    if mode == "text":
        assert set(clean.data) == {"text/plain"}
    assert clean.data


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_result_is_a_fixed_point(vector: Vector) -> None:
    """What the sanitizer wrote needs no second cleaning, and a second one does no harm."""
    ready = vector.ready(CANARY)
    first = sanitize(ready.data, ready.metadata, html="safe")
    again = sanitize(first.data, first.metadata, html="safe")
    assert violations(again.data, again.metadata) == []
    assert set(again.data) == set(first.data)


def test_there_are_enough_vectors_of_every_family() -> None:
    families = Counter(vector.family for vector in VECTORS)
    assert len(VECTORS) >= 500
    assert len({vector.name for vector in VECTORS}) == len(VECTORS)
    assert len(families) >= 20
    assert min(families.values()) >= 3


def test_the_check_sees_the_same_outputs_without_a_sanitizer() -> None:
    """Some vectors only bite a parser that reads them wrongly; nearly all bite as they are."""
    missed = [
        vector.name
        for vector in (vector.ready(CANARY) for vector in VECTORS)
        if set(violations(vector.data, vector.metadata)) <= {"not in a box"}
    ]
    assert len(missed) <= len(VECTORS) * 0.03, missed


def test_the_check_sees_html_that_only_lost_its_scripts() -> None:
    """A weaker sanitizer, one that removes script elements and no more, fails as well."""

    def weak(text: str) -> str:
        tags = nh3.ALLOWED_TAGS | {"style", "form", "input", "iframe", "svg"}
        return nh3.clean(
            text,
            tags=tags,
            clean_content_tags={"script"},
            attributes={"*": {"style", "id", "class", "src", "href", "background", "srcdoc"}},
            link_rel=None,
        )

    html = [vector.data["text/html"] for vector in VECTORS if vector.family in ("style", "sheet")]
    assert all(html_violations(weak(text)) for text in html)
