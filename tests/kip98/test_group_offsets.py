"""Offsets of a consumer group commit with the transaction that made something of its records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from broker.groups.group_requests import Member, members
from eosfw.errors import AbortableError, FatalError
from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata, TransactionalProducer
from kip98.clients import ClientOnCluster
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, record

Making = Callable[..., Member]


@pytest.fixture
def making(way: ClientOnCluster, request: pytest.FixtureRequest) -> Iterator[Making]:
    """Make members of a group of the cluster, request by request."""
    with members(request.getfixturevalue(way.cluster)) as make:
        yield make


@contextmanager
def transaction(producer: TransactionalProducer) -> Iterator[None]:
    producer.begin_transaction()
    yield
    producer.commit_transaction(WAIT)


def metadata(member: Member) -> ConsumerGroupMetadata:
    return ConsumerGroupMetadata(member.group, member.generation, member.member_id, member.instance)


def offset(lab: BackendHarness, group: str, one: TopicPartition) -> int | None:
    return lab.admin.group_offsets(group, [one]).get(one)


def test_sending_no_offsets_sends_no_request(lab: BackendHarness) -> None:
    """PRD-05: an empty mapping does nothing, even for a group that cannot be."""
    topic, producer = lab.topic(), lab.producer()

    with transaction(producer):
        producer.send_offsets({}, ConsumerGroupMetadata(""), WAIT)
        producer.send(record(topic, b"kept"))

    assert lab.values(topic) == [b"kept"]


def test_several_groups_commit_with_one_transaction(lab: BackendHarness) -> None:
    """PRD-05, COR-07, GRP-01: and several times, of which the last counts; records are not needed."""
    one, groups = TopicPartition(lab.topic(), 0), [ConsumerGroupMetadata(lab.name()) for _ in range(3)]
    producer = lab.producer()

    with transaction(producer):
        for group in (*groups, *groups):
            producer.send_offsets({one: 1}, group, WAIT)
        producer.send_offsets({one: 2}, groups[0], WAIT)

    assert [offset(lab, group.group_id, one) for group in groups] == [2, 1, 1]
    with transaction(producer):
        producer.send_offsets({one: 4}, groups[0], WAIT)
    assert offset(lab, groups[0].group_id, one) == 4


@pytest.mark.parametrize("zombie", ["of an older generation", "nobody knows", "whose place was taken"])
def test_a_zombie_member_must_abort_and_commits_nothing(lab: BackendHarness, making: Making, zombie: str) -> None:
    """GRP-02, PRD-05 (KIP-447): each with a transactional id of its own, so that only the group can tell."""
    topic, member = lab.topic(), making("place" if zombie == "whose place was taken" else None)
    one, producer = TopicPartition(topic, 0), lab.producer()
    member.enter()
    stale = metadata(member)
    with transaction(producer):
        producer.send_offsets({one: 3}, stale, WAIT)
    if zombie == "whose place was taken":
        making("place").join()
    elif zombie == "nobody knows":
        member.leave()
    else:
        # The leader's wish: another generation.
        member.joined_again()

    producer.begin_transaction()
    producer.send(record(topic, b"twice"))
    with pytest.raises(AbortableError) as reported:
        producer.send_offsets({one: 5}, stale, WAIT)
    assert not isinstance(reported.value, FatalError)
    producer.abort_transaction(WAIT)

    assert offset(lab, member.group, one) == 3
    with transaction(producer):
        producer.send(record(topic, b"once"))
    assert lab.values(topic) == [b"once"]
