"""A start ends open transactions that no coordinator knows (BRK-06)."""

from __future__ import annotations

import pytest

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.server.coordinators.groups.group_records import Committed
from eosfw_memory.server.coordinators.groups.offset_requests import OffsetCommitter
from eosfw_memory.server.coordinators.transaction_state import TransactionState
from eosfw_memory.storage.records.codec import encode_batch
from eosfw_memory.storage.records.transaction_result import TransactionResult
from eosfw_memory.storage.topics.topic import GROUP_LOG

from ..brokers import started

ONE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def broker():
    return started(t=2)


def write(broker, where, producer, sequence=0):
    """A record as it is in a partition, whatever the coordinator knows."""
    batch = encode_batch(None, [b"v"], broker.now_ms(), producer=producer, base_sequence=sequence, transactional=True)
    return broker.topics.partition(*where).log.append(batch, broker.now_ms())


def held_back(broker):
    return [where for where, log in broker.topics.logs().items() if log.last_stable_offset < log.high_watermark]


def test_an_unknown_producer_blocks_no_reader(broker, caplog):
    """Its transaction is aborted, and a warning is logged."""
    write(broker, ONE, ProducerIdAndEpoch(77, 3))
    broker.restart()
    assert held_back(broker) == []
    assert broker.topics.partition(*ONE).log.state.aborted.ended_in(0, 10)
    assert "t-0: no coordinator knew the open transaction of producer 77: aborted" in caplog.text


@pytest.mark.parametrize("already", [[], [OTHER]], ids=["not begun", "in another partition"])
def test_a_record_without_transaction_state_rejoins_its_transaction(broker, already):
    """Its client may send the record again, get the duplicate's offset, and commit (BRK-02)."""
    now = broker.now_ms()
    producer = broker.coordinator.initialise("id", 60_000, None, now)
    if already:
        broker.coordinator.add_partitions("id", producer, already, now)
    write(broker, ONE, producer)
    broker.restart()
    known = broker.coordinator.describe("id")
    assert (known.state, known.partitions) == (TransactionState.ONGOING, {ONE, *already})
    assert write(broker, ONE, producer).duplicate
    broker.coordinator.end("id", producer, TransactionResult.COMMIT, now)
    broker.settle()
    assert held_back(broker) == []
    assert not broker.topics.partition(*ONE).log.state.aborted.ended_in(0, 10)


def test_a_record_behind_a_decided_transaction_is_not_ended_with_it(broker):
    """KIP-890: the log says Prepare, while the next transaction of the id has begun; its epoch is the raised one."""
    now = broker.now_ms()
    producer = broker.coordinator.initialise("id", 60_000, None, now)
    broker.coordinator.add_partitions("id", producer, [ONE], now, 2)
    write(broker, ONE, producer)
    after = broker.coordinator.end_with_epoch_bump("id", producer, TransactionResult.COMMIT, now)
    broker.topics.partition(*ONE).log.append_marker(after, TransactionResult.COMMIT, 0, now)
    write(broker, ONE, after)
    broker.restart()
    assert broker.coordinator.describe("id").state is TransactionState.ONGOING
    broker.coordinator.end_with_epoch_bump("id", after, TransactionResult.ABORT, now)
    broker.settle()
    log = broker.topics.partition(*ONE).log
    assert held_back(broker) == []
    assert [each.first_offset for each in log.state.aborted.ended_in(0, 10)] == [2]


def test_a_known_open_transaction_stays_open(broker):
    """COR-14: only its timeout, or its holder, ends it."""
    now = broker.now_ms()
    producer = broker.coordinator.initialise("id", 60_000, None, now)
    broker.coordinator.add_partitions("id", producer, [ONE], now)
    write(broker, ONE, producer)
    broker.restart()
    assert held_back(broker) == [ONE]


def test_aborted_group_offsets_block_no_reader(broker):
    """GRP-01, GRP-03: otherwise OffsetFetch with require_stable would be retried for ever."""
    offset = Committed(5, -1, "", 0)
    who, partition = ProducerIdAndEpoch(78, 0), TopicPartition(GROUP_LOG, broker.groups.partition_of("group"))
    broker.groups.offsets.commit_in_transaction("group", OffsetCommitter(), who, {ONE: offset}, broker.now_ms())
    assert held_back(broker) == [partition]
    broker.restart()
    assert held_back(broker) == []
    assert broker.groups.offsets.fetch("group", [ONE], stable=True)[ONE].offset == -1
