"""An answer that is lost after its effect costs a producer at most, never a record, never a repeat."""

from __future__ import annotations

from typing import Final

import pytest

from eosfw.errors import AbortableError, FatalError, IllegalStateError, IndefiniteOutcomeError
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, ConsumerGroupMetadata, TransactionalProducer
from eosfw.waiting import Runtime
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Lose
from kip98.lab import WAIT, Lab, record
from kip98.ways import EMBEDDED, Way
from pytest_eos.contracts.transactions import CALLS

BOUND: Final = 1.5
"""How long a call waits for an answer that never comes."""
PATIENCE: Final = 8.0
"""How long a call may take that can still succeed."""
LAST: Final = 4
REQUESTS: Final = (
    "InitProducerId",
    "AddPartitionsToTxn",
    "Produce",
    "AddOffsetsToTxn",
    "TxnOffsetCommit",
    "EndTxn",
)
EVERY: Final = 1_000_000


@pytest.fixture(scope="module", params=EMBEDDED)
def way(request: pytest.FixtureRequest) -> Way:
    """Each client in turn, on a broker that loses answers when asked to."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def backend(way: Way, own_cluster: EmbeddedCluster, runtime: Runtime) -> Backend:
    """A client that does not wait for an answer much longer than its caller."""
    return way.hasty(BOUND).connect(own_cluster.bootstrap_servers, runtime)


class Counter:
    """Writes 0, 1, 2, ...; how far it is commits with what it wrote, so a restart knows where to go on."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.topic, self.own, self.group = lab.topic(), lab.name(), ConsumerGroupMetadata(lab.name())
        self.here = TopicPartition(self.topic, 0)

    def start(self) -> TransactionalProducer:
        """A producer that owns the id, whoever had it before."""
        producer = self.lab.backend.producer(self.own)
        producer.init_transactions(WAIT)
        return producer

    def count(self, producer: TransactionalProducer, until: int, patience: float) -> None:
        """Go on behind what is committed; what an abort heals is counted again."""
        while (number := self._done()) < until:
            producer.begin_transaction()
            try:
                producer.send(record(self.topic, str(number).encode()))
                producer.flush(patience)
                producer.send_offsets({self.here: number + 1}, self.group, patience)
                producer.commit_transaction(patience)
            except AbortableError:
                producer.abort_transaction(WAIT)

    def _done(self) -> int:
        return self.lab.admin.group_offsets(self.group.group_id, [self.here]).get(self.here, 0)

    @property
    def counted(self) -> list[bytes | None]:
        """What a reader at read_committed sees once everything is decided."""
        return self.lab.values(self.topic)


EXPECTED = [str(number).encode() for number in range(LAST)]


@pytest.mark.parametrize("request_", REQUESTS)
def test_an_answer_that_never_comes_ends_the_producer_and_no_record_with_it(
    lab: Lab, own_cluster: EmbeddedCluster, request_: str
) -> None:
    """PRD-08, F9, design decision 7: indefinite; what follows is a new producer that looks what was committed."""
    counter = Counter(lab)
    producer = counter.start()
    counter.count(producer, 1, WAIT)
    if request_ == "InitProducerId":
        producer.close()
        producer = lab.backend.producer(counter.own)
    lost = own_cluster.faults.add(Lose(request_, times=EVERY, transactional_id=counter.own, silent=True))

    with pytest.raises(IndefiniteOutcomeError):
        _go_on(counter, producer, fresh=request_ == "InitProducerId")

    assert lost.fired
    own_cluster.faults.remove(lost)
    _refuses_everything(producer, counter.topic)
    producer.close()
    counter.count(counter.start(), LAST, WAIT)
    assert counter.counted == EXPECTED


@pytest.mark.parametrize("request_", REQUESTS)
def test_an_answer_that_is_lost_once_repeats_nothing(lab: Lab, own_cluster: EmbeddedCluster, request_: str) -> None:
    """PRD-08, F9: the client asks again, or gives the producer up: never is anything there twice."""
    counter = Counter(lab)
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


def _go_on(counter: Counter, producer: TransactionalProducer, *, fresh: bool) -> None:
    if fresh:
        producer.init_transactions(BOUND)
    counter.count(producer, LAST, BOUND)


def _refuses_everything(producer: TransactionalProducer, topic: str) -> None:
    for call in CALLS.values():
        with pytest.raises((FatalError, IllegalStateError)):
            call(producer, topic)
