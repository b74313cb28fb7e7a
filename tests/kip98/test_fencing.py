"""A fencer shuts out many transactional ids at once."""

from __future__ import annotations

from functools import partial

import pytest

from eosfw.errors import ClusterUnavailableError, ProducerFencedError
from eosfw.protocols import Fencer
from kip98.lab import UNCOMMITTED, WAIT, BackendHarness, record


def test_ids_with_and_without_open_transactions_are_fenced_together(lab: BackendHarness, fencer: Fencer) -> None:
    """ADM-01: what was open is aborted, whoever comes back is refused, an unheld id is no error."""
    topic = lab.topic()
    busy = [lab.open_transaction(topic, b"zombie") for _ in range(3)]
    idle = [lab.producer() for _ in range(3)]
    victims = [p.transactional_id for p in (*busy, *idle) if p.transactional_id is not None]
    unheld = lab.name()

    outcomes = fencer.fence([*victims, unheld], WAIT)

    assert outcomes == dict.fromkeys([*victims, unheld])
    for producer in busy:
        with pytest.raises(ProducerFencedError):
            producer.commit_transaction(WAIT)
    for producer in idle:
        producer.begin_transaction()
        producer.send(record(topic, b"zombie"))
        with pytest.raises(ProducerFencedError):
            producer.commit_transaction(WAIT)
    assert lab.values(topic) == []
    assert lab.values(topic, UNCOMMITTED) == [b"zombie"] * 3


def test_a_fenced_id_serves_its_next_owner(lab: BackendHarness, fencer: Fencer) -> None:
    """ADM-01: fencing ends nobody's right to start again."""
    topic, own = lab.topic(), lab.name()
    lab.open_transaction(topic, b"zombie", transactional_id=own)
    fencer.fence([own], WAIT)

    successor = lab.open_transaction(topic, b"successor", transactional_id=own)
    successor.commit_transaction(WAIT)

    assert lab.values(topic) == [b"successor"]


def test_many_ids_with_open_transactions_are_fenced_with_one_call(lab: BackendHarness, fencer: Fencer) -> None:
    """ADM-01: each of them; that none waits for another is shown in test_fencing_codes."""
    topic = lab.topic()
    victims = [lab.name() for _ in range(12)]
    lab.together(*[partial(lab.open_transaction, topic, b"zombie", transactional_id=one) for one in victims])

    outcomes = fencer.fence(victims, WAIT)

    assert outcomes == dict.fromkeys(victims)
    assert lab.values(topic) == []


@pytest.mark.parametrize("victims", [[], [""], ["fine", ""]])
def test_nothing_to_fence_is_a_mistake_of_the_caller(lab: BackendHarness, fencer: Fencer, victims: list[str]) -> None:
    """ADM-01."""
    with pytest.raises(ValueError, match="transactional id"):
        fencer.fence(victims, WAIT)


def test_an_id_that_cannot_be_fenced_in_time_has_its_own_error(lab: BackendHarness, fencer: Fencer) -> None:
    """ADM-02: an outcome per id, never a hang."""
    nowhere = type(lab.backend).connect({"bootstrap.servers": "127.0.0.1:1"}, lab.runtime)

    outcomes = type(fencer).connect(nowhere, {}, lab.runtime).fence(["a", "b"], 0.5)

    assert [type(outcomes[victim]) for victim in ("a", "b")] == [ClusterUnavailableError] * 2
