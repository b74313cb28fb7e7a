"""The fencer asks for many ids at a time, and still has an answer for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from eosfw.builtin.fencer import AdminFencer
from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ClusterUnavailableError, ProducerFencedError
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster, served_here
from eosfw_memory.faults import Lose
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness
from pytest_eos.environment.clusters.cluster import virtual

RUNTIME = ThreadRuntime()
MANY = 205
"""More than are looked at together."""


@pytest.fixture(params=["direct", "socket"])
def backend(embedded: str, request: pytest.FixtureRequest) -> MemoryBackend:
    return MemoryBackend.connect({"bootstrap.servers": embedded, "eosfw.transport": request.param}, RUNTIME)


def test_fencing_many_ids_fences_every_producer(backend: MemoryBackend) -> None:
    """ADM-01: ids with an open transaction, without one, and unused ids."""
    lab = BackendHarness(backend, RUNTIME)
    topic = lab.topic()
    zombies = [lab.open_transaction(topic, b"late") for _ in range(3)]
    held = [str(zombie.transactional_id) for zombie in zombies]
    names = [held[0], *(lab.name() for _ in range(MANY)), *held[1:]]

    outcomes = AdminFencer.connect(backend, {}, RUNTIME).fence(names, WAIT)

    assert outcomes == dict.fromkeys(names)
    for zombie in zombies:
        with pytest.raises(ProducerFencedError):
            zombie.commit_transaction(WAIT)
    lab.close()


def test_an_id_too_long_to_log_does_not_prevent_fencing_others() -> None:
    """ADM-01: the ids it came with are asked for again without it; it alone is out of time."""
    with virtual(None) as cluster:
        backend = MemoryBackend.connect(cluster.client, cluster.runtime)
        lab = BackendHarness(backend, cluster.runtime)
        zombie, endless = lab.open_transaction(lab.topic(), b"late"), "x" * 40_000
        names = ["a", endless, str(zombie.transactional_id)]

        outcomes = AdminFencer.connect(backend, {}, cluster.runtime).fence(names, WAIT)

        assert isinstance(outcomes.pop(endless), ClusterUnavailableError)
        assert outcomes == {"a": None, str(zombie.transactional_id): None}
        with pytest.raises(ProducerFencedError):
            zombie.commit_transaction(WAIT)


def test_an_answer_that_was_lost_is_asked_for_again(backend: MemoryBackend, embedded: str) -> None:
    """ADM-01: shutting out twice does no harm."""
    lab = BackendHarness(backend, RUNTIME)
    names = [lab.name() for _ in range(3)]
    cluster = served_here(embedded)
    assert cluster is not None
    lost = cluster.faults.add(Lose("InitProducerId", transactional_id=names[1]))

    outcomes = AdminFencer.connect(backend, {}, RUNTIME).fence(names, WAIT)

    cluster.faults.remove(lost)
    assert lost.fired
    assert outcomes == dict.fromkeys(names)
    lab.close()


@pytest.mark.parametrize("flush", [{}, {"log.flush.interval.messages": "1"}], ids=["os", "fsync"])
def test_many_ids_stay_fenced_after_a_start(tmp_path: Path, flush: dict[str, str]) -> None:
    """ADM-01: with a directory whose disk is waited for a client comes again, without one turn is enough."""
    cluster = EmbeddedCluster.start({"log.dirs": str(tmp_path), **flush}, RUNTIME)
    backend = MemoryBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, RUNTIME)
    lab = BackendHarness(backend, RUNTIME)
    topic = lab.topic()
    holders = [lab.open_transaction(topic, b"late") for _ in range(5)]
    names = [str(holder.transactional_id) for holder in holders]

    result = backend.admin().fence_producers(names)

    given = {name: (result.producer_id(name).result(WAIT), result.epoch(name).result(WAIT)) for name in names}
    lab.close()
    cluster.close()
    again = EmbeddedCluster.start({"log.dirs": str(tmp_path), **flush}, RUNTIME)
    known = {each.transactional_id: each for each in again.broker.coordinator.transactions()}
    assert {name: (known[name].producer_id, known[name].epoch) for name in names} == given
    log = again.broker.topics.by_name(topic).partitions[0].log
    assert log.last_stable_offset == log.high_watermark == 2 * len(names)
    again.close()
