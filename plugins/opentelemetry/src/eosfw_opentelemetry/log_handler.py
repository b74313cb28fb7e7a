"""A handler of logging that emits records as OpenTelemetry's, each with its task and the span it belongs to."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import Final

from opentelemetry._logs import Logger, LoggerProvider, SeverityNumber, get_logger_provider
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, Context, get_value
from opentelemetry.trace import Span, StatusCode, set_span_in_context

from eosfw.observe import current_logging_context

__all__ = ["SpanLogHandler", "current_span", "install"]

current_span: Final[ContextVar[Span | None]] = ContextVar("eosfw_opentelemetry_span", default=None)
"""The span that the work of this thread belongs to."""
_OWN = "opentelemetry"
_TRACE = logging.Formatter()
_SEVERITIES: Final = (
    (logging.CRITICAL, SeverityNumber.FATAL),
    (logging.ERROR, SeverityNumber.ERROR),
    (logging.WARNING, SeverityNumber.WARN),
    (logging.INFO, SeverityNumber.INFO),
)


class SpanLogHandler(logging.Handler):
    """Emits log records with the attributes and names that the spans have."""

    def __init__(self, provider: LoggerProvider) -> None:
        super().__init__()
        self._provider = provider
        self._loggers: dict[str, Logger] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Pass a record on; those of OpenTelemetry itself, and of what it exports with, would come back for ever."""
        if record.name.partition(".")[0] == _OWN or get_value(_SUPPRESS_INSTRUMENTATION_KEY):
            return
        try:
            self._emit(record)
        except Exception:  # noqa: BLE001 as every handler: who logs must not fail by it
            self.handleError(record)

    def _emit(self, record: logging.LogRecord) -> None:
        logger = self._loggers.setdefault(record.name, self._provider.get_logger(record.name))
        logger.emit(
            timestamp=int(record.created * 1_000_000_000),
            context=_context(),
            severity_number=_severity(record.levelno),
            severity_text=record.levelname,
            body=record.getMessage(),
            attributes={**_of_task(), **_of_error(record)},
        )


def install() -> None:
    """Handle every log record of the process, if it has an SDK that takes them; once, however often it is called."""
    root, provider = logging.getLogger(), get_logger_provider()
    handlers = {type(one).__name__ for one in root.handlers}
    # With the SDK's own handler each record would be emitted twice.
    if hasattr(provider, "add_log_record_processor") and not handlers & {SpanLogHandler.__name__, "LoggingHandler"}:
        root.addHandler(SpanLogHandler(provider))


def _context() -> Context | None:
    """That of the span, if it is open or has failed: why it did is logged behind its end."""
    span = current_span.get()
    if span is None:
        return None
    status = getattr(span, "status", None)  # of the SDK; the API only sets it
    failed = status is not None and status.status_code is StatusCode.ERROR
    return set_span_in_context(span) if span.is_recording() or failed else None


def _of_task() -> dict[str, str | int]:
    task = current_logging_context()
    if task is None:
        return {}
    found: dict[str, str | int] = {
        "eosfw.connector": task.task.connector,
        "eosfw.task": task.task.task,
        "eosfw.generation": task.generation,
    }
    if task.transactional_id is not None:
        found["eosfw.transactional_id"] = task.transactional_id
    return found


def _of_error(record: logging.LogRecord) -> dict[str, str]:
    # Not the exception itself: a worker takes secrets out of the record's text, and of nothing else.
    trace = record.exc_text or (_TRACE.formatException(record.exc_info) if record.exc_info else None)
    return {} if trace is None else {"exception.stacktrace": trace}


def _severity(level: int) -> SeverityNumber:
    return next((number for least, number in _SEVERITIES if level >= least), SeverityNumber.DEBUG)
