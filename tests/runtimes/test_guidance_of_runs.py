"""What the metadata of a run say of its failure and of its fuel, for a program to act on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wasm_kernel import PythonSandbox, SandboxResult

MakeSandbox = Callable[..., PythonSandbox]


@pytest.mark.parametrize(
    ("code", "kind", "advice"),
    [
        ("open('/etc/passwd')", "PathRestriction", "the workspace (/app)"),
        ("open('../secret')", "PathRestriction", "the workspace (/app)"),
        ("open('/data/x', 'w')", "PathRestriction", "written in the workspace (/app) and in /tmp"),
        ("import os; os.mkdir('/etc/x')", "PathRestriction", "written in the workspace (/app)"),
        ("open('absent.csv')", "MissingFile", "the workspace (/app)"),
        ("open('/home/me/here.txt')", "PathRestriction", "did you mean /app/here.txt?"),
        ("import torch", "MissingPackage", "compiled parts"),
        ("import nowhere.inside", "MissingPackage", "pip install --target"),
        ("import urllib.request as r; r.urlopen('http://x')", "NoNetwork", "has no network"),
        ("import socket; socket.create_connection(('x', 1))", "NoNetwork", "has no network"),
        ("import subprocess; subprocess.run(['cc'])", "NoProcess", "processes cannot be"),
        ("from PIL import Image\nImage.new('1', (1, 1)).save('a.webp')", "MissingCodec", "WEBP"),
        ("def f(): f()\nf()", "RecursionError", "use a loop, or fewer levels"),
        ("```python\n1\n```", "SyntaxError", "the line that the traceback shows"),
        ("while True: pass", "OutOfFuel", "raise fuel_budget"),
        ("bytearray(10**9)", "MemoryLimit", "raise memory_bytes"),
        ("open('x', 'wb').write(bytes(10**6))", "WorkspaceQuota", "raise workspace_max_bytes"),
    ],
)
def test_failure_comes_with_something_to_do(
    make_sandbox: MakeSandbox, code: str, kind: str, advice: str
) -> None:
    sandbox = make_sandbox(workspace_max_bytes=500_000)
    sandbox.workspace.mkdir()
    (sandbox.workspace / "here.txt").write_text("here")
    result = sandbox.execute(code)
    guidance = result.metadata["error_guidance"]
    assert guidance["error_type"] == kind
    assert any(advice in step for step in guidance["actionable_guidance"])
    # It says nothing else than what stands in the traceback.
    if kind not in ("SyntaxError", "RecursionError"):
        assert guidance["actionable_guidance"][0] in result.stderr
    assert SandboxResult.model_validate_json(result.model_dump_json()) == result


def test_waiting_too_long_is_told(make_sandbox: MakeSandbox) -> None:
    result = make_sandbox(timeout_seconds=0.2).execute("import time; time.sleep(60)")
    guidance = result.metadata["error_guidance"]
    assert guidance["error_type"] == "TimeLimit" and guidance["raise_to"] == {"timeout_seconds": 1}


@pytest.mark.parametrize("code", ["1 / 0", "raise SystemExit(3)", "open('/data/absent')"])
def test_failure_that_explains_itself_has_no_guidance(make_sandbox: MakeSandbox, code: str) -> None:
    result = make_sandbox().execute(code)
    assert not result.success and "error_guidance" not in result.metadata


def test_success_has_its_fuel_and_no_guidance(make_sandbox: MakeSandbox) -> None:
    result = make_sandbox().execute("print(1)")
    assert result.success and "error_guidance" not in result.metadata
    analysis = result.metadata["fuel_analysis"]
    assert analysis["status"] == "efficient" and analysis["consumed"] == result.fuel_consumed


def test_policy_that_was_suggested_is_enough(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox(fuel_budget=100_000_000)
    code = "total = 0\nfor i in range(100_000): total += i\nprint(total)"
    result = sandbox.execute(code)
    assert result.metadata["fuel_analysis"]["status"] == "exhausted"
    sandbox.policy = sandbox.policy.replace(**result.metadata["error_guidance"]["raise_to"])
    assert sandbox.execute(code).success


def test_little_memory_is_named_where_an_import_used_the_fuel(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox(memory_bytes=80_000_000)
    guidance = sandbox.execute("import pandas").metadata["error_guidance"]
    assert guidance["error_type"] == "OutOfFuel"
    assert "raise memory_bytes to 128 MB" in guidance["actionable_guidance"][-1]
    sandbox.policy = sandbox.policy.replace(memory_bytes=128_000_000)
    assert sandbox.execute("import pandas").success
    guidance = sandbox.execute("while True: pass").metadata["error_guidance"]
    assert "memory" not in " ".join(guidance["actionable_guidance"])


def test_error_has_its_number_as_its_traceback_has_it(make_sandbox: MakeSandbox) -> None:
    result = make_sandbox().execute("open('absent')")
    assert result.error is not None
    assert result.error.value == "[Errno 2] No such file or directory: 'absent'"
    assert result.error.value in result.stderr


def test_script_cannot_make_up_a_kind(make_sandbox: MakeSandbox) -> None:
    code = (
        "from wasm_guest import missing\n"
        "missing.note_missing = lambda *_, **__: ('OutOfFuel', 'pay for more')\n1 / 0"
    )
    assert "error_guidance" not in make_sandbox().execute(code).metadata
