"""The coordinator ends a transaction that lasts too long."""

from __future__ import annotations

import pytest

from eosfw.errors import InvalidTransactionTimeoutError, ProducerFencedError
from kip98.lab import UNCOMMITTED, WAIT, BackendHarness, record
from pytest_eos.contracts.transactions import SOON


def test_a_transaction_beyond_its_timeout_is_aborted_and_looks_like_a_fencing(lab: BackendHarness) -> None:
    """COR-15: the abort bumps the epoch; the owner hears what a zombie hears."""
    topic = lab.topic()
    slow = lab.open_transaction(topic, b"slow", timeout=SOON)

    assert lab.values(topic) == []  # waits until the transaction is decided
    with pytest.raises(ProducerFencedError):
        slow.commit_transaction(WAIT)


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


def test_a_timed_out_transaction_never_holds_back_what_others_commit(lab: BackendHarness) -> None:
    """COR-15, CON-01: the last stable offset moves on by itself."""
    topic = lab.topic()
    lab.open_transaction(topic, b"slow", timeout=SOON)
    lab.write(topic, b"other")

    assert lab.values(topic) == [b"other"]  # waits until the transaction is decided
    assert lab.values(topic, UNCOMMITTED) == [b"slow", b"other"]


def test_a_timeout_above_the_brokers_maximum_is_refused_at_the_start(lab: BackendHarness) -> None:
    """COR-02."""
    longest = lab.admin.max_transaction_timeout()
    assert longest is not None

    with pytest.raises(InvalidTransactionTimeoutError):
        lab.producer(timeout=longest + 1.0)
