"""A request that arrives after its client gave up does not affect later transactions."""

from __future__ import annotations

import pytest

from eosfw.errors import EosfwError, IndefiniteOutcomeError
from eosfw_memory.faults import Delay
from pytest_eos.contracts.backends.harness import UNCOMMITTED, WAIT, record

SOON = 0.5
"""Seconds that a client waits for a request that is held: it gives up, and the request arrives later."""


def test_a_commit_that_arrives_during_the_next_transaction_ends_neither(lab, faults):
    """A client with an unknown commit outcome takes a new epoch, so the late commit is fenced."""
    topic = lab.topic()
    lost = lab.open_transaction(topic, b"1", transactional_id="mover")
    held = faults.add(Delay("EndTxn"))
    with pytest.raises(IndefiniteOutcomeError):
        lost.commit_transaction(SOON)
    assert held.fired
    next_one = lab.open_transaction(topic, b"2", transactional_id="mover")

    held.release()

    assert lab.visible(topic) == []
    assert len(lab.admin.open_transactions([])) <= 1
    next_one.commit_transaction(WAIT)
    assert lab.values(topic) == [b"2"]


def test_a_late_record_of_an_aborted_transaction_is_refused_without_blocking_readers(lab, faults):
    """An accepted late record would begin a transaction without an end and block readers for ever."""
    topic = lab.topic()
    lost = lab.producer("mover")
    lost.begin_transaction()
    held = faults.add(Delay("Produce"))
    lost.send(record(topic, b"late"))
    with pytest.raises(EosfwError):
        lost.flush(SOON)
    assert held.fired
    lab.producer("mover")
    before = lab.end(topic, UNCOMMITTED)

    held.release()

    assert lab.end(topic, UNCOMMITTED) == before
    lab.write(topic, b"after")
    assert lab.values(topic) == [b"after"]


def test_a_late_initialisation_fences_only_earlier_producers(lab, faults):
    """COR-03: a late InitProducerId still fences; the fenced client initialises again and continues."""
    topic = lab.topic()
    held = faults.add(Delay("InitProducerId", transactional_id="mover"))
    with pytest.raises(EosfwError):
        lab.backend.producer("mover").init_transactions(SOON)
    assert held.fired
    current = lab.open_transaction(topic, b"1", transactional_id="mover")

    held.release()

    with pytest.raises(EosfwError):
        current.commit_transaction(WAIT)
    next_holder = lab.open_transaction(topic, b"2", transactional_id="mover")
    next_holder.commit_transaction(WAIT)
    assert lab.values(topic) == [b"2"]
