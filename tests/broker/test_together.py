"""What is done to many transactional ids together leaves behind what one after the other would."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.broker import Broker
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.coordinators.transaction_log_records import decode_key, encode_changes, encode_key, encode_value
from eosfw_memory.coordinators.transaction_metadata import LAST_CLIENT_EPOCH, TransactionMetadata
from eosfw_memory.coordinators.transaction_state import TransactionState
from eosfw_memory.faults import FaultInjector, points
from eosfw_memory.log.partition_log import PartitionLog
from eosfw_memory.log_errors import InvalidProducerEpochError, LogError
from eosfw_memory.records.codec import decode_records, encode_batch, encode_record
from eosfw_memory.records.markers import Marker
from eosfw_memory.records.transaction_result import TransactionResult
from eosfw_memory.settings import Endpoint, Settings
from eosfw_memory.storage.data_directory import DataDirectory
from eosfw_memory.transaction_log import TopicTransactionLog

from .coordinators import FLIGHTS_0, FLIGHTS_1, Desk
from .log.log_harness import COMMITTED, NOW, Consumer, Writer, unhurried
from .storage.kit import NODE, House, told
from .storage.test_failing_disk import FailingSystem

TIMEOUT_MS = 60_000
PLACES = [TopicPartition(topic, number) for topic in ("t", "u") for number in (0, 1)]
FEW = {"transaction.state.log.num.partitions": "2"}
S = TransactionState
NEVER = 1 << 30


class Still(ThreadRuntime):
    """A clock that stands, so that the same work gives the same bytes."""

    def now(self) -> float:
        return 0.0

    def wall(self) -> float:
        return NOW / 1000


class Life(NamedTuple):
    """What became of an id before it is fenced."""

    kind: str
    touched: frozenset[TopicPartition]
    written: frozenset[TopicPartition]

    def lead(self, broker: Broker, name: str) -> ProducerIdAndEpoch | None:
        """Let it happen; give the holder."""
        coordinator, now_ms = broker.coordinator, broker.now_ms()
        if self.kind == "unknown":
            return None
        holder = coordinator.initialise(name, TIMEOUT_MS, None, now_ms)
        if self.kind == "idle":
            return holder
        coordinator.add_partitions(name, holder, self.touched, now_ms)
        for where in sorted(self.written & self.touched):
            write(broker, where, holder, name)
        if self.kind in ("committed", "decided"):
            coordinator.end(name, holder, TransactionResult.COMMIT, now_ms)
        if self.kind == "committed":
            broker.settle()
        return holder


WHERES = st.frozensets(st.sampled_from(PLACES), min_size=1)
LIVES = st.builds(Life, st.sampled_from(["unknown", "idle", "open", "worn", "committed", "decided"]), WHERES, WHERES)


def started(root=None, system=None, **settings: str) -> Broker:
    storage = None if root is None else DataDirectory.open(root, waits=False, node_id=NODE, system=system)
    broker = Broker(Settings.parse({**FEW, **settings}), Endpoint("127.0.0.1", 9092), Still(), storage)
    for topic in ("t", "u"):
        if broker.topics.by_name(topic) is None:
            broker.topics.create(topic, 2, {})
    return broker


def write(broker: Broker, where: TopicPartition, holder: ProducerIdAndEpoch, value: str) -> None:
    """One record in the holder's transaction, its first in a partition."""
    batch = encode_batch(None, [value.encode()], NOW, producer=holder, base_sequence=0, transactional=True)
    log_of(broker, where).append(batch, NOW)


def log_of(broker: Broker, where: TopicPartition) -> PartitionLog:
    partition = broker.topics.partition(*where)
    assert partition is not None
    return partition.log


def lived(broker: Broker, lives: Sequence[Life]) -> list[str]:
    """Put every id into its state; give their names. Those that are worn have one epoch left."""
    names = [f"id-{number}" for number in range(len(lives))]
    worn = [name for name, life in zip(names, lives, strict=True) if life.kind == "worn"]
    for number, name in enumerate(worn):
        before = TransactionMetadata(name, 1_000_000 + number, LAST_CLIENT_EPOCH - 1, TIMEOUT_MS)
        TopicTransactionLog(broker.transaction_log).append(name, before, NOW)
    broker.coordinator.load()
    for name, life in zip(names, lives, strict=True):
        life.lead(broker, name)
    return names


def one_by_one(broker: Broker, names: Sequence[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in names:
        try:
            found[name] = broker.coordinator.initialise(name, TIMEOUT_MS, None, broker.now_ms())
        except KafkaError as refused:
            found[name] = refused.code
        broker.settle()
    return found


def together(broker: Broker, names: Sequence[str]) -> dict[str, object]:
    found = broker.coordinator.initialise_each(names, TIMEOUT_MS, broker.now_ms())
    broker.settle()
    told = [each.producer if isinstance(each, TransactionMetadata) else each for each in found]
    return dict(zip(names, told, strict=True))


def fenced(broker: Broker, names: Sequence[str], way: Callable[[Broker, Sequence[str]], dict[str, object]]):
    """Fence as a client does: who is still being shut out is asked for once more; give what each was told last."""
    first = way(broker, names)
    again = [name for name, answer in first.items() if answer is Code.CONCURRENT_TRANSACTIONS]
    return first | (way(broker, again) if again else {})


def logged(broker: Broker) -> dict[str, list[bytes | None]]:
    """What the transaction log says of each id, in its order."""
    found: dict[str, list[bytes | None]] = {}
    for partition in broker.transaction_log().partitions:
        for batch in partition.log.batches():
            columns = decode_records(batch)
            for key, value in zip(columns.keys, columns.values, strict=True):
                found.setdefault(str(decode_key(key or b"")), []).append(value)
    return found


@unhurried
@given(lives=st.lists(LIVES, min_size=1, max_size=9), version=st.sampled_from(["1", "2"]))
def test_ids_fenced_together_are_left_as_if_fenced_one_by_one(lives, version):
    """ADM-01, COR-03, COR-04, COR-14: states, log, partitions to the byte, what readers see, what a restart knows."""
    alone, group = (started(**{"transaction.version": version}) for _ in range(2))
    names = lived(alone, lives)
    assert lived(group, lives) == names

    assert fenced(group, names, together) == fenced(alone, names, one_by_one)

    assert sorted(group.coordinator.transactions()) == sorted(alone.coordinator.transactions())
    assert logged(group) == logged(alone)
    for where in PLACES:
        assert told(log_of(group, where)) == told(log_of(alone, where))
        assert log_of(group, where).last_stable_offset == log_of(group, where).high_watermark
    before = sorted(each._replace(last_epoch=-1) for each in group.coordinator.transactions())
    group.restart()
    assert sorted(group.coordinator.transactions()) == before


@pytest.mark.parametrize("takes", [0, 40, 200], ids=["nothing written", "a little written", "more written"])
def test_a_failing_write_during_fencing_leaves_no_partial_result(tmp_path, takes):
    """COR-09, COR-14: who was told is fenced after the next start, the others can be; no zombie is read."""
    every = frozenset(PLACES)
    lives = [Life("open", every, every)] * 5 + [Life("committed", every, every)]
    for at in count(1):
        system = FailingSystem(errno.EIO, takes=takes)
        broker = started(tmp_path / str(at), system)
        names = lived(broker, lives)
        holders = {name: broker.coordinator.describe(name).producer for name in names}
        system.at = system.writes + at
        answers = fenced(broker, names, together)
        reached = system.writes >= system.at
        hurt = Code.COORDINATOR_NOT_AVAILABLE in answers.values() or broker.coordinator.unfinished
        assert hurt == reached or takes  # what is short enough is written whole
        if not hurt:
            system.at = NEVER
        broker.close()

        again = started(tmp_path / str(at))
        for name, answer in answers.items():
            if isinstance(answer, ProducerIdAndEpoch):
                assert again.coordinator.describe(name).producer == answer
        now_told = fenced(again, names, together)
        for name, holder in holders.items():
            assert now_told[name].epoch > holder.epoch
        for where in PLACES:
            log = log_of(again, where)
            assert log.last_stable_offset == log.high_watermark
            assert [value for _, value in Consumer(log, COMMITTED).drain()] == [b"id-5"]
            with pytest.raises(InvalidProducerEpochError):
                write(again, where, holders["id-0"], "late")
        again.close()
        if not reached:
            break
    # Two partitions of the log take in Prepare, Complete, Empty; there are markers in four partitions.
    assert at - 1 == 2 * 3 + 4


@pytest.mark.parametrize(
    "point", [side(what) for what in ("marker", "complete") for side in (points.before, points.after)]
)
def test_a_broker_stopped_while_aborting_expired_transactions_resumes(point):
    """COR-14, COR-15: each marker, each Complete has its points, in a group too."""
    for nth in count(1):
        broker = started()
        names = lived(broker, [Life("open", frozenset(PLACES), frozenset(PLACES))] * 3)
        fault = FaultInjector(broker, Still()).add("restart", at=point, nth=nth)
        broker.jump(TIMEOUT_MS / 1000 + 1)
        broker.run_due_tasks()

        assert {each.state for each in broker.coordinator.transactions()} == {S.COMPLETE_ABORT}
        assert not broker.coordinator.unfinished
        for where in PLACES:
            assert log_of(broker, where).last_stable_offset == log_of(broker, where).high_watermark
            assert Consumer(log_of(broker, where), COMMITTED).drain() == []
        if not fault.fired:
            break
    assert nth - 1 == (len(names) * len(PLACES) if "marker" in point else len(names))


def test_expired_transactions_stay_open_only_if_logging_them_failed():
    """COR-15: the next sweep tries them again, without another epoch."""
    desk = Desk()
    holders = {name: desk.init(name) for name in ("a", "b", "c")}
    for name, holder in holders.items():
        desk.add(holder, FLIGHTS_0, name=name)
    desk.now_ms += TIMEOUT_MS + 1
    desk.log.unwritable.add("b")

    assert desk.coordinator.abort_timed_out(desk.now_ms) == ["a", "c"]
    assert desk.known("b").producer == holders["b"]
    desk.log.unwritable.clear()
    assert desk.coordinator.abort_timed_out(desk.now_ms) == ["b"]
    assert desk.known("b").epoch == holders["b"].epoch + 1


def test_a_completion_waiting_for_its_partition_delays_no_other():
    """COR-11: nor one whose Complete cannot be logged."""
    desk = Desk()
    for name, where in (("a", FLIGHTS_0), ("b", FLIGHTS_1), ("c", FLIGHTS_0)):
        holder = desk.init(name)
        desk.add(holder, where, name=name)
        desk.end(holder, name=name)
    desk.unwritable.add(FLIGHTS_1)
    desk.log.unwritable.add("c")

    desk.finish()
    assert [desk.known(name).state for name in "abc"] == [S.COMPLETE_COMMIT, S.PREPARE_COMMIT, S.PREPARE_COMMIT]
    desk.unwritable.clear()
    desk.log.unwritable.clear()
    desk.finish()
    assert [desk.known(name).state for name in "abc"] == [S.COMPLETE_COMMIT] * 3


CHANGES = st.builds(
    TransactionMetadata,
    st.text(min_size=1, max_size=90),
    st.integers(0, 2**63 - 1),
    st.integers(-1, 32767),
    st.integers(1, 2**31 - 1),
    st.sampled_from([S.EMPTY, S.ONGOING, S.PREPARE_ABORT, S.COMPLETE_COMMIT]),
    st.frozensets(st.builds(TopicPartition, st.sampled_from(["t", "u" * 70]), st.integers(0, 99)), max_size=40),
    updated_ms=st.just(NOW),
    started_ms=st.sampled_from([-1, NOW]),
    last_epoch=st.just(-1),
    previous_producer_id=st.integers(-1, 9),
    next_producer_id=st.integers(-1, 9),
    client_version=st.sampled_from([0, 2]),
)


@given(each=st.lists(CHANGES, min_size=1, max_size=80))
@unhurried
def test_changes_logged_together_have_the_bytes_of_any_batch(each):
    """COR-13: one alone, those of a lone record."""
    keys, values = [encode_key(one.transactional_id) for one in each], [encode_value(one) for one in each]

    assert encode_changes(each, NOW) == encode_batch(keys, values, NOW)
    assert encode_changes(each[:1], NOW) == encode_record(keys[0], values[0], NOW)


def test_changes_that_make_a_batch_too_large_are_logged_one_by_one():
    """COR-13, KAFKA-13099: their number decides nothing; one that is too large by itself is refused alone."""
    broker = started(**{"transaction.state.log.num.partitions": "1"})
    broker.topics.alter(broker.transaction_log(), {"max.message.bytes": "400"})
    changes = [TransactionMetadata(f"id-{number}", number, 0, TIMEOUT_MS) for number in range(9)]
    far = frozenset(TopicPartition("t", number) for number in range(99))
    wide = TransactionMetadata("wide", 99, 0, TIMEOUT_MS, S.ONGOING, far)

    refused = TopicTransactionLog(broker.transaction_log).append_each([wide, *changes], NOW)

    assert list(refused) == ["wide"]
    assert refused["wide"].code is Code.COORDINATOR_NOT_AVAILABLE
    assert list(logged(broker)) == [each.transactional_id for each in changes]


def with_open_transactions(log: PartitionLog) -> list[Marker]:
    """Nine producers in the middle of a transaction; their markers, two of which come too late."""
    said = []
    for number in range(9):
        writer = Writer(log, number, epoch=1)
        writer.send(b"x" * 20)
        outcome = TransactionResult.ABORT if number % 2 else TransactionResult.COMMIT
        said.append(Marker(ProducerIdAndEpoch(number, 0 if number in (2, 5) else 2), outcome, 7))
    return said


def each_alone(log: PartitionLog, said: Sequence[Marker]) -> dict[int, str]:
    refused = {}
    for at, marker in enumerate(said):
        try:
            log.append_marker(*marker, NOW)
        except LogError as why:
            refused[at] = str(why)
    return refused


@pytest.mark.parametrize("segment_bytes", ["1000000", "1100", "400"], ids=["room", "room for some", "room for few"])
@pytest.mark.parametrize("keeps", [False, True], ids=["memory", "files"])
def test_markers_written_together_leave_the_partition_as_one_by_one(tmp_path, segment_bytes, keeps):
    """BRK-05, BRK-06, BRK-07: bytes, segments, last stable offset, aborted transactions; after a start, too."""
    alone, group = (House(tmp_path / name, **{"segment.bytes": segment_bytes}) for name in ("alone", "group"))
    logs = [house.log if keeps else PartitionLog(house.log.where, house.log.config) for house in (alone, group)]
    said = [with_open_transactions(log) for log in logs]

    one_by_one = each_alone(logs[0], said[0])
    refused = logs[1].append_markers(said[1], NOW)

    assert list(one_by_one) == [2, 5]
    assert {at: str(why) for at, why in refused.items()} == one_by_one
    assert told(logs[1]) == told(logs[0])
    assert [len(each) for each in logs[1].rolled_segments()] == [len(each) for each in logs[0].rolled_segments()]
    before = told(logs[1])
    group.crash()
    assert told(House(tmp_path / "group").log) == before or not keeps
    alone.crash()
