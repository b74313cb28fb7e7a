"""Nothing is acknowledged before it is on the disk, and writers share the wait for it."""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack, closing

import pytest

from conformance.calls import Caller
from conformance.record_fields import SOME, fetching, position, producing
from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.client.transport.apis import Fields, milliseconds
from eosfw_memory.client.transport.direct import DirectNetwork
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer, DelayedOperation, DisconnectClientError, Wakeable
from eosfw_memory.server.broker.broker import Context
from eosfw_memory.server.coordinators.transaction_state import TransactionState
from eosfw_memory.server.protocol.handlers import handler_of
from eosfw_memory.storage.files.disk import OperatingSystem
from eosfw_memory.storage.records.codec import encode_batch
from eosfw_memory.storage.records.transaction_result import TransactionResult

from ..brokers import fetched, started
from ..log.log_harness import COMMITTED, Consumer

WAIT = 20.0
FEW = {"transaction.state.log.num.partitions": "2"}


class SlowDisk(OperatingSystem):
    """Completes an fsync only on request; counts fsyncs and records the order of writes."""

    def __init__(self, runtime: ThreadRuntime) -> None:
        self.runtime = runtime
        self.gate = runtime.event()
        self.entered = runtime.queue()
        self.syncs = 0
        self.held = False
        self.fails = False

    def sync(self, descriptor):
        if self.held:
            self.entered.put(descriptor)
            assert self.gate.wait(WAIT)
        self.syncs += 1
        if self.fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().sync(descriptor)

    def hold(self):
        self.gate, self.held = self.runtime.event(), True

    def let(self):
        self.held = False
        self.gate.set()


class Served:
    """A broker on a directory whose answers wait for the disk."""

    def __init__(self, root):
        self.runtime = ThreadRuntime()
        self.disk = SlowDisk(self.runtime)
        self.broker = started(root, FEW, runtime=self.runtime, system=self.disk, waits=True, t=1)

    @property
    def log(self):
        return self.broker.topics.partition("t", 0).log

    def append(self, value: bytes):
        """Request an append; return the response, which may be delayed."""

        def handler(broker, request, context):
            try:
                return {"offset": self.log.append(request, broker.now_ms()).base_offset}
            except KafkaError as refused:
                return {"code": refused.code}

        batch = encode_batch(None, [value], self.broker.now_ms())
        return self.broker.serve(handler, batch, Context(1))

    def stop_waiting(self):
        """End the thread that waits for the disk."""
        waiting = self.broker._group_fsync
        waiting._stopping = True
        waiting.request_flush()
        assert waiting._thread.join(WAIT)

    def complete(self):
        """Wait for the disk once for the decisions, once for the markers."""
        for _ in range(2):
            assert self.broker._group_fsync.flush()

    def tried(self, answer: DelayedOperation):
        return self.broker.attempt(answer, expired=False)

    def after_fsync(self, answer: DelayedOperation):
        done = self.runtime.event()
        self.broker.await_answer(answer, done.set)
        found = self.tried(answer)
        while found is None:
            assert done.wait(WAIT)
            found = self.tried(answer)
        self.broker.give_up(answer)
        return found


@pytest.fixture
def served(tmp_path):
    made = Served(tmp_path)
    yield made
    made.disk.let()
    made.broker.close()


def test_an_answer_waits_until_its_bytes_are_on_the_disk(served):
    """A power cut could take back what was acknowledged before fsync returned."""
    served.disk.hold()
    answer = served.append(b"one")
    assert isinstance(answer, DelayedOperation)
    served.disk.entered.get(WAIT)
    assert served.tried(answer) is None
    served.disk.let()
    assert served.after_fsync(answer) == {"offset": 0}


def test_a_topic_that_is_deleted_before_its_bytes_are_on_the_disk_stops_no_other(served):
    """Its files are gone, so there is nothing to wait for; the thread that waits goes on for the other topics."""
    served.broker.topics.create("gone", 1, {})
    with served.broker.lock:  # so that no wait for the disk comes between the write and the end of the topic
        gone = served.broker.topics.by_name("gone")
        batch = encode_batch(None, [b"lost"], served.broker.now_ms())
        gone.partitions[0].log.append(batch, served.broker.now_ms())
        served.broker.delete_topic(gone)
        answer = served.append(b"one")
    assert served.after_fsync(answer) == {"offset": 0}


def test_too_many_open_files_put_an_answer_off(served, monkeypatch):
    """The thread that waits for the disk ended when it got no descriptor, and no write was ever answered again."""
    copy, refused = os.dup, []

    def scarce(descriptor):
        if len(refused) < 2:
            refused.append(descriptor)
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return copy(descriptor)

    monkeypatch.setattr(os, "dup", scarce)
    assert served.after_fsync(served.append(b"one")) == {"offset": 0}
    assert len(refused) == 2
    assert served.disk.syncs


def test_a_client_that_gives_up_on_a_slow_disk_blocks_no_other(served):
    """A wait for the disk under the broker's lock deadlocked with the waiting writers."""
    served.disk.hold()
    answer = served.append(b"one")
    served.disk.entered.get(WAIT)
    lost = served.runtime.queue()

    def give_up():
        with pytest.raises(DisconnectClientError) as raised:
            served.broker.attempt(answer, expired=True)
        lost.put(str(raised.value))

    thread = served.runtime.spawn("expired", give_up)
    assert "the disk took longer, or this process stood still" in lost.get(WAIT)
    served.disk.let()
    assert thread.join(WAIT)
    assert served.after_fsync(served.append(b"two")) == {"offset": 1}


def test_writers_during_an_fsync_share_the_next_fsync(served):
    """Group commit: ten writers, two waits."""
    served.disk.hold()
    first = served.append(b"first")
    served.disk.entered.get(WAIT)
    before = served.disk.syncs
    others = [served.append(b"%d" % number) for number in range(9)]
    served.disk.let()
    assert [served.after_fsync(each) for each in (first, *others)] == [{"offset": number} for number in range(10)]
    assert served.disk.syncs - before == 2


def test_a_failed_fsync_is_never_acknowledged(served):
    """EIO on fsync; those who wait are refused, later ones at once; reads go on."""
    served.disk.fails = True
    assert served.after_fsync(served.append(b"lost?")) == {"code": Code.KAFKA_STORAGE_ERROR}
    served.disk.fails = False
    assert served.append(b"later") == {"code": Code.KAFKA_STORAGE_ERROR}
    assert [value for _, value in Consumer(served.log, COMMITTED).drain()] == [b"lost?"]


def test_a_request_that_is_answered_late_once_the_disk_failed_is_waited_for(served):
    """One that joins a group may be, or one that arrives late by a fault."""
    joined, answers = Wakeable(), list[Answer]()
    late = DelayedOperation(lambda _: answers[0] if answers else None, 60_000, [joined])

    def handler(broker, request, context):
        if served.disk.fails:
            return late
        served.log.append(encode_batch(None, [b"v"], broker.now_ms()), broker.now_ms())
        return {"early": True}

    served.disk.hold()
    answer, woken = served.broker.serve(handler, None, Context(1)), served.runtime.queue()
    served.broker.await_answer(answer, lambda: woken.put(None))
    served.disk.entered.get(WAIT)
    served.disk.fails = True
    served.disk.let()
    woken.get(WAIT)
    assert served.tried(answer) is None

    answers.append({"late": True})
    joined.changed()

    woken.get(WAIT)
    assert served.tried(answer) == {"late": True}


def test_fetches_go_on_in_their_session_when_the_disk_failed(served):
    """A fetch that is served twice is out of order for its session, and counts twice for a quota."""
    served.disk.hold()
    append = served.append(b"lost?")
    served.disk.entered.get(WAIT)
    waiting = fetched(served.broker, 0, 0, {0: 0}, max_wait_ms=1)
    served.disk.fails = True
    served.disk.let()
    assert served.after_fsync(append) == {"code": Code.KAFKA_STORAGE_ERROR}
    session = served.after_fsync(waiting)["session_id"]
    assert [fetched(served.broker, session, epoch, {}).error_code for epoch in (1, 2)] == [Code.NONE] * 2


def test_a_fetch_that_waits_shows_no_record_that_is_not_on_the_disk(served):
    """A reader would go on behind records that a power cut takes back, and miss others that get their offsets."""
    waiting = fetched(served.broker, 0, 0, {0: 0}, max_wait_ms=1)
    served.disk.hold()
    served.append(b"one")
    served.disk.entered.get(WAIT)
    assert served.tried(waiting) is None
    assert served.broker.attempt(waiting, expired=True) is None  # the reader waits for the disk, too

    served.disk.let()

    [partition] = served.after_fsync(waiting)["responses"][0]["partitions"]
    assert partition["high_watermark"] == 1
    assert partition["records"]


def test_an_answer_that_comes_late_acknowledges_nothing_that_the_disk_did_not_take(served):
    """For instance that of a member whose group was waiting for others."""
    ready, written = list[bool](), list[int]()

    def handler(broker, request, context):
        def attempt(expired):
            if not ready:
                return None
            written.append(served.log.append(encode_batch(None, [b"v"], broker.now_ms()), broker.now_ms()).base_offset)
            return {"joined": True}

        return DelayedOperation(attempt, 60_000, [Wakeable()])

    late = served.broker.serve(handler, None, Context(1))
    served.disk.hold()
    ready.append(True)
    assert served.tried(late) is None
    served.disk.entered.get(WAIT)
    assert (served.tried(late), written) == (None, [0])
    served.disk.fails = True
    served.disk.let()

    with pytest.raises(DisconnectClientError, match="the disk failed before it had"):
        served.after_fsync(late)


@pytest.mark.parametrize("way", ["socket", "direct"])
def test_a_reader_whose_time_ends_before_an_fsync_is_answered_behind_it(tmp_path, monkeypatch, way):
    """Its connection goes on: a disk that is slower than fetch.max.wait.ms delays readers, and no more."""
    runtime, sync = ThreadRuntime(), OperatingSystem.sync
    gate, entered, found = runtime.event(), runtime.queue(), runtime.queue()

    def slow(system, descriptor):
        entered.put(None)
        assert gate.wait(WAIT)
        sync(system, descriptor)

    properties = {"log.dirs": str(tmp_path), "log.flush.interval.messages": "1", **FEW}
    with closing(EmbeddedCluster.start(properties, runtime)) as cluster, ExitStack() as clients:
        cluster.broker.topics.create("t", 1, {})
        servers = cluster.bootstrap_servers
        network = None if way == "socket" else DirectNetwork("in process", lambda: cluster.broker, runtime)
        reader, writer = (clients.enter_context(closing(Caller(servers, each))) for each in (network, None))
        clients.callback(gate.set)
        reader.wait_until_led("t", 1)  # it is connected then
        monkeypatch.setattr(OperatingSystem, "sync", slow)
        sent = producing([("t", 0, encode_batch(None, [b"v"], cluster.broker.now_ms()))])
        # It waits for more than there is, so that its time ends.
        wanted = fetching([Fields(topic="t", partitions=[position(0, 0)])], min_bytes=SOME, max_wait=milliseconds(0.01))
        ends = [runtime.spawn("writer", lambda: writer.ask(0, 9, **sent))]
        entered.get(WAIT)
        ends.append(runtime.spawn("reader", lambda: found.put(reader.ask(1, 12, **wanted))))
        with pytest.raises(TimeoutError):
            found.get(0.2)
        gate.set()

        answer = found.get(WAIT)
        assert all(end.join(WAIT) for end in ends)
    assert answer["responses"][0]["partitions"][0]["records"]


def test_no_marker_is_written_before_its_decision_is_on_the_disk(served):
    """A marker on the disk without Prepare could end one transaction both ways."""
    broker, now = served.broker, served.broker.now_ms()
    producer = broker.coordinator.initialise("id", 1000, None, now)
    broker.coordinator.add_partitions("id", producer, [TopicPartition("t", 0)], now)
    served.log.append(encode_batch(None, [b"v"], now, producer=producer, base_sequence=0, transactional=True), now)
    served.disk.hold()

    def end(broker, request, context):
        broker.coordinator.end("id", producer, TransactionResult.COMMIT, broker.now_ms())
        return {"done": True}

    answer = broker.serve(end, None, Context(1))
    broker.settle()
    served.disk.entered.get(WAIT)
    assert broker.coordinator.describe("id").state is TransactionState.PREPARE_COMMIT
    assert served.log.last_stable_offset == 0
    served.disk.let()
    served.after_fsync(answer)
    served.complete()
    assert served.log.last_stable_offset == 2
    assert broker.coordinator.describe("id").state is TransactionState.COMPLETE_COMMIT


def prepared(served) -> ProducerIdAndEpoch:
    """A transaction with one record, decided; nothing of it waits for the disk yet."""
    broker, now = served.broker, served.broker.now_ms()
    producer = broker.coordinator.initialise("id", 60_000, None, now)
    broker.coordinator.add_partitions("id", producer, [TopicPartition("t", 0)], now)
    served.log.append(encode_batch(None, [b"v"], now, producer=producer, base_sequence=0, transactional=True), now)
    broker.coordinator.end("id", producer, TransactionResult.COMMIT, now)
    return producer


def test_completion_is_logged_after_its_markers_are_on_disk(served):
    """If Complete survived without its marker, the marker would never be written and the commit would be lost."""
    served.stop_waiting()
    prepared(served)
    known = []
    for _ in range(3):
        known.append((served.broker.coordinator.describe("id").state, served.log.last_stable_offset))
        assert served.broker._group_fsync.flush()
    state = TransactionState
    assert known == [(state.PREPARE_COMMIT, 0), (state.PREPARE_COMMIT, 2), (state.COMPLETE_COMMIT, 2)]


def test_the_next_transaction_waits_for_markers_instead_of_being_refused(served):
    """The answer to an end comes with its decision, so its client may be quicker than the next wait for the disk."""
    producer = prepared(served)
    served.disk.hold()
    add = Fields(
        v3_and_below_transactional_id="id",
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=[Fields(name="t", partitions=[0])],
    )
    answer = served.broker.serve(handler_of(24), add, Context(3))
    assert isinstance(answer, DelayedOperation)
    assert served.tried(answer) is None
    served.disk.let()
    [topic] = served.after_fsync(answer)["results_by_topic_v3_and_below"]
    assert topic["results_by_partition"][0]["partition_error_code"] is Code.NONE
    assert served.broker.coordinator.describe("id").state is TransactionState.ONGOING


def test_a_stop_leaves_no_decided_transaction_to_the_next_start(tmp_path):
    """Decision, markers, Complete: the stop waits for each."""
    served = Served(tmp_path)
    prepared(served)
    served.broker.close()
    assert served.broker.coordinator.describe("id").state is TransactionState.COMPLETE_COMMIT
    assert served.broker.coordinator.markers.is_empty
