"""Retention may leave a reader with a part of a transaction, never with aborted records (CON-03)."""

from __future__ import annotations

import pytest

from eosfw_memory.storage.cleaner.retention import retain
from eosfw_memory.storage.log.log_config import LogConfig

from .log_harness import COMMITTED, NOW, Consumer, Writer, new_log


@pytest.mark.parametrize("ending", ["commit", "abort"])
def test_retention_removes_the_front_of_a_transaction_once_it_is_decided(ending):
    """CON-03, BRK-07: a segment is dropped when it is old, whatever transaction reaches out of it."""
    log = new_log(LogConfig(segment_bytes=90, retention_ms=1000))
    writer = Writer(log, 7)
    for value in (b"first", b"second", b"third"):
        writer.send(value)
    assert retain(log, NOW + 10_000) == 0  # its records are not decided yet
    writer.commit() if ending == "commit" else writer.abort()
    while log.log_start_offset < 2:
        log.delete_oldest_segment()

    reader = Consumer(log, COMMITTED)
    reader.position = log.log_start_offset

    assert [value for _, value in reader.drain()] == ([b"third"] if ending == "commit" else [])
