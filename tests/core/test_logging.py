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


def test_life_of_a_session_is_told(stream: io.StringIO) -> None:
    own = SandboxLogger()
    own.log_session_created("s-1", "/w/s-1")
    own.log_session_retrieved("s-1", "/w/s-1")
    own.log_session_metadata_created("s-1", "2026-01-01T00:00:00Z")
    own.log_session_metadata_updated("s-1", "2026-01-02T00:00:00Z")
    own.log_session_deleted("s-1")
    written = lines(stream)
    assert [line["event"] for line in written] == [
        "session.created",
        "session.retrieved",
        "session.metadata.created",
        "session.metadata.updated",
        "session.deleted",
    ]
    for line in written:
        assert line["session_id"] == "s-1" and line["event_type"] == line["event"]
        assert line["log_message"] == f"sandbox.{line['event']}"
    assert written[0]["workspace_path"] == written[1]["workspace_path"] == "/w/s-1"
    assert written[2]["created_at"] == "2026-01-01T00:00:00Z"
    assert written[3]["updated_at"] == "2026-01-02T00:00:00Z"


def test_what_is_done_with_files_is_told(stream: io.StringIO) -> None:
    own = SandboxLogger()
    own.log_file_operation("write", "s-1", "a" * 5_000, file_size=7, event="forged")
    own.log_file_operation(operation="delete", session_id="s-1", path="b", recursive=True)
    write, delete = lines(stream)
    assert (write["event"], write["file_size"]) == ("session.file.write", 7)
    assert write["path"].endswith("...[truncated]") and len(write["path"]) < 200
    assert (delete["event"], delete["path"]) == ("session.file.delete", "b")
    assert delete["recursive"] is True


def test_pruning_is_told_step_by_step(stream: io.StringIO) -> None:
    own = SandboxLogger()
    own.log_prune_started(24.0, "/w", dry_run=False)
    own.log_prune_candidate("old", 30.0, 24.0)
    own.log_prune_deleted("old", 30.0, 99)
    own.log_prune_skipped("odd", "missing_metadata")
    own.log_prune_error("bad", "it is in use")
    own.log_prune_completed(1, 1, 1, 99, dry_run=False)
    written = lines(stream)
    assert [line["event"].removeprefix("session.prune.") for line in written] == [
        *("started", "candidate", "deleted", "skipped", "error", "completed")
    ]
    levels = [line["level"] for line in written]
    assert levels == ["info", "info", "info", "warning", "error", "info"]
    assert written[0]["threshold_hours"] == written[1]["threshold_hours"] == 24.0
    assert written[2]["reclaimed_bytes"] == written[5]["reclaimed_bytes"] == 99
    assert (written[3]["reason"], written[4]["error"]) == ("missing_metadata", "it is in use")
    assert written[5]["deleted_count"] == written[5]["error_count"] == 1


def test_errors_reach_a_logger_of_the_application_as_errors(
    caplog: pytest.LogCaptureFixture,
) -> None:
    import structlog

    SandboxLogger(logging.getLogger("application")).log_prune_error("bad", "in use")
    (record,) = caplog.records
    assert (record.levelname, record.message) == ("ERROR", "session.prune.error")
    with structlog.testing.capture_logs() as captured:
        SandboxLogger(structlog.get_logger()).log_prune_error("bad", "in use")
    assert captured[0]["log_level"] == "error"
