"""Log records without secrets, whatever logger and thread they come from."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_TRACE = logging.Formatter()


class LogRedaction(logging.Filter):
    """A filter of all handlers of a process, while a worker that knows secrets is at work.

    A filter of a logger would miss the loggers below it, and a logging context the threads that a connector starts.
    """

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact
        self._handlers: list[logging.Handler] = []

    def start(self) -> None:
        """Filter the handlers that there are now."""
        root, known = logging.getLogger(), list(logging.getLogger().manager.loggerDict.values())
        loggers = [root, *(one for one in known if isinstance(one, logging.Logger))]
        last_resort = [] if logging.lastResort is None else [logging.lastResort]
        self._handlers = [*(handler for logger in loggers for handler in logger.handlers), *last_resort]
        for handler in self._handlers:
            handler.addFilter(self)

    def stop(self) -> None:
        """Filter no more."""
        for handler in self._handlers:
            handler.removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Take the secrets out of a record's message and trace; every record passes."""
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 as `logging` has it: a log call that is wrong must not fail who made it
            record.msg, record.args = f"{record.msg} [logged with arguments that do not fit]", None
            message = record.getMessage()
        if (shown := self._redact(message)) != message:
            record.msg, record.args = shown, None
        if record.exc_info:
            trace = record.exc_text or _TRACE.formatException(record.exc_info)
            if (shown := self._redact(trace)) != trace:
                record.exc_text, record.exc_info = shown, None
        return True


@contextmanager
def redacted_log(redact: Callable[[str], str]) -> Iterator[None]:
    """Take secrets out of what is logged meanwhile."""
    redaction = LogRedaction(redact)
    redaction.start()
    try:
        yield
    finally:
        redaction.stop()
