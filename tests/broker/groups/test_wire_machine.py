"""A group whose offsets are committed with transactions, over a socket: members, producers, restarts in any order."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.effort import EFFORTS, run_machine

from broker.coordinators.broker_access import Socket
from broker.groups.group_requests import DELETE, JOIN, SYNC, Raw
from broker.groups.group_requests import Member as Client
from conformance import broker_state
from conformance.calls import NO_MEMBER, Member, commit_plain
from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.storage.records.transaction_result import TransactionResult

TOPIC, GROUP = "t", "g"
PARTITIONS = [TopicPartition(TOPIC, number) for number in range(2)]
NAMES, PRODUCERS = ("a", "b"), ("x", "y")
FOREVER_MS = 600_000
STALE = (Code.ILLEGAL_GENERATION, Code.UNKNOWN_MEMBER_ID)
names, producers = st.sampled_from(NAMES), st.sampled_from(PRODUCERS)
partitions, offsets = st.sampled_from(range(len(PARTITIONS))), st.integers(0, 99)
claims = st.sampled_from(["nobody", "now", "before", "before"])


class GroupMachine(RuleBasedStateMachine):
    """The model: who is a member of which generation; each offset with the moment it was committed."""

    def __init__(self) -> None:
        super().__init__()
        self.ground = Socket(2)
        self.ask.create(TOPIC, len(PARTITIONS))
        self.members: dict[str, Client] = {}
        self.before = dict.fromkeys(NAMES, NO_MEMBER)
        """Who each client was before it left, or before the last rebalance."""
        self.generation = -1
        self.holders = {name: self.ask.init(name).producer for name in PRODUCERS}
        self.pending: dict[str, dict[int, tuple[int, int]]] = {name: {} for name in PRODUCERS}
        self.committed: dict[int, tuple[int, int]] = {}
        self.commit_numbers = itertools.count()

    def teardown(self) -> None:
        for client in self.members.values():
            client.raw.close()
        self.ground.close()

    @property
    def ask(self):
        return self.ground.caller

    # --- members

    @rule(name=names)
    def join(self, name):
        """A new member joins, then all others join again."""
        if name in self.members:
            return
        newcomer = Client(self.ask.servers, GROUP)
        newcomer.get_id()
        newcomer.raw.send(JOIN, 9, **newcomer.joining(session_timeout=FOREVER_MS))
        for client in self.members.values():
            self.ask.until(lambda client=client: client.heartbeat() == Code.REBALANCE_IN_PROGRESS)
        self._rejoin({**self.members, name: newcomer}, waiting=[newcomer])

    @rule(name=names)
    def leave(self, name):
        """A member leaves, then all others join again."""
        if name not in self.members:
            return
        leaver = self.members.pop(name)
        self.before[name] = _claim(leaver)
        assert leaver.leave() == Code.NONE
        leaver.raw.close()
        self._rejoin(self.members, waiting=[])

    def _rejoin(self, members, waiting):
        for name, client in members.items():
            if client not in waiting:
                self.before[name] = _claim(client)
                client.raw.send(JOIN, 9, **client.joining(session_timeout=FOREVER_MS))
        self.members = members
        answers = [client.joined() for client in members.values()]
        if not answers:
            return
        assert {answer["error_code"] for answer in answers} == {Code.NONE}
        [generation], [leader] = ({each[key] for each in answers} for key in ("generation_id", "leader"))
        assert generation > self.generation, "a generation came twice"
        self.generation = generation
        self._sync(leader)

    def _sync(self, leader):
        clients = sorted(self.members.values(), key=lambda client: client.member_id == leader)
        work = {client.member_id: client.member_id.encode() for client in clients}
        for client in clients:
            client.raw.send(SYNC, 5, **client.syncing(work if client.member_id == leader else {}))
        for client in clients:
            assert client.raw.receive()["assignment"] == client.member_id.encode(), "somebody got another's work"

    # --- offsets

    @rule(claim=claims, name=names, partition=partitions, offset=offsets)
    def commit(self, claim, name, partition, offset):
        """GRP-02: members of now; anybody else only while there are none."""
        who = self._who(claim, name)
        code = commit_plain(self.ask, GROUP, PARTITIONS[partition], offset, member=who).code
        if self._is_member(who) or (who == NO_MEMBER and not self.members):
            assert code is Code.NONE
            self.committed[partition] = next(self.commit_numbers), offset
        else:
            assert code in STALE

    @rule(
        claim=claims,
        name=names,
        producer=producers,
        partition=partitions,
        offset=offsets,
        version=st.sampled_from([3, 5]),
        then=st.none() | offsets,
    )
    def commit_in_transaction(self, claim, name, producer, partition, offset, version, then):
        """GRP-01, GRP-02: a member of a generation that is over commits nothing, whatever its transaction."""
        who, holder = self._who(claim, name), self.holders[producer]
        if version == 3:
            assert self.ask.add_offsets(producer, holder, GROUP).code is Code.NONE
        code = self.ask.commit_offsets(
            producer, holder, GROUP, PARTITIONS[partition], version, offset=offset, member=who
        ).code
        if who == NO_MEMBER or self._is_member(who):
            assert code is Code.NONE
            self.pending[producer][partition] = next(self.commit_numbers), offset
            if then is not None:
                self.commit(claim, name, partition, then)
        else:
            assert code in STALE

    @rule(producer=producers, outcome=st.sampled_from(TransactionResult))
    def end(self, producer, outcome):
        if broker_state.transaction(self.ask, producer).state != "Ongoing":
            return
        reported = self.ask.end(producer, self.holders[producer], commit=outcome is TransactionResult.COMMIT)
        assert reported.code is Code.NONE
        self.ask.settled(producer)
        self.holders[producer] = reported.producer
        for partition, stated in self.pending[producer].items():
            if outcome is TransactionResult.COMMIT:
                self.committed[partition] = max(self.committed.get(partition, (-1, -1)), stated)
        self.pending[producer] = {}

    @rule(producer=producers, partition=partitions, offset=offsets, then=offsets)
    def move_on(self, producer, partition, offset, then):
        """GRP-01: a whole transaction with a plain offset commit during it."""
        claim, name = ("now", min(self.members)) if self.members else ("nobody", NAMES[0])
        self.commit_in_transaction(claim, name, producer, partition, offset, 5, then)
        self.end(producer, TransactionResult.COMMIT)

    @rule(producer=producers)
    def take_over(self, producer):
        """COR-03: what the producer before had open is aborted, its offsets with it."""
        reported = self.ask.init(producer)
        if reported.code is Code.CONCURRENT_TRANSACTIONS:
            self.ask.settled(producer)
            reported = self.ask.init(producer)
        late = self.ask.commit_offsets(producer, self.holders[producer], GROUP, PARTITIONS[0])
        assert late.code is Code.INVALID_PRODUCER_EPOCH
        self.holders[producer], self.pending[producer] = reported.producer, {}

    # --- the group as a whole

    @rule()
    def restart(self):
        """COR-14: members, generation, offsets, open transactions are rebuilt from the log as they were."""
        self.ground.restart()
        for client in self.members.values():
            client.raw.close()
            client.raw = Raw(self.ask.servers)

    @precondition(lambda self: not self.members)
    @rule()
    def delete(self):
        """With its group an offset is gone, even one that waits for the end of a transaction."""
        raw = Raw(self.ask.servers)
        [result] = raw.ask(DELETE, 2, groups_names=[GROUP])["results"]
        raw.close()
        assert result["error_code"] in (Code.NONE, Code.GROUP_ID_NOT_FOUND)
        if result["error_code"] == Code.NONE:
            self.committed, self.generation = {}, -1
            self.pending = {name: {} for name in PRODUCERS}

    # --- what must hold

    @invariant()
    def the_group_has_read_as_far_as_was_committed(self):
        """GRP-01, GRP-03: of two commits the later one counts, by the order in the log."""
        for number, where in enumerate(PARTITIONS):
            expected = self.committed.get(number, (-1, -1))[1]
            unstable = any(number in pending for pending in self.pending.values())
            assert broker_state.group_offset(self.ask, GROUP, where, stable=False) == expected
            reported = broker_state.group_offset(self.ask, GROUP, where, stable=True)
            assert reported == (Code.UNSTABLE_OFFSET_COMMIT if unstable else expected)

    @invariant()
    def whoever_is_a_member_stays_one(self):
        assert {client.heartbeat() for client in self.members.values()} <= {Code.NONE}

    # --- inside

    def _who(self, claim, name):
        if claim == "nobody":
            return NO_MEMBER
        return _claim(self.members[name]) if claim == "now" and name in self.members else self.before[name]

    def _is_member(self, who):
        return who in map(_claim, self.members.values())


def _claim(client):
    return Member(client.member_id, client.generation)


@EFFORTS
def test_groups_over_a_socket_keep_their_invariants_in_any_order(effort):
    """GRP-01, GRP-02, GRP-03, COR-03, COR-14: see the invariants."""
    run_machine(GroupMachine, 6 * effort, steps=25)
