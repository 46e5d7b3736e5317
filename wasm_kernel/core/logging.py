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
_INFO, _WARNING = 20, 30
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
    """Emits the life of a run: start, completion, and what the sandbox had to stop.

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
        fields = {**fields, "log_message": f"sandbox.{event}"}
        fields.pop("event", None)
        if _is_standard(self._logger):
            taken = _record_fields()
            extra = {f"{name}_" if name in taken else name: fields[name] for name in fields}
            self._logger.log(level, event, extra={**extra, "event": event})
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

    def _truncate_path(self, path: str) -> str:
        """The guest chooses names and their number: a line of the log must not grow with them."""
        if len(path) <= self._MAX_PATH_LENGTH:
            return path
        kept = self._MAX_PATH_LENGTH - len(self._PATH_TRUNCATION_SUFFIX)
        return path[:kept] + self._PATH_TRUNCATION_SUFFIX


def _with_session(fields: dict[str, Any], session_id: str | None) -> dict[str, Any]:
    return fields if session_id is None else {**fields, "session_id": session_id}
