"""A consumer of the classic protocol as its own client sees it, in a group of either type, without a network."""

from __future__ import annotations

from types import SimpleNamespace as Request
from typing import TYPE_CHECKING, Any
from uuid import UUID

from broker.groups.coordinator_harness import joining
from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import DelayedOperation
from eosfw_memory.server.coordinators.groups.membership.consumer_protocol import (
    Subscription,
    decode_assignment,
    encode_assignment,
)

if TYPE_CHECKING:
    from broker.groups.consumer_group_harness import ModernBench

GONE = (Code.UNKNOWN_MEMBER_ID, Code.FENCED_INSTANCE_ID)


class ClassicClient:
    """The only one of its kind in its group; it keeps partitions while it joins, and gives them up when told."""

    def __init__(self, bench: ModernBench, group: str, name: str, topic: str) -> None:
        self._bench, self._group, self._name, self._topic = bench, group, name, topic
        self.lose_everything()

    def lose_everything(self) -> None:
        self.member_id, self.generation = "", -1
        self.owned: frozenset[TopicPartition] = frozenset()
        self.told: frozenset[TopicPartition] = frozenset()

    def beat(self, *, heard: bool = True) -> Code:
        """Send a heartbeat, and join again if that is the answer; without `heard` the answer to that is lost."""
        code = self.only_heartbeat()
        if code in GONE:
            self.lose_everything()
        if code is not Code.NONE:
            self.join(heard=heard)
        return code

    def only_heartbeat(self) -> Code:
        """Send a heartbeat, whatever the answer."""
        return self._bench.coordinator.members.heartbeat(self._group, self._who(), self._bench.now_ms)

    def only_join(self) -> None:
        """Join, without asking for the assignment."""
        answer = self._ask_to_join()
        assert answer["error_code"] is Code.NONE
        self.generation = answer["generation_id"]

    def join(self, *, heard: bool = True) -> None:
        """Join, then ask for the assignment; as the leader of a classic group take everything."""
        answer = self._ask_to_join()
        if answer is not None and answer["error_code"] is Code.MEMBER_ID_REQUIRED:
            self.member_id = answer["member_id"]
            answer = self._ask_to_join()
        if answer is None or not heard:
            return
        if answer["error_code"] in GONE:
            self.lose_everything()
        elif answer["error_code"] is Code.NONE:
            self.member_id, self.generation = answer["member_id"], answer["generation_id"]
            self._sync()

    def _ask_to_join(self) -> Any:
        metadata = Subscription(frozenset({self._topic}), self.owned).encode()
        request = joining(member_id=self.member_id, client_id=self._name, protocols=(("range", metadata),))
        answer = self._bench.coordinator.members.join(self._group, request, self._bench.now_ms)
        return answer.attempt(False) if isinstance(answer, DelayedOperation) else answer

    def _sync(self) -> None:
        topic = self._bench.topics.by_name(self._topic)
        every = [] if topic is None else [TopicPartition(self._topic, each) for each in range(len(topic.partitions))]
        given = [Request(member_id=self.member_id, assignment=encode_assignment(every))]
        answer = self._bench.coordinator.members.sync(self._group, self._who(assignments=given), self._bench.now_ms)
        if answer["error_code"] is Code.NONE:
            self.told = decode_assignment(answer["assignment"])
            self.owned |= self.told

    def give_up(self) -> None:
        """Stop reading what it was not told to read."""
        self.owned &= self.told

    def leave(self) -> Code:
        leavers, now_ms = [(self.member_id, None)], self._bench.now_ms
        [code] = self._bench.coordinator.leave(self._group, leavers, now_ms)
        self.lose_everything()
        return code

    def _who(self, **more: Any) -> Request:
        return Request(member_id=self.member_id, group_instance_id=None, generation_id=self.generation, **more)

    @property
    def partitions(self) -> set[tuple[UUID, int]]:
        found = ((self._bench.topics.by_name(topic), number) for topic, number in self.owned)
        return {(topic.topic_id, number) for topic, number in found if topic is not None}
