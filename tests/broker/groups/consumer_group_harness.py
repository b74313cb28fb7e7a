"""Members of a consumer group as their own clients see them, for tests of the coordinator alone."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from broker.groups.classic_client_harness import ClassicClient
from broker.groups.coordinator_harness import ListLog
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators.groups.coordinator import GroupCoordinator
from eosfw_memory.server.coordinators.groups.group_metadata_manager import GroupSettings
from eosfw_memory.server.coordinators.groups.group_records import GroupKey, read_key
from eosfw_memory.server.coordinators.groups.modern.consumer_group import ConsumerGroup
from eosfw_memory.server.coordinators.groups.modern.heartbeat import HeartbeatRequest
from eosfw_memory.server.coordinators.groups.modern.member import Assignment
from eosfw_memory.server.coordinators.groups.offsets_topic import GroupLogRecord
from eosfw_memory.storage.topics.topic import Topics

REBALANCE_MS = 60_000
SESSION_MS = 45_000
GROUP = "g"


class ModernClient:
    """A member: what it has, and what the coordinator told it."""

    def __init__(self, bench: ModernBench, member_id: str, *topics: str, instance: str | None = None) -> None:
        self._bench = bench
        self.member_id = member_id
        self.instance = instance
        self.topics: frozenset[str] | None = frozenset(topics)
        self.regex: str | None = None
        self.assignor: str | None = None
        self.epoch = 0
        self.owned: dict[UUID, frozenset[int]] = {}
        """The partitions it reads: a new one at once, a revoked one until `give_up`."""
        self.told: Assignment = {}

    def beat(self, *, heard: bool = True, **changes: Any) -> Code:
        """Send a heartbeat that says everything; without `heard` the answer is lost."""
        full = {
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "instance_id": self.instance,
            "rebalance_timeout_ms": REBALANCE_MS,
            "topic_names": self.topics,
            "topic_regex": self.regex,
            "server_assignor": self.assignor,
            "owned": {} if self.epoch == 0 else self.owned,
        }
        try:
            answer = self._bench.heartbeat(HeartbeatRequest(**{**full, **changes}))
        except KafkaError as refused:
            if heard and refused.code in (Code.FENCED_MEMBER_EPOCH, Code.UNKNOWN_MEMBER_ID, Code.GROUP_ID_NOT_FOUND):
                self.lose_everything()
            return refused.code
        if heard:
            self._hear(answer)
        return Code.NONE

    def _hear(self, answer: Any) -> None:
        self.epoch = answer["member_epoch"]
        if self.epoch < 0:
            self.lose_everything()
        elif answer["assignment"] is not None:
            told = answer["assignment"]["topic_partitions"]
            self.told = {each["topic_id"]: frozenset(each["partitions"]) for each in told}
            for topic_id, partitions in self.told.items():
                self.owned[topic_id] = self.owned.get(topic_id, frozenset()) | partitions

    def give_up(self) -> None:
        """Stop reading what it was not told to read."""
        kept = {topic_id: had & self.told.get(topic_id, frozenset()) for topic_id, had in self.owned.items()}
        self.owned = {topic_id: had for topic_id, had in kept.items() if had}

    def lose_everything(self) -> None:
        self.epoch, self.owned, self.told = 0, {}, {}

    def leave(self) -> Code:
        return self.beat(member_epoch=-1)

    def leave_for_a_while(self) -> Code:
        return self.beat(member_epoch=-2)

    @property
    def partitions(self) -> set[tuple[UUID, int]]:
        return {(topic_id, number) for topic_id, numbers in self.owned.items() for number in numbers}


class ModernBench:
    """A coordinator with its log, its topics and its clock."""

    def __init__(self, log: ListLog | None = None, topics: Topics | None = None, **settings: Any) -> None:
        self.log = log or ListLog()
        self.topics = topics or Topics()
        self.now_ms = 1_000_000
        self.coordinator = GroupCoordinator(self.log, GroupSettings(**settings), self.topics)

    def restarted(self) -> ModernBench:
        """Another coordinator over the same log."""
        other = ModernBench(self.log, self.topics)
        other.now_ms = self.now_ms
        other.coordinator.store.load(self.now_ms)
        return other

    def client(self, member_id: str, *topics: str, instance: str | None = None) -> ModernClient:
        return ModernClient(self, member_id, *topics, instance=instance)

    def classic_client(self, name: str, topic: str) -> ClassicClient:
        return ClassicClient(self, GROUP, name, topic)

    def heartbeat(self, request: HeartbeatRequest) -> Any:
        return self.coordinator.consumer_groups.heartbeat(GROUP, request, self.now_ms)

    def pass_time(self, milliseconds: int) -> None:
        self.now_ms += milliseconds
        self.coordinator.tick(self.now_ms)

    def create(self, name: str, partitions: int) -> UUID:
        return self.topics.create(name, partitions, {}).topic_id

    def grow(self, name: str, partitions: int) -> None:
        topic = self.topics.by_name(name)
        assert topic is not None
        self.topics.grow(topic, partitions)

    @property
    def group(self) -> ConsumerGroup | None:
        """The group, if it is a consumer group now."""
        group = self.coordinator.group(GROUP)
        return group if isinstance(group, ConsumerGroup) else None

    def same_after_restart(self) -> str:
        """Which type of group there is, now as after a restart."""
        again = self.restarted()
        now, then = self.coordinator.group(GROUP), again.coordinator.group(GROUP)
        assert now is not None
        assert then is not None
        assert (then.group_type, set(then.members)) == (now.group_type, set(now.members))
        assert shown(again.group) == shown(self.group)
        last = {each.key: each.value for each in self.log.events if isinstance(each, GroupLogRecord)}
        kept = {isinstance(read_key(key), GroupKey) for key, value in last.items() if value is not None}
        assert kept == {now.group_type == "classic"}, "records of the other type are left"
        return now.group_type

    def settle(self, *clients: ModernClient | ClassicClient, rounds: int = 8) -> None:
        """Have every client send heartbeats, doing what it is told, until nothing changes any more."""
        for _ in range(rounds):
            for client in clients:
                client.beat()
                client.give_up()


def shown(group: ConsumerGroup | None) -> object:
    """All of a group that its log keeps, to compare."""
    if group is None:
        return None
    return group.epoch, group.metadata_hash, group.assignment_epoch, group.members, group.target, group.regexes
