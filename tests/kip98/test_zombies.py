"""InitProducerId fences the earlier producer of a transactional id."""

from __future__ import annotations

import pytest

from eosfw.errors import ProducerFencedError
from eosfw.records import ProducerBatch
from pytest_eos.contracts.backends.harness import UNCOMMITTED, WAIT, BackendHarness


def test_zombie_send_after_successor_starts_reaches_no_reader(lab: BackendHarness) -> None:
    """COR-03: the partition refuses the old epoch, so not even a dirty reader sees the record."""
    topic, shared = lab.topic(), lab.name()
    zombie = lab.open_transaction(topic, b"before", transactional_id=shared)
    lab.producer(shared)

    zombie.send_batch(ProducerBatch(topic, [b"after"] * 10, partition=0))
    with pytest.raises(ProducerFencedError):
        zombie.flush(WAIT)

    assert lab.values(topic) == []
    assert lab.values(topic, UNCOMMITTED) == [b"before"]


def test_only_the_newest_producer_of_an_id_commits(lab: BackendHarness) -> None:
    """COR-03: one producer id, an epoch for each."""
    topic, shared = lab.topic(), lab.name()
    holders = [lab.open_transaction(topic, b"%d" % turn, transactional_id=shared) for turn in range(4)]

    *zombies, last = holders
    for zombie in zombies:
        with pytest.raises(ProducerFencedError):
            zombie.commit_transaction(WAIT)
    last.commit_transaction(WAIT)

    assert lab.values(topic) == [b"3"]
