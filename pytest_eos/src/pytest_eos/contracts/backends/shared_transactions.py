"""The contract of a backend that lets several processes write in one transaction (KIP-98, KIP-890)."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from eosfw.errors import EosfwError, FatalError, IllegalStateError, UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.protocols import AcknowledgedWrite, AttachedProducer, SharedTransactions, TransactionHandle
from eosfw.records import ProducerBatch
from pytest_eos.contracts.backends.fixtures import BackendUnderTestFixtures
from pytest_eos.contracts.backends.harness import UNCOMMITTED, WAIT, BackendHarness

needs_sharing = pytest.mark.eos_needs("transactions", "read_committed", "shared_transactions")


@dataclass
class Shared:
    """A transaction that is begun and shared, one partition of a topic for each writer."""

    lab: BackendHarness
    topic: str
    transactional_id: str
    writers: int = 2
    writing: list[AttachedProducer] = field(default_factory=list)
    handles: Sequence[TransactionHandle] = ()

    def __post_init__(self) -> None:
        self.driver = self._sharing.shared_transaction(self.transactional_id)

    @property
    def _sharing(self) -> SharedTransactions:
        return cast("SharedTransactions", self.lab.backend)

    def begin(self) -> Shared:
        """Begin, share, attach."""
        self.driver.begin(WAIT)
        self.handles = self.driver.share([[TopicPartition(self.topic, n)] for n in range(self.writers)], WAIT)
        sent = [pickle.loads(pickle.dumps(each)) for each in self.handles]  # noqa: S301 - its own bytes
        self.writing = [self._sharing.attach(each) for each in sent]
        return self

    def send(self, writer: int, *values: bytes) -> None:
        """Have one writer accept records for its partition."""
        self.writing[writer].send_batch(ProducerBatch(self.topic, values, partition=writer))

    def finish(self) -> list[AcknowledgedWrite]:
        """Have every writer wait for its acknowledgements."""
        return [each.finish(WAIT) for each in self.writing]


def next_of(before: Shared) -> Shared:
    """A second transaction of the same transactional id in the same partitions."""
    return Shared(before.lab, before.topic, before.transactional_id, before.writers).begin()


class SharedTransactionContract(BackendUnderTestFixtures):
    """Part of BackendContract: for backends that declare `shared_transactions`."""

    @pytest.fixture
    def shared(self, lab: BackendHarness) -> Shared:
        """A transaction that is begun and shared by two writers."""
        return Shared(lab, lab.topic(partitions=2), lab.name()).begin()

    # --- all or nothing

    @needs_sharing
    def test_what_all_writers_wrote_appears_together(self, lab: BackendHarness, shared: Shared) -> None:
        """SHR-01: with what the driver wrote, and nothing of it before the commit."""
        own = lab.topic()
        shared.send(0, b"a", b"b")
        shared.send(1, b"c")
        writes = shared.finish()
        shared.driver.send_batch(ProducerBatch(own, [b"token"], partition=0))
        assert (lab.visible(shared.topic), lab.visible(own)) == ([], [])

        shared.driver.commit(writes, WAIT)

        assert (lab.values(shared.topic), lab.values(own)) == ([b"a", b"b", b"c"], [b"token"])
        assert [each.records for each in writes] == [
            {TopicPartition(shared.topic, 0): 2},
            {TopicPartition(shared.topic, 1): 1},
        ]

    @needs_sharing
    def test_an_abort_drops_what_all_writers_wrote(self, lab: BackendHarness, shared: Shared) -> None:
        """SHR-01: whether they have finished or not."""
        shared.send(0, b"a")
        shared.finish()

        shared.driver.abort(WAIT)

        assert lab.values(shared.topic) == []

    @needs_sharing
    def test_a_transaction_in_which_nobody_wrote_can_be_committed(self, lab: BackendHarness, shared: Shared) -> None:
        """SHR-01: and its writers are shut out all the same."""
        late = shared.writing[0]
        others = [AcknowledgedWrite(each.writer, each.producer, {}) for each in shared.handles]

        shared.driver.commit(others, WAIT)

        late.send_batch(ProducerBatch(shared.topic, [b"late"], partition=0))
        with pytest.raises(EosfwError):
            late.finish(WAIT)
        assert lab.values(shared.topic) == []

    @needs_sharing
    @pytest.mark.parametrize("reports", ["none", "one", "one twice", "of another transaction"])
    def test_a_commit_needs_one_report_of_every_writer(self, lab: BackendHarness, shared: Shared, reports: str) -> None:
        """SHR-02: whoever has not reported may still be writing. The transaction can be aborted then."""
        shared.send(0, b"a")
        first, second = shared.finish()
        stranger = AcknowledgedWrite(1, first.producer._replace(epoch=first.producer.epoch - 1), {})
        given = {"none": [], "one": [first], "one twice": [first, second, second]}.get(reports, [first, stranger])

        with pytest.raises(IllegalStateError, match="each must report once"):
            shared.driver.commit(given, WAIT)

        shared.driver.abort(WAIT)
        assert lab.values(shared.topic) == []

    # --- who may write where

    @needs_sharing
    def test_no_two_producers_write_to_one_partition(self, lab: BackendHarness, shared: Shared) -> None:
        """SHR-03: each would number its batches from 0, and the broker would drop one as a repetition."""
        topic = shared.topic
        with pytest.raises(IllegalStateError, match="not in its handle"):
            shared.writing[0].send_batch(ProducerBatch(topic, [b"x"], partition=1))
        with pytest.raises(IllegalStateError, match="not in its handle"):
            shared.writing[0].send_batch(ProducerBatch(topic, [b"x"]))
        with pytest.raises(IllegalStateError, match="that no writer has"):
            shared.driver.send_batch(ProducerBatch(topic, [b"x"], partition=1))
        other = cast("SharedTransactions", lab.backend).shared_transaction(lab.name())
        other.begin(WAIT)
        with pytest.raises(IllegalStateError, match=f"several writers have {topic}-0"):
            other.share([[TopicPartition(topic, 0)], [TopicPartition(topic, 0)]], WAIT)

        shared.driver.commit(shared.finish(), WAIT)
        assert lab.values(topic) == []

    @needs_sharing
    def test_an_object_is_for_one_transaction(self, lab: BackendHarness, shared: Shared) -> None:
        """SHR-04: the next one needs an epoch of its own, thus another initialisation."""
        shared.send(0, b"a")
        with pytest.raises(IllegalStateError, match="shared already"):
            shared.driver.share([], WAIT)
        shared.driver.commit(shared.finish(), WAIT)

        with pytest.raises(IllegalStateError):
            shared.driver.begin(WAIT)
        with pytest.raises(IllegalStateError):
            shared.driver.abort(WAIT)
        with pytest.raises(IllegalStateError, match="it has finished"):
            shared.send(0, b"b")
        following = next_of(shared)
        assert following.handles[0].producer > shared.handles[0].producer
        following.driver.abort(WAIT)
        assert lab.values(shared.topic) == [b"a"]

    @needs_sharing
    def test_a_partition_that_does_not_exist_is_refused_before_anything_is_written(self, lab: BackendHarness) -> None:
        """SHR-03: in every version of transactions alike."""
        driver = cast("SharedTransactions", lab.backend).shared_transaction(lab.name())
        driver.begin(WAIT)

        with pytest.raises(UnknownTopicOrPartitionError):
            driver.share([[TopicPartition(lab.topic(), 7)]], WAIT)

    # --- who comes too late

    @needs_sharing
    @pytest.mark.parametrize("written", [True, False], ids=["after others", "as the first"])
    @pytest.mark.parametrize("end", ["commit", "abort"])
    def test_a_write_that_arrives_after_the_end_is_refused(
        self, lab: BackendHarness, shared: Shared, end: str, *, written: bool
    ) -> None:
        """SHR-05, KIP-890: it is appended nowhere, so it can neither be seen nor hold readers up.

        The broker cannot tell a request that a client sends late from one that a network delivers late.
        """
        late = _late_writer(shared, written=written)
        writes = [
            _reported(shared, 0, {TopicPartition(shared.topic, 0): 1} if written else {}),
            shared.writing[1].finish(WAIT),
        ]
        _end(shared, end, writes)
        lab.values(shared.topic)  # until the marker is written: before it, whoever has written there may go on

        with pytest.raises(EosfwError):
            late.finish(WAIT)

        in_time = [b"early"] if written else []
        assert lab.values(shared.topic, UNCOMMITTED) == in_time
        assert lab.values(shared.topic) == (in_time if end == "commit" else [])

    @needs_sharing
    @pytest.mark.parametrize("written", [True, False], ids=["after others", "as the first"])
    def test_a_late_write_is_refused_while_the_next_transaction_is_open_there(
        self, lab: BackendHarness, shared: Shared, *, written: bool
    ) -> None:
        """SHR-05, SHR-04: the next transaction has the partition, but another epoch."""
        late = _late_writer(shared, written=written)
        shared.driver.abort(WAIT)
        following = next_of(shared)
        following.send(0, b"next")
        writes = following.finish()

        with pytest.raises(EosfwError):
            late.finish(WAIT)

        following.driver.commit(writes, WAIT)
        assert lab.values(shared.topic) == [b"next"]

    @needs_sharing
    @pytest.mark.parametrize("written", [True, False], ids=["after others", "as the first"])
    def test_writers_of_a_fenced_driver_are_refused(
        self, lab: BackendHarness, shared: Shared, *, written: bool
    ) -> None:
        """SHR-06: two drivers of one transactional id; of the first nothing becomes visible."""
        late = _late_writer(shared, written=written)
        following = next_of(shared)

        with pytest.raises(EosfwError):
            late.finish(WAIT)
        with pytest.raises(FatalError):
            shared.driver.commit([_reported(shared, n, {}) for n in range(2)], WAIT)

        following.send(1, b"second")
        following.driver.commit(following.finish(), WAIT)
        assert lab.values(shared.topic) == [b"second"]

    @needs_sharing
    def test_a_writer_that_failed_writes_nothing_more(self, lab: BackendHarness, shared: Shared) -> None:
        """SHR-02: it never reports, so the transaction is never committed."""
        shared.send(0, b"a")
        next_of(shared).driver.abort(WAIT)
        with pytest.raises(EosfwError):
            shared.writing[0].finish(WAIT)

        with pytest.raises(IllegalStateError, match="it has failed"):
            shared.send(0, b"b")
        with pytest.raises(IllegalStateError, match="it has failed"):
            shared.writing[0].finish(WAIT)
        assert lab.values(shared.topic) == []


def _late_writer(shared: Shared, *, written: bool) -> AttachedProducer:
    """Writer 0, holding a record back, after another one of it was delivered or not."""
    late = shared.writing[0]
    if written:
        shared.send(0, b"early")
        late.flush(WAIT)
    shared.send(0, b"late")
    return late


def _reported(shared: Shared, writer: int, records: dict[TopicPartition, int]) -> AcknowledgedWrite:
    handle = shared.handles[writer]
    return AcknowledgedWrite(writer, handle.producer, records)


def _end(shared: Shared, end: str, writes: Sequence[AcknowledgedWrite]) -> None:
    if end == "commit":
        shared.driver.commit(writes, WAIT)
    else:
        shared.driver.abort(WAIT)
