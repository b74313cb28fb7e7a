"""Commit, look up or delete what a consumer group has read (KIP-98, KIP-447)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from eosfw.errors import ClusterUnavailableError, EosfwError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import ConsumerGroupMetadata
from eosfw.retry_timer import RetryTimer
from eosfw_memory.client.apis import (
    DELETE_GROUPS,
    OFFSET_FETCH,
    TXN_OFFSET_COMMIT,
    TXN_OFFSET_COMMIT_V2,
    Api,
    Fields,
)
from eosfw_memory.client.channel import NotRetriableError
from eosfw_memory.client.errors import ADMIN, LOST_COORDINATOR, OFFSETS, RETRIABLE, ErrorTable, error_for, indefinite
from eosfw_memory.client.metadata import ClusterMetadata, CoordinatorType
from eosfw_memory.codes import Code

_NO_EPOCH: Final = -1
_NO_MEMBER_EPOCH: Final = -1
_NONE_COMMITTED: Final = -1


class GroupOffsets:
    """The coordinators of consumer groups, as far as offsets go."""

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
        """Let offsets wait for the end of the open transaction of a transactional id with its producer.

        With `transaction_v2` the request also makes the group part of the transaction (KIP-890).
        """
        request = _commit_request(holder, group, offsets)

        def late(what: str, why: EosfwError) -> EosfwError:
            return indefinite(what, why)

        api = TXN_OFFSET_COMMIT_V2 if transaction_v2 else TXN_OFFSET_COMMIT
        self._call(api, request, group.group_id, (OFFSETS, _worst_commit, late), timer)

    def fetch(
        self, group_id: str, partitions: Collection[TopicPartition], timer: RetryTimer
    ) -> Mapping[TopicPartition, int]:
        """Offsets that no transaction can change any more."""
        request = _fetch_request(group_id, partitions)

        def late(what: str, why: EosfwError) -> EosfwError:
            return ClusterUnavailableError(f"{what}: {why}; is the cluster running?")

        answer = self._call(OFFSET_FETCH, request, group_id, (ADMIN, _worst_fetch, late), timer)
        return {
            TopicPartition(topic["name"], each["partition_index"]): each["committed_offset"]
            for topic in answer["groups"][0]["topics"]
            for each in topic["partitions"]
            if each["committed_offset"] != _NONE_COMMITTED
        }

    def delete(self, group_id: str, timer: RetryTimer) -> None:
        """Forget a group without members."""

        def late(what: str, why: EosfwError) -> EosfwError:
            return ClusterUnavailableError(f"{what}: {why}; is the cluster running?")

        request = Fields(groups_names=(group_id,))
        self._call(DELETE_GROUPS, request, group_id, (ADMIN, _deleted, late), timer)

    def _call(
        self,
        api: Api,
        request: Fields,
        group_id: str,
        judging: tuple[ErrorTable, Callable[[Any], int], Callable[[str, EosfwError], EosfwError]],
        timer: RetryTimer,
    ) -> Any:
        """Ask until there is an answer; each request may be repeated without harm."""
        table, judge, late = judging
        what = f"{api.name} of group {group_id!r} at {self._metadata.network.servers}"
        while True:
            try:
                channel = self._metadata.coordinator(group_id, timer, CoordinatorType.GROUP)
                answer = channel.call(api, request, timer.deadline)
            except ClusterUnavailableError as why:
                self._metadata.forget_coordinator(group_id, CoordinatorType.GROUP)
                if isinstance(why, NotRetriableError) or not timer.backoff():
                    raise late(what, why) from why
                continue
            code = judge(answer)
            if code == Code.NONE:
                return answer
            if code in LOST_COORDINATOR:
                self._metadata.forget_coordinator(group_id, CoordinatorType.GROUP)
            if code not in RETRIABLE or not timer.backoff():
                raise error_for(code, table, what)


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


def _fetch_request(group_id: str, partitions: Collection[TopicPartition]) -> Fields:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    asked = [Fields(name=name, partition_indexes=tuple(each)) for name, each in topics.items()]
    group = Fields(group_id=group_id, member_id=None, member_epoch=_NO_MEMBER_EPOCH, topics=asked)
    return Fields(groups=[group], require_stable=True)


def _deleted(answer: Any) -> int:
    return int(answer["results"][0]["error_code"])


def _worst_commit(answer: Any) -> int:
    return _first(each["error_code"] for topic in answer["topics"] for each in topic["partitions"])


def _worst_fetch(answer: Any) -> int:
    group = answer["groups"][0]
    each = (each["error_code"] for topic in group["topics"] for each in topic["partitions"])
    return int(group["error_code"] or _first(each))


def _first(codes: Any) -> int:
    return int(next((code for code in codes if code != Code.NONE), Code.NONE))
