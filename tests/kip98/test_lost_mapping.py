"""A producer whose transactional id has expired fails for good."""

from __future__ import annotations

import pytest

from eosfw.concurrency import Runtime
from eosfw.errors import InvalidPidMappingError
from eosfw.protocols import TransactionalProducer
from eosfw_memory.cluster import EmbeddedCluster
from kip98.clients import EMBEDDED, ClientOnCluster
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, record

JUST_OVER_A_WEEK = 7 * 86_400 + 3_600.0
"""In seconds: Kafka's `transactional.id.expiration.ms`, with the time until somebody looks."""


@pytest.mark.parametrize("way", EMBEDDED, indirect=True)
def test_a_producer_whose_id_expired_fails_and_a_new_one_begins(
    way: ClientOnCluster, own_cluster: EmbeddedCluster, runtime: Runtime
) -> None:
    """PRD-09, COR-17: fatal, since taking the id up again would let an expired zombie write (KAFKA-18019)."""
    lab = BackendHarness(way.connect(own_cluster.bootstrap_servers, runtime), runtime)
    topic = lab.topic()
    rested = lab.producer("rested")
    own_cluster.broker.jump(JUST_OVER_A_WEEK)
    own_cluster.broker.run_due_tasks()
    rested.begin_transaction()

    for _ in range(2):  # an abort would not cure it
        with pytest.raises(InvalidPidMappingError):
            _write(rested, topic, b"lost")

    again = lab.producer("rested")
    again.begin_transaction()
    _write(again, topic, b"kept")
    assert lab.values(topic) == [b"kept"]
    lab.close()


def _write(producer: TransactionalProducer, topic: str, value: bytes) -> None:
    producer.send(record(topic, value))
    producer.commit_transaction(WAIT)
