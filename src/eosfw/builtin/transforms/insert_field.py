"""The transformation that adds fields of a record's metadata, or fixed ones, to its key or value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any, ClassVar

from eosfw.config import Boolean, Config, ConfigDef, String
from eosfw.errors import ConfigError, Problem
from eosfw.records import ProducerBatch, SourceRecord

_FIELDS = ("topic.field", "partition.field", "offset.field", "timestamp.field", "static.field")
_MARK = "; ends in ! if the field is required, in ? if it is optional (the default)"


class _InsertField:
    """Adds fields to a mapping (Kafka Connect's `InsertField`)."""

    name: ClassVar[str]
    config: ClassVar = ConfigDef(
        String("topic.field", None, f"field for the topic{_MARK}"),
        String("partition.field", None, f"field for the partition, if the record names one{_MARK}"),
        String("offset.field", None, "field for the offset: for sink connectors alone, so refused"),
        String("timestamp.field", None, f"field for the timestamp, if the record has one{_MARK}"),
        String("static.field", None, f"field for `static.value`{_MARK}"),
        String("static.value", None, "the text of `static.field`", may_be_empty=True),
        Boolean("replace.null.with.default", True, "accepted for Kafka Connect's sake: it concerns schemas alone"),
    )

    def configure(self, config: Config) -> None:
        topic, partition, offset, timestamp, static = (_field_name(config[name]) for name in _FIELDS)
        if offset is not None:
            raise ConfigError(Problem("", "offset.field is for sink connectors: a source record has no offset yet"))
        if topic is partition is timestamp is static is None:
            raise ConfigError(
                Problem("", f"No field insertion configured: {self.name} needs one of {', '.join(_FIELDS)}")
            )
        if static is not None and config["static.value"] is None:
            raise ConfigError(Problem("", "No value specified for static field: static.field needs static.value"))
        self._topic, self._partition, self._timestamp = topic, partition, timestamp
        self._static: dict[str, Any] = {} if static is None else {static: config["static.value"]}

    def _inserted(self, place: SourceRecord | ProducerBatch, timestamp: int | None, whole: Any) -> Any:
        """A key or value with the fields added; null stays null."""
        if type(whole) is not dict and not isinstance(whole, Mapping):
            if whole is None:
                return None
            kind = type(whole).__name__
            raise TypeError(f"Only Map objects supported in absence of schema for [field insertion], found: {kind}")
        made = dict(whole)
        if self._topic is not None:
            made[self._topic] = place.topic
        if self._partition is not None and place.partition is not None:
            made[self._partition] = place.partition
        if self._timestamp is not None and timestamp is not None:
            made[self._timestamp] = timestamp
        made.update(self._static)
        return made

    def _inserted_column(self, batch: ProducerBatch, column: Sequence[Any]) -> list[Any]:
        stamps = repeat(None) if batch.timestamps is None else batch.timestamps
        return [self._inserted(batch, stamp, whole) for stamp, whole in zip(stamps, column, strict=False)]


class InsertFieldValue(_InsertField):
    """Adds fields to the value (Kafka Connect's `InsertField$Value`)."""

    name: ClassVar[str] = "InsertField$Value"
    aliases: ClassVar = ("org.apache.kafka.connect.transforms.InsertField$Value",)

    def apply(self, record: SourceRecord) -> SourceRecord:
        return replace(record, value=self._inserted(record, record.timestamp, record.value))

    def apply_batch(self, batch: ProducerBatch) -> ProducerBatch:
        return replace(batch, values=self._inserted_column(batch, batch.values))


class InsertFieldKey(_InsertField):
    """Adds fields to the key (Kafka Connect's `InsertField$Key`)."""

    name: ClassVar[str] = "InsertField$Key"
    aliases: ClassVar = ("org.apache.kafka.connect.transforms.InsertField$Key",)

    def apply(self, record: SourceRecord) -> SourceRecord:
        return replace(record, key=self._inserted(record, record.timestamp, record.key))

    def apply_batch(self, batch: ProducerBatch) -> ProducerBatch:
        return batch if batch.keys is None else replace(batch, keys=self._inserted_column(batch, batch.keys))


def _field_name(text: str | None) -> str | None:
    """The name without the mark that says whether a schema requires it."""
    return text[:-1] if text is not None and text[-1:] in ("!", "?") else text
