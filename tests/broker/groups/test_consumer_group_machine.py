"""Random heartbeats of several members: a consumer group keeps its invariants, and its log gives the same group."""

from __future__ import annotations

from itertools import combinations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.effort import EFFORTS, run_machine

from broker.groups.consumer_group_harness import REBALANCE_MS, SESSION_MS, ModernBench, shown
from eosfw_memory.common.codes import Code
from eosfw_memory.server.coordinators.groups.modern.consumer_group import ConsumerGroupState

NAMES = ("a", "b", "c")
STATIC = "c"
TOPICS = ("t", "u", "tt")
CLIENTS = st.sampled_from(NAMES)


class ConsumerGroupMachine(RuleBasedStateMachine):
    """Clients that hear answers or not, and give up partitions when they please."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = ModernBench()
        self.clients = {}
        self.classic = self.bench.classic_client("classic", "t")
        self.processes = 0
        self.epochs: dict[str, int] = {}
        self.group_epoch = 0
        self.seen = None

    @initialize()
    def begin(self):
        self.bench.create("t", 3)
        for name in NAMES:
            self.start(name)

    def start(self, name):
        """A client process; a later one has another member id."""
        self.processes += 1
        instance = name if name == STATIC else None
        self.clients[name] = self.bench.client(f"{name}-{self.processes}", "t", instance=instance)

    # --- members

    @rule(name=CLIENTS, heard=st.booleans())
    def heartbeat(self, name, heard):
        self.clients[name].beat(heard=heard)

    @rule(name=CLIENTS)
    def heartbeat_without_news(self, name):
        """One that says nothing of its partitions, so nothing may be taken as given up."""
        client = self.clients[name]
        if client.epoch > 0:
            client.beat(owned=None)

    @rule(name=CLIENTS)
    def give_up(self, name):
        self.clients[name].give_up()

    @rule(name=CLIENTS, topics=st.sets(st.sampled_from(TOPICS)), regex=st.sampled_from((None, "", "t+", "[tu]")))
    def subscribe(self, name, topics, regex):
        self.clients[name].topics, self.clients[name].regex = frozenset(topics), regex

    @rule(name=CLIENTS, assignor=st.sampled_from((None, "range", "uniform")))
    def choose_assignor(self, name, assignor):
        self.clients[name].assignor = assignor

    @rule(name=CLIENTS)
    def leave(self, name):
        if self.clients[name].leave() is Code.NONE:
            self.start(name)

    @rule()
    def come_back(self):
        """A static member goes for a while; its next process has another member id."""
        if self.clients[STATIC].leave_for_a_while() is Code.NONE:
            self.start(STATIC)

    @rule(name=CLIENTS)
    def die(self, name):
        """Without a word: the member stays until its session is over."""
        self.start(name)

    @rule(milliseconds=st.sampled_from((1, SESSION_MS // 2, SESSION_MS, REBALANCE_MS)))
    def pass_time(self, milliseconds):
        self.bench.pass_time(milliseconds)

    # --- a member of the classic protocol, which makes another group of it

    @rule(heard=st.booleans())
    def heartbeat_or_join(self, heard):
        self.classic.beat(heard=heard)

    @rule()
    def give_up_too(self):
        self.classic.give_up()

    @rule()
    def leave_the_classic_way(self):
        self.classic.leave()

    # --- topics

    @rule(name=st.sampled_from(TOPICS), partitions=st.integers(1, 4))
    def create_or_grow(self, name, partitions):
        topic = self.bench.topics.by_name(name)
        if topic is None:
            self.bench.create(name, partitions)
        elif len(topic.partitions) < partitions:
            self.bench.grow(name, partitions)

    @rule(name=st.sampled_from(TOPICS))
    def delete_topic(self, name):
        topic = self.bench.topics.by_name(name)
        if topic is not None:
            self.bench.topics.delete(topic)

    # --- the end of every rebalance

    @precondition(lambda self: self.bench.group is not None)
    @rule()
    def everybody_reports(self):
        """All partitions have an owner once every member has sent its heartbeats."""
        self.bench.pass_time(SESSION_MS)  # whoever died is gone
        clients = [*self.clients.values(), self.classic]
        self.bench.settle(*clients, rounds=12)
        group = self.bench.group
        assert group.state is ConsumerGroupState.STABLE
        topics = [self.bench.topics.by_name(name) for name in group.subscribed_topics()]
        every = {(each.topic_id, number) for each in topics if each for number in range(len(each.partitions))}
        assert set().union(*(client.partitions for client in clients)) == every
        assert sum(len(client.partitions) for client in clients) == len(every)

    # --- what always holds

    def members(self):
        """The clients that the coordinator knows; others learn that they have nothing any more."""
        group = self.bench.group
        every = [*self.clients.values(), self.classic]
        return [] if group is None else [each for each in every if each.member_id in group.members]

    @invariant()
    def a_partition_has_one_owner(self):
        """GRP-04: nobody gets a partition before its last owner has reported that it gave it up."""
        for one, other in combinations(self.members(), 2):
            assert one.partitions.isdisjoint(other.partitions)

    @invariant()
    def epochs_never_go_back(self):
        group = self.bench.group
        if group is not self.seen:  # it was a classic group meanwhile: a new one, without members, counts from 0
            self.seen, self.group_epoch, self.epochs = group, 0, {}
        if group is None:
            return
        assert group.epoch >= self.group_epoch
        self.group_epoch = group.epoch
        assert group.assignment_epoch <= group.epoch
        for name, member in group.members.items():
            epoch = member.current.member_epoch
            assert epoch <= group.assignment_epoch
            if epoch != -2:
                assert epoch >= self.epochs.get(name, 0)
                self.epochs[name] = epoch

    @invariant()
    def nothing_is_kept_of_members_that_are_gone(self):
        group = self.bench.group
        if group is not None:
            assert group.target.keys() <= group.members.keys()
            assert set(group.static_members.values()) <= group.members.keys()
            assert group.regexes.keys() <= group.subscribed_regexes()

    @invariant()
    def owners_are_what_members_have(self):
        """They are known by each change, not asked of all members each time."""
        group = self.bench.group
        if group is not None:
            held = [
                (topic_id, number, name)
                for name, member in group.members.items()
                for assignment in (member.current.assigned, member.current.pending_revocation)
                for topic_id, partitions in assignment.items()
                for number in partitions
            ]
            owners = {(topic, number, name) for topic, each in group.owners.items() for number, name in each.items()}
            assert sorted(owners) == sorted(held)

    @invariant()
    def a_replay_gives_the_same(self):
        """GRP-05."""
        assert shown(self.bench.restarted().group) == shown(self.bench.group)


@EFFORTS
def test_consumer_groups_keep_their_invariants_in_any_order_of_heartbeats(effort):
    """GRP-04, GRP-05: one owner for each partition, all of them assigned in the end; see the invariants."""
    run_machine(ConsumerGroupMachine, 60 * effort)
