"""Offsets of a group commit with a transaction or not at all: on the embedded broker as on a real Kafka."""

from __future__ import annotations

import uuid

import pytest

from broker.groups.group_requests import (
    ADD_OFFSETS,
    COMMIT,
    DELETE,
    END,
    FETCH,
    INIT,
    TXN_COMMIT,
    Member,
    Raw,
    code_of,
    members,
    offsets,
)
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.common.codes import Code

BUSY = (Code.CONCURRENT_TRANSACTIONS, Code.COORDINATOR_LOAD_IN_PROGRESS)
UNDECIDED = Code.UNSTABLE_OFFSET_COMMIT


class Producer:
    """A transactional producer, request by request, in version 1 or 2 of transactions."""

    def __init__(self, servers: str, name: str | None = None) -> None:
        self.raw = Raw(servers)
        self.name = name or f"x-{uuid.uuid4().hex[:8]}"
        self.producer_id, self.epoch = self._init()

    def _init(self) -> tuple[int, int]:
        while True:
            answer = self.raw.ask(
                INIT,
                4,
                transactional_id=self.name,
                transaction_timeout=60_000,
                producer_id=-1,
                producer_epoch=-1,
            )
            if answer["error_code"] not in BUSY:
                assert answer["error_code"] == Code.NONE
                return answer["producer_id"], answer["producer_epoch"]

    @property
    def holder(self):
        return {"transactional_id": self.name, "producer_id": self.producer_id, "producer_epoch": self.epoch}

    def add(self, group: str) -> Code:
        while True:
            code = Code(self.raw.ask(ADD_OFFSETS, 3, group_id=group, **self.holder)["error_code"])
            if code not in BUSY:
                return code

    def commit_offsets(self, group: str, topics: list[Fields], version: int = 3, **who: object) -> Code:
        anybody = {"generation_id": -1, "member_id": "", "group_instance_id": None}
        while True:
            answer = self.raw.ask(
                TXN_COMMIT, version, topics=topics, **self.holder, **(anybody | {"group_id": group} | who)
            )
            if Code(code_of(answer)) not in (Code.COORDINATOR_NOT_AVAILABLE, *BUSY):
                return Code(code_of(answer))

    def end(self, *, commit: bool, version: int = 4) -> Code:
        while True:
            answer = self.raw.ask(END, version, committed=commit, **self.holder)
            if answer["error_code"] not in BUSY:
                break
        if version > 4 and not answer["error_code"]:
            self.producer_id, self.epoch = answer["producer_id"], answer["producer_epoch"]
        return Code(answer["error_code"])


@pytest.fixture
def producer(cluster, admin):
    made = []

    def make(name=None):
        made.append(Producer(cluster.bootstrap_servers, name))
        return made[-1]

    yield make
    for each in made:
        each.raw.close()


@pytest.fixture
def make(cluster, admin):
    with members(cluster.bootstrap_servers) as make:
        yield make


@pytest.fixture
def group(make):
    return make()


def committed(member: Member, topic: str, partition: int = 0, *, stable: bool = True) -> int | Code:
    """The group's offset, or the error code of OffsetFetch."""
    asked = [Fields(name=topic, partition_indexes=(partition,))]
    groups = [Fields(group_id=member.group, member_id=None, member_epoch=-1, topics=asked)]
    answer = member.raw.ask(FETCH, 9, groups=groups, require_stable=stable)["groups"][0]["topics"][0]["partitions"][0]
    return Code(answer["error_code"]) if answer["error_code"] else answer["committed_offset"]


def settled(member: Member, topic: str, partition: int = 0) -> int:
    """The group's offset, once the markers are written."""
    while (found := committed(member, topic, partition)) is UNDECIDED:
        """The markers follow the answer to EndTxn."""
    return found


def plainly(member: Member, topic: str, offset: int) -> int:
    """Commit outside any transaction."""
    who = {"generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None}
    return code_of(member.raw.ask(COMMIT, 9, group_id=member.group, topics=offsets(topic, p0=offset), **who))


@pytest.mark.parametrize("commit", [True, False])
def test_version_2_of_transactions_needs_no_request_before(producer, group, topic, commit):
    """KIP-890: TxnOffsetCommit itself makes the group part of the transaction; each end raises the epoch."""
    p = producer()
    for offset in (7, 8):
        assert p.commit_offsets(group.group, offsets(topic, p0=offset), 5) is Code.NONE
        assert committed(group, topic) is UNDECIDED
        assert p.end(commit=commit, version=5) is Code.NONE

        assert settled(group, topic) == (offset if commit else -1)


def test_each_transaction_decides_its_own_offsets_alone(producer, make, new_topic):
    """GRP-01: several producers, several groups, one partition each."""
    topic, group, other = new_topic(2), make(), make()
    other.group = f"{group.group}-other"
    p, q = producer(), producer()
    for each, name, partition in ((p, group.group, "p0"), (q, group.group, "p1"), (q, other.group, "p0")):
        assert each.add(name) is Code.NONE
        assert each.commit_offsets(name, offsets(topic, **{partition: 5})) is Code.NONE

    assert p.end(commit=True) is Code.NONE

    assert settled(group, topic, 0) == 5
    assert [committed(group, topic, 1), committed(other, topic)] == [UNDECIDED, UNDECIDED]
    assert q.end(commit=False) is Code.NONE
    assert [settled(group, topic, 0), settled(group, topic, 1), settled(other, topic)] == [5, -1, -1]


@pytest.mark.parametrize("last", ["plain", "transaction"])
def test_the_later_of_plain_and_transactional_offset_commits_wins(producer, group, topic, last):
    """GRP-01: by the order of the log, not by who was decided last."""
    p = producer()
    assert p.add(group.group) is Code.NONE
    if last == "transaction":
        assert plainly(group, topic, 3) == Code.NONE
    assert p.commit_offsets(group.group, offsets(topic, p0=9)) is Code.NONE
    if last == "plain":
        assert plainly(group, topic, 3) == Code.NONE
    assert p.end(commit=True) is Code.NONE

    assert settled(group, topic) == (9 if last == "transaction" else 3)


def test_deleting_a_group_drops_its_pending_transactional_offsets(producer, group, topic):
    """GRP-01: the marker that comes later brings nothing back."""
    p = producer()
    assert p.add(group.group) is Code.NONE
    assert p.commit_offsets(group.group, offsets(topic, p0=9)) is Code.NONE

    deleted = group.raw.ask(DELETE, 2, groups_names=[group.group])["results"][0]
    assert p.end(commit=True) is Code.NONE

    assert (Code(deleted["error_code"]), settled(group, topic)) == (Code.NONE, -1)
