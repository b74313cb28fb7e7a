"""The default offset store: one compacted record per source partition (Kafka Connect's `KafkaOffsetBackingStore`)."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from eosfw.builtin import connect_json
from eosfw.builtin.connect_json import NotPrimitiveError
from eosfw.errors import DamagedDataError, TaskFailedError
from eosfw.records import LogBatch, ProducerRecord, SourceOffset, SourcePartition, StoredPartition
from eosfw.text import shown

__all__ = ["KafkaOffsetStore"]

logger = logging.getLogger(__name__)

_OWNER = re.compile(rb'\["([^"\\]*)",\{')
"""How a key begins whose connector's name needs no escapes."""


class _Statement(NamedTuple):
    """The offset of a source partition under one record key."""

    key: bytes
    partition: SourcePartition
    offset: SourceOffset
    place: str
    timestamp: int


class KafkaOffsetStore:
    """Key `["connector", {source partition}]`, value `{source offset}` or null, in JsonConverter's bytes (OFF-01).

    Each source partition has one key: the bytes that the topic has already, else those with the names in order.
    """

    name: ClassVar[str] = "kafka"

    def encode(
        self, connector: str, topic: str, offsets: Sequence[tuple[SourcePartition, SourceOffset | None]]
    ) -> Sequence[ProducerRecord]:
        return [record for one in offsets for record in self._records(connector, topic, *one)]

    def _records(
        self, connector: str, topic: str, partition: SourcePartition, offset: SourceOffset | None
    ) -> Iterator[ProducerRecord]:
        key, *outdated = _record_keys(connector, partition)
        try:
            value = None if offset is None else connect_json.flat_object(offset)
        except NotPrimitiveError as why:
            raise TaskFailedError(
                f"source offset {offset!r} of connector {connector}, source partition {partition!r}, "
                f"cannot be stored: {why}"
            ) from None
        yield ProducerRecord(topic, value=value, key=key)
        for other in outdated:
            yield ProducerRecord(topic, value=None, key=other)

    def decode(
        self, connector: str, committed: Iterable[LogBatch]
    ) -> Mapping[str, tuple[SourcePartition, SourceOffset]]:
        stated: dict[bytes, _Statement] = {}
        owner = connector.encode()
        for batch in committed:
            for offset, key, value, timestamp in zip(
                batch.offsets, batch.keys, batch.values, batch.timestamps, strict=True
            ):
                if key is not None and (of := _OWNER.match(key)) and of[1] != owner:
                    continue  # most records of a group's topic: to parse each would cost every start of a task dearly
                place = f"topic {batch.topic}, partition {batch.partition}, offset {offset}"
                partition = _own_partition(connector, key, place)
                if partition is None or key is None:
                    continue
                position = _position(value, connector, place)
                # Null deletes its own key alone: nobody knows whether other keys of the partition are older.
                stated.pop(key, None)
                if position is not None:
                    stated[key] = _Statement(key, partition, position, place, timestamp)
        return self._by_partition(connector, stated.values())

    def _by_partition(
        self, connector: str, stated: Iterable[_Statement]
    ) -> Mapping[str, tuple[SourcePartition, SourceOffset]]:
        found: dict[str, list[_Statement]] = {}
        for one in stated:
            found.setdefault(self.partition_key(one.partition), []).append(one)
        return {name: _newest(connector, each) for name, each in found.items()}

    def partition_key(self, partition: SourcePartition) -> str:
        try:
            return json.dumps(partition, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        except (TypeError, ValueError) as why:
            raise TaskFailedError(f"source partition {partition!r} cannot be stored: {why}") from None


def _record_keys(connector: str, partition: SourcePartition) -> Sequence[bytes]:
    """The key to write, then the keys to delete."""
    if isinstance(partition, StoredPartition) and partition.connector == connector:
        return partition.record_keys
    try:
        return [connect_json.pair(connector, partition)]
    except NotPrimitiveError as why:
        raise TaskFailedError(
            f"source partition {partition!r} of connector {connector} cannot be stored: {why}"
        ) from None


def _newest(connector: str, stated: Sequence[_Statement]) -> tuple[SourcePartition, SourceOffset]:
    """The key that was written last; Kafka Connect may write several keys for one partition."""
    # By time: keys that differ may lie in different partitions of the topic, whose offsets cannot be compared.
    *older, last = sorted(stated, key=lambda one: one.timestamp)
    if older:
        logger.warning(
            "source partition %s of connector %s has %s record keys, at %s; the last of them by its time counts, the "
            "next commit forgets the others",
            dict(last.partition),
            connector,
            "two" if len(older) == 1 else len(older) + 1,
            "; ".join(one.place for one in (*older, last)),
        )
    keys = (last.key, *(one.key for one in older))
    return StoredPartition(last.partition, connector, keys), last.offset


def _own_partition(connector: str, key: bytes | None, place: str) -> SourcePartition | None:
    """The source partition of a key; None if the key is not of this connector."""
    match _parsed(key):
        case [str(owner), dict(partition)] if _is_flat(partition):
            return partition if owner == connector else None
        case [str(owner)]:  # the migration sentinel of an early draft of KIP-618
            logger.debug("offset record at %s carries no source partition; skipped", place)
        case _:
            logger.warning("offset record at %s has a foreign or malformed key %s; skipped", place, shown(key))
    return None


def _position(value: bytes | None, connector: str, place: str) -> SourceOffset | None:
    parsed = None if value is None else _parsed(value)
    if parsed is None and value not in (None, b"null"):
        raise _damaged(value, connector, place)
    if parsed is not None and not (isinstance(parsed, dict) and _is_flat(parsed)):
        raise _damaged(value, connector, place)
    return parsed


def _damaged(value: bytes | None, connector: str, place: str) -> DamagedDataError:
    return DamagedDataError(
        f"the source offset of connector {connector} at {place} cannot be read: {shown(value)}. Starting from zero "
        f"would repeat everything; write a good offset, or null, under the same key"
    )


def _parsed(data: bytes | None) -> Any:
    try:
        return None if data is None else json.loads(data)
    except (ValueError, RecursionError):
        return None


def _is_flat(values: Mapping[str, object]) -> bool:
    return not any(isinstance(value, (dict, list)) for value in values.values())
