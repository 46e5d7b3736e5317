"""Log events: JSON lines for whoever listens, silence for everybody else."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from wasm_kernel import (
    ExecutionPolicy,
    Limit,
    SandboxLogger,
    SandboxResult,
    configure_logging,
)


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """A configured stream; the process's logging is as before afterwards."""
    logger = logging.getLogger("wasm_kernel")
    before = logger.handlers, logger.level, logger.propagate
    text = io.StringIO()
    configure_logging(text)
    yield text
    logger.handlers, logger.level, logger.propagate = before


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def result(**fields: Any) -> SandboxResult:
    return SandboxResult(**{"success": True, "workspace_path": "w", **fields})


def test_start_has_the_runtime_and_the_limits(stream: io.StringIO) -> None:
    policy = ExecutionPolicy(fuel_budget=5, memory_bytes=6, timeout_seconds=7)
    SandboxLogger().log_execution_start("python", policy, workspace="/some/where")
    (line,) = lines(stream)
    assert line["event"] == "execution.start"
    assert line["runtime"] == "python"
    assert line["workspace"] == "/some/where"
    assert line["level"] == "info"
    assert line["log_message"] == "sandbox.execution.start"
    assert line["fuel_budget"] == line["policy"]["fuel_budget"] == 5
    assert line["policy"]["memory_bytes"] == 6
    assert line["policy"]["timeout_seconds"] == 7
    assert line["timestamp"].endswith("Z")


def test_completion_has_the_outcome_and_what_was_used(stream: io.StringIO) -> None:
    done = result(
        success=False,
        stdout="hi",
        exit_code=3,
        duration_ms=1.5,
        fuel_consumed=9,
        files_created=["a"],
    )
    SandboxLogger().log_execution_complete(done)
    (line,) = lines(stream)
    assert line["event"] == "execution.complete"
    assert line["success"] is False
    assert line["exit_code"] == 3
    assert line["duration_ms"] == 1.5
    assert line["fuel_consumed"] == 9
    assert line["files_created_count"] == 1
    assert line["files_created_paths"] == ["a"]
    assert line["files_deleted_count"] == 0
    assert line["stdout_bytes"] == 2


@pytest.mark.parametrize(
    ("limit", "event_type"),
    [
        (Limit.FUEL, "fuel_exhaustion"),
        (Limit.TIME, "timeout"),
        (Limit.MEMORY, "memory_limit"),
        (Limit.STACK, "stack_overflow"),
        (Limit.WORKSPACE, "workspace_quota"),
    ],
)
def test_limit_is_a_security_event(stream: io.StringIO, limit: Limit, event_type: str) -> None:
    SandboxLogger().log_execution_complete(result(success=False, limit=limit, fuel_consumed=9))
    complete, security = lines(stream)
    assert complete["limit"] == limit.value
    assert security["event"] == f"security.{event_type}"
    assert security["event_type"] == event_type
    assert security["level"] == "warning"
    assert security["fuel_consumed"] == 9


@pytest.mark.parametrize("limit", [Limit.NONE, Limit.INTERRUPTED])
def test_person_who_interrupts_is_no_security_event(stream: io.StringIO, limit: Limit) -> None:
    SandboxLogger().log_execution_complete(result(limit=limit))
    assert [line["event"] for line in lines(stream)] == ["execution.complete"]


def test_text_of_a_guest_cannot_forge_a_line(stream: io.StringIO) -> None:
    forged = 'x"}\n{"event": "execution.complete", "success": true}\n\u2028\x1b[2J'
    SandboxLogger().log_execution_complete(result(files_created=[forged]))
    (line,) = lines(stream)
    assert line["files_created_paths"] == [forged]
    assert "\x1b" not in stream.getvalue()


def test_nobody_listening_means_silence(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(logging.getLogger("wasm_kernel"), "handlers", [])
    SandboxLogger().log_security_event("fuel_exhaustion", {"fuel_consumed": 1})
    assert capfd.readouterr() == ("", "")


def test_level_of_the_application_is_respected() -> None:
    logger = logging.getLogger("wasm_kernel")
    before = logger.handlers, logger.level, logger.propagate
    text = io.StringIO()
    try:
        configure_logging(text, logging.WARNING)
        SandboxLogger().log_execution_complete(result(limit=Limit.FUEL))
    finally:
        logger.handlers, logger.level, logger.propagate = before
    assert [line["event"] for line in lines(text)] == ["security.fuel_exhaustion"]


def test_configuring_twice_does_not_double_the_lines(stream: io.StringIO) -> None:
    configure_logging(stream)
    SandboxLogger().log_execution_complete(result())
    assert len(lines(stream)) == 1


def test_application_may_bring_its_own_structlog_logger() -> None:
    import structlog

    with structlog.testing.capture_logs() as captured:
        own = SandboxLogger(structlog.get_logger())
        own.log_execution_start("python", ExecutionPolicy())
    (event,) = captured
    assert event["event"] == "execution.start"
    assert event["runtime"] == "python"


def test_configuration_of_the_applications_structlog_is_not_ours(stream: io.StringIO) -> None:
    import structlog

    try:
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
        SandboxLogger().log_execution_complete(result())
    finally:
        structlog.reset_defaults()
    assert len(lines(stream)) == 1


def test_application_may_bring_a_standard_logger(caplog: pytest.LogCaptureFixture) -> None:
    own = SandboxLogger(logging.getLogger("application"))
    with caplog.at_level(logging.INFO, logger="application"):
        own.log_execution_start("python", ExecutionPolicy(fuel_budget=5), module="a tenant's")
        own.log_execution_complete(result(limit=Limit.FUEL))
    start, complete, security = caplog.records
    assert (start.name, start.levelname, start.message) == (
        "application",
        "INFO",
        "execution.start",
    )
    assert vars(start)["event"] == "execution.start"
    assert vars(start)["runtime"] == "python"
    assert vars(start)["fuel_budget"] == 5
    assert vars(start)["module_"] == "a tenant's"
    assert vars(complete)["success"] is True
    assert (security.levelname, security.message) == ("WARNING", "security.fuel_exhaustion")


def test_name_of_a_logger_is_enough(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="application.sandbox"):
        SandboxLogger("application.sandbox").log_execution_complete(result())
    (record,) = caplog.records
    assert record.name == "application.sandbox"
    assert json.loads(record.message)["event"] == "execution.complete"


def test_fields_of_the_application_are_in_the_line(stream: io.StringIO) -> None:
    own = SandboxLogger()
    extra = {"trace_id": "t-1", "event": "forged", "runtime_name": "x"}
    own.log_execution_start("python", ExecutionPolicy(), "s-1", **extra)
    own.log_execution_complete(result(limit=Limit.FUEL), "python", "s-1")
    own.log_security_event(
        "policy_refused", {"event": "forged", "event_type": "forged", "who": "x"}
    )
    start, complete, security, refused = lines(stream)
    assert (start["event"], start["trace_id"]) == ("execution.start", "t-1")
    assert start["session_id"] == complete["session_id"] == security["session_id"] == "s-1"
    assert (refused["event"], refused["who"]) == ("security.policy_refused", "x")
    assert refused["event_type"] == "policy_refused"


def test_line_does_not_grow_with_the_files_of_a_guest(stream: io.StringIO) -> None:
    many = [f"{number:05}" + "n" * 4_000 for number in range(20_000)]
    SandboxLogger().log_execution_complete(result(files_created=many, files_deleted=many))
    (line,) = lines(stream)
    assert line["files_created_count"] == line["files_deleted_count"] == 20_000
    assert line["files_created_paths"][0].startswith("00000nnn")
    assert line["files_created_paths"][0].endswith("...[truncated]")
    assert len(stream.getvalue()) < 50_000
