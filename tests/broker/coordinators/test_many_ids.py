"""Many transactional ids are fenced, expired, completed: a failure of one leaves the others as they should be."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from itertools import count

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.log_errors import StaleProducerEpochError
from eosfw_memory.faults import FaultInjector, points
from eosfw_memory.server.broker.broker import Broker
from eosfw_memory.server.coordinators.transaction_log import TransactionStateTopic
from eosfw_memory.server.coordinators.transaction_log_records import decode_key
from eosfw_memory.server.coordinators.transaction_metadata import TransactionMetadata
from eosfw_memory.server.coordinators.transaction_state import TransactionState
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.records.codec import decode_records, encode_batch
from eosfw_memory.storage.records.transaction_result import TransactionResult

from ..brokers import started
from ..log.log_harness import COMMITTED, NOW, Consumer
from ..storage.failing_system import FailingSystem

TIMEOUT_MS = 60_000
PLACES = [TopicPartition(topic, number) for topic in ("t", "u") for number in (0, 1)]
S = TransactionState
NEVER = 1 << 30


class Still(ThreadRuntime):
    """A stopped clock, so that equal requests write equal bytes."""

    def now(self) -> float:
        return 0.0

    def wall(self) -> float:
        return NOW / 1000


def few(root=None, system=None, partitions: str = "2") -> Broker:
    """A broker with few partitions of the transaction log, on which no time goes by."""
    properties = {"transaction.state.log.num.partitions": partitions}
    return started(root, properties, runtime=Still(), system=system, t=2, u=2)


def write(broker: Broker, where: TopicPartition, holder: ProducerIdAndEpoch, value: str) -> None:
    """One record in the holder's transaction, its first in a partition."""
    batch = encode_batch(None, [value.encode()], NOW, producer=holder, base_sequence=0, transactional=True)
    log_of(broker, where).append(batch, NOW)


def log_of(broker: Broker, where: TopicPartition) -> PartitionLog:
    return broker.topics.partition(*where).log


def begun(broker: Broker, name: str) -> ProducerIdAndEpoch:
    """An open transaction with a record in every place; give its holder."""
    coordinator, now_ms = broker.coordinator, broker.now_ms()
    holder = coordinator.initialise(name, TIMEOUT_MS, None, now_ms)
    coordinator.add_partitions(name, holder, PLACES, now_ms)
    for where in PLACES:
        write(broker, where, holder, name)
    return holder


def initialised(broker: Broker, names: Sequence[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in names:
        try:
            found[name] = broker.coordinator.initialise(name, TIMEOUT_MS, None, broker.now_ms())
        except KafkaError as refused:
            found[name] = refused.code
        broker.settle()
    return found


def fenced(broker: Broker, names: Sequence[str]) -> dict[str, object]:
    """Fence as a client does, with retries; return the last response for each id."""
    first = initialised(broker, names)
    again = [name for name, answer in first.items() if answer is Code.CONCURRENT_TRANSACTIONS]
    return first | initialised(broker, again)


def logged(broker: Broker) -> dict[str, list[bytes | None]]:
    """What the transaction log says of each id, in its order."""
    found: dict[str, list[bytes | None]] = {}
    for partition in broker.transaction_log().partitions:
        for batch in partition.log.batches():
            columns = decode_records(batch)
            for key, value in zip(columns.keys, columns.values, strict=True):
                found.setdefault(str(decode_key(key or b"")), []).append(value)
    return found


@pytest.mark.parametrize("takes", [0, 40], ids=["nothing written", "a little written"])
def test_a_failing_write_during_fencing_leaves_no_partial_result(tmp_path, takes):
    """COR-09, COR-14: acknowledged ids stay fenced after a restart, others can be fenced; no zombie is read."""
    names = [f"id-{number}" for number in range(6)]
    for at in count(1):
        system = FailingSystem(errno.EIO, takes=takes)
        broker = few(tmp_path / str(at), system)
        holders = {name: begun(broker, name) for name in names}
        broker.coordinator.end("id-5", holders["id-5"], TransactionResult.COMMIT, broker.now_ms())
        broker.settle()
        system.at = system.writes + at
        answers = fenced(broker, names)
        reached = system.writes >= system.at
        hurt = Code.COORDINATOR_NOT_AVAILABLE in answers.values() or not broker.coordinator.markers.is_empty
        assert hurt == reached or takes  # what is short enough is written whole
        if not hurt:
            system.at = NEVER
        broker.close()

        again = few(tmp_path / str(at))
        for name, answer in answers.items():
            if isinstance(answer, ProducerIdAndEpoch):
                assert again.coordinator.describe(name).producer == answer
        fenced_again = fenced(again, names)
        for name, holder in holders.items():
            assert fenced_again[name].epoch > holder.epoch
        for where in PLACES:
            log = log_of(again, where)
            assert log.last_stable_offset == log.high_watermark
            assert [value for _, value in Consumer(log, COMMITTED).drain()] == [b"id-5"]
            with pytest.raises(StaleProducerEpochError):
                write(again, where, holders["id-0"], "late")
        again.close()
        if not reached:
            break
    # Of each open transaction: Prepare, four markers, Complete, Empty; of the other one, Empty.
    assert at - 1 == 5 * (1 + 4 + 1 + 1) + 1


@pytest.mark.parametrize(
    "point", [side(what) for what in ("marker", "complete") for side in (points.before, points.after)]
)
def test_a_broker_stopped_while_aborting_expired_transactions_resumes(point):
    """COR-14, COR-15: each marker, each Complete has its points, in a group too."""
    names = ("a", "b", "c")
    for nth in count(1):
        broker = few()
        for name in names:
            begun(broker, name)
        fault = FaultInjector(broker, Still()).add("restart", at=point, nth=nth)
        broker.jump(TIMEOUT_MS / 1000 + 1)
        broker.run_due_tasks()

        assert {each.state for each in broker.coordinator.transactions()} == {S.COMPLETE_ABORT}
        assert broker.coordinator.markers.is_empty
        for where in PLACES:
            assert log_of(broker, where).last_stable_offset == log_of(broker, where).high_watermark
            assert Consumer(log_of(broker, where), COMMITTED).drain() == []
        if not fault.fired:
            break
    assert nth - 1 == (len(names) * len(PLACES) if "marker" in point else len(names))


def test_a_change_too_large_for_the_log_is_refused_alone():
    """COR-13, KAFKA-13099: however many there are, one that is too large by itself delays no other."""
    broker = few(partitions="1")
    broker.topics.alter(broker.transaction_log(), {"max.message.bytes": "400"})
    changes = [TransactionMetadata(f"id-{number}", number, 0, TIMEOUT_MS) for number in range(9)]
    far = frozenset(TopicPartition("t", number) for number in range(99))
    wide = TransactionMetadata("wide", 99, 0, TIMEOUT_MS, S.ONGOING, far)

    log = TransactionStateTopic(broker.transaction_log)

    with pytest.raises(KafkaError) as refused:
        log.append("wide", wide, NOW)
    for each in changes:
        log.append(each.transactional_id, each, NOW)

    assert refused.value.code is Code.UNKNOWN_SERVER_ERROR
    assert list(logged(broker)) == [each.transactional_id for each in changes]
