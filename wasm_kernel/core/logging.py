"""Structured log events of the sandbox: JSON lines, never on stdout by default.

Whatever a guest printed appears only as a JSON string value, so it cannot forge a line.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging

    from wasm_kernel.core.models import ExecutionPolicy, SandboxResult

LOGGER_NAME = "wasm_kernel"
_SECURITY_EVENTS = {
    "fuel": "fuel_exhaustion",
    "time": "timeout",
    "memory": "memory_limit",
    "stack": "stack_overflow",
    "workspace": "workspace_quota",
}
_POLICY_FIELDS = (
    "fuel_budget",
    "memory_bytes",
    "stdout_max_bytes",
    "stderr_max_bytes",
    "timeout_seconds",
    "guest_mount_path",
    "mount_data_dir",
    "guest_data_path",
)
_INFO, _WARNING, _ERROR = 20, 30, 40
"""The standard levels. ``logging`` itself is not imported for a process in which nobody listens."""


@functools.cache
def _record_fields() -> frozenset[str]:
    """What a standard log record calls its own; it refuses a field of such a name."""
    import logging

    return frozenset([*vars(logging.makeLogRecord({})), "message", "asctime"])


def configure_logging(stream: Any, level: int = _INFO) -> None:
    """Send the sandbox's JSON lines to ``stream``; call it once in an application."""
    import logging

    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger(LOGGER_NAME)
    logger.handlers = [handler]
    logger.setLevel(level)
    logger.propagate = False


def _is_heard(name: str, level: int) -> bool:
    """Whether anybody set up a handler; Python's last resort would print warnings to stderr."""
    if "logging" not in sys.modules:
        return False
    import logging

    logger: logging.Logger | None = logging.getLogger(name)
    if logger is None or not logger.isEnabledFor(level):
        return False
    while logger is not None:
        if logger.handlers:
            return True
        logger = logger.parent if logger.propagate else None
    return False


class _JsonLines:
    """Writes JSON lines to the standard logger of a name, as long as anybody listens there."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lines: Any = None

    def info(self, event: str, **fields: Any) -> None:
        if _is_heard(self.name, _INFO):
            self._structlog().info(event, **fields)

    def warning(self, event: str, **fields: Any) -> None:
        if _is_heard(self.name, _WARNING):
            self._structlog().warning(event, **fields)

    def error(self, event: str, **fields: Any) -> None:
        if _is_heard(self.name, _ERROR):
            self._structlog().error(event, **fields)

    def _structlog(self) -> Any:
        if self._lines is None:
            # structlog takes over 100 ms to import; a silent process never pays for it.
            import logging

            import structlog

            self._lines = structlog.wrap_logger(
                logging.getLogger(self.name),
                processors=[
                    structlog.processors.add_log_level,
                    structlog.processors.TimeStamper(fmt="iso", utc=True),
                    structlog.processors.JSONRenderer(),
                ],
                # Else what the application configured for its own structlog would be taken.
                wrapper_class=structlog.BoundLogger,
            )
        return self._lines


def _is_standard(logger: object) -> bool:
    if "logging" not in sys.modules:
        return False
    import logging

    return isinstance(logger, logging.Logger)


class SandboxLogger:
    """Emits the life of a run and of a session's folder, and what the sandbox had to stop.

    The events go as JSON lines to the standard logger ``wasm_kernel``, to that of another name,
    or to a logger of the application: structlog's, or a standard one, whose records then have
    the fields as attributes.
    """

    _MAX_PATHS = 100
    _MAX_PATH_LENGTH = 140
    _PATH_TRUNCATION_SUFFIX = "...[truncated]"

    def __init__(self, logger: Any = None) -> None:
        named = LOGGER_NAME if logger is None else logger
        self._logger: Any = _JsonLines(named) if isinstance(named, str) else named

    @property
    def logger(self) -> Any:
        """What the events are given to."""
        return self._logger

    def _emit(self, level: int, event: str, fields: dict[str, Any]) -> None:
        fields = {"event_type": event, **fields, "log_message": f"sandbox.{event}"}
        fields.pop("event", None)
        if _is_standard(self._logger):
            taken = _record_fields()
            extra = {f"{name}_" if name in taken else name: fields[name] for name in fields}
            self._logger.log(level, event, extra={**extra, "event": event})
        elif level >= _ERROR:
            self._logger.error(event, **fields)
        elif level >= _WARNING:
            self._logger.warning(event, **fields)
        else:
            self._logger.info(event, **fields)

    def log_execution_start(
        self, runtime: str, policy: ExecutionPolicy, session_id: str | None = None, **extra: Any
    ) -> None:
        """A run begins: which runtime, under which limits; ``extra`` is the application's."""
        limits = {name: getattr(policy, name) for name in _POLICY_FIELDS}
        fields = {**extra, "runtime": runtime, **limits, "policy": limits}
        self._emit(_INFO, "execution.start", _with_session(fields, session_id))

    def log_execution_complete(
        self, result: SandboxResult, runtime: str = "python", session_id: str | None = None
    ) -> None:
        """A run ended: how, and what it used."""
        fields: dict[str, Any] = {
            "runtime": runtime,
            "success": result.success,
            "exit_code": result.exit_code,
            "duration_ms": result.duration_ms,
            "fuel_consumed": result.fuel_consumed,
            "memory_used_bytes": result.memory_used_bytes,
            "stdout_bytes": max(result.stdout_bytes, len(result.stdout)),
            "stderr_bytes": max(result.stderr_bytes, len(result.stderr)),
            "stdout_truncated": result.stdout_truncated,
            "stderr_truncated": result.stderr_truncated,
            "limit": result.limit.value,
        }
        for kind in ("created", "modified", "deleted"):
            paths = getattr(result, f"files_{kind}")
            fields[f"files_{kind}_count"] = len(paths)
            fields[f"files_{kind}_paths"] = [
                self._truncate_path(path) for path in paths[: self._MAX_PATHS]
            ]
        self._emit(_INFO, "execution.complete", _with_session(fields, session_id))
        event_type = _SECURITY_EVENTS.get(result.limit.value)
        if event_type is not None:
            used = {"fuel_consumed": result.fuel_consumed, "duration_ms": result.duration_ms}
            self.log_security_event(event_type, _with_session(used, session_id))

    def log_security_event(self, event_type: str, details: dict[str, Any]) -> None:
        """The sandbox had to stop something."""
        fields = {**details, "event_type": event_type}
        self._emit(_WARNING, f"security.{event_type}", fields)

    # Session folders: what a program does with them, beside the runs in them.

    def log_session_created(self, session_id: str, workspace_path: str) -> None:
        """A session got its folder."""
        fields = {"session_id": session_id, "workspace_path": workspace_path}
        self._emit(_INFO, "session.created", fields)

    def log_session_retrieved(self, session_id: str, workspace_path: str) -> None:
        """A sandbox was made for a session that has its folder already."""
        fields = {"session_id": session_id, "workspace_path": workspace_path}
        self._emit(_INFO, "session.retrieved", fields)

    def log_session_deleted(self, session_id: str) -> None:
        """A session's folder was deleted."""
        self._emit(_INFO, "session.deleted", {"session_id": session_id})

    def log_session_metadata_created(self, session_id: str, created_at: str) -> None:
        """What is noted of a session begins here."""
        fields = {"session_id": session_id, "created_at": created_at}
        self._emit(_INFO, "session.metadata.created", fields)

    def log_session_metadata_updated(self, session_id: str, timestamp: str) -> None:
        """It was noted that a session is used."""
        fields = {"session_id": session_id, "updated_at": timestamp}
        self._emit(_INFO, "session.metadata.updated", fields)

    def log_file_operation(self, operation: str, session_id: str, path: str, **extra: Any) -> None:
        """A file of a session was listed, read, written or deleted from outside."""
        fields = {**extra, "session_id": session_id, "path": self._truncate_path(path)}
        self._emit(_INFO, f"session.file.{operation}", fields)

    def log_prune_started(self, threshold_hours: float, workspace_root: str, dry_run: bool) -> None:
        """Somebody looks for sessions that nobody uses any more."""
        fields = {"threshold_hours": threshold_hours, "workspace_root": workspace_root}
        self._emit(_INFO, "session.prune.started", {**fields, "dry_run": dry_run})

    def log_prune_candidate(
        self, session_id: str, age_hours: float, threshold_hours: float
    ) -> None:
        """A session is old enough."""
        fields = {"session_id": session_id, "age_hours": age_hours}
        self._emit(_INFO, "session.prune.candidate", {**fields, "threshold_hours": threshold_hours})

    def log_prune_deleted(self, session_id: str, age_hours: float, reclaimed_bytes: int) -> None:
        """A session was old enough, and its folder is gone."""
        fields = {"session_id": session_id, "age_hours": age_hours}
        self._emit(_INFO, "session.prune.deleted", {**fields, "reclaimed_bytes": reclaimed_bytes})

    def log_prune_skipped(self, session_id: str, reason: str) -> None:
        """Whether a session is old enough cannot be known."""
        fields = {"session_id": session_id, "reason": reason}
        self._emit(_WARNING, "session.prune.skipped", fields)

    def log_prune_error(self, session_id: str, error: str) -> None:
        """A session was old enough, and could not be deleted."""
        self._emit(_ERROR, "session.prune.error", {"session_id": session_id, "error": error})

    def log_prune_completed(
        self,
        deleted_count: int,
        skipped_count: int,
        error_count: int,
        reclaimed_bytes: int,
        dry_run: bool,
    ) -> None:
        """All sessions were looked at."""
        fields = {
            "deleted_count": deleted_count,
            "skipped_count": skipped_count,
            "error_count": error_count,
            "reclaimed_bytes": reclaimed_bytes,
            "dry_run": dry_run,
        }
        self._emit(_INFO, "session.prune.completed", fields)

    def _truncate_path(self, path: str) -> str:
        """The guest chooses names and their number: a line of the log must not grow with them."""
        if len(path) <= self._MAX_PATH_LENGTH:
            return path
        kept = self._MAX_PATH_LENGTH - len(self._PATH_TRUNCATION_SUFFIX)
        return path[:kept] + self._PATH_TRUNCATION_SUFFIX


def _with_session(fields: dict[str, Any], session_id: str | None) -> dict[str, Any]:
    return fields if session_id is None else {**fields, "session_id": session_id}
