"""How log records are written to stderr: a sentence for people, one JSON object a line for programs."""

from __future__ import annotations

import json
import logging
from enum import StrEnum
from typing import Any

from eosfw.cli.output import debug
from eosfw.logging_context import current_logging_context

_TRACEBACK = "\nTraceback "


class LogFormat(StrEnum):
    """The formats that a user may choose."""

    TEXT = "text"
    JSON = "json"


class TextFormatter(logging.Formatter):
    """One sentence, with the task that it is about; tracebacks only if they were asked for."""

    def __init__(self, *, timed: bool = False) -> None:
        start = "[%(asctime)s] " if timed else ""  # as in the log of a worker of Kafka Connect
        super().__init__(f"{start}eosfw: %(levelname)s: %(context)s%(message)s")

    def format(self, record: logging.LogRecord) -> str:
        context = current_logging_context()
        vars(record)["context"] = "" if context is None else f"{context} "
        text = super().format(record)
        return text if debug.is_enabled() else text.partition(_TRACEBACK)[0]


class JsonFormatter(logging.Formatter):
    """One object: time, level, logger, message; of a task also connector, task, generation, transactional id."""

    def format(self, record: logging.LogRecord) -> str:
        # formatMessage, formatException and formatTime are the steps of Formatter.format.
        fields: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{record.msecs:03.0f}",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (context := current_logging_context()) is not None:
            fields |= {
                "connector": context.task.connector,
                "task": context.task.task,
                "generation": context.generation,
                "transactional_id": context.transactional_id,
            }
        if trace := record.exc_text or (self.formatException(record.exc_info) if record.exc_info else None):
            fields["trace"] = trace
        return json.dumps(fields, ensure_ascii=False)


def use(wanted: LogFormat) -> None:
    """Write the log records of a worker, which goes on for long, in this format from now on."""
    for handler in logging.getLogger().handlers:
        handler.setFormatter(JsonFormatter() if wanted is LogFormat.JSON else TextFormatter(timed=True))
