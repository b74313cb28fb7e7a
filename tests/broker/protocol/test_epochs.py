"""Leader epochs reject requests of clients and coordinators from before a restart (KIP-101, KIP-320, COR-10)."""

from __future__ import annotations

from types import SimpleNamespace as Request

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.introspection import open_transactions
from eosfw_memory.server.broker.settings import Endpoint, Settings
from eosfw_memory.server.coordinators.log_partition import partition_for
from eosfw_memory.server.protocol.handlers import (
    fetch,
    list_offsets,
    metadata,
    offset_for_leader_epoch,
    write_txn_markers,
)
from eosfw_memory.storage.files.data_directory import DataDirectory
from eosfw_memory.storage.records.codec import decode_records, encode_batch
from eosfw_memory.storage.records.markers import coordinator_epoch_of
from eosfw_memory.storage.records.transaction_result import TransactionResult
from eosfw_memory.storage.topics.topic import TRANSACTION_LOG

T0 = TopicPartition("t", 0)
EARLIEST, LATEST = -2, -1


def started(root) -> Broker:
    storage = DataDirectory.open(root, waits=False, node_id=1)
    made = Broker(Settings.parse({}), Endpoint("127.0.0.1", 9092), ThreadRuntime(), storage)
    if made.topics.by_name("t") is None:
        made.topics.create("t", 1, {})
    return made


def killed(broker: Broker) -> None:
    broker.storage.release()


@pytest.fixture(params=["in place", "stopped", "killed"])
def restarted(request, tmp_path):
    """A broker and its way to restart: by a fault in one process, or on its directory."""

    def again(broker: Broker) -> Broker:
        if request.param == "in place":
            broker.restart()
            return broker
        broker.close() if request.param == "stopped" else killed(broker)
        return started(tmp_path)

    return again


@pytest.fixture
def broker(tmp_path):
    return started(tmp_path)


def log_of(broker):
    return broker.topics.partition(*T0).log


def append(broker, value=b"v"):
    return log_of(broker).append(encode_batch(None, [value], broker.now_ms()), broker.now_ms()).base_offset


def fetched(broker, believed, offset=0):
    part = Request(partition=0, current_leader_epoch=believed, fetch_offset=offset, partition_max_bytes=1 << 20)
    topics = [Request(topic="t", partitions=[part])]
    now = Request(total_seconds=lambda: 0)
    request = Request(topics=topics, max_wait=now, min_bytes=0, max_bytes=1 << 20, isolation_level=0, session_id=0)
    return broker.serve(fetch.handle, request, Context(12))["responses"][0]["partitions"][0]


def listed(broker, timestamp, believed=-1):
    part = Request(partition_index=0, current_leader_epoch=believed, timestamp=timestamp)
    request = Request(isolation_level=0, topics=[Request(name="t", partitions=[part])])
    return broker.serve(list_offsets.handle, request, Context(6))["topics"][0]["partitions"][0]


def epoch_end(broker, epoch, believed=-1):
    part = Request(partition=0, current_leader_epoch=believed, leader_epoch=epoch)
    request = Request(topics=[Request(topic="t", partitions=[part])])
    return broker.serve(offset_for_leader_epoch.handle, request, Context(4))["topics"][0]["partitions"][0]


def described(broker):
    request = Request(topics=[Request(name="t", topic_id=None)], allow_auto_topic_creation=False)
    return broker.serve(metadata.handle, request, Context(12))["topics"][0]["partitions"][0]["leader_epoch"]


ASKING = {
    "Fetch": lambda broker, believed: fetched(broker, believed)["error_code"],
    "ListOffsets": lambda broker, believed: listed(broker, LATEST, believed)["error_code"],
    "OffsetForLeaderEpoch": lambda broker, believed: epoch_end(broker, 0, believed)["error_code"],
}


@pytest.mark.parametrize("request_name", ASKING)
def test_a_request_with_another_leader_epoch_is_refused(broker, restarted, request_name):
    """KIP-320: from before the restart it is fenced, from the future unknown; none, or that of now, is served."""
    ask = ASKING[request_name]
    assert [ask(broker, believed) for believed in (-1, 0, 1)] == [Code.NONE, Code.NONE, Code.UNKNOWN_LEADER_EPOCH]
    broker = restarted(broker)
    wanted = {
        -1: Code.NONE,
        0: Code.FENCED_LEADER_EPOCH,
        1: Code.FENCED_LEADER_EPOCH,
        2: Code.NONE,
        3: Code.UNKNOWN_LEADER_EPOCH,
    }
    assert {believed: ask(broker, believed) for believed in wanted} == wanted
    broker.close()


def test_metadata_has_the_current_leader_epoch_and_offsets_their_own(broker, restarted):
    """KIP-101, KIP-320: Metadata 7, ListOffsets 4, OffsetForLeaderEpoch; what is not found has no epoch."""
    append(broker)
    broker = restarted(broker)
    append(broker)
    assert described(broker) == 2
    reported = [listed(broker, timestamp) for timestamp in (EARLIEST, LATEST, broker.now_ms() + 1_000_000)]
    assert [(each["offset"], each["leader_epoch"]) for each in reported] == [(0, 0), (2, 2), (-1, -1)]
    ends = [(each["leader_epoch"], each["end_offset"]) for each in (epoch_end(broker, epoch) for epoch in (0, 1, 2, 3))]
    assert ends == [(0, 1), (0, 1), (2, 2), (-1, -1)]
    broker.close()


def committed(broker, name, sequence=0, value=b"v"):
    """One transaction of a fresh holder, whose markers are written; give the holder."""
    holder = broker.coordinator.initialise(name, 60_000, None, broker.now_ms())
    broker.coordinator.add_partitions(name, holder, [T0], broker.now_ms())
    batch = encode_batch(None, [value], broker.now_ms(), producer=holder, base_sequence=sequence, transactional=True)
    log_of(broker).append(batch, broker.now_ms())
    broker.coordinator.end(name, holder, TransactionResult.COMMIT, broker.now_ms())
    broker.settle()
    return holder


def marker_epochs(broker):
    """The coordinator epoch of every marker."""
    markers = [decode_records(batch) for batch in log_of(broker).batches() if batch[22] & 0x20]
    return [coordinator_epoch_of(columns.values[0]) for columns in markers]


def marked(broker, producer, epoch):
    topics = [Request(name="t", partition_indexes=[0])]
    marker = Request(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        transaction_result=False,
        topics=topics,
        coordinator_epoch=epoch,
    )
    answer = broker.serve(write_txn_markers.handle, Request(markers=[marker]), Context(1))
    return answer["markers"][0]["topics"][0]["partitions"][0]["error_code"]


def test_markers_carry_the_leader_epoch_of_the_partition_that_keeps_the_id(broker, restarted):
    """COR-10: the coordinator's epoch is nothing else."""
    committed(broker, "old")
    broker = restarted(broker)
    committed(broker, "old")
    assert marker_epochs(broker) == [0, 2]
    keeps = broker.topics.by_name(TRANSACTION_LOG).partitions[partition_for("old", 50)]
    assert keeps.log.leader_epoch == 2
    broker.close()


def test_a_marker_delayed_since_before_a_restart_is_refused(broker, restarted):
    """COR-10: it would end the transaction of now, in the name of a coordinator that is gone."""
    committed(broker, "mover")
    broker = restarted(broker)
    holder = committed(broker, "mover")
    now = ProducerIdAndEpoch(holder.producer_id, holder.epoch)
    broker.coordinator.add_partitions("mover", now, [T0], broker.now_ms())
    batch = encode_batch(None, [b"w"], broker.now_ms(), producer=now, base_sequence=1, transactional=True)
    log_of(broker).append(batch, broker.now_ms())
    stable = log_of(broker).last_stable_offset

    assert marked(broker, now, 0) is Code.TRANSACTION_COORDINATOR_FENCED
    assert log_of(broker).last_stable_offset == stable
    assert len(open_transactions(broker)) == 1
    broker.coordinator.end("mover", now, TransactionResult.COMMIT, broker.now_ms())
    broker.settle()
    assert open_transactions(broker) == []
    assert marked(broker, now, 2) is Code.NONE
    broker.close()


def test_the_next_coordinator_completes_a_prepared_transaction_in_its_epoch(broker, restarted):
    """COR-10, COR-14: the markers that the old one still owed carry the epoch of the new one."""
    holder = broker.coordinator.initialise("mover", 60_000, None, broker.now_ms())
    broker.coordinator.add_partitions("mover", holder, [T0], broker.now_ms())
    batch = encode_batch(None, [b"v"], broker.now_ms(), producer=holder, base_sequence=0, transactional=True)
    log_of(broker).append(batch, broker.now_ms())
    broker.coordinator.end("mover", holder, TransactionResult.COMMIT, broker.now_ms())

    broker = restarted(broker)

    assert marker_epochs(broker) == [2]
    assert open_transactions(broker) == []
    assert marked(broker, holder, 0) is Code.TRANSACTION_COORDINATOR_FENCED
    broker.close()
