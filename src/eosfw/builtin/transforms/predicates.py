"""Predicates that look at one property of a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from eosfw.config import Config, ConfigDef, String
from eosfw.config.definition.java_pattern import JavaPattern
from eosfw.data import ArrowValues, StructColumns
from eosfw.records import ProducerBatch, SourceRecord

_PACKAGE = "org.apache.kafka.connect.transforms.predicates"


class TopicNameMatches:
    """Chooses records whose topic matches a regular expression as a whole (Kafka Connect's `TopicNameMatches`)."""

    name: ClassVar[str] = "TopicNameMatches"
    aliases: ClassVar = (f"{_PACKAGE}.TopicNameMatches",)
    config: ClassVar = ConfigDef(JavaPattern("pattern", doc="regular expression that the topic must match as a whole"))

    def configure(self, config: Config) -> None:
        self._pattern = config["pattern"]

    def test(self, record: SourceRecord) -> bool:
        return self._pattern.fullmatch(record.topic) is not None

    def test_batch(self, batch: ProducerBatch) -> bool:
        return self._pattern.fullmatch(batch.topic) is not None


class HasHeaderKey:
    """Chooses records that have a header of a name (Kafka Connect's `HasHeaderKey`)."""

    name: ClassVar[str] = "HasHeaderKey"
    aliases: ClassVar = (f"{_PACKAGE}.HasHeaderKey",)
    config: ClassVar = ConfigDef(String("name", doc="the name of the header"))

    def configure(self, config: Config) -> None:
        self._name = config["name"]

    def test(self, record: SourceRecord) -> bool:
        return self._found(record.headers)

    def test_batch(self, batch: ProducerBatch) -> bool | Sequence[bool]:
        return False if batch.headers is None else [self._found(headers) for headers in batch.headers]

    def _found(self, headers: Sequence[tuple[str, Any]]) -> bool:
        return any(name == self._name for name, _ in headers)


class RecordIsTombstone:
    """Chooses records whose value is null (Kafka Connect's `RecordIsTombstone`)."""

    name: ClassVar[str] = "RecordIsTombstone"
    aliases: ClassVar = (f"{_PACKAGE}.RecordIsTombstone",)
    config: ClassVar = ConfigDef()

    def configure(self, config: Config) -> None:
        """Take no properties."""

    def test(self, record: SourceRecord) -> bool:
        return record.value is None

    def test_batch(self, batch: ProducerBatch) -> bool | Sequence[bool]:
        values: object = batch.values
        if isinstance(values, StructColumns):
            return False
        if isinstance(values, ArrowValues):
            return bool(values.null_count) and cast("list[bool]", values.array.is_null().to_pylist())
        # By type, in C: mostly there is none.
        if type(None) not in set(map(type, batch.values)):
            return False
        return [value is None for value in batch.values]
