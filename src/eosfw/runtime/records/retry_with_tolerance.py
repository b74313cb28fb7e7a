"""What is done about a record that cannot be transformed or converted: try again, drop it, or fail the task."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from eosfw.concurrency import Runtime
from eosfw.config.connector.error_handling import LOG_ENABLE, RETRY_TIMEOUT, TOLERANCE, ErrorHandlingConfig
from eosfw.errors import InterruptedRunError, RetriableError, TaskFailedError, described
from eosfw.ids import ConnectorTaskId
from eosfw.records import SourceRecord
from eosfw.runtime.status import ErrorHandlingMetrics

logger = logging.getLogger(__name__)
Result = TypeVar("Result")
_SHORTEST_PAUSE = 0.3
"""Seconds before the first repetition, as in Kafka Connect; each pause is twice as long as the one before."""


class Stage(Enum):
    """Where a record was when it could not be processed, by Kafka Connect's names."""

    TRANSFORMATION = "transformation"
    HEADER_CONVERTER = "header converter"
    KEY_CONVERTER = "key converter"
    VALUE_CONVERTER = "value converter"


@dataclass(frozen=True, slots=True)
class ProcessingContext:
    """An operation on one record (Kafka Connect's `ProcessingContext`)."""

    stage: Stage
    executor: str
    """The part that did it, as a user knows it."""
    executing_class: str
    record: SourceRecord
    """As poll returned it."""

    def text(self, *, include_message: bool) -> str:
        """The operation in the words of Kafka Connect's log."""
        shown = f"Executing stage '{self.stage.name}' with class '{self.executing_class}'"
        return f"{shown}, where source record is = {{{self._shape()}}}." if include_message else f"{shown}."

    def _shape(self) -> str:
        """What the record is, without what it holds, which Kafka Connect shows as well."""
        record = self.record
        shape = [self.place(), f"key {_kind(record.key)}", f"value {_kind(record.value)}"]
        if record.partition is not None:
            shape.append(f"partition {record.partition}")
        if record.headers:
            shape.append(f"headers {', '.join(name for name, _ in record.headers)}")
        return ", ".join(shape)

    def place(self) -> str:
        """Where the record is from, without what it holds."""
        record = self.record
        stamp = "" if record.timestamp is None else f", timestamp {record.timestamp}"
        source = f"source partition {dict(record.source_partition)}, source offset {dict(record.source_offset)}"
        return f"topic {record.topic!r}, {source}{stamp}"


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__


@dataclass(frozen=True, slots=True)
class ErrorReporter:
    """Where failures are shown (Kafka Connect's `ErrorReporter` and `ErrorHandlingMetrics`)."""

    metrics: ErrorHandlingMetrics
    notice: Callable[[str, str], None] = lambda _kind, _text: None
    """Keeps a message for the user, by its kind."""
    redacted: Callable[[BaseException], BaseException] = lambda error: error
    """The error without the values of config providers."""


class RecordSkippedError(Exception):
    """A record is dropped because `errors.tolerance` says so."""


class RetryWithToleranceOperator:
    """Repeats what failed for a passing reason, then drops the record or fails the task, as `errors.*` says.

    Kafka Connect's class of that name; unlike there, a passing reason that does not pass counts as any other error.
    `wait` waits for seconds and returns whether the task is to end.
    """

    def __init__(
        self,
        task: ConnectorTaskId,
        config: ErrorHandlingConfig,
        runtime: Runtime,
        reporter: ErrorReporter,
        wait: Callable[[float], bool],
    ) -> None:
        self.task, self._config, self._runtime = task, config, runtime
        self._reporter, self._wait = reporter, wait
        self.metrics = reporter.metrics

    def recover(self, context: ProcessingContext, error: Exception, operation: Callable[[], Result]) -> Result:
        """The result of an operation that has failed once, if a repetition gives one.

        RecordSkippedError if the record is to be dropped, TaskFailedError if the task is to fail, InterruptedRunError
        if it is stopped meanwhile.
        """
        deadline = self._runtime.now() + self._config.retry_timeout
        attempt = 1
        while True:
            self.metrics.record_failures += 1
            if not isinstance(error, RetriableError) or self._runtime.now() >= deadline:
                self._give_up(context, error)
            self._pause(attempt, deadline)
            self.metrics.retries += 1
            attempt += 1
            try:
                return operation()
            except Exception as again:  # noqa: BLE001 whatever a plugin raises is judged above
                error = again

    def _pause(self, attempt: int, deadline: float) -> None:
        longest = min(_SHORTEST_PAUSE * 2 ** min(attempt - 1, 30), self._config.retry_delay_max)
        seconds = max(min(longest, deadline - self._runtime.now()), 0.0)
        if self._wait(seconds):
            # To drop the record now would lose it: its source offset would commit.
            raise InterruptedRunError(f"task {self.task} was stopped while it tried to process a record again")

    def _give_up(self, context: ProcessingContext, error: Exception) -> None:
        self.metrics.errors += 1
        self.metrics.last_error = self._runtime.wall()
        if self._config.log:
            text = context.text(include_message=self._config.log_messages)
            logger.error("Error encountered in task %s. %s", self.task, text, exc_info=self._reporter.redacted(error))
            self.metrics.errors_logged += 1
        what = (
            f"{context.executor} failed for a record ({context.place()}): {described(self._reporter.redacted(error))}"
        )
        if self._config.tolerate_all:
            self.metrics.records_skipped += 1
            self._reporter.notice("records dropped", f"task {self.task} dropped records; of the first, {what}")
            raise RecordSkippedError from error
        raise TaskFailedError(f"task {self.task}: {what}; {_remedy(error)}") from error


def _remedy(error: Exception) -> str:
    if isinstance(error, RetriableError):
        return f"restart the task once that is over, or have it try again for longer with {RETRY_TIMEOUT}"
    return f"correct it, or have such records dropped with {TOLERANCE}=all and shown with {LOG_ENABLE}=true"
