"""Which task a log record is about (Kafka Connect's `LoggingContext`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from eosfw.ids import ConnectorTaskId

__all__ = ["LoggingContext", "current_logging_context", "logging_context"]


@dataclass(frozen=True, slots=True)
class LoggingContext:
    """A task of one generation; `str` is the prefix that Connect writes, such as `[orders|task-0]`."""

    task: ConnectorTaskId
    generation: int
    transactional_id: str | None

    def __str__(self) -> str:
        return f"[{self.task.connector}|task-{self.task.task}]"


_current: ContextVar[LoggingContext | None] = ContextVar("eosfw_logging_context", default=None)


def current_logging_context() -> LoggingContext | None:
    """The task that this thread works for, if it works for one: for formatters and filters of logging."""
    return _current.get()


@contextmanager
def logging_context(context: LoggingContext) -> Iterator[None]:
    """Work for a task, on this thread."""
    before = _current.set(context)
    try:
        yield
    finally:
        _current.reset(before)
