"""The subject under which the schemas of a topic's keys or values are (Confluent's `SubjectNameStrategy`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from eosfw.config import String
from eosfw.errors import DataError

_PACKAGE: Final = "io.confluent.kafka.serializers.subject."
TOPIC_NAME: Final = "TopicNameStrategy"
_STRATEGIES: Final = (TOPIC_NAME, "RecordNameStrategy", "TopicRecordNameStrategy")


@dataclass(frozen=True, slots=True)
class SubjectNameStrategy(String):
    """A strategy by its class in Java, with or without its package; parsed it is without."""

    def parse(self, text: str) -> str:
        name = text.strip().removeprefix(_PACKAGE)
        if name not in _STRATEGIES:
            raise ValueError(f"must be one of: {', '.join(_STRATEGIES)}")
        return name


def subject_name(strategy: str, topic: str, part: str, record_name: str | None) -> str:
    """The subject for a topic's `key` or `value`; DataError if the strategy needs a name that the schema has not."""
    if strategy == TOPIC_NAME:
        return f"{topic}-{part}"
    if record_name is None:
        raise DataError(f"{part}.subject.name.strategy is {strategy}, so the schema of the {part} must be a STRUCT")
    return record_name if strategy == "RecordNameStrategy" else f"{topic}-{record_name}"
