"""What the metadata of a cell's result say of its failure and of its fuel."""

from __future__ import annotations

import pytest

from tests.session.conftest import MakeSession
from wasm_kernel import Session


@pytest.mark.parametrize(
    ("code", "kind", "advice"),
    [
        ("import torch", "MissingPackage", "compiled parts"),
        ("open('/etc/passwd')", "PathRestriction", "the workspace (/app)"),
        ("open('/data/x', 'w')", "PathRestriction", "written in the workspace (/app) and in /tmp"),
        ("import socket; socket.create_connection(('x', 1))", "NoNetwork", "has no network"),
        ("x = (", "SyntaxError", "the line that the traceback shows"),
    ],
)
def test_failed_cell_comes_with_something_to_do(
    shared: Session, code: str, kind: str, advice: str
) -> None:
    guidance = shared.execute(code).metadata["error_guidance"]
    assert guidance["error_type"] == kind
    assert any(advice in step for step in guidance["actionable_guidance"])


def test_advice_is_for_its_own_cell(shared: Session) -> None:
    shared.execute("import torch")
    for code in ("1 / 0", "import os; os._exit(1)", "x = 1"):
        assert "error_guidance" not in shared.execute(code).metadata


def test_limit_of_a_cell_is_told_in_the_words_of_its_error(make_session: MakeSession) -> None:
    session = make_session(fuel_budget=300_000_000)
    result = session.execute("while True: pass")
    assert result.error is not None
    guidance, analysis = (result.metadata[n] for n in ("error_guidance", "fuel_analysis"))
    assert result.error.value.startswith(
        f"{guidance['title']}; {guidance['actionable_guidance'][0]}; the cell was rolled back"
    )
    assert guidance["raise_to"] == {"fuel_budget": 1_500_000_000}
    assert (analysis["status"], analysis["utilization_percent"]) == ("exhausted", 100.0)
    assert session.execute("1").metadata["fuel_analysis"]["status"] == "efficient"
