"""Transformations that choose the topic of a record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from eosfw.builtin.java.regex import expand, replacement_parts
from eosfw.builtin.java.simple_date_format import SimpleDateFormat
from eosfw.config import Config, ConfigDef, String
from eosfw.config.definition.java_pattern import JavaPattern
from eosfw.errors import ConfigError, DataError, Problem
from eosfw.records import ProducerBatch, SourceRecord


@dataclass(frozen=True, slots=True)
class _DatePattern(String):
    """A pattern of Java's `SimpleDateFormat`."""

    def parse(self, text: str) -> SimpleDateFormat:  # type: ignore[override]
        return SimpleDateFormat(text)


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
        if self._regex.fullmatch(topic) is None:
            return topic
        # As Java's `replaceFirst` does: the first match may be shorter than the topic, the rest of which stays.
        first = self._regex.search(topic)
        assert first is not None, "the whole topic matches"
        return topic[: first.start()] + expand(first, self._replacement) + topic[first.end() :]


class TimestampRouter:
    """Names the topic after the time of a record (Kafka Connect's `TimestampRouter`)."""

    name: ClassVar[str] = "TimestampRouter"
    aliases: ClassVar = ("org.apache.kafka.connect.transforms.TimestampRouter",)
    config: ClassVar = ConfigDef(
        String("topic.format", "${topic}-${timestamp}", "the new topic, with ${topic} and ${timestamp}"),
        _DatePattern(
            "timestamp.format",
            SimpleDateFormat("yyyyMMdd"),
            "what ${timestamp} is, as a pattern of Java's SimpleDateFormat, in UTC",
        ),
    )

    def configure(self, config: Config) -> None:
        self._format, self._dates = config["topic.format"], config["timestamp.format"]

    def apply(self, record: SourceRecord) -> SourceRecord:
        if record.timestamp is None:
            raise DataError("Timestamp missing on record")
        return replace(record, topic=self._topic(record.topic, self._dates.format(record.timestamp)))

    def apply_batch(self, batch: ProducerBatch) -> ProducerBatch:
        if batch.timestamps is None:
            raise DataError("Timestamp missing on record")
        # Mostly all lie in one hour or day: what the pattern does not tell apart is formatted once.
        step = self._dates.resolution
        first, last = min(batch.timestamps) // step, max(batch.timestamps) // step
        steps = {first} if first == last else {one // step for one in batch.timestamps}
        texts = {self._dates.format(one * step) for one in steps}
        if len(texts) > 1:
            raise ValueError("records of several topics, which are for `apply`")
        return replace(batch, topic=self._topic(batch.topic, texts.pop()))

    def _topic(self, topic: str, timestamp: str) -> str:
        return str(self._format).replace("${topic}", topic).replace("${timestamp}", timestamp)
