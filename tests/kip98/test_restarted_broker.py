"""A client that has met its broker goes on with it after the broker's restart: same directory, same address."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw.errors import AbortableError
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, ConsumerGroupMetadata, TransactionalProducer
from eosfw.records import ProducerBatch
from kip98.clients import PARAMS, ClientOnCluster
from pytest_eos.contracts.backends.harness import COMMITTED, WAIT, BackendHarness
from real_kafka import RealKafka
from restartable import SOON, Broker, Embedded


def reached() -> Iterator[object]:
    """Every client. Two meet a real Kafka each night only."""
    for param in PARAMS:
        way = param.values[0]
        nightly = [pytest.mark.nightly] * (way.cluster == "real_kafka" and way.backend != "confluent")
        yield pytest.param(way, id=param.id, marks=[*param.marks, *nightly])


@pytest.fixture(scope="module", params=reached())
def way(request: pytest.FixtureRequest) -> ClientOnCluster:
    """Each client in turn."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def started() -> Iterator[dict[str, Broker]]:
    """Brokers of these tests alone, by the name of their cluster."""
    brokers: dict[str, Broker] = {}
    yield brokers
    for broker in brokers.values():
        broker.stop()


@pytest.fixture
def broker(way: ClientOnCluster, started: dict[str, Broker], tmp_path_factory: pytest.TempPathFactory) -> Broker:
    """The broker of this client."""
    if way.cluster not in started:
        folder = tmp_path_factory.mktemp(way.cluster)
        real = way.cluster == "real_kafka"
        started[way.cluster] = RealKafka.start(folder, SOON) if real else Embedded(folder, ThreadRuntime())
    return started[way.cluster]


@pytest.fixture
def backend(way: ClientOnCluster, broker: Broker, runtime: Runtime) -> Backend:
    """A client that meets the broker before its restart."""
    return way.connect(broker.bootstrap_servers, runtime)


def move_on(lab: BackendHarness, producer: TransactionalProducer, topic: str, group: str, to: int) -> None:
    """Commit one record, with how far the group is, as often as a broker that still loads its groups asks for."""
    deadline = lab.runtime.now() + WAIT
    while True:
        try:
            producer.begin_transaction()
            producer.send_batch(ProducerBatch(topic, [b"%d" % to], partition=0))
            producer.send_offsets({TopicPartition(topic, 0): to}, ConsumerGroupMetadata(group), WAIT)
            producer.commit_transaction(WAIT)
        except AbortableError:
            if lab.runtime.now() >= deadline:
                raise
            producer.abort_transaction(WAIT)
        else:
            return


def test_a_connected_client_continues_after_a_broker_restart(lab: BackendHarness, broker: Broker) -> None:
    """Protocols: look-ups, transactions with offsets, reads need no new client (librdkafka's issue 5511).

    Who led a partition before the restart leads it in a newer epoch; a look-up by the older one is refused.
    """
    topic, group, producer = lab.topic(), lab.name(), lab.producer()
    one = TopicPartition(topic, 0)

    def goes_on(number: int) -> None:
        begun = lab.end(topic, COMMITTED)
        move_on(lab, producer, topic, group, number)
        assert lab.admin.group_offsets(group, [one]) == {one: number}
        assert lab.values(topic) == [b"%d" % each for each in range(1, number + 1)]
        assert lab.end(topic, COMMITTED) > begun

    goes_on(1)
    broker.restart()
    goes_on(2)
