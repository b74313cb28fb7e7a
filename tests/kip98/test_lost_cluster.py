"""After the loss of the cluster every call reports an indefinite outcome."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from eosfw.concurrency import Runtime
from eosfw.errors import (
    ClusterUnavailableError,
    ConcurrentTransactionsError,
    EosfwError,
    FatalError,
    IllegalStateError,
    IndefiniteOutcomeError,
    RetriableError,
)
from eosfw.fence_producers_result import FenceProducersOptions
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, ConsumerGroupMetadata, TransactionalProducer
from eosfw.records import OffsetRange, ProducerBatch
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Drop, Fail
from kip98.clients import EMBEDDED, ClientOnCluster
from pytest_eos.contracts.backends.harness import COMMITTED, WAIT, BackendHarness

BOUND, ROOM, SLACK, HOUR = 1.0, 3.0, 20.0, 3600.0
ProducerCall = Callable[[TransactionalProducer, float], None]
CALLS: dict[str, ProducerCall] = {
    "commit": lambda producer, timeout: producer.commit_transaction(timeout),
    "abort": lambda producer, timeout: producer.abort_transaction(timeout),
    "send_offsets": lambda producer, timeout: producer.send_offsets(
        {TopicPartition("topic", 0): 1}, ConsumerGroupMetadata("group"), timeout
    ),
}
"""Each inside a transaction whose records are written."""
EVERY = 1_000_000
WIRED = [param for param in EMBEDDED if "direct" not in param.id]
"""Clients with an unreachable address; clients without sockets report that this process serves no cluster."""

ASKING = [param for param in WIRED if not param.id.startswith("confluent")]
"""Those whose questions are ours, so that we hear each code."""


@pytest.fixture(scope="module", params=EMBEDDED)
def way(request: pytest.FixtureRequest) -> ClientOnCluster:
    """Each client in turn."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def backend(way: ClientOnCluster, own_cluster: EmbeddedCluster, runtime: Runtime) -> Backend:
    """A client of the cluster that will be lost; who delivers while it sends does not wait longer than who flushes."""
    return way.hasty(BOUND).connect(own_cluster.bootstrap_servers, runtime)


@pytest.fixture
def topic(lab: BackendHarness) -> str:
    """An empty topic."""
    return lab.topic()


@pytest.fixture
def producer(lab: BackendHarness, topic: str) -> TransactionalProducer:
    """A producer inside a transaction, its records written."""
    return lab.open_transaction(topic, *[b"v"] * 10)


@pytest.mark.parametrize("call", CALLS)
def test_a_call_without_an_answer_is_indefinite_within_its_deadline(
    producer: TransactionalProducer, own_cluster: EmbeddedCluster, runtime: Runtime, call: str
) -> None:
    """The transaction may have been ended; the producer is never used again."""
    own_cluster.close()
    began = runtime.now()

    with pytest.raises(IndefiniteOutcomeError):
        CALLS[call](producer, BOUND)

    assert runtime.now() - began < BOUND + SLACK
    with pytest.raises(IndefiniteOutcomeError):
        producer.begin_transaction()
    with pytest.raises(IndefiniteOutcomeError):
        producer.abort_transaction(BOUND)


@pytest.mark.parametrize("way", WIRED, indirect=True)
def test_each_id_that_cannot_be_fenced_is_named(backend: Backend, own_cluster: EmbeddedCluster) -> None:
    """ADM-02: each error names its id, so callers can collect errors without the ids."""
    victims, admin = ["first-victim", "second-victim"], backend.admin()
    own_cluster.close()

    outcomes = admin.fence_producers(victims, FenceProducersOptions(BOUND)).outcomes()

    admin.close()
    assert {type(reported) for reported in outcomes.values()} == {ClusterUnavailableError}
    assert [victim for victim, reported in outcomes.items() if repr(victim) in str(reported)] == victims


@pytest.mark.parametrize("way", ASKING, indirect=True)
def test_a_fencing_timeout_reports_the_last_error_code(backend: Backend, own_cluster: EmbeddedCluster) -> None:
    """ADM-02: the last error code of the broker is reported rather than the last unanswered request."""
    own_cluster.faults.add(Fail("InitProducerId", code="CONCURRENT_TRANSACTIONS"))
    unheard = own_cluster.faults.add(Drop("InitProducerId", nth=2, times=EVERY, silent=True))

    reported = backend.admin().fence_producers(["victim"], FenceProducersOptions(ROOM)).outcomes()["victim"]

    assert unheard.firings
    assert isinstance(reported, ConcurrentTransactionsError)
    assert "'victim'" in str(reported)


def test_a_flush_without_an_answer_is_indefinite(
    producer: TransactionalProducer, topic: str, own_cluster: EmbeddedCluster
) -> None:
    """A record may have been written."""
    own_cluster.close()
    producer.send_batch(ProducerBatch(topic, [b"w"] * 10, partition=0))

    with pytest.raises(IndefiniteOutcomeError):
        producer.flush(BOUND)


def test_a_reader_whose_cluster_went_away_ends_by_an_error(
    lab: BackendHarness, topic: str, own_cluster: EmbeddedCluster
) -> None:
    """LogReader: never an end that only looks like one."""
    reader = lab.reader(COMMITTED)
    own_cluster.close()

    with pytest.raises(RetriableError, match=own_cluster.bootstrap_servers):
        list(reader.read({TopicPartition(topic, 0): OffsetRange(0, 1)}, BOUND))


@pytest.mark.parametrize("call", CALLS)
def test_closing_unblocks_calls_without_an_answer(
    producer: TransactionalProducer, own_cluster: EmbeddedCluster, runtime: Runtime, call: str
) -> None:
    """Common rules: close may be called from any thread and unblocks waiting calls."""
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
