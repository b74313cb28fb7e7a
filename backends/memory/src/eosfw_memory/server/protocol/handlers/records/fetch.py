"""Fetch (1): read record batches, as bytes of the log.

Behaviour
- read_committed stops at the last stable offset and lists the aborted transactions of the range, whose records the
  client drops (CON-01, BRK-07); read_uncommitted stops at the high watermark.
- With fewer than min_bytes, and without an error, the answer waits for the log to grow, at most for max_wait.
- The wait ends when a topic is deleted, also if one of the same name is created at once.
- One answer holds at most `fetch.max.bytes`. Of a partition that is named twice the last request counts.
- A client beyond its quota gets an answer without partitions, and the time to wait (KIP-13, KIP-124).
- In a session a request names what changed for the client, the answer what changed here (KIP-227).

Version notes: 5 adds the log start offset, 7 sessions, 9 leader epochs, 13 topic ids instead of names, 15 moves the
replica id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast
from uuid import UUID

from eosfw.protocols import IsolationLevel
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer, DelayedOperation
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.fetch_sessions import CachedPartition
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.fetch_context import FetchContext, PartitionAnswers, fetch_context
from eosfw_memory.server.protocol.leader_epoch_check import leader_epoch_error
from eosfw_memory.server.protocol.rights import CLUSTER_ACTION, TOPIC_READ
from eosfw_memory.server.quotas.request_quota import RequestQuota
from eosfw_memory.storage.log.leader_epochs import NO_LEADER
from eosfw_memory.storage.topics.topic import Partition, Topic, Topics

_BY_ID_VERSION = 13
_CONSUMER = -1
"""The replica id of whoever is no broker."""
MAX_BYTES = 57_671_680
"""Kafka's default of `fetch.max.bytes`, for one answer."""


@dataclass(frozen=True, slots=True)
class _FetchPartition:
    """One partition of a fetch: its topic, or the error code in its place."""

    cached: CachedPartition
    topic: Topic | None
    missing: Code

    @property
    def partition(self) -> Partition | None:
        """None for one that does not exist, or was deleted."""
        return None if self.topic is None else self.topic.partitions[self.cached.request.partition]


def handle(broker: Broker, request: Any, context: Context) -> Answer | DelayedOperation:
    """Answer at once if there are enough bytes, else delay the answer."""
    by_id, replica = context.version >= _BY_ID_VERSION, _is_replica(request)
    try:
        fetch = fetch_context(broker.fetch_sessions, request, by_id=by_id, privileged=replica)
    except KafkaError as refused:
        return {"error_code": refused.code, "responses": ()}
    if replica and context.quota is not None:
        context.quota.exempt()
    may_replicate = replica and allows(broker, context, CLUSTER_ACTION)
    topics: dict[str | UUID, _Found] = {}
    wanted = []
    for each in fetch.partitions:
        found = topics.get(each.topic)
        if found is None:
            found = topics[each.topic] = _found(broker, each, by_id=by_id)
            if not (may_replicate if replica else not found.name or allows(broker, context, TOPIC_READ, found.name)):
                found = topics[each.topic] = _Found(None, found.name, Code.TOPIC_AUTHORIZATION_FAILED)
        each.name = found.name
        exists = found.topic is not None and _has(found.topic, each)
        wanted.append(_FetchPartition(each, found.topic if exists else None, _missing(broker, each, found)))
    delayed = _DelayedFetch(broker.topics, request, fetch, wanted, None if replica else context.quota)
    now = delayed.attempt(request.max_wait.total_seconds() <= 0)
    if now is not None:
        return now
    sources = [each.partition for each in wanted if each.partition is not None]
    return DelayedOperation(delayed.retry, int(request.max_wait.total_seconds() * 1000), sources)


class _Found(NamedTuple):
    """A topic of a fetch."""

    topic: Topic | None
    name: str
    """Empty where an id leads, and has led, to no topic: then there is none whose rights could be checked."""
    missing: Code
    """What is answered for partitions that do not exist."""


def _found(broker: Broker, wanted: CachedPartition, *, by_id: bool) -> _Found:
    if not by_id:
        name = str(wanted.topic)
        return _Found(broker.topics.by_name(name), name, Code.UNKNOWN_TOPIC_OR_PARTITION)
    topic = broker.topics.by_id(cast("UUID", wanted.topic))
    name = wanted.name if topic is None else topic.name
    return _Found(topic, name, Code.UNKNOWN_TOPIC_OR_PARTITION if name else Code.UNKNOWN_TOPIC_ID)


def _has(topic: Topic, wanted: CachedPartition) -> bool:
    return wanted.request.partition in range(len(topic.partitions))


def _missing(broker: Broker, wanted: CachedPartition, found: _Found) -> Code:
    """What is answered for one partition that does not exist: of a topic that was created anew, that it is another."""
    if found.topic is None and found.missing is Code.UNKNOWN_TOPIC_OR_PARTITION:
        successor = broker.topics.by_name(found.name)
        if successor is not None and _has(successor, wanted):
            return Code.INCONSISTENT_TOPIC_ID
    return found.missing


def _is_replica(request: Any) -> bool:
    """Whether the request claims to come from another broker."""
    state = getattr(request, "replica_state", request)
    return bool(getattr(state, "replica_id", _CONSUMER) > _CONSUMER)


class _DelayedFetch:
    """One fetch, tried until it has enough bytes; Kafka's `DelayedFetch`."""

    def __init__(
        self,
        topics: Topics,
        request: Any,
        fetch: FetchContext,
        wanted: list[_FetchPartition],
        quota: RequestQuota | None,
    ) -> None:
        self._topics = topics
        self._quota = quota
        self._fetch = fetch
        self._wanted = wanted
        self._max_bytes = min(getattr(request, "max_bytes", MAX_BYTES), MAX_BYTES)
        if quota is not None:
            self._max_bytes = quota.limit_fetch(self._max_bytes)
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
        found: list[tuple[CachedPartition, Mapping[str, Any]]] = []
        size, urgent = 0, expired or not self._wanted
        for each in self._wanted:
            answer = self._partition(each, size)
            size += sum(map(len, answer["records"]))
            urgent = urgent or answer["error_code"] is not Code.NONE
            found.append((each.cached, answer))
        if size < self._min_bytes and not urgent:
            return None
        if self._quota is not None and self._quota.fetch_throttle_ms(size):
            code, session_id, partitions = self._fetch.throttled()  # the connection says for how long
        else:
            code, session_id, partitions = self._fetch.answer(found)
        return {"error_code": code, "session_id": session_id, "responses": _by_topic(partitions)}

    def _partition(self, wanted: _FetchPartition, taken: int) -> dict[str, Any]:
        """The answer for one partition, when those before it took so many bytes."""
        request, partition = wanted.cached.request, wanted.partition
        if partition is None:
            return _refused(request.partition, wanted.missing)
        log = partition.log
        code = leader_epoch_error(log, getattr(request, "current_leader_epoch", NO_LEADER))
        if code is not Code.NONE:
            return _refused(request.partition, code)
        limit = max(0, min(self._max_bytes - taken, request.partition_max_bytes))
        try:
            found = log.fetch(request.fetch_offset, limit, self._isolation)
        except KafkaError as refused:
            return _refused(request.partition, refused.code)
        # A batch larger than the limit is returned only as the first of an answer (KIP-74).
        fits = not taken or sum(map(len, found.pieces)) <= limit
        return {
            "partition_index": request.partition,
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


def _by_topic(partitions: PartitionAnswers) -> list[Answer]:
    responses: dict[str | UUID, list[Any]] = {}
    for partition, answer in partitions:
        responses.setdefault(partition.topic, []).append(answer)
    # Both names of the topic: each version of the answer has one of them.
    return [{"topic": name, "topic_id": name, "partitions": each} for name, each in responses.items()]


def _refused(index: int, code: Code) -> dict[str, Any]:
    return {
        "partition_index": index,
        "error_code": code,
        "high_watermark": -1,
        "aborted_transactions": None,
        "records": (),
    }
