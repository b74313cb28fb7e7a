"""A filter that hides the logs of client libraries while the zombie is fenced."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


def _from_framework(record: logging.LogRecord) -> bool:
    return record.name.split(".")[0] == "eosfw"


@contextmanager
def client_logs_dropped() -> Iterator[None]:
    """Drop log records of other libraries: a zombie's client logs its fencing as a fatal error, which the demo expects.

    No error is lost: a call that fails raises an exception.
    """
    handlers = list(logging.getLogger().handlers)
    for handler in handlers:
        handler.addFilter(_from_framework)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(_from_framework)
