"""Log records as OpenTelemetry's, each with its task and its span."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import pytest
from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord
from opentelemetry.sdk._logs.export import (
    BatchLogRecordProcessor,
    InMemoryLogRecordExporter,
    LogRecordExportResult,
    SimpleLogRecordProcessor,
)
from opentelemetry.sdk.trace import TracerProvider

from eosfw.ids import ConnectorTaskId
from eosfw.logging_context import LoggingContext, logging_context
from eosfw.observe import StepEvent, TaskStep
from eosfw_opentelemetry import log_handler
from eosfw_opentelemetry.log_handler import SpanLogHandler, current_span, install
from eosfw_opentelemetry.span_observer import SpanObserver

TASK = ConnectorTaskId("c", 0)
ATTRIBUTES = {"eosfw.connector": "c", "eosfw.task": 0, "eosfw.generation": 4, "eosfw.transactional_id": "g-c-0"}


@pytest.fixture
def exporter() -> InMemoryLogRecordExporter:
    return InMemoryLogRecordExporter()


@pytest.fixture
def provider(exporter: InMemoryLogRecordExporter) -> LoggerProvider:
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    return provider


@pytest.fixture
def logger(provider: LoggerProvider) -> Iterator[logging.Logger]:
    """A logger with the handler, on a thread without a span."""
    handler, logger, before = SpanLogHandler(provider), logging.getLogger("tests.spans"), current_span.set(None)
    logger.addHandler(handler)
    yield logger
    logger.removeHandler(handler)
    current_span.reset(before)


def step(step: TaskStep, **detail: str) -> StepEvent:
    return StepEvent(step, 0.0, 0.0, "c", TASK, 4, "g-c-0", 1, detail)


def test_a_record_of_a_task_has_its_attributes_and_its_span(
    logger: logging.Logger, exporter: InMemoryLogRecordExporter
) -> None:
    """MET-04: so a backend shows the logs of a transaction beside its span."""
    observer = SpanObserver(TracerProvider().get_tracer("test"))
    with logging_context(LoggingContext(TASK, 4, "g-c-0")):
        observer.observe(step(TaskStep.BEGIN))
        (opened,) = observer._open.values()
        logger.warning("slow by %d s", 3)
        observer.observe(step(TaskStep.COMMITTED))
        logger.warning("done")

    within, behind = (one.log_record for one in exporter.get_finished_logs())
    assert (within.body, within.severity_number, within.severity_text) == (
        "slow by 3 s",
        SeverityNumber.WARN,
        "WARNING",
    )
    assert dict(within.attributes or {}) == ATTRIBUTES
    span = opened.span.get_span_context()
    assert (within.trace_id, within.span_id) == (span.trace_id, span.span_id)
    assert not behind.span_id, "the span has ended"


def test_why_a_span_failed_is_logged_with_it(logger: logging.Logger, exporter: InMemoryLogRecordExporter) -> None:
    """MET-04: a task asks who fenced it when its transaction is over."""
    observer = SpanObserver(TracerProvider().get_tracer("test"))
    observer.observe(step(TaskStep.BEGIN))
    (opened,) = observer._open.values()
    observer.observe(step(TaskStep.FENCED, error="fenced"))
    logger.warning("an administrator did it")

    (found,) = exporter.get_finished_logs()
    assert found.log_record.span_id == opened.span.get_span_context().span_id


def test_a_record_of_no_task_has_its_logger(logger: logging.Logger, exporter: InMemoryLogRecordExporter) -> None:
    """MET-04: such as one of the worker itself."""
    logger.error("lost")

    (found,) = exporter.get_finished_logs()
    assert dict(found.log_record.attributes or {}) == {}
    assert found.instrumentation_scope is not None
    assert found.instrumentation_scope.name == "tests.spans"


def test_secrets_that_were_taken_out_of_a_record_stay_out(
    logger: logging.Logger, exporter: InMemoryLogRecordExporter
) -> None:
    """MET-04: a worker redacts what the handlers of the process are given, and no exception beside it."""

    def redact(record: logging.LogRecord) -> bool:
        record.exc_text, record.exc_info = "ValueError: ***", None
        return True

    (handler,) = logger.handlers
    handler.addFilter(redact)
    try:
        raise ValueError("secret")  # noqa: TRY301 it is to have a trace
    except ValueError:
        logger.exception("it failed")

    (found,) = exporter.get_finished_logs()
    assert dict(found.log_record.attributes or {}) == {"exception.stacktrace": "ValueError: ***"}


def test_what_opentelemetry_logs_of_itself_does_not_come_back(
    provider: LoggerProvider, exporter: InMemoryLogRecordExporter
) -> None:
    """MET-04: an exporter that fails to send logs that, and would send it for ever."""
    SpanLogHandler(provider).handle(logging.makeLogRecord({"name": "opentelemetry.sdk", "msg": "x"}))

    assert not exporter.get_finished_logs()


class TalkativeExporter(InMemoryLogRecordExporter):
    """Exports with a library that logs each request, as HTTP clients do."""

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        if len(self.get_finished_logs()) < 10:
            logging.getLogger("tests.spans").warning("POST /v1/logs 200")
        return super().export(batch)


def test_what_is_logged_by_an_export_is_not_exported(logger: logging.Logger, provider: LoggerProvider) -> None:
    """MET-04: each export would lead to another one, for ever."""
    exporter = TalkativeExporter()
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter, schedule_delay_millis=3_600_000))

    logger.warning("of a task")
    for _ in range(3):
        provider.force_flush()

    assert [found.log_record.body for found in exporter.get_finished_logs()] == ["of a task"]


def test_the_handler_is_installed_once_and_only_beside_no_other(
    provider: LoggerProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MET-04: without an SDK nothing happens; with the SDK's own handler each record would be there twice."""
    root = logging.Logger("root")  # noqa: LOG001 one that nobody else has
    monkeypatch.setattr(logging, "getLogger", lambda: root)
    install()
    assert root.handlers == []

    monkeypatch.setattr(log_handler, "get_logger_provider", lambda: provider)
    install()
    install()
    assert [type(one) for one in root.handlers] == [SpanLogHandler]

    class LoggingHandler(logging.Handler):
        pass

    root.handlers = [LoggingHandler()]
    install()
    assert [type(one) for one in root.handlers] == [LoggingHandler]
