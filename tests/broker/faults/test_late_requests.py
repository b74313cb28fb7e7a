"""A request that arrives after its client gave up does not affect later transactions."""

from __future__ import annotations

import pytest

from eosfw.errors import EosfwError
from eosfw_memory.faults import Delay
from pytest_eos.contracts.backends.harness import UNCOMMITTED, WAIT, record

from .giving_up import give_up


def test_a_commit_that_arrives_during_the_next_transaction_ends_neither(lab, faults):
    """A client with an unknown commit outcome takes a new epoch, so the late commit is fenced."""
    topic = lab.topic()
    lost = lab.open_transaction(topic, b"1", transactional_id="mover")
    held = faults.add(Delay("EndTxn"))
    give_up(lab, lost, held, lambda: lost.commit_transaction(WAIT))
    next_one = lab.open_transaction(topic, b"2", transactional_id="mover")

    held.release()

    assert lab.visible(topic) == []
    assert len(lab.admin.open_transactions([])) <= 1
    next_one.commit_transaction(WAIT)
    assert lab.values(topic) == [b"2"]


def test_a_late_record_of_an_aborted_transaction_is_refused_without_blocking_readers(lab, faults):
    """An accepted late record would begin a transaction without an end and block readers for ever."""
    topic, lost = lab.topic(), lab.producer("mover")
    lost.begin_transaction()
    held = faults.add(Delay("Produce"))

    def write():
        lost.send(record(topic, b"late"))
        lost.flush(WAIT)

    give_up(lab, lost, held, write)
    lab.producer("mover")
    before = lab.end(topic, UNCOMMITTED)

    held.release()

    assert lab.end(topic, UNCOMMITTED) == before
    lab.write(topic, b"after")
    assert lab.values(topic) == [b"after"]


def test_a_late_initialisation_fences_only_earlier_producers(lab, faults):
    """COR-03: a late InitProducerId still fences; the fenced client initialises again and continues."""
    topic, late = lab.topic(), lab.backend.producer("mover")
    held = faults.add(Delay("InitProducerId", transactional_id="mover"))
    give_up(lab, late, held, lambda: late.init_transactions(WAIT))
    current = lab.open_transaction(topic, b"1", transactional_id="mover")

    held.release()

    with pytest.raises(EosfwError):
        current.commit_transaction(WAIT)
    lab.open_transaction(topic, b"2", transactional_id="mover").commit_transaction(WAIT)
    assert lab.values(topic) == [b"2"]
