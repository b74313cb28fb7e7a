"""Send the requests of one consumer of the classic protocol, which a consumer group may have among its members."""

from __future__ import annotations

from typing import Any

from broker.groups.group_requests import Member, Raw
from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.server.coordinators.groups.membership.consumer_protocol import (
    Subscription,
    decode_assignment,
    encode_assignment,
)


class ClassicConsumer(Member):
    """A member that reads one topic, and gives up at once what it is not assigned."""

    def __init__(self, raw: Raw, group: str, topic: str, instance: str | None = None) -> None:
        super().__init__(raw, group, instance)
        self.topic = topic
        self.owned: frozenset[TopicPartition] = frozenset()

    def joining(self, **changes: Any) -> dict[str, Any]:
        self.protocols = [("range", Subscription(frozenset({self.topic}), self.owned).encode())]
        return super().joining(**changes)

    def every(self, partitions: int) -> dict[str, bytes]:
        """All of its topic for this member."""
        return {self.member_id: encode_assignment([TopicPartition(self.topic, each) for each in range(partitions)])}

    def lead(self, partitions: int) -> None:
        """Join as the only member, with all of its topic."""
        assert self.join()["error_code"] == Code.NONE
        assert self.take(self.every(partitions)) == Code.NONE

    def take(self, assignments: dict[str, bytes] | None = None) -> int:
        """Ask for what it has now."""
        answer = self.sync(assignments)
        if answer["error_code"] == Code.NONE:
            self.owned = decode_assignment(answer["assignment"])
        return int(answer["error_code"])

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(sorted(each.partition for each in self.owned))
