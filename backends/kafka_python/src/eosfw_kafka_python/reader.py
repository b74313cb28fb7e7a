"""Read ranges of partitions through kafka-python."""

from __future__ import annotations

import weakref
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition
from kafka import errors as kafka_errors

from eosfw.errors import EosfwError, IllegalStateError, TopicAuthorizationError, UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.kafka_codes import Code
from eosfw.records import LogBatch, OffsetRange
from eosfw.security import explained
from eosfw.state.read_progress import ReadProgress, slices_alike
from eosfw_kafka_python.broker_lookup import BrokerLookup
from eosfw_kafka_python.connection import Connection, close_client
from eosfw_kafka_python.errors import READ, eosfw_error, translated_errors

_POLL_TIME_MS = 20
"""Milliseconds of one poll: it does not return when a position moves without records."""
_LOOK_AFTER = 1.0
"""Seconds without progress after which a read checks that its partitions still exist."""
_DENIED_TIME = 5.0
"""Seconds to ask whether a missing topic is denied: by then the time of the read may be over."""


class KafkaPythonReader:
    """A `LogReader` over one `KafkaConsumer`, which the first read makes and later reads use again."""

    def __init__(self, connection: Connection, *, headers: bool) -> None:
        self._connection = connection
        self._runtime = connection.runtime
        self._headers = headers
        self._consumer: KafkaConsumer | None = None
        self._closed = False

    def read(self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float) -> Iterator[LogBatch]:
        progress = ReadProgress(ranges)
        self._refuse_closed()
        if not progress.positions:
            return
        with self._translated_errors("read"):
            consumer = self._made(self._runtime.now() + stall_timeout)
            consumer.assign([KafkaPartition(*one) for one in progress.positions])
            for one, at in progress.positions.items():
                consumer.seek(KafkaPartition(*one), at)
        try:
            yield from self._read_all(consumer, progress, stall_timeout)
        except TopicAuthorizationError as why:
            raise self._explained(why, *(one.topic for one in progress.positions)) from why.__cause__
        finally:
            if not self._closed:
                consumer.unsubscribe()

    def close(self) -> None:
        self._closed = True
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            _close_consumer(consumer)
        self._connection.close()

    def _made(self, deadline: float) -> KafkaConsumer:
        if self._consumer is None:
            self._consumer = self._connection.consumer(deadline)
            weakref.finalize(self, _close_consumer, self._consumer).atexit = False
            if self._closed:
                # close() ran while the consumer connected, and found none to close.
                _close_consumer(self._consumer)
        return self._consumer

    def _read_all(self, consumer: KafkaConsumer, progress: ReadProgress, stall_timeout: float) -> Iterator[LogBatch]:
        deadline, look = self._runtime.now() + stall_timeout, self._runtime.now()
        while progress.positions:
            if self._runtime.now() >= look:
                self._refuse_missing(consumer, progress, deadline)
                look = self._runtime.now() + _LOOK_AFTER
            with self._translated_errors(f"read {_places(progress)}"):
                found = consumer.poll(timeout_ms=_POLL_TIME_MS)
            moved = False
            for where, records in found.items():
                one = TopicPartition(*where)
                if one in progress.positions:
                    yield from self._batches(one, records, progress.end(one))
            with self._translated_errors("read"):
                for one in list(progress.positions):
                    # Only the library's position moves past control records and aborted records.
                    moved |= progress.advance(one, consumer.position(KafkaPartition(*one), timeout_ms=_POLL_TIME_MS))
                if finished := progress.finished():
                    consumer.pause(*(KafkaPartition(*one) for one in finished))
            if moved:
                deadline, look = self._runtime.now() + stall_timeout, self._runtime.now() + _LOOK_AFTER
            elif self._runtime.now() >= deadline:
                raise progress.stalled(self._what("read"), stall_timeout)

    def _batches(self, one: TopicPartition, records: Sequence[Any], end: int) -> Iterator[LogBatch]:
        offsets: list[int] = list(map(attrgetter("offset"), records))
        if offsets[-1] >= end:
            keep = bisect_left(offsets, end)
            records, offsets = records[:keep], offsets[:keep]
        if offsets:
            for part in slices_alike(list(map(attrgetter("timestamp_type"), records))):
                yield self._batch(one, records[part], offsets[part])

    def _batch(self, one: TopicPartition, records: Sequence[Any], offsets: list[int]) -> LogBatch:
        return LogBatch(
            one.topic,
            one.partition,
            offsets,
            list(map(attrgetter("key"), records)),
            list(map(attrgetter("value"), records)),
            list(map(attrgetter("timestamp"), records)),
            [tuple(each.headers) for each in records] if self._headers else None,
            int(records[0].timestamp_type or 0),
        )

    # --- errors

    def _translated_errors(self, what: str) -> Any:
        self._refuse_closed()
        return translated_errors(READ, self._what(what))

    def _refuse_closed(self) -> None:
        if self._closed:
            raise IllegalStateError("this reader is closed")

    def _refuse_missing(self, consumer: KafkaConsumer, progress: ReadProgress, deadline: float) -> None:
        """Refuse a topic or partition that does not exist: the library would wait for it for ever."""
        missing = set(progress.positions)
        settled = min(deadline, self._runtime.now() + 1.0)
        while True:
            for topic in {one.topic for one in missing}:
                with self._translated_errors(f"read {topic!r}"):
                    known = consumer.partitions_for_topic(topic) or ()
                missing -= {one for one in missing if one.topic == topic and one.partition in known}
            if not missing:
                return
            if self._runtime.now() >= settled:
                lost = min(missing)
                self._refuse_denied(lost.topic)
                raise UnknownTopicOrPartitionError(f"{self._what(f'read {lost}')}: there is no such partition")
            self._runtime.sleep(_POLL_TIME_MS / 1000)
            with self._translated_errors("list topics"):
                # A partition may be newer than what the library knows of its topic: it asks again by itself in minutes.
                consumer.topics()

    def _refuse_denied(self, topic: str) -> None:
        """Refuse a topic that exists but may not be described: the library's own consumer leaves it out."""
        answer = BrokerLookup(self._connection).metadata([topic], self._runtime.now() + _DENIED_TIME)
        for each in answer.topics:
            if each.error_code == Code.TOPIC_AUTHORIZATION_FAILED:
                why = eosfw_error(kafka_errors.for_code(each.error_code)(), READ, self._what(f"read {topic!r}"))
                raise self._explained(why, topic)

    def _explained(self, why: EosfwError, *topics: str) -> EosfwError:
        return explained(why, self._connection.authentication, ("Read",), "topic", list(dict.fromkeys(topics)))

    def _what(self, what: str) -> str:
        return f"{what} at {self._connection.servers}"


def _places(progress: ReadProgress) -> str:
    return ", ".join(str(one) for one in progress.positions)


def _close_consumer(consumer: KafkaConsumer) -> None:
    consumer._closed = True  # noqa: SLF001 - its own close() would wait for a group that does not exist
    close_client(consumer._client)  # noqa: SLF001
