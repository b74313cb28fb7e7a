"""Turn records into what librdkafka's producer takes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from confluent_kafka import KafkaError, Message

from eosfw.records import ProducerBatch, ProducerRecord, RecordMetadata


def arguments(record: ProducerRecord, callback: Callable[[KafkaError | None, Message], None] | None) -> dict[str, Any]:
    """The keywords of produce() for one record."""
    said: dict[str, Any] = {"value": record.value, "key": record.key}
    if record.partition is not None:
        said["partition"] = record.partition
    if record.timestamp is not None:
        said["timestamp"] = record.timestamp
    if record.headers:
        said["headers"] = list(record.headers)
    if callback is not None:
        said["on_delivery"] = callback
    return said


def records(batch: ProducerBatch) -> list[ProducerRecord]:
    """The records of a batch, one by one."""
    keys = repeat(None) if batch.keys is None else batch.keys
    stamps = repeat(None) if batch.timestamps is None else batch.timestamps
    return [
        ProducerRecord(batch.topic, value, key, batch.partition, stamp)
        for value, key, stamp in zip(batch.values, keys, stamps, strict=False)
    ]


def messages(batch: ProducerBatch) -> list[dict[str, object]]:
    """The messages that produce_batch() takes; it knows neither timestamps nor headers."""
    if batch.keys is None:
        return [{"value": value} for value in batch.values]
    return [{"value": value, "key": key} for value, key in zip(batch.values, batch.keys, strict=True)]


def where(message: Message) -> RecordMetadata | None:
    """Where a delivered message lies."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    if topic is None or partition is None or offset is None:
        return None
    return RecordMetadata(topic, partition, offset)
