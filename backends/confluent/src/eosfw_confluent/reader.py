"""Read ranges of partitions through librdkafka."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from eosfw.concurrency import Runtime
from eosfw.errors import (
    ClusterUnavailableError,
    EosfwError,
    IllegalStateError,
    UnknownTopicOrPartitionError,
)
from eosfw.ids import TopicPartition
from eosfw.kafka_codes import Code
from eosfw.records import Headers, LogBatch, OffsetRange
from eosfw.security import FirstAuthentication, explained, with_refusal
from eosfw.state.read_progress import ReadProgress, slices_alike
from eosfw_confluent import codes
from eosfw_confluent.errors import READ, eosfw_error, translated_errors
from eosfw_confluent.events import ClientEvents, broker_answered

_MAX_MESSAGES = 2000
_LONGEST_WAIT = 0.2
"""Seconds that one call may block: close() on another thread is noticed between two calls."""
_LOOK_AFTER = 1.0
"""Seconds without progress after which a read checks that its partitions exist."""
_LOG_APPEND_TIME = 2
"""librdkafka's number of the timestamp type; Kafka's is 1."""


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """The cluster to read, whether headers are requested, and the first authentication."""

    servers: str
    headers: bool
    authentication: FirstAuthentication


class ConfluentReader:
    """A `LogReader` over one librdkafka consumer, which all its reads use."""

    def __init__(self, config: dict[str, object], settings: ReaderSettings, runtime: Runtime) -> None:
        self._events = ClientEvents()
        self._client: Consumer | None = Consumer({**config, **self._events.client_config()})
        self._settings = settings
        self._runtime = runtime

    def read(self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float) -> Iterator[LogBatch]:
        client = self._open()
        progress = ReadProgress(ranges)
        if not progress.positions:
            return
        self._settings.authentication.require()
        _learn_leaders(client, {one.topic for one in progress.positions}, stall_timeout)
        with translated_errors(READ, self._what("read")):
            client.assign([KafkaPartition(one.topic, one.partition, at) for one, at in progress.positions.items()])
        try:
            yield from self._read_all(client, progress, stall_timeout)
        finally:
            if self._client is not None:
                client.unassign()

    def close(self) -> None:
        # Dropping the last reference destroys the handle; its own close() would wait for a group that does not exist.
        self._client = None

    def _read_all(self, client: Consumer, progress: ReadProgress, stall_timeout: float) -> Iterator[LogBatch]:
        deadline = self._runtime.now() + stall_timeout
        look = self._runtime.now() + _LOOK_AFTER
        while progress.positions:
            messages = self._fetch(client, deadline)
            moved = False
            for one, found in _by_partition(messages).items():
                if one not in progress.positions:
                    continue
                batches = self._batches(one, found, progress.end(one))
                moved |= progress.advance(one, self._position(client, one, found))
                yield from batches
            if finished := progress.finished():
                client.incremental_unassign([KafkaPartition(*one) for one in finished])
            now = self._runtime.now()
            if moved:
                deadline, look = now + stall_timeout, now + _LOOK_AFTER
            elif now >= deadline:
                raise self._stalled(client, progress, stall_timeout)
            elif now >= look:
                self._refuse_missing(client, progress, deadline - now)
                look = self._runtime.now() + _LOOK_AFTER

    def _fetch(self, client: Consumer, deadline: float) -> Sequence[Message]:
        self._open()
        with translated_errors(READ, self._what("read")):
            # consume() waits until it has as many messages as requested, so that the first is requested alone.
            wait = min(_LONGEST_WAIT, max(0.0, deadline - self._runtime.now()))
            first = client.consume(1, timeout=wait)
            return [*first, *client.consume(_MAX_MESSAGES, timeout=0)] if first else first

    def _position(self, client: Consumer, one: TopicPartition, found: Sequence[Message]) -> int:
        last = found[-1]
        offset = last.offset()
        if last.error() is None:
            return -1 if offset is None else offset + 1
        # Only at the end-of-partition event does position() move past control records.
        position = client.position([KafkaPartition(one.topic, one.partition)])[0].offset
        return max(position, offset if offset is not None and offset != OFFSET_INVALID else -1)

    def _batches(self, one: TopicPartition, found: Sequence[Message], end: int) -> list[LogBatch]:
        errors = list(map(Message.error, found))
        if any(errors):
            self._refuse_errors(one, errors)
            found = [message for message, error in zip(found, errors, strict=True) if error is None]
        offsets: list[int] = list(map(Message.offset, found))  # type: ignore[arg-type]
        if offsets and offsets[-1] >= end:
            keep = bisect_left(offsets, end)
            found, offsets = found[:keep], offsets[:keep]
        if not offsets:
            return []
        stamps = list(map(Message.timestamp, found))
        types = list(map(itemgetter(0), stamps))
        return [self._batch(one, found[part], offsets[part], stamps[part]) for part in slices_alike(types)]

    def _batch(
        self, one: TopicPartition, found: Sequence[Message], offsets: list[int], stamps: Sequence[tuple[int, int]]
    ) -> LogBatch:
        return LogBatch(
            one.topic,
            one.partition,
            offsets,
            list(map(Message.key, found)),
            list(map(Message.value, found)),
            list(map(itemgetter(1), stamps)),
            list(map(_headers, found)) if self._settings.headers else None,
            int(stamps[0][0] == _LOG_APPEND_TIME),
        )

    # --- errors

    def _open(self) -> Consumer:
        if self._client is None:
            raise IllegalStateError("this reader is closed")
        return self._client

    def _refuse_errors(self, one: TopicPartition, errors: Sequence[KafkaError | None]) -> None:
        for error in errors:
            if error is not None and error.code() != codes.END_OF_PARTITION:
                raise self._refused(one, error)

    def _refused(self, where: TopicPartition | str, error: KafkaError) -> EosfwError:
        topic = where if isinstance(where, str) else where.topic
        found = eosfw_error(error, READ, self._what(f"read {where}"))
        return explained(found, self._settings.authentication, ("Read",), "topic", (topic,))

    def _refuse_missing(self, client: Consumer, progress: ReadProgress, wait: float) -> None:
        # librdkafka reports a missing topic only after half a minute.
        for topic in {one.topic for one in progress.positions}:
            try:
                known = client.list_topics(topic, timeout=min(wait, _LOOK_AFTER)).topics.get(topic)
            except KafkaException:
                return
            if known is not None and known.error is not None and known.error.code() == Code.TOPIC_AUTHORIZATION_FAILED:
                raise self._refused(topic, known.error)
            for one in progress.positions:
                if one.topic == topic and (known is None or one.partition not in known.partitions):
                    raise UnknownTopicOrPartitionError(f"{self._what(f'read {one}')}: there is no such partition")

    def _stalled(self, client: Consumer, progress: ReadProgress, waited: float) -> EosfwError:
        if not broker_answered(client):
            late = f"{self._what('read')}: no broker answered within {waited:g} s{self._events.hint}"
            absent = ClusterUnavailableError(f"{late}; is the cluster running?")
            return with_refusal(absent, self._settings.authentication)
        return progress.stalled(self._what("read"), waited, self._events.hint)

    def _what(self, what: str) -> str:
        return f"{what} at {self._settings.servers}"


def _learn_leaders(client: Consumer, topics: Collection[str], timeout: float) -> None:
    """Request the metadata of each topic: without it librdkafka may search a second for a partition's leader."""
    for topic in topics:
        with suppress(KafkaException):  # the read itself raises the error
            client.list_topics(topic, timeout=min(timeout, 2.0))


def _by_partition(messages: Sequence[Message]) -> dict[TopicPartition, list[Message]]:
    # Consecutive messages are mostly of one partition: groupby() makes a step for each group, not for each message.
    grouped: dict[TopicPartition, list[Message]] = {}
    for topic, of_topic in groupby(messages, Message.topic):
        for partition, run in groupby(of_topic, Message.partition):
            grouped.setdefault(TopicPartition(str(topic), int(partition or 0)), []).extend(run)
    return grouped


def _headers(message: Message) -> Headers:
    return tuple(message.headers() or ())  # type: ignore[arg-type]
