"""Turn records into what librdkafka's producer takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError, Message

from eosfw.records import ProducerBatch, ProducerRecord, RecordMetadata

ANY_PARTITION = -1
Told = Callable[[KafkaError | None, Message], None]
"""What librdkafka calls once a message was delivered, or failed."""
Arguments = tuple[
    str, bytes | None, bytes | None, int, Told | None, None, int, list[tuple[str, str | bytes | None]] | None
]


def arguments(record: ProducerRecord, told: Told | None) -> Arguments:
    """What produce() takes for one record, in its order."""
    partition = ANY_PARTITION if record.partition is None else record.partition
    headers: list[tuple[str, str | bytes | None]] | None = [*record.headers] if record.headers else None
    return record.topic, record.value, record.key, partition, told, None, record.timestamp or 0, headers


def messages(batch: ProducerBatch, told: Told) -> list[dict[str, Any]]:
    """The messages that produce_batch() takes; it knows neither timestamps nor headers.

    Only the last one reports. A record that a broker refuses fails its transaction by itself; a place that does not
    exist fails every record for it; so a report for each would only cost speed.
    """
    said: list[dict[str, Any]]
    if batch.keys is None:
        said = [{"value": value} for value in batch.values]
    else:
        said = [{"value": value, "key": key} for value, key in zip(batch.values, batch.keys, strict=True)]
    if said:
        said[-1]["callback"] = told
    return said


def where(message: Message) -> RecordMetadata | None:
    """Where a delivered message lies."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    if topic is None or partition is None or offset is None:
        return None
    return RecordMetadata(topic, partition, offset)
