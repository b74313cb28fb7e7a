"""Fetch (1): read record batches as they lie in the log.

Behaviour
- read_committed stops at the last stable offset and names the aborted transactions of the range, for the client to
  leave out (CON-01, BRK-07); read_uncommitted stops at the high watermark.
- With fewer than min_bytes to give, and nothing wrong, the answer waits for the log to grow, or for max_wait.
- No fetch sessions: every answer has session 0, so clients name all partitions each time (KIP-227 allows it).

Version notes: 5 adds the log start offset, 7 sessions, 9 leader epochs, 13 topic ids instead of names, 15 moves the
replica id.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from eosfw.protocols import IsolationLevel
from eosfw_memory.broker import Broker, Context
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.deferred import Answer, Deferred
from eosfw_memory.log.epochs import NO_LEADER
from eosfw_memory.topics import Partition
from eosfw_memory.wire.leader_epoch import epoch_error

_BY_ID_VERSION = 13
_NO_SESSION = 0


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One partition of a fetch: where to look it up, or what to answer instead."""

    name: str
    topic_id: UUID | None
    request: Any
    partition: Partition | None
    missing: Code


def handle(broker: Broker, request: Any, context: Context) -> Answer | Deferred:
    """Answer at once if there is enough to give, else when there is."""
    if getattr(request, "session_id", _NO_SESSION) != _NO_SESSION:
        return {"error_code": Code.FETCH_SESSION_ID_NOT_FOUND, "responses": ()}
    wanted = list(_wanted(broker, request, context))
    poll = _Poll(request, wanted)
    now = poll.attempt(request.max_wait.total_seconds() <= 0)
    if now is not None:
        return now
    sources = [each.partition for each in wanted if each.partition is not None]
    return Deferred(poll.attempt, int(request.max_wait.total_seconds() * 1000), sources)


def _wanted(broker: Broker, request: Any, context: Context) -> Iterable[_Wanted]:
    by_id = context.version >= _BY_ID_VERSION
    for topic in request.topics:
        found = broker.topics.by_id(topic.topic_id) if by_id else broker.topics.by_name(topic.topic)
        missing = Code.UNKNOWN_TOPIC_ID if by_id and found is None else Code.UNKNOWN_TOPIC_OR_PARTITION
        for each in topic.partitions:
            partitions = found.partitions if found is not None else ()
            partition = partitions[each.partition] if 0 <= each.partition < len(partitions) else None
            yield _Wanted("" if by_id else topic.topic, topic.topic_id if by_id else None, each, partition, missing)


class _Poll:
    """One fetch, tried until it has enough."""

    def __init__(self, request: Any, wanted: list[_Wanted]) -> None:
        self._wanted = wanted
        self._min_bytes = request.min_bytes
        self._max_bytes = getattr(request, "max_bytes", 2**31 - 1)
        self._isolation = IsolationLevel.READ_COMMITTED if request.isolation_level else IsolationLevel.READ_UNCOMMITTED

    def attempt(self, expired: bool) -> Answer | None:  # noqa: FBT001
        """The answer, or None while there is too little to give."""
        responses: list[dict[str, Any]] = []
        size, urgent = 0, expired or not self._wanted
        for each in self._wanted:
            answer = self._partition(each, self._max_bytes - size)
            size += sum(map(len, answer["records"]))
            urgent = urgent or answer["error_code"] is not Code.NONE
            _add(responses, each, answer)
        if size < self._min_bytes and not urgent:
            return None
        return {"error_code": Code.NONE, "session_id": _NO_SESSION, "responses": responses}

    def _partition(self, wanted: _Wanted, room: int) -> dict[str, Any]:
        index = wanted.request.partition
        if wanted.partition is None:
            return _refused(index, wanted.missing)
        log = wanted.partition.log
        code = epoch_error(log, getattr(wanted.request, "current_leader_epoch", NO_LEADER))
        if code is not Code.NONE:
            return _refused(index, code)
        # Whoever comes first gets a batch whatever its size (KIP-74); who finds no room left gets nothing this time.
        limit = min(room, wanted.request.partition_max_bytes) if room > 0 else 0
        try:
            found = log.fetch(wanted.request.fetch_offset, limit, self._isolation)
        except KafkaError as refused:
            return _refused(index, refused.code)
        return {
            "partition_index": index,
            "error_code": Code.NONE,
            "high_watermark": found.high_watermark,
            "last_stable_offset": found.last_stable_offset,
            "log_start_offset": found.log_start_offset,
            "aborted_transactions": self._aborted(found.aborted),
            "records": found.pieces if room > 0 else (),
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


def _add(responses: list[dict[str, Any]], wanted: _Wanted, answer: dict[str, Any]) -> None:
    """Put a partition under its topic; partitions of one topic follow each other in the request."""
    last = responses[-1] if responses else None
    if last is None or (last["topic"], last["topic_id"]) != (wanted.name, wanted.topic_id):
        last = {"topic": wanted.name, "topic_id": wanted.topic_id, "partitions": []}
        responses.append(last)
    last["partitions"].append(answer)
