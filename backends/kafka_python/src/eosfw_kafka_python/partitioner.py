"""Choose partitions as Java does, and append records to the library's accumulator."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any

from kafka import KafkaProducer
from kafka import TopicPartition as KafkaPartition
from kafka import errors as kafka_errors
from kafka.partitioner.default import murmur2

from eosfw.errors import RecordTooLargeError, UnknownTopicOrPartitionError
from eosfw.records import Headers, ProducerBatch
from eosfw_kafka_python import private_api

_OVERHEAD = 82
"""Bytes that a record and its batch take beside key, value and headers, at most."""


class _Headers(list[tuple[str, bytes | None]]):
    """Headers that count as empty, so that the library does not size them: it fails at a header without value."""

    def __bool__(self) -> bool:
        return False


class Partitioner:
    """Appends the records of one producer in the order of sending; the partitioner of Kafka's `KafkaProducer`."""

    def __init__(self, client: KafkaProducer, topic_wait: float, max_request_size: int) -> None:
        self._client = client
        self._topic_wait = topic_wait
        self._max_request_size = max_request_size
        self._append = private_api.accumulator(client).append
        self._wake = private_api.sender(client).wakeup
        self._batches_begun: dict[str, int] = {}

    def append(self, batch: ProducerBatch) -> list[Any]:
        """Append records to the library's accumulator; return the future of each, in their order."""
        self._refuse_too_large(batch)
        known = sorted(self._partitions(batch.topic))
        if batch.partition is not None:
            self._refuse_missing(batch, known)
            return self._append_to(batch, KafkaPartition(batch.topic, batch.partition))
        return self._append_by_key(batch, known)

    def _partitions(self, topic: str) -> frozenset[int]:
        """The partitions of a topic.

        The second attempt is for a process that was stopped while it waited: it wakes up with its time over and the
        answer unread.
        """
        try:
            return private_api.partitions(self._client, topic, self._topic_wait / 2)
        except kafka_errors.KafkaTimeoutError:
            return private_api.partitions(self._client, topic, self._topic_wait / 2)

    def _append_to(self, batch: ProducerBatch, where: KafkaPartition) -> list[Any]:
        private_api.add_partition_to_transaction(self._client, where)
        append, futures = self._append, []
        for value, key, stamp, headers in _columns(batch):
            future, full, fresh, _ = append(where, stamp, key, value, headers)
            futures.append(future)
            if full or fresh:
                self._wake()
        return futures

    def _append_by_key(self, batch: ProducerBatch, known: list[int]) -> list[Any]:
        places: dict[bytes, KafkaPartition] = {}
        futures = []
        for value, key, stamp, headers in _columns(batch):
            if key is None:
                futures.append(self._append_sticky(batch.topic, known, (stamp, key, value, headers)))
                continue
            where = places.get(key)
            if where is None:
                # Java's `toPositive`: without its sign bit, which is not the absolute value.
                where = KafkaPartition(batch.topic, known[(murmur2(key) & 0x7FFFFFFF) % len(known)])
                places[key] = where
                private_api.add_partition_to_transaction(self._client, where)
            future, full, fresh, _ = self._append(where, stamp, key, value, headers)
            futures.append(future)
            if full or fresh:
                self._wake()
        return futures

    def _append_sticky(self, topic: str, known: list[int], columns: tuple[Any, ...]) -> Any:
        """Append a record without key to the partition of the one before, until its batch is full (KIP-480)."""
        turn = self._batches_begun.get(topic, 0)
        where = KafkaPartition(topic, known[turn % len(known)])
        private_api.add_partition_to_transaction(self._client, where)
        future, full, fresh, refused = self._append(where, *columns, abort_on_new_batch=True)
        if refused:
            self._batches_begun[topic] = turn + 1
            where = KafkaPartition(topic, known[(turn + 1) % len(known)])
            private_api.add_partition_to_transaction(self._client, where)
            future, full, fresh, _ = self._append(where, *columns)
        if full or fresh:
            self._wake()
        return future

    def _refuse_missing(self, batch: ProducerBatch, known: list[int]) -> None:
        if batch.partition not in known:
            private_api.request_metadata_update(self._client)
            raise UnknownTopicOrPartitionError(
                f"there is no partition {batch.partition} of topic {batch.topic!r}, which has {len(known)}"
            )

    def _refuse_too_large(self, batch: ProducerBatch) -> None:
        longest = _longest(batch.values) + _longest(batch.keys or ())
        if longest + _OVERHEAD <= self._max_request_size:
            return
        # The longest key and the longest value may belong to different records.
        largest = max(map(_bytes_of, batch.values, batch.keys or repeat(None)))
        if largest + _OVERHEAD > self._max_request_size:
            raise RecordTooLargeError(
                f"a record for topic {batch.topic!r} takes {largest} bytes; "
                f"max.request.size is {self._max_request_size}"
            )


def _longest(column: Iterable[bytes | None]) -> int:
    return max(map(len, filter(None, column)), default=0)


def _bytes_of(value: bytes | None, key: bytes | None) -> int:
    return len(value or b"") + len(key or b"")


def _columns(batch: ProducerBatch) -> Iterable[tuple[Any, ...]]:
    keys = repeat(None) if batch.keys is None else batch.keys
    stamps = repeat(None) if batch.timestamps is None else batch.timestamps
    headers: Iterable[list[Any]] = repeat([]) if batch.headers is None else map(_header_pairs, batch.headers)
    return zip(batch.values, keys, stamps, headers, strict=False)


def _header_pairs(headers: Headers) -> list[Any]:
    return _Headers(headers)
