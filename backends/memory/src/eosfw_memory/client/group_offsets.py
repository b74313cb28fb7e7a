"""Commit, fetch and delete the offsets of consumer groups (KIP-98, KIP-447)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from eosfw.error_table import ADMIN, OFFSETS
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import ConsumerGroupMetadata
from eosfw.retry_timer import RetryTimer
from eosfw_memory.client.coordinator import Coordinator, CoordinatorRequest
from eosfw_memory.client.metadata import ClusterMetadata, CoordinatorType
from eosfw_memory.client.transport.apis import (
    DELETE_GROUPS,
    OFFSET_FETCH,
    TXN_OFFSET_COMMIT,
    TXN_OFFSET_COMMIT_V2,
    Fields,
    group_by_topic,
)
from eosfw_memory.client.transport.errors import unavailable
from eosfw_memory.common.codes import Code

_NO_EPOCH: Final = -1
_NO_MEMBER_EPOCH: Final = -1
_NONE_COMMITTED: Final = -1


class GroupOffsets:
    """The requests about offsets that go to the coordinators of consumer groups."""

    def __init__(self, metadata: ClusterMetadata) -> None:
        self._metadata = metadata

    def commit(
        self,
        holder: tuple[str, ProducerIdAndEpoch],
        group: ConsumerGroupMetadata,
        offsets: Mapping[TopicPartition, int],
        timer: RetryTimer,
        *,
        transaction_v2: bool = False,
    ) -> None:
        """Add offsets to the open transaction of a transactional id with its producer.

        With `transaction_v2` the request also makes the group part of the transaction (KIP-890).
        """
        api = TXN_OFFSET_COMMIT_V2 if transaction_v2 else TXN_OFFSET_COMMIT
        request = CoordinatorRequest(api, _commit_request(holder, group, offsets), OFFSETS, _first_error)
        Coordinator(self._metadata, group.group_id, CoordinatorType.GROUP).ask(request, timer)

    def fetch(
        self, group_id: str, partitions: Collection[TopicPartition], timer: RetryTimer
    ) -> Mapping[TopicPartition, int]:
        """Committed offsets, once no open transaction can change them."""
        asked = group_by_topic(partitions, lambda name, each: Fields(name=name, partition_indexes=tuple(each)))
        group = Fields(group_id=group_id, member_id=None, member_epoch=_NO_MEMBER_EPOCH, topics=asked)
        fields = Fields(groups=[group], require_stable=True)
        request = CoordinatorRequest(OFFSET_FETCH, fields, ADMIN, _fetch_error, unavailable)
        answer = Coordinator(self._metadata, group_id, CoordinatorType.GROUP).ask(request, timer)
        return {
            TopicPartition(topic["name"], each["partition_index"]): each["committed_offset"]
            for topic in answer["groups"][0]["topics"]
            for each in topic["partitions"]
            if each["committed_offset"] != _NONE_COMMITTED
        }

    def delete(self, group_id: str, timer: RetryTimer) -> None:
        """Delete a group without members."""
        request = CoordinatorRequest(
            DELETE_GROUPS,
            Fields(groups_names=(group_id,)),
            ADMIN,
            lambda answer: int(answer["results"][0]["error_code"]),
            unavailable,
        )
        Coordinator(self._metadata, group_id, CoordinatorType.GROUP).ask(request, timer)


def _commit_request(
    holder: tuple[str, ProducerIdAndEpoch], group: ConsumerGroupMetadata, offsets: Mapping[TopicPartition, int]
) -> Fields:
    transactional_id, producer = holder
    topics: dict[str, list[Fields]] = {}
    for (topic, partition), offset in offsets.items():
        each = Fields(
            partition_index=partition,
            committed_offset=offset,
            committed_leader_epoch=_NO_EPOCH,
            committed_metadata="",
        )
        topics.setdefault(topic, []).append(each)
    return Fields(
        transactional_id=transactional_id,
        group_id=group.group_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        generation_id=group.generation,
        member_id=group.member_id,
        group_instance_id=group.instance_id,
        topics=[Fields(name=name, partitions=each) for name, each in topics.items()],
    )


def _fetch_error(answer: Any) -> int:
    group = answer["groups"][0]
    return int(group["error_code"] or _first_error(group))


def _first_error(answer: Any) -> int:
    codes = (each["error_code"] for topic in answer["topics"] for each in topic["partitions"])
    return int(next((code for code in codes if code != Code.NONE), Code.NONE))
