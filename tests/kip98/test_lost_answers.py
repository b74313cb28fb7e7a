"""A response lost after its effect costs at most the producer: nothing is lost, repeated, or shown when aborted."""

from __future__ import annotations

from typing import Final

import pytest

from eosfw.concurrency import Runtime
from eosfw.errors import EosfwError, FatalError, IllegalStateError, IndefiniteOutcomeError
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, ConsumerGroupMetadata, TransactionalProducer
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Lose
from kip98.clients import OVER_SOCKETS, ClientOnCluster
from kip98.counter import Counter, Names
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, record
from pytest_eos.contracts.backends.transactions import CALLS

BOUND: Final = 3.0
"""How long a call waits for an answer that never comes; a busy machine gives every other answer by then."""
PATIENCE: Final = 8.0
"""How long a call may take that can still succeed."""
LAST: Final = 4
REQUESTS: Final = (
    "InitProducerId",
    pytest.param("AddPartitionsToTxn", marks=pytest.mark.nightly),
    "Produce",
    pytest.param("AddOffsetsToTxn", marks=pytest.mark.nightly),
    "TxnOffsetCommit",
    "EndTxn",
)
"""Clients treat the other two as they treat these."""
STEPS: Final = {
    "AddPartitionsToTxn": "flush",
    "Produce": "flush",
    "AddOffsetsToTxn": "send_offsets",
    "TxnOffsetCommit": "send_offsets",
    "EndTxn": "commit",
}
"""The step that waits for the answer. To the others a machine that stands still must not look like a lost one."""
IN_A_TRANSACTION: Final = ("AddPartitionsToTxn", "Produce", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn")
EVERY: Final = 1_000_000


@pytest.fixture(scope="module", params=OVER_SOCKETS)
def way(request: pytest.FixtureRequest) -> ClientOnCluster:
    """Each client in turn, on a broker that loses answers when asked to."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def backend(
    way: ClientOnCluster, own_cluster: EmbeddedCluster, runtime: Runtime, request: pytest.FixtureRequest
) -> Backend:
    """A client that does not wait for an answer much longer than its caller."""
    lost = getattr(request.node, "callspec", None)
    asked = "" if lost is None else lost.params.get("request_", "")
    return way.sending(asked).hasty(BOUND).connect(own_cluster.bootstrap_servers, runtime)


EXPECTED = [str(number).encode() for number in range(LAST)]


@pytest.mark.parametrize("request_", REQUESTS)
def test_a_request_without_an_answer_ends_the_producer_and_loses_nothing(
    lab: BackendHarness, own_cluster: EmbeddedCluster, request_: str
) -> None:
    """PRD-08, PRD-11: the outcome is indefinite; a new producer reads the committed state and continues."""
    counter = Counter(lab, Names.fresh(lab))
    producer = counter.start()
    counter.count(producer, 1, WAIT)
    if request_ == "InitProducerId":
        producer.close()
        producer = lab.backend.producer(counter.own)
    lost = own_cluster.faults.add(Lose(request_, times=EVERY, transactional_id=counter.own, silent=True))

    with pytest.raises(IndefiniteOutcomeError):
        _go_on(counter, producer, request_)

    assert lost.fired
    own_cluster.faults.remove(lost)
    _refuses_everything(producer, counter.topic)
    producer.close()
    counter.count(counter.start(), LAST, WAIT)
    assert counter.counted == EXPECTED


@pytest.mark.parametrize("request_", REQUESTS)
def test_an_answer_that_is_lost_once_repeats_nothing(
    lab: BackendHarness, own_cluster: EmbeddedCluster, request_: str
) -> None:
    """PRD-08: the client asks again, or gives the producer up: never is anything there twice."""
    counter = Counter(lab, Names.fresh(lab))
    lost = own_cluster.faults.add(Lose(request_, nth=2, transactional_id=counter.own))
    if request_ == "InitProducerId":
        counter.start().close()

    ended = [_counted(counter) for _ in range(2)]

    assert ended[-1], "one lost answer must cost one producer at most"
    assert lost.fired
    assert counter.counted == EXPECTED


def _counted(counter: Counter) -> bool:
    """Whether one producer got to the end."""
    producer = counter.lab.backend.producer(counter.own)
    try:
        producer.init_transactions(WAIT)
        # Behind a connection that broke, librdkafka may never find the group's coordinator again: giving up is right.
        counter.count(producer, LAST, PATIENCE)
    except FatalError:
        _refuses_everything(producer, counter.topic)
        return False
    finally:
        producer.close()
    return True


def _go_on(counter: Counter, producer: TransactionalProducer, lost: str) -> None:
    if lost == "InitProducerId":
        producer.init_transactions(BOUND)
    else:
        counter.count(producer, LAST, WAIT, **{STEPS[lost]: BOUND})


def _refuses_everything(producer: TransactionalProducer, topic: str) -> None:
    for call in CALLS.values():
        with pytest.raises((FatalError, IllegalStateError)):
            call(producer, topic)


# --- in a transaction that is aborted


class Mover:
    """Moves offsets with records; what it aborts it moves again."""

    def __init__(self, lab: BackendHarness) -> None:
        self.lab = lab
        self.topic, self.own, self.group = lab.topic(), lab.name(), ConsumerGroupMetadata(lab.name())
        self.here = TopicPartition(self.topic, 0)

    def begin(self, producer: TransactionalProducer, value: bytes, offset: int, patience: float) -> None:
        """Begin a transaction and send its records and offsets."""
        producer.begin_transaction()
        producer.send(record(self.topic, value))
        producer.flush(patience)
        producer.send_offsets({self.here: offset}, self.group, patience)

    def move(self, value: bytes, offset: int) -> None:
        """One whole transaction by a new producer."""
        producer = self.lab.producer(self.own)
        self.begin(producer, value, offset, WAIT)
        producer.commit_transaction(WAIT)
        producer.close()

    @property
    def seen(self) -> tuple[list[bytes | None], int | None]:
        """What a reader at read_committed sees once everything is decided; how far the group has read."""
        return self.lab.values(self.topic), self.lab.admin.group_offsets(self.group.group_id, [self.here]).get(
            self.here
        )


def test_an_abort_without_an_answer_shows_nothing_and_ends_its_producer(
    lab: BackendHarness, own_cluster: EmbeddedCluster
) -> None:
    """PRD-04, PRD-08: for every result of the call the transaction can no longer be committed."""
    mover = Mover(lab)
    producer = lab.producer(mover.own)
    mover.begin(producer, b"aborted", 7, WAIT)
    lost = own_cluster.faults.add(Lose("EndTxn", times=EVERY, transactional_id=mover.own, silent=True))

    with pytest.raises(EosfwError) as reported:
        producer.abort_transaction(BOUND)

    own_cluster.faults.remove(lost)
    assert lost.fired
    assert isinstance(reported.value, IndefiniteOutcomeError)
    with pytest.raises(EosfwError):
        producer.commit_transaction(BOUND)
    producer.close()
    assert mover.seen == ([], None)
    mover.move(b"moved", 8)
    assert mover.seen == ([b"moved"], 8)


@pytest.mark.parametrize("request_", IN_A_TRANSACTION)
def test_an_answer_lost_in_an_aborted_transaction_shows_no_records(
    lab: BackendHarness, own_cluster: EmbeddedCluster, request_: str
) -> None:
    """PRD-04: lost before or by the abort; this producer or a new one continues."""
    mover = Mover(lab)
    producer = lab.producer(mover.own)
    mover.begin(producer, b"first", 1, WAIT)
    producer.commit_transaction(WAIT)
    lost = own_cluster.faults.add(Lose(request_, transactional_id=mover.own))

    goes_on = _aborted(mover, producer)

    assert lost.fired
    assert mover.seen == ([b"first"], 1)
    if goes_on:
        mover.begin(producer, b"second", 2, WAIT)
        producer.commit_transaction(WAIT)
    producer.close()
    mover.move(b"third", 3)
    assert mover.seen == ([b"first", *([b"second"] if goes_on else []), b"third"], 3)


def _aborted(mover: Mover, producer: TransactionalProducer) -> bool:
    """Whether the producer aborted and is usable; otherwise a new producer of its id has aborted for it."""
    try:
        mover.begin(producer, b"aborted", 7, PATIENCE)
        producer.abort_transaction(PATIENCE)
    except EosfwError:
        mover.lab.producer(mover.own).close()
        return False
    return True
