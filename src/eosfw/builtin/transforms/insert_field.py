"""The transformation that adds fields of a record's metadata, or fixed ones, to its key or value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from eosfw.config import Boolean, Config, ConfigDef, String
from eosfw.errors import ConfigError, Problem
from eosfw.records import SourceRecord

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

    def _inserted(self, record: SourceRecord, whole: Any) -> Any:
        """The key or value of a record with the fields added."""
        if not isinstance(whole, Mapping):
            kind = type(whole).__name__
            raise TypeError(f"Only Map objects supported in absence of schema for [field insertion], found: {kind}")
        added: dict[str, Any] = {} if self._topic is None else {self._topic: record.topic}
        if self._partition is not None and record.partition is not None:
            added[self._partition] = record.partition
        if self._timestamp is not None and record.timestamp is not None:
            added[self._timestamp] = record.timestamp
        return {**whole, **added, **self._static}


class InsertFieldValue(_InsertField):
    """Adds fields to the value (Kafka Connect's `InsertField$Value`)."""

    name: ClassVar[str] = "InsertField$Value"
    aliases: ClassVar = ("org.apache.kafka.connect.transforms.InsertField$Value",)

    def apply(self, record: SourceRecord) -> SourceRecord:
        return record if record.value is None else replace(record, value=self._inserted(record, record.value))


class InsertFieldKey(_InsertField):
    """Adds fields to the key (Kafka Connect's `InsertField$Key`)."""

    name: ClassVar[str] = "InsertField$Key"
    aliases: ClassVar = ("org.apache.kafka.connect.transforms.InsertField$Key",)

    def apply(self, record: SourceRecord) -> SourceRecord:
        return record if record.key is None else replace(record, key=self._inserted(record, record.key))


def _field_name(text: str | None) -> str | None:
    """The name without the mark that says whether a schema requires it."""
    return text[:-1] if text is not None and text[-1:] in ("!", "?") else text
