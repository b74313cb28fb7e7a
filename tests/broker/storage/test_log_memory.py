"""A log without a directory keeps what exceeds its memory in a temporary file."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.ids import TopicPartition
from eosfw_memory.common.log_errors import KafkaStorageError
from eosfw_memory.storage.cleaner.retention import retain
from eosfw_memory.storage.log.log_config import LogConfig
from eosfw_memory.storage.log.log_memory import LogMemory
from eosfw_memory.storage.log.log_storage import LogStorage
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.topics.topic import Topics

from ..log.log_harness import COMMITTED, NOW, PLENTY, UNCOMMITTED, Consumer, Writer, new_log, plain, unhurried
from .compaction import RULES, Keyed, cleaned, values

BATCH = len(plain(b"x" * 100))


def log_in(memory: LogMemory, config: LogConfig | None = None) -> PartitionLog:
    return PartitionLog(TopicPartition("flights", 0), config or LogConfig(), LogStorage(memory))


@pytest.fixture
def memory() -> LogMemory:
    """Room for two batches."""
    return LogMemory(2 * BATCH)


@pytest.fixture
def log(memory: LogMemory) -> Iterator[PartitionLog]:
    made = log_in(memory)
    yield made
    made.close()


@unhurried
@given(st.lists(st.integers(0, 300), max_size=12), st.integers(0, 2000), st.data())
def test_fetches_give_the_same_bytes_wherever_batches_are(sizes, room, data):
    whole, spilling = new_log(), log_in(LogMemory(room))
    try:
        for number, size in enumerate(sizes):
            for each in (whole, spilling):
                each.append(plain(b"x" * size), NOW + number)
        offset = data.draw(st.integers(0, len(sizes)))
        max_bytes = data.draw(st.integers(0, 3000))

        found = [each.fetch(offset, max_bytes, UNCOMMITTED).records for each in (whole, spilling)]

        assert found[0] == found[1]
        assert list(whole.batches()) == list(spilling.batches())
    finally:
        spilling.close()


def test_transactions_in_a_temporary_file_are_read_as_those_in_memory_are():
    """CON-01, BRK-07: an aborted transaction stays hidden, after the state was rebuilt from the file, too."""
    log = log_in(LogMemory(0))
    writer = Writer(log, 1)
    writer.send(b"aborted")
    writer.abort()
    writer.send(b"committed")
    writer.commit()

    log.rebuild_producer_state()

    assert [value for _, value in Consumer(log, COMMITTED).drain()] == [b"committed"]
    log.close()


def test_deleted_segments_give_their_memory_to_others():
    """What retention deletes leaves room for later batches."""
    memory = LogMemory(3 * BATCH)
    log = log_in(memory, LogConfig(segment_bytes=BATCH, retention_ms=10))
    for _ in range(3):
        log.append(plain(b"x" * 100), NOW)

    retain(log, NOW + 1000)

    assert memory.take(2 * BATCH)
    assert not memory.take(1)


def test_deleted_topics_give_their_memory_to_others(log, memory):
    log.append(plain(b"x" * 100), NOW)
    log.append(plain(b"x" * 100), NOW)
    log.append(plain(b"x" * 100), NOW)  # in the file

    log.delete()

    assert memory.take(2 * BATCH)
    assert not memory.take(1)


def test_compacted_segments_give_their_memory_to_others():
    memory = LogMemory(400)
    log = log_in(memory, Topics().create("t", 1, RULES).partitions[0].log.config)
    writer = Keyed(log, 1)
    for number in range(6):
        writer.send((b"key", b"%d" % number), transactional=False)

    cleaned(log)

    assert values(log) == [b"5"]
    log.delete()
    assert memory.take(400)
    assert not memory.take(1)


def test_a_batch_that_finds_no_room_in_the_temporary_directory_is_refused_and_may_come_again(log, monkeypatch):
    """The sentence names the directory and the property; nothing of the batch is in the log."""
    log.append(plain(b"x" * 100), NOW)
    log.append(plain(b"x" * 100), NOW)
    written = iter([10])

    def no_room(descriptor: int, data: bytes, at: int) -> int:
        for count in written:
            return count
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", no_room)
    with pytest.raises(KafkaStorageError, match=r"eosfw\.log\.memory\.bytes"):
        log.append(plain(b"y" * 100), NOW)
    monkeypatch.undo()
    assert log.high_watermark == 2

    log.append(plain(b"z" * 100), NOW)

    assert [value[:1] for _, value in Consumer(log, UNCOMMITTED, PLENTY).drain()] == [b"x", b"x", b"z"]
