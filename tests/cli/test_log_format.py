"""Log records name the task they are about, for people and for programs."""

from __future__ import annotations

import json
import logging
import re

import pytest

from eosfw.cli.output.log_format import JsonFormatter, TextFormatter
from eosfw.ids import ConnectorTaskId
from eosfw.logging_context import LoggingContext, logging_context

CONTEXT = LoggingContext(ConnectorTaskId("orders", 3), 7, "shop-orders-3")


def record(message: str, *arguments: object, error: BaseException | None = None) -> logging.LogRecord:
    trace = None if error is None else (type(error), error, error.__traceback__)
    return logging.LogRecord("eosfw.runtime", logging.WARNING, __file__, 1, message, arguments, trace)


def test_a_line_for_people_has_the_prefix_of_connect() -> None:
    with logging_context(CONTEXT):
        line = TextFormatter().format(record("polls %s", "again"))

    assert line == "eosfw: WARNING: [orders|task-3] polls again"
    assert TextFormatter().format(record("polls %s", "again")) == "eosfw: WARNING: polls again"


def test_a_line_of_a_worker_begins_with_its_time_as_in_connect() -> None:
    line = TextFormatter(timed=True).format(record("polls again"))

    assert re.fullmatch(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] eosfw: WARNING: polls again", line)


def test_a_traceback_is_left_out_for_people(monkeypatch) -> None:
    monkeypatch.delenv("EOSFW_DEBUG", raising=False)
    with pytest.raises(ValueError, match="no") as raised:
        raise ValueError("no")

    assert TextFormatter().format(record("failed", error=raised.value)) == "eosfw: WARNING: failed"


def test_a_line_for_programs_is_one_object_with_the_task() -> None:
    with pytest.raises(ValueError, match="no") as raised:
        raise ValueError("no\nway")
    with logging_context(CONTEXT):
        line = JsonFormatter().format(record("a\nb", error=raised.value))

    assert "\n" not in line
    found = json.loads(line)
    assert found | {"time": "", "trace": ""} == {
        "time": "",
        "level": "WARNING",
        "logger": "eosfw.runtime",
        "message": "a\nb",
        "connector": "orders",
        "task": 3,
        "generation": 7,
        "transactional_id": "shop-orders-3",
        "trace": "",
    }
    assert "ValueError: no" in found["trace"]
