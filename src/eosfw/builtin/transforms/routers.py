"""Transformations that choose the topic of a record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from eosfw.builtin.transforms.java_regex import expand, replacement_parts
from eosfw.builtin.transforms.simple_date_format import Field, format_time, parse_pattern
from eosfw.config import Config, ConfigDef, String
from eosfw.config.java_pattern import JavaPattern
from eosfw.errors import ConfigError, Problem
from eosfw.records import ProducerBatch, SourceRecord


@dataclass(frozen=True, slots=True)
class _DatePattern(String):
    """A pattern of Java's `SimpleDateFormat`."""

    def parse(self, text: str) -> tuple[Field, ...]:  # type: ignore[override]
        return tuple(parse_pattern(text))


class RegexRouter:
    """Renames topics that match a regular expression as a whole (Kafka Connect's `RegexRouter`)."""

    name: ClassVar[str] = "RegexRouter"
    aliases: ClassVar = ("org.apache.kafka.connect.transforms.RegexRouter",)
    config: ClassVar = ConfigDef(
        JavaPattern("regex", doc="regular expression that a topic must match as a whole"),
        String("replacement", doc="the new topic; $1 is the first group", may_be_empty=True),
    )

    def configure(self, config: Config) -> None:
        self._regex = config["regex"]
        try:
            self._replacement = replacement_parts(self._regex, config["replacement"])
        except ValueError as why:
            shown = config["replacement"]
            raise ConfigError(Problem("", f"Invalid value {shown} for the replacement of a topic: {why}")) from None

    def apply(self, record: SourceRecord) -> SourceRecord:
        topic = self._renamed(record.topic)
        return record if topic == record.topic else replace(record, topic=topic)

    def apply_batch(self, batch: ProducerBatch) -> ProducerBatch:
        topic = self._renamed(batch.topic)
        return batch if topic == batch.topic else replace(batch, topic=topic)

    def _renamed(self, topic: str) -> str:
        match = self._regex.fullmatch(topic)
        return topic if match is None else expand(match, self._replacement)


class TimestampRouter:
    """Names the topic after the time of a record (Kafka Connect's `TimestampRouter`)."""

    name: ClassVar[str] = "TimestampRouter"
    aliases: ClassVar = ("org.apache.kafka.connect.transforms.TimestampRouter",)
    config: ClassVar = ConfigDef(
        String("topic.format", "${topic}-${timestamp}", "the new topic, with ${topic} and ${timestamp}"),
        _DatePattern(
            "timestamp.format",
            tuple(parse_pattern("yyyyMMdd")),
            "what ${timestamp} is, as a pattern of Java's SimpleDateFormat, in UTC; default: yyyyMMdd",
        ),
    )

    def configure(self, config: Config) -> None:
        self._format, self._fields = config["topic.format"], config["timestamp.format"]

    def apply(self, record: SourceRecord) -> SourceRecord:
        if record.timestamp is None:
            raise ValueError("Timestamp missing on record")
        return replace(record, topic=self._topic(record.topic, format_time(self._fields, record.timestamp)))

    def apply_batch(self, batch: ProducerBatch) -> ProducerBatch:
        if batch.timestamps is None:
            raise ValueError("Timestamp missing on record")
        # Only the ends are formatted: a batch that spans several topics is for `apply`.
        first, last = (format_time(self._fields, end) for end in (min(batch.timestamps), max(batch.timestamps)))
        if first != last:
            raise ValueError("records of several times")
        return replace(batch, topic=self._topic(batch.topic, first))

    def _topic(self, topic: str, timestamp: str) -> str:
        return str(self._format).replace("${topic}", topic).replace("${timestamp}", timestamp)
