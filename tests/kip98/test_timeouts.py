"""The coordinator ends a transaction that lasts too long."""

from __future__ import annotations

from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, record
from pytest_eos.contracts.backends.transactions import SOON


def test_the_owner_of_a_timed_out_transaction_needs_a_new_producer(lab: BackendHarness) -> None:
    """COR-15, COR-03."""
    topic, own = lab.topic(), lab.name()
    slow = lab.open_transaction(topic, b"slow", transactional_id=own, timeout=SOON)
    assert lab.values(topic) == []
    slow.close()

    again = lab.producer(own)
    again.begin_transaction()
    again.send(record(topic, b"again"))
    again.commit_transaction(WAIT)

    assert lab.values(topic) == [b"again"]
