"""The fencer asks for many ids at a time, and still has an answer for each."""

from __future__ import annotations

import pytest

from eosfw.builtin.fencer import AdminFencer
from eosfw.errors import InvalidTransactionTimeoutError, ProducerFencedError
from eosfw.waiting import ThreadRuntime
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.coordinators.transactions import TransactionCoordinator
from kip98.lab import WAIT, Lab, record

RUNTIME = ThreadRuntime()
MANY = 205
"""More than are looked at together."""


@pytest.fixture(params=["direct", "socket"])
def backend(embedded: str, request: pytest.FixtureRequest) -> MemoryBackend:
    return MemoryBackend.connect({"bootstrap.servers": embedded, "eosfw.transport": request.param}, RUNTIME)


def test_of_many_ids_every_holder_is_shut_out(backend: MemoryBackend) -> None:
    """ADM-01: those with an open transaction, those without, those that nobody held."""
    lab = Lab(backend, RUNTIME)
    topic = lab.topic()
    zombies = [lab.producer() for _ in range(3)]
    for zombie in zombies:
        zombie.begin_transaction()
        zombie.send(record(topic, b"late"))
        zombie.flush(WAIT)
    held = [str(zombie.transactional_id) for zombie in zombies]
    names = [held[0], *(lab.name() for _ in range(MANY)), *held[1:]]

    outcomes = AdminFencer.connect(backend, {}, RUNTIME).fence(names, WAIT)

    assert outcomes == dict.fromkeys(names)
    for zombie in zombies:
        with pytest.raises(ProducerFencedError):
            zombie.commit_transaction(WAIT)
    lab.close()


@pytest.mark.parametrize("transport", ["direct", "socket"])
def test_a_refusal_is_told_for_each_id(transport: str) -> None:
    """ADM-01: the coordinator's own words, at once, since asking again would not help."""
    cluster = EmbeddedCluster.start({"transaction.max.timeout.ms": "5000"}, RUNTIME)
    given = {"bootstrap.servers": cluster.bootstrap_servers, "eosfw.transport": transport}
    backend = MemoryBackend.connect(given, RUNTIME)

    outcomes = AdminFencer.connect(backend, {}, RUNTIME).fence(["a", "b"], WAIT)

    for name, outcome in outcomes.items():
        assert isinstance(outcome, InvalidTransactionTimeoutError)
        assert repr(name) in str(outcome)
    backend.close()
    cluster.close()


@pytest.mark.parametrize("transport", ["direct", "socket"])
def test_an_answer_that_was_lost_is_asked_for_again(
    embedded: str, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ADM-01: shutting out twice does no harm."""
    backend = MemoryBackend.connect({"bootstrap.servers": embedded, "eosfw.transport": transport}, RUNTIME)
    lost: list[str] = []
    initialise = TransactionCoordinator.initialise

    def forgetful(self: TransactionCoordinator, name: str, *rest: object) -> object:
        done = initialise(self, name, *rest)  # type: ignore[arg-type]
        if name == "b" and name not in lost:
            lost.append(name)
            raise RuntimeError("done, but not told")
        return done

    monkeypatch.setattr(TransactionCoordinator, "initialise", forgetful)

    outcomes = AdminFencer.connect(backend, {}, RUNTIME).fence(["a", "b", "c"], WAIT)

    assert lost == ["b"]
    assert outcomes == dict.fromkeys("abc")
    backend.close()
