"""Offsets of a group commit with a transaction or not at all: on the embedded broker as on a real Kafka.

Who may commit, and what is refused, is in the cells, arguments and memberships of `tests/conformance`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from broker.groups.group_requests import DELETE, DELETE_OFFSETS
from broker.groups.heartbeating_member import HeartbeatingMember, settle
from conformance import broker_state
from conformance.calls import NOT_YET, Answer, Caller, Member, commit_plain
from eosfw.ids import TopicPartition
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.common.codes import Code

BUSY = (Code.CONCURRENT_TRANSACTIONS, *NOT_YET)
"""A client asks again."""
UNDECIDED = Code.UNSTABLE_OFFSET_COMMIT


class Transactions:
    """The transactions of one producer, request by request, in version 1 or 2 of transactions."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.name = f"x-{uuid.uuid4().hex[:8]}"
        self.producer = self._done(lambda: caller.init(self.name)).producer

    def _done(self, ask: Callable[[], Answer]) -> Answer:
        answered: list[Answer] = []

        def asked() -> bool:
            answered.append(ask())
            return answered[-1].code not in BUSY

        self.caller.until(asked)
        assert answered[-1].code is Code.NONE
        return answered[-1]

    def commit(self, group: str, where: TopicPartition, offset: int, version: int = 3) -> None:
        """Commit the offset of a group with the open transaction, or the next one."""
        if version == 3:
            self._done(lambda: self.caller.add_offsets(self.name, self.producer, group))
        self._done(lambda: self.caller.commit_offsets(self.name, self.producer, group, where, version, offset=offset))

    def end(self, *, commit: bool, version: int = 4) -> None:
        """End the transaction, and wait until its markers are written."""
        reported = self._done(lambda: self.caller.end(self.name, self.producer, version, commit=commit))
        if version > 4:
            self.producer = reported.producer
        self.caller.settled(self.name)


@pytest.fixture
def group():
    return f"g-{uuid.uuid4().hex[:8]}"


def committed(caller: Caller, group: str, where: TopicPartition) -> int | Code:
    return broker_state.group_offset(caller, group, where, stable=True)


@pytest.mark.parametrize("commit", [True, False])
def test_version_2_of_transactions_needs_no_request_before(caller, group, topic, commit):
    """KIP-890, GRP-01, GRP-03: TxnOffsetCommit itself makes the group part of the transaction, again and again."""
    where, transactions = TopicPartition(topic, 0), Transactions(caller)
    for offset in (7, 8):
        transactions.commit(group, where, offset, 5)
        assert committed(caller, group, where) is UNDECIDED
        transactions.end(commit=commit, version=5)

        assert committed(caller, group, where) == (offset if commit else -1)


def test_each_transaction_decides_its_own_offsets_alone(caller, group, new_topic):
    """GRP-01, COR-07: several producers, several groups, one partition each."""
    topic, other = new_topic(2), f"{group}-other"
    zero, one = TopicPartition(topic, 0), TopicPartition(topic, 1)
    p, q = Transactions(caller), Transactions(caller)
    for each, name, where in ((p, group, zero), (q, group, one), (q, other, zero)):
        each.commit(name, where, 5)

    p.end(commit=True)

    assert committed(caller, group, zero) == 5
    assert [committed(caller, group, one), committed(caller, other, zero)] == [UNDECIDED, UNDECIDED]
    q.end(commit=False)
    assert [committed(caller, *each) for each in ((group, zero), (group, one), (other, zero))] == [5, -1, -1]


@pytest.mark.parametrize("last", ["plain", "transaction"])
def test_the_later_of_plain_and_transactional_offset_commits_wins(caller, group, topic, last):
    """GRP-01: by the order of the log, not by who was decided last."""
    where, transactions = TopicPartition(topic, 0), Transactions(caller)
    if last == "transaction":
        assert commit_plain(caller, group, where, 3).code is Code.NONE
    transactions.commit(group, where, 9)
    if last == "plain":
        assert commit_plain(caller, group, where, 3).code is Code.NONE
    transactions.end(commit=True)

    assert committed(caller, group, where) == (9 if last == "transaction" else 3)


def test_deleting_a_group_drops_its_pending_transactional_offsets(caller, group, topic):
    """GRP-01: the marker that comes later brings nothing back."""
    where, transactions = TopicPartition(topic, 0), Transactions(caller)
    transactions.commit(group, where, 9)

    [deleted] = caller.ask(DELETE, 2, groups_names=[group])["results"]
    transactions.end(commit=True)

    assert (Code(deleted["error_code"]), committed(caller, group, where)) == (Code.NONE, -1)


def test_deleting_an_offset_drops_the_pending_one_of_a_transaction(caller, group, topic):
    """GRP-01: also where the group has committed none before."""
    where, transactions = TopicPartition(topic, 0), Transactions(caller)
    transactions.commit(group, where, 9)

    topics = [Fields(name=topic, partitions=[Fields(partition_index=0)])]
    deleted = caller.ask(DELETE_OFFSETS, 0, group_id=group, topics=topics)
    transactions.end(commit=True)

    assert (Code(deleted["error_code"]), committed(caller, group, where)) == (Code.NONE, -1)


def test_a_member_of_a_consumer_group_commits_in_a_transaction_with_its_own_epoch(caller, group, topic, raw):
    """GRP-02, GRP-04: TxnOffsetCommit knows no other code for another epoch; who names no member may commit."""
    one = HeartbeatingMember(raw, group, "one", topic)
    settle(one)
    where, transactions = TopicPartition(topic, 0), Transactions(caller)
    transactions.commit(group, where, 3)

    def code(member: Member) -> Code:
        return caller.commit_offsets(transactions.name, transactions.producer, group, where, 3, member=member).code

    assert code(Member("one", one.epoch)) is Code.NONE
    assert code(Member("one", one.epoch + 1)) is Code.ILLEGAL_GENERATION
    assert code(Member("one", one.epoch - 1)) is Code.ILLEGAL_GENERATION
    assert code(Member("other", one.epoch)) is Code.UNKNOWN_MEMBER_ID
    transactions.end(commit=False)
