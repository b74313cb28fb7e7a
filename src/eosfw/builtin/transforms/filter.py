"""The transformation that drops records."""

from __future__ import annotations

from typing import ClassVar

from eosfw.config import Config, ConfigDef
from eosfw.records import ProducerBatch, SourceRecord


class Filter:
    """Drops every record that its predicate chooses, all records without one (Kafka Connect's `Filter`)."""

    name: ClassVar[str] = "Filter"
    aliases: ClassVar = ("org.apache.kafka.connect.transforms.Filter",)
    config: ClassVar = ConfigDef()

    def configure(self, config: Config) -> None:
        """Take no properties."""

    def apply(self, record: SourceRecord) -> SourceRecord | None:
        return None

    def apply_batch(self, batch: ProducerBatch) -> ProducerBatch | None:
        return None
