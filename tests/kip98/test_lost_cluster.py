"""When the cluster goes away, nobody claims to know what happened."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from eosfw.errors import EosfwError, FatalError, IllegalStateError, IndefiniteOutcomeError, RetriableError
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, ConsumerGroupMetadata, TransactionalProducer
from eosfw.records import OffsetRange, ProducerBatch
from eosfw.waiting import Runtime
from eosfw_memory.cluster import EmbeddedCluster
from kip98.lab import COMMITTED, WAIT, Lab
from kip98.ways import EMBEDDED, Way

BOUND, SLACK, HOUR = 1.0, 20.0, 3600.0
Call = Callable[[TransactionalProducer, float], None]
CALLS: dict[str, Call] = {
    "commit": lambda producer, timeout: producer.commit_transaction(timeout),
    "abort": lambda producer, timeout: producer.abort_transaction(timeout),
    "send_offsets": lambda producer, timeout: producer.send_offsets(
        {TopicPartition("topic", 0): 1}, ConsumerGroupMetadata("group"), timeout
    ),
}
"""Each inside a transaction whose records are written."""


@pytest.fixture(scope="module", params=EMBEDDED)
def way(request: pytest.FixtureRequest) -> Way:
    """Each client in turn."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def backend(way: Way, own_cluster: EmbeddedCluster, runtime: Runtime) -> Backend:
    """A client of the cluster that will be lost; who delivers while it sends does not wait longer than who flushes."""
    return way.hasty(BOUND).connect(own_cluster.bootstrap_servers, runtime)


@pytest.fixture
def topic(lab: Lab) -> str:
    """An empty one."""
    return lab.topic()


@pytest.fixture
def producer(lab: Lab, topic: str) -> TransactionalProducer:
    """A producer inside a transaction, its records written."""
    return lab.open_transaction(topic, *[b"v"] * 10)


@pytest.mark.parametrize("call", CALLS)
def test_a_call_without_an_answer_is_indefinite_within_its_deadline(
    producer: TransactionalProducer, own_cluster: EmbeddedCluster, runtime: Runtime, call: str
) -> None:
    """Design decision 7: the transaction may have been ended; the producer is never used again."""
    own_cluster.close()
    began = runtime.now()

    with pytest.raises(IndefiniteOutcomeError):
        CALLS[call](producer, BOUND)

    assert runtime.now() - began < BOUND + SLACK
    with pytest.raises(IndefiniteOutcomeError):
        producer.begin_transaction()
    with pytest.raises(IndefiniteOutcomeError):
        producer.abort_transaction(BOUND)


def test_a_flush_without_an_answer_is_indefinite(
    producer: TransactionalProducer, topic: str, own_cluster: EmbeddedCluster
) -> None:
    """Design decision 7: a record may have been written."""
    own_cluster.close()
    producer.send_batch(ProducerBatch(topic, [b"w"] * 10, partition=0))

    with pytest.raises(IndefiniteOutcomeError):
        producer.flush(BOUND)


def test_a_reader_whose_cluster_went_away_ends_by_an_error(lab: Lab, topic: str, own_cluster: EmbeddedCluster) -> None:
    """LogReader: never an end that only looks like one."""
    reader = lab.reader(COMMITTED)
    own_cluster.close()

    with pytest.raises(RetriableError, match=own_cluster.bootstrap_servers):
        list(reader.read({TopicPartition(topic, 0): OffsetRange(0, 1)}, BOUND))


@pytest.mark.parametrize("call", CALLS)
def test_closing_frees_whoever_waits_for_an_answer_that_never_comes(
    producer: TransactionalProducer, own_cluster: EmbeddedCluster, runtime: Runtime, call: str
) -> None:
    """Common rules: close may be called from any thread, and unblocks whoever waits inside."""
    own_cluster.close()
    caught: list[EosfwError] = []
    waiting = runtime.spawn("waiting", partial(_caught, partial(CALLS[call], producer, HOUR), caught))
    waiting.join(0.05)

    producer.close()

    assert waiting.join(WAIT)
    assert [isinstance(why, (FatalError, IllegalStateError)) for why in caught] == [True]


def _caught(call: Callable[[], None], into: list[EosfwError]) -> None:
    try:
        call()
    except EosfwError as why:
        into.append(why)
