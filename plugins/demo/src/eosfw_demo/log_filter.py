"""Keep client libraries quiet while what they complain of is what was asked for."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


def _from_framework(record: logging.LogRecord) -> bool:
    return record.name.split(".")[0] == "eosfw"


@contextmanager
def client_logs_dropped() -> Iterator[None]:
    """Drop what others than the framework log: a zombie's client calls its fencing a fatal error, which it is.

    Nothing is lost by that: what a client cannot do comes back as an exception.
    """
    handlers = list(logging.getLogger().handlers)
    for handler in handlers:
        handler.addFilter(_from_framework)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(_from_framework)
