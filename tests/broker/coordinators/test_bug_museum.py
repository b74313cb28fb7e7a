"""Regression tests for known exactly-once bugs of transaction coordinators.

Named by the issue in which it was found; a broker's log has its own museum. Those that a single request shows are cells
of `tests/conformance`: KAFKA-9600, 13412, 14034, 14053, 18464, 18660, 20785, librdkafka 4849.
"""

from __future__ import annotations

import threading

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import EosfwError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.faults import Fail, FaultInjector, Refuse
from eosfw_memory.server.broker.broker import Broker
from eosfw_memory.server.coordinators.groups.group_records import Committed
from eosfw_memory.server.coordinators.groups.offset_requests import OffsetCommitter
from eosfw_memory.server.coordinators.transaction_metadata import LAST_CLIENT_EPOCH, TransactionMetadata
from eosfw_memory.server.coordinators.transaction_state import TransactionState
from eosfw_memory.storage.records.batch import split
from eosfw_memory.storage.records.codec import encode_batch
from eosfw_memory.storage.records.transaction_result import TransactionResult
from pytest_eos.contracts.backends.harness import BackendHarness, commit

from ..brokers import produced, started, transactional
from .coordinator_harness import FLIGHTS_0, FLIGHTS_1, CoordinatorHarness

COMMIT, ABORT = TransactionResult.COMMIT, TransactionResult.ABORT
T0 = TopicPartition("t", 0)
BOTH = pytest.mark.parametrize("version", [1, 2])


def at_the_last_epoch(version: int) -> tuple[CoordinatorHarness, ProducerIdAndEpoch]:
    desk = CoordinatorHarness(version=version)
    desk.log.append("t", TransactionMetadata("t", 500, LAST_CLIENT_EPOCH, 60_000), 0)
    desk.coordinator.load()
    return desk, ProducerIdAndEpoch(500, LAST_CLIENT_EPOCH)


def end(
    desk: CoordinatorHarness, producer: ProducerIdAndEpoch, outcome: TransactionResult, version: int
) -> ProducerIdAndEpoch | Code:
    return desk.end(producer, outcome) if version == 1 else desk.end_with_epoch_bump(producer, outcome)


@pytest.fixture(params=[1, 2], ids=["version 1", "version 2"])
def broker(request):
    return started(properties={"transaction.version": str(request.param)}, t=1)


def written(broker: Broker, producer: ProducerIdAndEpoch) -> Code:
    return produced(broker, transactional(broker, producer), 10 + broker.settings.transactions.version, "x")


def opened(broker: Broker, *partitions: TopicPartition, timeout_ms: int = 60_000) -> ProducerIdAndEpoch:
    """An open transaction of the id `x`; give its producer."""
    producer = broker.coordinator.initialise("x", timeout_ms, None, broker.now_ms())
    broker.coordinator.add_partitions("x", producer, partitions or [T0], broker.now_ms())
    return producer


@BOTH
def test_kafka_9666_retries_of_failing_appends_use_up_no_epochs(version):
    """COR-05, COR-15: epochs used up by failures would leave none to end the transaction with."""
    desk = CoordinatorHarness(version=version)
    producer = desk.init(timeout_ms=1000)
    desk.add(producer)
    desk.now_ms += 1001
    desk.log.broken = True
    for _ in range(100):
        desk.init()
        end(desk, producer, COMMIT, version)
        desk.coordinator.abort_timed_out(desk.now_ms)

    desk.log.broken = False
    assert desk.coordinator.abort_timed_out(desk.now_ms) == ["t"]
    desk.finish()
    assert desk.markers == [(FLIGHTS_0, ProducerIdAndEpoch(producer.producer_id, producer.epoch + 1), ABORT)]


def test_kafka_13099_any_number_of_ids_expires_at_once():
    """COR-16: no batch of tombstones grows with their number."""
    broker = started(properties={"transactional.id.expiration.ms": "1000", "transaction.state.log.num.partitions": "1"})
    names = [f"{number}-{'long' * 60}" for number in range(5000)]
    for name in names:
        broker.coordinator.initialise(name, 60_000, None, broker.now_ms())

    broker.jump(3601)
    broker.run_due_tasks()

    assert broker.coordinator.transactions() == []
    broker.restart()
    assert broker.coordinator.transactions() == []


def test_kafka_14884_verification_and_append_are_atomic(broker):
    """COR-19: one lock holds both, so a transaction that ended in between is seen."""
    producer = opened(broker)
    log, free = broker.topics.partition(*T0).log, []
    appended = log.append

    def watched(*args, **named):
        other = threading.Thread(target=lambda: free.append(broker.lock.acquire(blocking=False)))
        other.start()
        other.join()
        return appended(*args, **named)

    log.append = watched
    assert written(broker, producer) is Code.NONE
    assert free == [False]


def test_kafka_16352_many_ids_whose_producer_ids_run_out_together_all_complete():
    """COR-04, COR-11: what waits for markers goes by transactional id, never by producer id."""
    desk = CoordinatorHarness(version=2)
    for number in range(5):
        name = f"t{number}"
        desk.log.append(name, TransactionMetadata(name, 500 + number, LAST_CLIENT_EPOCH, 60_000), 0)
    desk.coordinator.load()
    for number in range(5):
        last = ProducerIdAndEpoch(500 + number, LAST_CLIENT_EPOCH)
        desk.add(last, name=f"t{number}")
        desk.end_with_epoch_bump(last, name=f"t{number}")
    desk.finish()

    assert {known.state for known in desk.coordinator.transactions()} == {TransactionState.COMPLETE_COMMIT}
    assert len({known.producer_id for known in desk.coordinator.transactions()}) == 5


@BOTH
def test_kafka_19367_fencing_at_the_last_epoch_never_makes_it_negative(version):
    """COR-04."""
    desk, last = at_the_last_epoch(version)
    desk.add(last)
    desk.now_ms += 60_001
    desk.coordinator.abort_timed_out(desk.now_ms)
    desk.finish()

    assert desk.markers == [(FLIGHTS_0, ProducerIdAndEpoch(500, 32767), ABORT)]
    assert desk.init() == ProducerIdAndEpoch(1000, 0)


@pytest.mark.parametrize("by", ["its timeout", "a new holder"])
def test_the_transaction_of_a_holder_that_got_the_last_epoch_of_all_can_be_aborted(by):
    """COR-04: who repeats its abort behind a fencing in its last epoch goes on with the one that fenced it."""
    desk, last = at_the_last_epoch(2)
    desk.add(last)
    desk.now_ms += 60_001
    desk.coordinator.abort_timed_out(desk.now_ms)
    desk.finish()
    after = desk.end_with_epoch_bump(last, ABORT)
    desk.add(after)
    other = desk.init("other")
    desk.add(other, FLIGHTS_1, name="other")
    desk.markers.clear()

    if by == "a new holder":
        assert desk.init() is Code.CONCURRENT_TRANSACTIONS
    desk.now_ms += 60_001
    desk.coordinator.abort_timed_out(desk.now_ms)
    desk.finish()

    assert after == ProducerIdAndEpoch(500, 32767)
    assert desk.markers == [
        (FLIGHTS_0, after, ABORT),
        (FLIGHTS_1, ProducerIdAndEpoch(other.producer_id, other.epoch + 1), ABORT),
    ]
    assert desk.add(after) is Code.INVALID_PRODUCER_ID_MAPPING
    assert desk.init().producer_id not in (after.producer_id, other.producer_id)


@pytest.mark.parametrize("completed", [True, False], ids=["after the markers", "before the markers"])
def test_kafka_20357_a_repeated_end_txn_is_recognized_after_a_failover(completed):
    """COR-04, COR-14: the log remembers the id that was used up, and the one that was promised."""
    desk, last = at_the_last_epoch(2)
    desk.add(last)
    after = desk.end_with_epoch_bump(last)
    if completed:
        desk.finish()

    next_holder = CoordinatorHarness(desk.log, version=2, next_producer_id=2000)
    next_holder.coordinator.load()
    next_holder.finish()

    assert next_holder.known().producer == after
    assert next_holder.end_with_epoch_bump(last) == after


def test_kafka_9807_a_fetch_reads_its_upper_bound_once(broker, monkeypatch):
    """BRK-06: what is appended, even decided, between its two looks is not in its answer."""
    log = broker.topics.partition(*T0).log
    log.append(encode_batch(None, [b"before"], 1), broker.now_ms())
    late, look = ProducerIdAndEpoch(77, 0), type(log).visible_end

    def looked(self, isolation):
        end = look(self, isolation)
        batch = encode_batch(None, [b"aborted"], 1, producer=late, base_sequence=len(seen), transactional=True)
        seen.append(log.append(batch, broker.now_ms()).base_offset)
        if len(seen) > 1:
            log.append_marker(late, ABORT, 0, broker.now_ms())
        return end

    seen: list[int] = []
    monkeypatch.setattr(type(log), "visible_end", looked)

    fetched = log.fetch(0, 1 << 20, IsolationLevel.READ_COMMITTED)

    assert seen
    [(header, _)] = split(fetched.records)
    assert (header.base_offset, header.last_offset) == (0, 0)


@pytest.mark.parametrize("outcome", [COMMIT, ABORT])
def test_kafka_15784_offsets_whose_write_was_refused_never_count(broker, outcome):
    """GRP-01: neither when their transaction ends, nor as something that others have to wait for."""
    producer = opened(broker, broker.offsets_partition("g"))
    offsets, committed = broker.groups.offsets, {T0: Committed(5, -1, "", broker.now_ms())}
    offsets.commit("g", OffsetCommitter(), {T0: Committed(1, -1, "", broker.now_ms())}, broker.now_ms())
    refused = FaultInjector(broker, ThreadRuntime()).add(Refuse("before-offsets"))

    with pytest.raises(KafkaError):
        offsets.commit_in_transaction("g", OffsetCommitter(), producer, committed, broker.now_ms())
    assert refused.fired
    assert offsets.fetch("g", [T0], stable=True)[T0].offset == 1

    broker.coordinator.end("x", producer, outcome, broker.now_ms())
    broker.settle()
    assert offsets.fetch("g", [T0], stable=True)[T0].offset == 1


def test_redpanda_3039_an_out_of_order_batch_is_not_sent_again():
    """TXN-05: the client cannot know what became of the one before it; it gives the transaction up."""
    runtime = ThreadRuntime()
    cluster = EmbeddedCluster.start({}, runtime)
    backend = MemoryBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime)
    lab = BackendHarness(backend, runtime)
    topic, producer = lab.topic(), lab.producer()
    cluster.faults.add(Fail("Produce", "OUT_OF_ORDER_SEQUENCE_NUMBER"))

    with pytest.raises(EosfwError):
        commit(producer, topic, b"v")
    assert cluster.broker.topics.partition(topic, 0).log.state.producers.known() == {}

    lab.close()
    cluster.close()
