"""A producer gives each transaction an epoch of its own where the cluster has settled on that (KIP-890)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.memory.conftest import Reached

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw.errors import EosfwError
from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata, TransactionalProducer
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, record

FIRST = {"eosfw.transaction.version": "1"}


@pytest.fixture(params=["direct", "socket"])
def old(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[BackendHarness]:
    """A cluster that has settled on version 1, over either transport."""
    cluster = EmbeddedCluster.start({"transaction.version": "1"}, ThreadRuntime())
    lab = BackendHarness(Reached("old", cluster.bootstrap_servers, request.param).backend(runtime), runtime)
    yield lab
    lab.close()
    cluster.close()


def epochs(lab: BackendHarness, producer: TransactionalProducer, topic: str) -> list[int]:
    """The producer's epoch after each of four transactions: commit, abort, commit, and one that touches nothing."""
    found = []
    for number, end in enumerate(("commit", "abort", "commit", "commit")):
        producer.begin_transaction()
        if number < 3:
            producer.send(record(topic, b"%d" % number))
            producer.flush(WAIT)
            producer.send_offsets({TopicPartition(topic, 0): number}, ConsumerGroupMetadata(f"{topic}-group"), WAIT)
        getattr(producer, f"{end}_transaction")(WAIT)
        found.append(producer._sender.producer.epoch)
    return found


def test_each_transaction_has_an_epoch_of_its_own(lab: BackendHarness) -> None:
    """KIP-890: commits and aborts alike; what touched nothing needs none. Over every transport, on a real Kafka."""
    topic, producer = lab.topic(), lab.producer()

    first, *others = epochs(lab, producer, topic)

    assert others == [first + 1, first + 2, first + 2]
    assert lab.values(topic) == [b"0", b"2"]
    assert lab.admin.group_offsets(f"{topic}-group", [TopicPartition(topic, 0)]) == {TopicPartition(topic, 0): 2}


def test_the_epoch_is_constant_under_transaction_version_1(old: BackendHarness, lab: BackendHarness) -> None:
    """KIP-890: the cluster decides; a client property selects version 1 for tests."""
    chosen = lab.producer(properties=FIRST)

    assert len(set(epochs(old, old.producer(), old.topic()))) == 1
    assert len(set(epochs(lab, chosen, lab.topic()))) == 1


@pytest.mark.parametrize(("version", "ended"), [("1", True), ("2", False)])
def test_a_late_end_does_not_hit_the_next_transaction(lab: BackendHarness, version: str, *, ended: bool) -> None:
    """KIP-890: the request of the transaction before is known by its epoch; version 1 takes it for the next one's."""
    topic = lab.topic()
    producer = lab.producer(properties={"eosfw.transaction.version": version})
    producer.begin_transaction()
    producer.send(record(topic, b"first"))
    producer.flush(WAIT)
    before = producer._sender.producer
    producer.commit_transaction(WAIT)
    lab.values(topic)
    producer.begin_transaction()
    producer.send(record(topic, b"half"))
    producer.flush(WAIT)

    late = lab.backend.producer(producer.transactional_id, properties={"eosfw.transaction.version": version})
    late._transaction_manager.transaction_v2 = version == "2"
    try:
        late._transaction_manager.end_transaction(before, late.new_timer(WAIT), commit=True)
    except EosfwError:
        assert not ended

    if not ended:
        producer.abort_transaction(WAIT)
    assert lab.values(topic) == ([b"first", b"half"] if ended else [b"first"])


def test_a_version_that_does_not_exist_is_refused(lab: BackendHarness) -> None:
    """CFG-05: with what there is."""
    with pytest.raises(EosfwError, match=r"eosfw\.transaction\.version: say auto, 1 or 2"):
        lab.backend.producer("x", properties={"eosfw.transaction.version": "3"})
    assert isinstance(lab.backend, MemoryBackend)
