"""Keep source offsets as Kafka Connect keeps them: one compacted record per source partition."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from eosfw.builtin import connect_json
from eosfw.builtin.connect_json import NotPrimitiveError
from eosfw.errors import DamagedDataError, TaskFailedError
from eosfw.records import LogBatch, ProducerRecord, SourceOffset, SourcePartition

logger = logging.getLogger(__name__)

Offsets = Mapping[str, tuple[SourcePartition, SourceOffset]]


class KafkaOffsetStore:
    """Key `["connector", {source partition}]`, value `{source offset}` or null, in JsonConverter's bytes (OFF-01)."""

    name: ClassVar[str] = "kafka"

    def encode(
        self, connector: str, topic: str, offsets: Sequence[tuple[SourcePartition, SourceOffset | None]]
    ) -> Sequence[ProducerRecord]:
        return [self._record(connector, topic, partition, offset) for partition, offset in offsets]

    def _record(
        self, connector: str, topic: str, partition: SourcePartition, offset: SourceOffset | None
    ) -> ProducerRecord:
        try:
            key = connect_json.pair(connector, partition)
        except NotPrimitiveError as why:
            raise TaskFailedError(
                f"source partition {partition!r} of connector {connector} cannot be stored: {why}"
            ) from None
        try:
            value = None if offset is None else connect_json.flat_object(offset)
        except NotPrimitiveError as why:
            raise TaskFailedError(
                f"source offset {offset!r} of connector {connector}, source partition {partition!r}, "
                f"cannot be stored: {why}"
            ) from None
        return ProducerRecord(topic, value=value, key=key)

    def decode(
        self, connector: str, committed: Iterable[LogBatch]
    ) -> Mapping[str, tuple[SourcePartition, SourceOffset]]:
        offsets: dict[str, tuple[SourcePartition, SourceOffset]] = {}
        for batch in committed:
            for offset, key, value in zip(batch.offsets, batch.keys, batch.values, strict=True):
                place = f"topic {batch.topic}, partition {batch.partition}, offset {offset}"
                partition = _own_partition(connector, key, place)
                if partition is None:
                    continue
                position = _position(value, connector, place)
                if position is None:
                    offsets.pop(self.partition_key(partition), None)
                else:
                    offsets[self.partition_key(partition)] = (partition, position)
        return offsets

    def partition_key(self, partition: SourcePartition) -> str:
        return json.dumps(partition, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _own_partition(connector: str, key: bytes | None, place: str) -> SourcePartition | None:
    """The source partition a key names, if it is one of this connector's."""
    match _parsed(key):
        case [str(owner), dict(partition)] if _is_flat(partition):
            return partition if owner == connector else None
        case [str(owner)]:  # the migration sentinel of an early draft of KIP-618
            logger.debug("offset record at %s carries no source partition; skipped", place)
        case _:
            logger.warning("offset record at %s has a foreign or malformed key %r; skipped", place, key)
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
        f"the source offset of connector {connector} at {place} cannot be read: {value!r}. Starting from zero would "
        f"repeat everything; write a good offset, or null, under the same key"
    )


def _parsed(data: bytes | None) -> Any:
    try:
        return None if data is None else json.loads(data)
    except ValueError:
        return None


def _is_flat(values: Mapping[str, object]) -> bool:
    return not any(isinstance(value, (dict, list)) for value in values.values())
