"""Gather the records of one producer in batches for each partition, as Kafka's `RecordAccumulator` does.

Records gather in columns until they are enough for a batch. A batch gets its sequence numbers when it is encoded, in
the order of sending, and keeps them at every attempt to deliver it, so that the broker recognises a repetition.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from eosfw.errors import EosfwError, RecordTooLargeError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import DeliveryCallback
from eosfw.records import Headers, ProducerBatch, RecordMetadata
from eosfw_memory.storage.records.batch import (
    MAX_SEQUENCE,
    NO_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    header_at,
    resequenced,
)
from eosfw_memory.storage.records.codec import decode_records, encode_batch, encode_record

_LOG = logging.getLogger(__name__)
BATCH_RECORDS = 2000
_WORTH_A_BATCH = 500
"""So many records at once become a batch of their own, without another copy of their columns."""
_OVERHEAD = 32
"""An upper bound of the bytes that a record needs besides its key, value and headers."""
NO_PRODUCER = ProducerIdAndEpoch(NO_PRODUCER_ID, NO_EPOCH)

Callbacks = Sequence[tuple[int, DeliveryCallback]]


class ClosedBatch(NamedTuple):
    """An encoded batch, with the delivery callbacks of its records by index."""

    data: bytes
    base_sequence: int
    callbacks: Callbacks

    @property
    def records(self) -> int:
        """How many records it has."""
        return header_at(self.data, 0).records


class PartitionAccumulator:
    """The undelivered records of one producer for one partition, in the order of sending.

    The queue that the Java client's `RecordAccumulator` has for one partition. Whoever adds records or closes a batch
    holds `lock`, which numbers them; the thread that delivers takes it here to give other batches other numbers.
    """

    def __init__(
        self,
        where: TopicPartition,
        producer: ProducerIdAndEpoch,
        max_bytes: int,
        *,
        transactional: bool,
        lock: AbstractContextManager[object],
    ) -> None:
        self.where = where
        self._lock = lock
        self.closed_batches: deque[ClosedBatch] = deque()
        self.outcome_unknown = False
        """Whether an attempt to deliver the first batch may have stored it although its broker did not say so."""
        self._producer, self._transactional = producer, transactional
        self._max_bytes = self._batch_bytes = max_bytes
        self._next_sequence = 0
        self.added_bytes = 0
        """Bytes of all records that were ever added."""
        self._empty()

    def _empty(self) -> None:
        self._keys: list[bytes | None] = []
        self._values: list[bytes | None] = []
        self._timestamps: list[int] = []
        self._headers: dict[int, Headers] = {}
        self._callbacks: list[tuple[int, DeliveryCallback]] = []
        self._bytes = 0

    def add(self, batch: ProducerBatch, now_ms: int, callbacks: Sequence[DeliveryCallback] | None) -> int:
        """Add records, each with a callback if callbacks are given; return the bytes of the batches this closed."""
        ready = start = 0
        for part, size in split_batch(batch, self._batch_bytes):
            end = start + len(part.values)
            own = () if callbacks is None else list(enumerate(callbacks[start:end]))
            ready += self._add_part(part, size, now_ms, own)
            self.added_bytes += size
            start = end
        return ready

    def _add_part(self, part: ProducerBatch, size: int, now_ms: int, callbacks: Callbacks) -> int:
        records, ready = len(part.values), 0
        if records == 1:
            self._refuse_too_large(size)
        if self._values and (records >= _WORTH_A_BATCH or self._bytes + size > self._batch_bytes):
            ready = self.close_batch()
        if records >= _WORTH_A_BATCH:
            stamps = now_ms if part.timestamps is None else part.timestamps
            data = self._encoded(part.keys, part.values, stamps, part.headers)
            return ready + self._keep(records, callbacks, data)
        self._gather(part, size, now_ms, callbacks)
        return ready + (self.close_batch() if len(self._values) >= BATCH_RECORDS else 0)

    def _gather(self, part: ProducerBatch, size: int, now_ms: int, callbacks: Callbacks) -> None:
        many, at = len(part.values), len(self._values)
        self._keys += [None] * many if part.keys is None else part.keys
        self._values += part.values
        self._timestamps += [now_ms] * many if part.timestamps is None else part.timestamps
        if part.headers is not None:
            self._headers |= {at + number: each for number, each in enumerate(part.headers) if each}
        if callbacks:
            self._callbacks += [(at + number, callback) for number, callback in callbacks]
        self._bytes += size

    @property
    def empty(self) -> bool:
        """Whether every record is delivered."""
        return not self.closed_batches and not self._values

    def close_batch(self) -> int:
        """Encode the gathered records as a batch; return its size in bytes."""
        records = len(self._values)
        if not records:
            return 0
        if records == 1:
            data = self._encoded_alone(self._keys[0], self._values[0], self._timestamps[0], self._headers.get(0, ()))
        else:
            headers = [self._headers.get(at, ()) for at in range(records)] if self._headers else None
            data = self._encoded(self._keys, self._values, self._timestamps, headers)
        size = self._keep(records, self._callbacks, data)
        self._empty()
        return size

    @property
    def _base_sequence(self) -> int:
        return NO_SEQUENCE if self._producer is NO_PRODUCER else self._next_sequence

    def _encoded(
        self,
        keys: Sequence[bytes | None] | None,
        values: Sequence[bytes | None],
        timestamps: Sequence[int] | int,
        headers: Sequence[Headers] | None,
        base_sequence: int | None = None,
    ) -> bytes:
        return encode_batch(
            keys,
            values,
            timestamps,
            headers=headers,
            producer=self._producer,
            base_sequence=self._base_sequence if base_sequence is None else base_sequence,
            transactional=self._transactional,
        )

    def _encoded_alone(self, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers) -> bytes:
        return encode_record(
            key,
            value,
            timestamp,
            headers,
            producer=self._producer,
            base_sequence=self._base_sequence,
            transactional=self._transactional,
        )

    def _keep(self, records: int, callbacks: Callbacks, data: bytes) -> int:
        self.closed_batches.append(ClosedBatch(data, self._next_sequence, callbacks))
        self._next_sequence = (self._next_sequence + records) & MAX_SEQUENCE
        return len(data)

    def complete_first(self, base_offset: int) -> None:
        """Remove the first batch, which was delivered, and call its callbacks."""
        self.outcome_unknown = False
        for number, callback in self.closed_batches.popleft().callbacks:
            _call_back(callback, RecordMetadata(*self.where, base_offset + number), None)

    def split_first(self) -> bool:
        """Put two batches in the place of the first, which was too large; False if it cannot be split.

        The `splitAndReenqueue` of Java's client. Later batches are made as small from the beginning.
        """
        whole = self.closed_batches[0]
        half = whole.records // 2
        # One that may be stored has to be repeated as it is, or the broker would not recognise it. In a transaction the
        # broker would find the halves out of order, and nothing of it is committed.
        if (self.outcome_unknown and not self._transactional) or not half:
            return False
        columns = decode_records(whole.data, header_at(whole.data, 0))
        self._batch_bytes = min(self._batch_bytes, len(whole.data) // 2)
        # Those that other threads add come in at the other end.
        self.closed_batches.popleft()
        for start, end in ((half, len(columns)), (0, half)):
            sequence = (whole.base_sequence + start) & MAX_SEQUENCE
            data = self._encoded(
                columns.keys[start:end],
                columns.values[start:end],
                columns.timestamps[start:end],
                None if columns.headers is None else columns.headers[start:end],
                NO_SEQUENCE if self._producer is NO_PRODUCER else sequence,
            )
            callbacks = [(at - start, callback) for at, callback in whole.callbacks if start <= at < end]
            self.closed_batches.appendleft(ClosedBatch(data, sequence, callbacks))
        return True

    def fail_first(self, why: EosfwError) -> None:
        """Call the callbacks of the first batch, which was refused; in a transaction it keeps its sequence numbers."""
        with self._lock:
            lost = self.closed_batches.popleft()
            if self._transactional:
                # It may have arrived after all. Its numbers given to other records would have those taken for it, and
                # lost.
                self.closed_batches.appendleft(ClosedBatch(lost.data, lost.base_sequence, ()))
            elif self._producer is not NO_PRODUCER and self.outcome_unknown:
                # It may be stored under its numbers.
                self.outcome_unknown = False
                self.raise_epoch()
            elif self._producer is not NO_PRODUCER:
                self._renumber(lost.base_sequence)
        for _, callback in lost.callbacks:
            _call_back(callback, None, why)

    def raise_epoch(self) -> None:
        """Number what is not delivered anew in a higher epoch, for a broker that has lost what came before.

        A partition takes a newer epoch from whoever has the producer id (KIP-360).
        """
        with self._lock:
            self._producer = self._producer._replace(epoch=self._producer.epoch + 1)
            self._renumber(0)

    def _renumber(self, first: int) -> None:
        """Give other sequence numbers to all batches, since the broker accepts no gap."""
        behind = self.closed_batches[0].base_sequence if self.closed_batches else self._next_sequence
        gap = (behind - first) & MAX_SEQUENCE
        kept = [(one, (one.base_sequence - gap) & MAX_SEQUENCE) for one in self.closed_batches]
        self.closed_batches = deque(
            ClosedBatch(resequenced(one.data, self._producer.epoch, number), number, one.callbacks)
            for one, number in kept
        )
        self._next_sequence = (self._next_sequence - gap) & MAX_SEQUENCE

    def discard(self, why: EosfwError) -> None:
        """Discard undelivered records; their sequence numbers go to the records sent next."""
        with self._lock:
            self.close_batch()
            dropped = tuple(self.closed_batches)
            self.closed_batches.clear()
            if dropped:
                self._next_sequence = dropped[0].base_sequence
        for batch in dropped:
            for _, callback in batch.callbacks:
                _call_back(callback, None, why)

    def _refuse_too_large(self, size: int) -> None:
        if size > self._max_bytes:
            raise RecordTooLargeError(
                f"a record of {size} bytes for {self.where} is larger than max.request.size={self._max_bytes}: "
                "make it smaller, or raise max.request.size here and max.message.bytes of the topic"
            )


def split_batch(batch: ProducerBatch, max_bytes: int) -> Iterator[tuple[ProducerBatch, int]]:
    """Split a batch into parts small enough for a record batch, each with its size in bytes."""
    whole, records = _bytes_of(batch), len(batch.values)
    if records <= BATCH_RECORDS and whole <= max_bytes:
        if records:
            yield batch, whole
        return
    keys = batch.keys or [None] * records
    headers = batch.headers or [()] * records
    start = gathered = 0
    for at, (key, value, pairs) in enumerate(zip(keys, batch.values, headers, strict=True)):
        size = _OVERHEAD + len(key or b"") + len(value or b"") + _header_bytes(pairs)
        if at > start and (gathered + size > max_bytes or at - start >= BATCH_RECORDS):
            yield _part(batch, start, at), gathered
            start, gathered = at, 0
        gathered += size
    yield _part(batch, start, records), gathered


def select_records(batch: ProducerBatch, indexes: Sequence[int], partition: int) -> ProducerBatch:
    """The records of a batch at these indexes, for a partition."""

    def chosen(column: Sequence[object] | None) -> list[object] | None:
        return None if column is None else [column[at] for at in indexes]

    columns = [chosen(each) for each in (batch.keys, batch.timestamps, batch.headers)]
    return ProducerBatch(batch.topic, [batch.values[at] for at in indexes], columns[0], partition, *columns[1:])  # type: ignore[arg-type]


def _part(batch: ProducerBatch, start: int, end: int) -> ProducerBatch:
    columns = [None if each is None else each[start:end] for each in (batch.keys, batch.timestamps, batch.headers)]
    return ProducerBatch(batch.topic, batch.values[start:end], columns[0], batch.partition, *columns[1:])  # type: ignore[arg-type]


def _bytes_of(batch: ProducerBatch) -> int:
    size = _OVERHEAD * len(batch.values) + sum(map(len, filter(None, batch.values)))
    if batch.keys is not None:
        size += sum(map(len, filter(None, batch.keys)))
    if batch.headers is not None:
        size += _bytes_of_headers(batch.headers)
    return size


def _bytes_of_headers(column: Sequence[Headers]) -> int:
    """The bytes of a column of headers; fast where records differ only in the value of their last header."""
    size, front, name, alike = 0, None, None, 0
    for headers in column:
        if not headers:
            continue
        last_name, value = headers[-1]
        if front is None or last_name != name or headers[:-1] != front:
            front, name = headers[:-1], last_name
            alike = _header_bytes((*front, (name, None)))
        size += alike if value is None else alike + len(value)
    return size


def _header_bytes(headers: Headers) -> int:
    return sum(len(name) * 4 + len(value or b"") + 10 for name, value in headers)


def _call_back(callback: DeliveryCallback, metadata: RecordMetadata | None, error: EosfwError | None) -> None:
    try:
        callback(metadata, error)
    except Exception:  # noqa: BLE001 - a caller's code must not break the delivery of others
        _LOG.exception("a delivery callback failed")
