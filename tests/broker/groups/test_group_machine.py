"""Random requests of several clients: a group keeps its invariants, and a replay of its log gives the same state."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.effort import EFFORTS, run_machine

from broker.groups.coordinator_harness import REBALANCE_MS, SESSION_MS, Bench, Client
from eosfw_memory.common.codes import Code
from eosfw_memory.storage.records.transaction_result import TransactionResult

NAMES = ("a", "b", "c")
PRODUCERS = (71, 72)
CLIENTS = st.sampled_from(NAMES)
OFFSETS = st.integers(0, 9)


class GroupMachine(RuleBasedStateMachine):
    """The model: who was given which work in which generation; what was committed, in the order of the log."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench()
        self.clients = {name: Client(name, name if name == "c" else None) for name in NAMES}
        self.work: dict[tuple[int, str], bytes] = {}
        self.committed: tuple[int, int] = (-1, -1)
        """Where in the log, then what."""
        self.pending: dict[int, tuple[int, int]] = {}
        self.generation = 0

    # --- members

    @rule(name=CLIENTS)
    def join(self, name):
        client = self.clients[name]
        answer = self.bench.join(client)
        if answer is not None and answer["error_code"] is Code.UNKNOWN_MEMBER_ID:
            client.member_id = ""

    @rule(name=CLIENTS)
    def hear(self, name):
        client = self.clients[name]
        if client.waiting is not None:
            self.bench.joined(client)

    @rule(name=CLIENTS)
    def sync(self, name):
        client = self.clients[name]
        group = self.bench.coordinator.group("g")
        leads = group is not None and group.leader == client.member_id and client.generation == group.generation
        mine = b"%d-%s" % (client.generation, name.encode())
        work = {each.member_id: b"%d-%s" % (client.generation, each.name.encode()) for each in self.clients.values()}
        answer = self.bench.sync(client, work if leads else {})
        if answer is not None and answer["error_code"] is Code.NONE:
            # Whoever gets work gets its own, of its own generation, and always the same.
            assert answer["assignment"] in (mine, b"")
            key = (client.generation, client.member_id)
            assert self.work.setdefault(key, answer["assignment"]) == answer["assignment"]

    @rule(name=CLIENTS)
    def heartbeat(self, name):
        client = self.clients[name]
        code = self.bench.heartbeat(client)
        group = self.bench.coordinator.group("g")
        if code is Code.NONE:
            assert group is not None
            assert client.member_id in group.members
            assert client.generation == group.generation

    @rule(name=CLIENTS)
    def leave(self, name):
        client = self.clients[name]
        if self.bench.leave(client) is Code.NONE:
            client.member_id, client.generation, client.waiting = "", -1, None

    @rule(name=CLIENTS)
    def come_back(self, name):
        """A new process joins under the instance id of a dead one."""
        self.clients[name] = Client(name, self.clients[name].instance)

    @rule(milliseconds=st.sampled_from((1, SESSION_MS // 2, SESSION_MS, REBALANCE_MS)))
    def pass_time(self, milliseconds):
        self.bench.pass_time(milliseconds)

    # --- offsets

    @rule(name=st.one_of(st.none(), CLIENTS), offset=OFFSETS)
    def commit(self, name, offset):
        client = None if name is None else self.clients[name]
        if self.bench.commit(offset, client) is Code.NONE:
            self._check(client)
            self.committed = (len(self.bench.log.events), offset)

    @rule(name=st.one_of(st.none(), CLIENTS), offset=OFFSETS, producer=st.sampled_from(PRODUCERS))
    def commit_in_transaction(self, name, offset, producer):
        client = None if name is None else self.clients[name]
        if self.bench.commit_in(producer, offset, client) is Code.NONE:
            if client is not None and client.generation >= 0:
                self._check(client)
            self.pending[producer] = (len(self.bench.log.events), offset)

    @rule(producer=st.sampled_from(PRODUCERS), outcome=st.sampled_from(TransactionResult))
    def end(self, producer, outcome):
        self.bench.end(producer, outcome)
        pending = self.pending.pop(producer, (-1, -1))
        if outcome is TransactionResult.COMMIT:
            self.committed = max(self.committed, pending)

    def _check(self, client):
        """GRP-02: only current members, or requests without a member id in an empty group, may commit."""
        group = self.bench.coordinator.group("g")
        if client is None or client.generation < 0:
            assert not group.members
        else:
            assert client.member_id in group.members
            assert client.generation == group.generation

    @precondition(lambda self: self.bench.state() == "Empty")
    @rule()
    def delete(self):
        assert self.bench.coordinator.delete("g", self.bench.now_ms) is Code.NONE
        self.committed, self.pending, self.work, self.generation = (-1, -1), {}, {}, 0

    # --- what always holds

    @invariant()
    def offsets_are_those_of_the_model(self):
        """GRP-01, GRP-03."""
        assert self.bench.offset(stable=False) == self.committed[1]
        assert self.bench.offset() == (Code.UNSTABLE_OFFSET_COMMIT if self.pending else self.committed[1])

    @invariant()
    def generations_never_go_back(self):
        group = self.bench.coordinator.group("g")
        if group is not None:
            assert group.generation >= self.generation
            self.generation = group.generation

    @invariant()
    def everybody_who_waits_can_be_answered(self):
        """No member waits in a stable group, and every wait has a deadline."""
        group = self.bench.coordinator.group("g")
        if group is None:
            return
        waiting = [member for member in group.members.values() if member.joining is not None]
        assert not waiting or group.state.value == "PreparingRebalance"
        assert group.state.value != "PreparingRebalance" or group.join_deadline_ms is not None
        assert bool(group.members) == (group.state.value != "Empty") or group.state.value == "PreparingRebalance"
        assert set(group.static_members.values()) <= set(group.members)

    @invariant()
    def a_replay_gives_the_same(self):
        """All state is in the log: what is stable is rebuilt as it is, the offsets always are."""
        again = self.bench.restarted()
        assert again.offset() == self.bench.offset()
        assert again.offset(stable=False) == self.bench.offset(stable=False)
        group, replayed = self.bench.coordinator.group("g"), again.coordinator.group("g")
        assert (group is None) == (replayed is None)
        if group is not None and group.state.value in ("Stable", "Empty"):
            assert _shown(replayed) == _shown(group)


def _shown(group):
    members = {
        each.member_id: (each.instance_id, each.client_id, each.assignment, each.metadata(group.protocol_name))
        for each in group.members.values()
    }
    return (
        group.state,
        group.generation,
        group.protocol_type,
        group.protocol_name,
        group.leader,
        members,
        group.static_members,
    )


@EFFORTS
def test_groups_keep_their_invariants_in_any_order_of_requests(effort):
    """GRP-01, GRP-02, GRP-03: see the invariants."""
    run_machine(GroupMachine, 30 * effort)
