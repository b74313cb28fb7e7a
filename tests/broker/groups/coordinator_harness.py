"""A group coordinator over a log in a list, with a clock of its own, for tests of the coordinator alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace as Request
from typing import Any

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import DelayedOperation
from eosfw_memory.server.coordinators.groups.coordinator import GroupCoordinator
from eosfw_memory.server.coordinators.groups.group_metadata_manager import GroupSettings
from eosfw_memory.server.coordinators.groups.group_records import Committed
from eosfw_memory.server.coordinators.groups.membership.members import JoinRequest
from eosfw_memory.server.coordinators.groups.offset_requests import OffsetCommitter
from eosfw_memory.server.coordinators.groups.offsets_topic import GroupLogMarker, GroupLogRecord, Record
from eosfw_memory.server.coordinators.log_partition import partition_for
from eosfw_memory.storage.records.transaction_result import TransactionResult

PARTITIONS = 3
SESSION_MS = 10_000
REBALANCE_MS = 60_000
TOPIC = TopicPartition("flights", 0)


def joining(**changes: Any) -> JoinRequest:
    """A request to join, by default of a new member of a classic group of consumers."""
    return JoinRequest(
        **{
            "member_id": "",
            "instance_id": None,
            "client_id": "c",
            "client_host": "/here",
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": REBALANCE_MS,
            "protocol_type": "consumer",
            "protocols": (("range", b""),),
        }
        | changes
    )


class ListLog:
    """Keeps records, so that every test can replay them."""

    def __init__(self) -> None:
        self.events: list[GroupLogRecord | GroupLogMarker] = []
        self.broken = False

    def partition_of(self, group_id: str) -> int:
        return partition_for(group_id, PARTITIONS)

    def append(
        self, group_id: str, records: Sequence[Record], now_ms: int, producer: ProducerIdAndEpoch | None = None
    ) -> int:
        if self.broken:
            raise KafkaError(Code.COORDINATOR_NOT_AVAILABLE)
        first = len(self.events)
        writer = None if producer is None else producer.producer_id
        for position, (key, value) in enumerate(records, first):
            self.events.append(GroupLogRecord(self.partition_of(group_id), position, writer, key, value))
        return first

    def replay(self) -> Iterator[GroupLogRecord | GroupLogMarker]:
        """By partition, as a log is read."""
        return iter(sorted(self.events, key=lambda each: each.partition))


class Client:
    """A member as its own client sees it."""

    def __init__(self, name: str, instance: str | None = None) -> None:
        self.name = name
        self.instance = instance
        self.member_id = ""
        self.generation = -1
        self.protocols = (("range", name.encode()),)
        self.waiting: DelayedOperation | None = None


class Bench:
    """A coordinator with its log and its clock."""

    def __init__(self, log: ListLog | None = None, **settings: Any) -> None:
        self.log = log or ListLog()
        self.now_ms = 1_000_000
        self.coordinator = GroupCoordinator(self.log, GroupSettings(**settings))

    def restarted(self) -> Bench:
        """Another coordinator over the same log."""
        other = Bench(self.log)
        other.now_ms = self.now_ms
        other.coordinator.store.load(self.now_ms)
        return other

    def pass_time(self, milliseconds: int) -> None:
        self.now_ms += milliseconds
        self.coordinator.tick(self.now_ms)

    # --- members

    def ask_to_join(self, client: Client, group: str = "g", **changes: Any) -> Any:
        """The first response, which may be a delayed one, or a member id to join with."""
        who = {"member_id": client.member_id, "instance_id": client.instance, "client_id": client.name}
        request = joining(**{**who, "protocols": client.protocols, **changes})
        return self.coordinator.members.join(group, request, self.now_ms)

    def join(self, client: Client, group: str = "g", **changes: Any) -> Any:
        """The response, or None while it is delayed."""
        answer = self.ask_to_join(client, group, **changes)
        if not isinstance(answer, DelayedOperation) and answer["error_code"] is Code.MEMBER_ID_REQUIRED:
            client.member_id = answer["member_id"]
            return self.join(client, group, **changes)
        return self._took(client, answer)

    def joined(self, client: Client) -> Any:
        """The response to a delayed JoinGroup request."""
        return self._took(client, client.waiting)

    def _took(self, client: Client, answer: Any) -> Any:
        if isinstance(answer, DelayedOperation):
            client.waiting = answer
            answer = answer.attempt(False)
        if answer is not None and answer["error_code"] is Code.NONE:
            client.member_id, client.generation = answer["member_id"], answer["generation_id"]
        return answer

    def sync(self, client: Client, work: Mapping[str, bytes] | None = None, group: str = "g") -> Any:
        given = [Request(member_id=name, assignment=each) for name, each in (work or {}).items()]
        answer = self.coordinator.members.sync(group, self._who(client, assignments=given), self.now_ms)
        return answer.attempt(False) if isinstance(answer, DelayedOperation) else answer

    def heartbeat(self, client: Client, group: str = "g") -> Code:
        return self.coordinator.members.heartbeat(group, self._who(client), self.now_ms)

    def leave(self, client: Client, group: str = "g") -> Code:
        return self.coordinator.members.leave(group, [(client.member_id, client.instance)], self.now_ms)[0]

    def _who(self, client: Client, **more: Any) -> Request:
        return Request(
            member_id=client.member_id, group_instance_id=client.instance, generation_id=client.generation, **more
        )

    # --- offsets

    def commit(self, offset: int, who: Client | None = None, group: str = "g", where: TopicPartition = TOPIC) -> Code:
        return self._tried(
            lambda: self.coordinator.offsets.commit(group, _committer(who), self._at(where, offset), self.now_ms)
        )

    def commit_in(
        self, producer_id: int, offset: int, who: Client | None = None, group: str = "g", where: TopicPartition = TOPIC
    ) -> Code:
        producer, offsets = ProducerIdAndEpoch(producer_id, 0), self._at(where, offset)
        return self._tried(
            lambda: self.coordinator.offsets.commit_in_transaction(
                group, _committer(who), producer, offsets, self.now_ms
            )
        )

    def end(self, producer_id: int, outcome: TransactionResult, partitions: Sequence[int] = range(PARTITIONS)) -> None:
        for partition in partitions:
            self.log.events.append(GroupLogMarker(partition, producer_id, outcome))
            self.coordinator.transaction_ended(partition, producer_id, outcome)

    def offset(self, group: str = "g", where: TopicPartition = TOPIC, *, stable: bool = True) -> int | Code:
        found = self.coordinator.offsets.fetch(group, [where], stable=stable)[where]
        return found if isinstance(found, Code) else found.offset

    def state(self, group: str = "g") -> str:
        found = self.coordinator.group(group)
        return "Dead" if found is None else found.state.value

    def _at(self, where: TopicPartition, offset: int) -> Mapping[TopicPartition, Committed]:
        return {where: Committed(offset, -1, "", self.now_ms)}

    @staticmethod
    def _tried(action: Any) -> Code:
        try:
            action()
        except KafkaError as refused:
            return refused.code
        return Code.NONE


def _committer(who: Client | None) -> OffsetCommitter:
    return OffsetCommitter() if who is None else OffsetCommitter(who.member_id, who.instance, who.generation)
