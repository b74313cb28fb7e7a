"""The log of groups rebuilds what was committed, after compaction and on disk as well."""

from __future__ import annotations

from types import SimpleNamespace as Request

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.effort import EFFORTS, run_machine

from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.coordinators.coordinator_snapshot import decode, encode
from eosfw_memory.server.coordinators.groups.coordinator import GroupCoordinator
from eosfw_memory.server.coordinators.groups.offsets_topic import OffsetsTopic
from eosfw_memory.server.protocol.handlers.groups import offset_commit
from eosfw_memory.server.protocol.handlers.transactions import txn_offset_commit
from eosfw_memory.storage.cleaner.compaction import compact
from eosfw_memory.storage.records.transaction_result import TransactionResult
from eosfw_memory.storage.topics.topic import GROUP_LOG

from ..brokers import started
from .coordinator_harness import joining

GROUPS = ("g", "h")
NAMES = ("x", "y")
WHERE = [TopicPartition("t", number) for number in range(2)]
SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.version": "1"}
SMALL = {"cleanup.policy": "compact", "segment.bytes": "400", "min.cleanable.dirty.ratio": "0"}
A_DAY_MS = 86_400_000


def made(root=None) -> Broker:
    broker = started(root, SETTINGS, t=len(WHERE))
    if broker.topics.by_name(GROUP_LOG) is None:
        broker.topics.create(GROUP_LOG, 1, SMALL)
    return broker


def topics(where: TopicPartition, offset: int) -> list[Request]:
    each = Request(partition_index=where.partition, committed_offset=offset, committed_metadata="")
    return [Request(name=where.topic, partitions=[each])]


def commit(broker: Broker, group: str, where: TopicPartition, offset: int, holder=None) -> Code:
    who = {"group_id": group, "member_id": "", "generation_id_or_member_epoch": -1, "topics": topics(where, offset)}
    if holder is None:
        answer = broker.serve(offset_commit.handle, Request(**who), Context(8))
    else:
        name, producer = holder
        broker.coordinator.add_partitions(name, producer, [broker.offsets_partition(group)], broker.now_ms())
        who |= {"transactional_id": name, "producer_id": producer.producer_id, "producer_epoch": producer.epoch}
        answer = broker.serve(txn_offset_commit.handle, Request(**who, generation_id=-1), Context(3))
    return answer["topics"][0]["partitions"][0]["error_code"]


def from_snapshot(broker: Broker) -> tuple[list, GroupCoordinator]:
    """What coordinators know that begin with a snapshot of these, never looking at a log."""
    kept = decode(encode(broker.coordinator.transactions(), broker.groups.store.snapshot()))
    groups = GroupCoordinator(OffsetsTopic(broker.group_log, kept.groups), broker.settings.groups)
    groups.store.load(broker.now_ms())
    return sorted(known for _, known in kept.transactions), groups


def shown(broker: Broker) -> dict:
    """All offsets and members; a group with neither is left out, since compaction may remove it."""
    offsets = {
        (group, stable): broker.groups.offsets.fetch(group, WHERE, stable=stable)
        for group in GROUPS
        for stable in (True, False)
    }
    members = {group.group_id: (group.state, group.generation, set(group.members)) for group in broker.groups.groups()}
    return {"offsets": offsets, "members": {name: each for name, each in members.items() if each[-1]}}


class Replayed(RuleBasedStateMachine):
    """Offsets of two groups, committed by two producers or plainly, with compactions at any time."""

    @initialize()
    def begin(self):
        self.broker = made()
        self.holders = {name: self.broker.coordinator.initialise(name, 60_000, None, 1) for name in NAMES}
        self.open: set[str] = set()

    @rule(group=st.sampled_from(GROUPS), where=st.sampled_from(WHERE), offset=st.integers(0, 99))
    def commit(self, group, where, offset):
        assert commit(self.broker, group, where, offset) is Code.NONE

    @rule(
        name=st.sampled_from(NAMES),
        group=st.sampled_from(GROUPS),
        where=st.sampled_from(WHERE),
        offset=st.integers(0, 99),
    )
    def commit_in_transaction(self, name, group, where, offset):
        assert commit(self.broker, group, where, offset, (name, self.holders[name])) is Code.NONE
        self.open.add(name)

    @rule(name=st.sampled_from(NAMES), outcome=st.sampled_from(TransactionResult))
    def end(self, name, outcome):
        if name in self.open:
            self.open.remove(name)
            self.broker.coordinator.end(name, self.holders[name], outcome, self.broker.now_ms())
            self.broker.settle()

    @rule(group=st.sampled_from(GROUPS))
    def delete(self, group):
        self.broker.groups.delete(group, self.broker.now_ms())

    @rule(days=st.sampled_from((0, 2)))
    def compact(self, days):
        log = self.broker.topics.partition(GROUP_LOG, 0).log
        compact(log, self.broker.now_ms() + days * A_DAY_MS)

    @invariant()
    def a_replay_gives_the_same(self):
        """BRK-09: all state is in the log, pending offsets as well; what was deleted stays so."""
        before = shown(self.broker)
        self.broker.groups.store.load(self.broker.now_ms())
        assert shown(self.broker) == before

    @invariant()
    def a_snapshot_gives_the_same_as_a_replay(self):
        """What comes later meets the state of the snapshot: pending offsets are decided in it, groups deleted."""
        before = shown(self.broker)
        transactions, self.broker.groups = from_snapshot(self.broker)
        assert shown(self.broker) == before
        self.broker.coordinator.load()
        assert transactions == sorted(self.broker.coordinator.transactions())


@EFFORTS
def test_a_replay_of_the_group_log_restores_the_live_state(effort):
    run_machine(Replayed, 15 * effort)


def test_a_restart_restores_groups_and_pending_offsets(tmp_path):
    """GRP-01, GRP-03: members go on, and the marker that comes later decides the rest."""
    broker = made(tmp_path)
    member = _joined(broker)
    commit(broker, "h", WHERE[0], 3)
    holder = ("x", broker.coordinator.initialise("x", 60_000, None, broker.now_ms()))
    commit(broker, "h", WHERE[0], 7, holder)
    before = shown(broker)
    assert before["offsets"]["h", True][WHERE[0]] is Code.UNSTABLE_OFFSET_COMMIT
    broker.close()

    again = made(tmp_path)

    assert shown(again) == before
    assert again.groups.members.heartbeat("g", member, again.now_ms()) is Code.NONE
    again.coordinator.end(*holder, TransactionResult.COMMIT, again.now_ms())
    again.settle()
    assert again.groups.offsets.fetch("h", WHERE[:1], stable=True)[WHERE[0]].offset == 7
    again.close()


def _joined(broker: Broker) -> Request:
    request = joining(protocol_type="connect", protocols=(("eager", b""),), needs_known_id=False)
    answer = broker.groups.members.join("g", request, broker.now_ms())
    reported = answer.attempt(False) if hasattr(answer, "attempt") else answer
    member = Request(
        member_id=reported["member_id"], generation_id=reported["generation_id"], group_instance_id=None, assignments=[]
    )
    broker.groups.members.sync("g", member, broker.now_ms())
    return member
