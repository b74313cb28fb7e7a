"""Convert batches and group offsets to the arguments of librdkafka's producer."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError, Message
from confluent_kafka import TopicPartition as KafkaPartition

from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata
from eosfw.records import ProducerBatch, RecordMetadata

ANY_PARTITION = -1
_GROUP_MAGIC = b"CGMDv2:"
# In the machine's byte order: librdkafka copies the number as it lies in memory.
_GENERATION = struct.Struct("=i")
KafkaDeliveryCallback = Callable[[KafkaError | None, Message], None]
"""What librdkafka calls when a message was delivered or has failed."""
ProduceArguments = tuple[
    str,
    bytes | None,
    bytes | None,
    int,
    KafkaDeliveryCallback | None,
    None,
    int,
    list[tuple[str, str | bytes | None]] | None,
]


def produce_arguments(batch: ProducerBatch, at: int, callback: KafkaDeliveryCallback | None) -> ProduceArguments:
    """The positional arguments of produce() for one record of a batch."""
    keys, timestamps, headers = batch.keys, batch.timestamps, batch.headers
    return (
        batch.topic,
        batch.values[at],
        None if keys is None else keys[at],
        ANY_PARTITION if batch.partition is None else batch.partition,
        callback,
        None,
        0 if timestamps is None else timestamps[at],
        list(headers[at]) if headers is not None and headers[at] else None,
    )


def batch_messages(batch: ProducerBatch) -> list[dict[str, Any]]:
    """The messages for produce_batch(), which takes neither timestamps nor headers."""
    if batch.keys is None:
        return [{"value": value} for value in batch.values]
    return [{"value": value, "key": key} for value, key in zip(batch.values, batch.keys, strict=True)]


def record_metadata(message: Message) -> RecordMetadata | None:
    """The place of a delivered message."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    if topic is None or partition is None or offset is None:
        return None
    return RecordMetadata(topic, partition, offset)


def kafka_offsets(offsets: Mapping[TopicPartition, int]) -> list[KafkaPartition]:
    """A group's offsets as the library takes them."""
    return [KafkaPartition(one.topic, one.partition, offset) for one, offset in offsets.items()]


def serialize_group_metadata(group: ConsumerGroupMetadata) -> bytes:
    """The bytes that a consumer's `consumer_group_metadata()` gives: librdkafka's own serialization, version 2."""
    # The byte before the instance id is 1 if there is none.
    instance = b"\1" if group.instance_id is None else b"\0" + group.instance_id.encode() + b"\0"
    names = group.group_id.encode() + b"\0" + group.member_id.encode() + b"\0"
    return _GROUP_MAGIC + _GENERATION.pack(group.generation) + names + instance


def generation_of(group_metadata: bytes) -> int:
    """The generation in what a consumer's `consumer_group_metadata()` gives; -1 if another version wrote it."""
    if not group_metadata.startswith(_GROUP_MAGIC):
        return -1
    return int(_GENERATION.unpack_from(group_metadata, len(_GROUP_MAGIC))[0])
