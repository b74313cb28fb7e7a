"""Drive the coordinator inside kafka-python's consumer, without its fetches; no other module does."""
# ruff: noqa: SLF001

from __future__ import annotations

from typing import Any, Final

from kafka import KafkaConsumer, OffsetAndMetadata
from kafka import TopicPartition as KafkaPartition
from kafka import errors as kafka_errors
from kafka.coordinator.base import MemberState

from eosfw.ids import TopicPartition
from eosfw.protocols import GroupAssignment
from eosfw_kafka_python.connection import close_client

_NO_LEADER_EPOCH: Final = -1


class GroupCoordinator:
    """The `ConsumerCoordinator` of a consumer that subscribes to a topic; every duration in seconds."""

    def __init__(self, consumer: KafkaConsumer, topic: str) -> None:
        consumer.subscribe([topic])
        self._consumer = consumer
        self._coordinator: Any = consumer._coordinator
        self._unclaimed: tuple[object, bytes] | None = None
        """The outcome of a join that no poll has waited for to its end, with the generation it belongs to."""
        self._join_and_sync = self._coordinator._do_join_and_sync_async
        self._on_join_complete = self._coordinator._on_join_complete_async
        self._coordinator._do_join_and_sync_async = self._join_once
        self._coordinator._on_join_complete_async = self._claim

    def poll(self, timeout: float) -> None:
        """Find the coordinator, join, or hear from the library's own thread that this member has to join again."""
        self._coordinator.poll(timeout_ms=timeout * 1000)

    def assignment(self) -> GroupAssignment:
        """What the member owns; nothing once it was expelled, even before it joins again."""
        known = self._consumer.group_metadata()
        if known.generation_id < 0:
            return GroupAssignment(member_id=known.member_id)
        rebalancing = known.state is not MemberState.STABLE or self._coordinator.need_rejoin()
        partitions = frozenset(TopicPartition(*one) for one in self._consumer.assignment())
        return GroupAssignment(partitions, known.member_id, known.generation_id, rebalancing=rebalancing)

    def commit(self, topic: str, timeout: float) -> None:
        """Commit something of no meaning as a member of its generation."""
        offset = {KafkaPartition(topic, 0): OffsetAndMetadata(0, "", _NO_LEADER_EPOCH)}
        self._coordinator.commit_offsets_sync(offset, timeout_ms=timeout * 1000)

    def leave(self, timeout: float) -> None:
        """Leave the group and close the consumer."""
        try:
            self._coordinator.close(autocommit=False, timeout_ms=timeout * 1000)
        finally:
            self._consumer._closed = True
            close_client(self._consumer._client)

    def knows(self, topic: str) -> bool:
        """Whether the metadata shows partitions of the topic."""
        return bool(self._consumer._cluster.partitions_for_topic(topic))

    def update_metadata(self, timeout: float) -> bool:
        """Ask for metadata; False if it does not come in time."""
        manager = self._consumer._manager
        try:
            self._consumer._net.run(manager.wait_for, self._consumer._cluster.request_update(), timeout * 1000)
        except kafka_errors.KafkaTimeoutError:
            return False
        return True

    async def _join_once(self) -> bytes:
        """Join, or give the outcome of a join that ended between two polls.

        The library's poll (3.0.12) forgets such a join and sends another one, so that a member with short polls never
        comes to its assignment and keeps all others rebalancing.
        """
        unclaimed, self._unclaimed = self._unclaimed, None
        if unclaimed is not None and unclaimed[0] is self._coordinator._generation:
            return unclaimed[1]
        self._set_owned_partitions()
        assignment: bytes = await self._join_and_sync()
        self._unclaimed = (self._coordinator._generation, assignment)
        return assignment

    async def _claim(self, *arguments: Any) -> None:
        self._unclaimed = None
        await self._on_join_complete(*arguments)

    def _set_owned_partitions(self) -> None:
        """Have the next JoinGroup name the partitions that this member owns, none once it was expelled (KIP-429).

        The library (3.0.12) goes on naming those of the lost membership, so that their new owner has to revoke them,
        and another member may get them then.
        """
        subscription = self._consumer._subscription
        if self._coordinator._generation.is_lost():
            subscription.assign_from_subscribed([])
        for assignor in self._coordinator._assignors.values():
            assignor.member_assignment = sorted(subscription.assigned_partitions())
