"""Topics, exactly once (the sink `eosfw`)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from eosfw.ids import TopicPartition
from eosfw.protocols import Step, StepInput
from eosfw.records import OffsetRange
from eosfw_spark.clients import open_backend
from eosfw_spark.formats.options import REGISTRY
from eosfw_spark.option_parser import KAFKA
from eosfw_spark.sink.options import APPLICATION, VERSION
from eosfw_spark.steps.outputs.step_output import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_ID_LENGTH: Final = 16
_REACHED_BY: Final = (KAFKA, REGISTRY)
"""How the names of options begin that say how something is reached."""


@dataclass(frozen=True, slots=True)
class TopicOutput:
    """Rows with the columns of Spark's Kafka sink: `value`, and if wanted `key`, `headers`, `partition`, ..."""

    step: Step
    options: Mapping[str, str]
    backend: str
    properties: Mapping[str, str]
    ranges: Mapping[TopicPartition, OffsetRange] = field(default_factory=dict)
    """What a batch step reads."""

    def write(self, frame: DataFrame) -> int:
        """Write in one transaction, unless this step has written what comes of these records already."""
        named = {APPLICATION: self._application(), VERSION: str(self._version())}
        return counted(
            frame,
            lambda seen: seen.write.format("eosfw").mode("append").options(**{**self._settings(), **named}).save(),
        )

    def start(self, stream: DataStreamWriter, *, new: bool) -> StreamingQuery:
        """Write each batch in a transaction, together with its token."""
        return stream.format("eosfw").options(**self._settings()).start()

    def _settings(self) -> dict[str, str]:
        cluster = {KAFKA + name: value for name, value in self.properties.items()}
        return {"backend": self.backend, **cluster, **self.options, "topic": self.step.output}

    def _application(self) -> str:
        topics = {each.topic for each in self.step.inputs} | {self.step.output}
        with open_backend(self.backend, self.properties) as backend, closing(backend.admin()) as admin:
            return application_id(self.step, admin.topic_ids(sorted(topics)))

    def _version(self) -> int:
        """What has been read: it grows with every record, so a run over fewer of them writes nothing."""
        return sum(offsets.end for offsets in self.ranges.values())


def application_id(step: Step, topic_ids: Mapping[str, str]) -> str:
    """Who writes: this computation, from these topics into this one; a topic that is made anew is another one.

    How a cluster or a registry is reached says nothing of it: with a new password the same rows must not come again.
    """
    computation = [step.sql, step.function, [_described(each) for each in step.inputs], sorted(topic_ids.items())]
    digest = hashlib.sha256(json.dumps(computation).encode()).hexdigest()[:_ID_LENGTH]
    return f"{step.name}-{digest}"


def _described(given: StepInput) -> list[Any]:
    options = ((name.lower(), value) for name, value in given.options.items())
    shown = sorted((name, value) for name, value in options if not name.startswith(_REACHED_BY))
    return [given.table, given.topic, given.format, given.schema, given.reader, shown]
