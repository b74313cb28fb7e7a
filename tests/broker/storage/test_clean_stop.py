"""A start after a clean stop takes what the coordinators knew from a snapshot, if it belongs to these very logs."""

from __future__ import annotations

import pytest

from eosfw.ids import TopicPartition
from eosfw_memory.server.broker.broker import Broker
from eosfw_memory.server.coordinators import transaction_log
from eosfw_memory.server.coordinators.groups import offsets_topic as group_log
from eosfw_memory.server.coordinators.groups.group_records import Committed
from eosfw_memory.storage.files.coordinator_snapshot_file import NAME
from eosfw_memory.storage.records.transaction_result import TransactionResult

from .. import brokers

T0 = TopicPartition("t", 0)
FEW = {"transaction.state.log.num.partitions": "2", "offsets.topic.num.partitions": "2"}


def started(root) -> Broker:
    return brokers.started(root, FEW)


def filled(broker) -> Broker:
    """An id in each durable state, a committed offset and a pending transactional one."""
    now_ms = broker.now_ms()
    if broker.topics.by_name("t") is None:
        broker.topics.create("t", 1, {})
    for name, outcome in (
        ("committed", TransactionResult.COMMIT),
        ("aborted", TransactionResult.ABORT),
        ("open", None),
    ):
        producer = broker.coordinator.initialise(name, 60_000, None, now_ms)
        own = broker.offsets_partition(name)
        broker.coordinator.add_partitions(name, producer, [T0, own], now_ms)
        broker.groups.offsets._store.commit(name, {T0: Committed(7, -1, "", now_ms)}, now_ms, producer)
        if outcome is not None:
            broker.coordinator.end(name, producer, outcome, now_ms)
    broker.coordinator.initialise("idle", 60_000, None, now_ms)
    broker.settle()
    broker.groups.offsets._store.commit("plain", {T0: Committed(3, 5, "text", now_ms)}, now_ms)
    return broker


def known(broker) -> dict[str, object]:
    """All durable state; groups with neither members nor offsets are left out."""
    store = broker.groups.offsets._store
    groups = (each.group_id for each in broker.groups.groups() if each.members or store.offsets.keys(each.group_id))
    return {
        "transactions": brokers.durable_transactions(broker),
        "groups": sorted(groups),
        "offsets": sorted(store.offsets.all_offsets(), key=repr),
    }


@pytest.fixture
def unread(monkeypatch):
    """No record of the coordinators' logs may be read."""

    def read(*_):
        raise AssertionError("a record was read")

    monkeypatch.setattr(transaction_log, "_changes", read)
    monkeypatch.setattr(group_log, "_read", read)


def test_a_start_after_a_clean_stop_reads_no_record(tmp_path, request):
    """44,000 transactions took 4 to 5.5 s."""
    broker = filled(started(tmp_path))
    before = known(broker)
    broker.close()
    request.getfixturevalue("unread")
    for _ in range(2):
        broker = started(tmp_path)
        assert known(broker) == before
        broker.close()


def test_an_open_transaction_continues_after_a_clean_stop(tmp_path, unread):
    """Its marker decides the offsets that wait for it."""
    broker = filled(started(tmp_path))
    broker.close()
    broker = started(tmp_path)
    producer = broker.coordinator.describe("open").producer
    broker.coordinator.end("open", producer, TransactionResult.COMMIT, broker.now_ms())
    broker.settle()
    assert broker.groups.offsets._store.offsets.of("open")[T0].committed.offset == 7
    broker.close()


def test_a_crash_finds_no_snapshot_of_an_earlier_stop(tmp_path):
    """It is gone with the start that took it."""
    filled(started(tmp_path)).close()
    assert (tmp_path / NAME).exists()
    broker = started(tmp_path)
    assert not (tmp_path / NAME).exists()
    producer = broker.coordinator.initialise("idle", 60_000, None, broker.now_ms())
    broker.storage.release()
    assert started(tmp_path).coordinator.describe("idle").producer == producer


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
def test_a_snapshot_of_other_logs_is_ignored(tmp_path, clean):
    """An older snapshot was restored beside newer logs."""
    filled(started(tmp_path)).close()
    old = (tmp_path / NAME).read_bytes()
    broker = started(tmp_path)
    broker.coordinator.initialise("another", 60_000, None, broker.now_ms())
    broker.groups.offsets._store.commit("plain", {T0: Committed(4, 5, "", 1)}, broker.now_ms())
    before = known(broker)
    broker.close() if clean else broker.storage.release()
    (tmp_path / NAME).write_bytes(old)
    broker = started(tmp_path)
    assert known(broker) == before
    broker.close()


@pytest.mark.parametrize("place", [0, 10, 36, 60, -1], ids=["checksum", "logs", "count", "record", "end"])
def test_a_damaged_snapshot_is_ignored(tmp_path, place):
    """The logs are all that counts: it can be lost, cut or changed."""
    broker = filled(started(tmp_path))
    before = known(broker)
    broker.close()
    whole = (tmp_path / NAME).read_bytes()
    flipped = bytearray(whole)
    flipped[place] ^= 1
    for content in (bytes(flipped), whole[:place], b""):
        (tmp_path / NAME).write_bytes(content)
        broker = started(tmp_path)
        assert known(broker) == before
        broker.close()


def test_coordinators_with_empty_logs_restart(tmp_path):
    """No topic of theirs was made."""
    started(tmp_path).close()
    broker = started(tmp_path)
    assert broker.coordinator.transactions() == []
    broker.close()
