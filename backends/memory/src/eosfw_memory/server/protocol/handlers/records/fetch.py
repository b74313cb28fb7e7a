"""Fetch (1): read record batches, as bytes of the log.

Behaviour
- read_committed stops at the last stable offset and lists the aborted transactions of the range, whose records the
  client drops (CON-01, BRK-07); read_uncommitted stops at the high watermark.
- With fewer than min_bytes, and without an error, the answer waits for the log to grow, at most for max_wait.
- The wait ends when a topic is deleted, also if one of the same name is created at once.
- One answer holds at most `fetch.max.bytes`. Of a partition that is named twice the last request counts.
- There are no fetch sessions: every answer has session 0, so clients name all partitions each time (KIP-227 allows it).

Version notes: 5 adds the log start offset, 7 sessions, 9 leader epochs, 13 topic ids instead of names, 15 moves the
replica id.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from eosfw.protocols import IsolationLevel
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer, DelayedOperation
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.leader_epoch_check import leader_epoch_error
from eosfw_memory.server.protocol.rights import CLUSTER_ACTION, TOPIC_READ
from eosfw_memory.storage.log.leader_epochs import NO_LEADER
from eosfw_memory.storage.topics.topic import Partition, Topic, Topics

_BY_ID_VERSION = 13
_NO_SESSION = 0
_CONSUMER = -1
"""The replica id of whoever is no broker."""
_FIRST_EPOCH, _LAST_EPOCH = 0, -1
"""Epochs of requests that name all partitions; any epoch between them belongs to a session, of which there is none."""
MAX_BYTES = 57_671_680
"""Kafka's default of `fetch.max.bytes`, for one answer."""


@dataclass(frozen=True, slots=True)
class _FetchPartition:
    """One partition of a fetch: its topic, or the error code in its place."""

    name: str
    topic_id: UUID | None
    request: Any
    topic: Topic | None
    missing: Code

    @property
    def partition(self) -> Partition | None:
        """None for one that does not exist, or was deleted."""
        return None if self.topic is None else self.topic.partitions[self.request.partition]


def handle(broker: Broker, request: Any, context: Context) -> Answer | DelayedOperation:
    """Answer at once if there are enough bytes, else delay the answer."""
    if getattr(request, "session_epoch", _LAST_EPOCH) not in (_FIRST_EPOCH, _LAST_EPOCH):
        return {"error_code": Code.FETCH_SESSION_ID_NOT_FOUND, "responses": ()}
    wanted = _wanted(broker, request, context)
    delayed = _DelayedFetch(broker.topics, request, wanted)
    now = delayed.attempt(request.max_wait.total_seconds() <= 0)
    if now is not None:
        return now
    sources = [each.partition for each in wanted if each.partition is not None]
    return DelayedOperation(delayed.retry, int(request.max_wait.total_seconds() * 1000), sources)


def _wanted(broker: Broker, request: Any, context: Context) -> list[_FetchPartition]:
    by_id = context.version >= _BY_ID_VERSION
    replica = _is_replica(request)
    may_replicate = replica and allows(broker, context, CLUSTER_ACTION)
    wanted: dict[tuple[object, int], _FetchPartition] = {}
    for topic in request.topics:
        found = broker.topics.by_id(topic.topic_id) if by_id else broker.topics.by_name(topic.topic)
        missing = Code.UNKNOWN_TOPIC_ID if by_id and found is None else Code.UNKNOWN_TOPIC_OR_PARTITION
        name, topic_id = ("", topic.topic_id) if by_id else (topic.topic, None)
        # A topic that an id does not lead to has no name to be checked; a replica is checked for all at once.
        known = found.name if found is not None and by_id else name
        if not (may_replicate if replica else not known or allows(broker, context, TOPIC_READ, known)):
            found, missing = None, Code.TOPIC_AUTHORIZATION_FAILED
        for each in topic.partitions:
            exists = found is not None and 0 <= each.partition < len(found.partitions)
            wanted[topic_id or name, each.partition] = _FetchPartition(
                name, topic_id, each, found if exists else None, missing
            )
    return list(wanted.values())


def _is_replica(request: Any) -> bool:
    """Whether the request claims to come from another broker."""
    state = getattr(request, "replica_state", request)
    return bool(getattr(state, "replica_id", _CONSUMER) > _CONSUMER)


class _DelayedFetch:
    """One fetch, tried until it has enough bytes; Kafka's `DelayedFetch`."""

    def __init__(self, topics: Topics, request: Any, wanted: list[_FetchPartition]) -> None:
        self._topics = topics
        self._wanted = wanted
        self._max_bytes = min(getattr(request, "max_bytes", MAX_BYTES), MAX_BYTES)
        self._min_bytes = min(request.min_bytes, self._max_bytes)
        self._isolation = IsolationLevel.READ_COMMITTED if request.isolation_level else IsolationLevel.READ_UNCOMMITTED

    def retry(self, expired: bool) -> Answer | None:  # noqa: FBT001
        """An attempt after a wait, during which topics may have been deleted."""
        for at, each in enumerate(self._wanted):
            if each.topic is not None and self._topics.by_id(each.topic.topic_id) is None:
                self._wanted[at] = replace(each, topic=None, missing=Code.UNKNOWN_TOPIC_OR_PARTITION)
        return self.attempt(expired)

    def attempt(self, expired: bool) -> Answer | None:  # noqa: FBT001
        """The answer, or None while there are too few bytes."""
        responses: dict[tuple[str, UUID | None], list[Answer]] = {}
        size, urgent = 0, expired or not self._wanted
        for each in self._wanted:
            answer = self._partition(each, size)
            size += sum(map(len, answer["records"]))
            urgent = urgent or answer["error_code"] is not Code.NONE
            responses.setdefault((each.name, each.topic_id), []).append(answer)
        if size < self._min_bytes and not urgent:
            return None
        return {
            "error_code": Code.NONE,
            "session_id": _NO_SESSION,
            "responses": [
                {"topic": name, "topic_id": topic_id, "partitions": partitions}
                for (name, topic_id), partitions in responses.items()
            ],
        }

    def _partition(self, wanted: _FetchPartition, taken: int) -> dict[str, Any]:
        """The answer for one partition, when those before it took so many bytes."""
        index, partition = wanted.request.partition, wanted.partition
        if partition is None:
            return _refused(index, wanted.missing)
        log = partition.log
        code = leader_epoch_error(log, getattr(wanted.request, "current_leader_epoch", NO_LEADER))
        if code is not Code.NONE:
            return _refused(index, code)
        limit = max(0, min(self._max_bytes - taken, wanted.request.partition_max_bytes))
        try:
            found = log.fetch(wanted.request.fetch_offset, limit, self._isolation)
        except KafkaError as refused:
            return _refused(index, refused.code)
        # A batch larger than the limit is returned only as the first of an answer (KIP-74).
        fits = not taken or sum(map(len, found.pieces)) <= limit
        return {
            "partition_index": index,
            "error_code": Code.NONE,
            "high_watermark": found.high_watermark,
            "last_stable_offset": found.last_stable_offset,
            "log_start_offset": found.log_start_offset,
            "aborted_transactions": self._aborted(found.aborted if fits else ()),
            "records": found.pieces if fits else (),
        }

    def _aborted(self, aborted: Iterable[Any]) -> list[dict[str, int]] | None:
        if self._isolation is IsolationLevel.READ_UNCOMMITTED:
            return None
        return [{"producer_id": each.producer_id, "first_offset": each.first_offset} for each in aborted]


def _refused(index: int, code: Code) -> dict[str, Any]:
    return {
        "partition_index": index,
        "error_code": code,
        "high_watermark": -1,
        "aborted_transactions": None,
        "records": (),
    }
