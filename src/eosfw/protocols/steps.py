"""The contract of an engine that runs steps over committed records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Protocol, Self, runtime_checkable

from eosfw.config.parts import PartChoice
from eosfw.errors import Problem
from eosfw.ids import TopicPartition
from eosfw.records import (
    OffsetRange,
)

OUTPUT_FORMATS: Final = ("parquet", "csv", "json", "delta", "iceberg", "topic", "console")
"""What a step may write: files in a folder, a table, a topic (exactly once), lines on the console."""
OUTPUT_MODES: Final = ("append", "update", "complete")
"""Spark's output modes: only rows that are final, rows that changed, or all rows after every batch."""
AVAILABLE_NOW: Final = "available-now"


@dataclass(frozen=True, slots=True)
class StepInput:
    """A topic as a table: Kafka's columns, and with `format` (json, csv, avro, protobuf) the value's own.

    Without `schema` the engine has it from the records or from a schema registry, as the options say.
    """

    table: str
    topic: str
    format: str | None = None
    schema: str | None = None
    reader: str | None = None
    """Which of the engine's readers reads it (`spark-kafka` is Spark's own Kafka source); None takes eosfw's."""
    options: Mapping[str, str] = field(default_factory=dict)
    """For the reader of a streaming step, such as `maxOffsetsPerTrigger`."""


@dataclass(frozen=True, slots=True)
class Step:
    """A named computation from topics to an output: a SQL text, or a function `module:name` of DataFrames.

    A step with a trigger is a streaming query: it goes on from its checkpoint. One without is a batch, which reads all
    that is committed and replaces its output, unless that is a topic.
    """

    name: str
    inputs: Sequence[StepInput]
    output: str
    """A folder, a topic or a table, according to the format; empty for the console."""
    sql: str | None = None
    function: str | None = None
    output_format: str = "parquet"
    """One of `OUTPUT_FORMATS`."""
    output_options: Mapping[str, str] = field(default_factory=dict)
    """For the writer of the format."""
    trigger: str | None = None
    """When a streaming query begins a batch: `AVAILABLE_NOW`, or an interval such as `5 seconds`."""
    checkpoint: str | None = None
    """The folder of a streaming query's progress; None leaves it to the run."""
    output_mode: str | None = None
    """One of `OUTPUT_MODES` for a streaming query; None takes `append`."""

    @property
    def streaming(self) -> bool:
        """Whether the step is a streaming query."""
        return self.trigger is not None


@dataclass(frozen=True, slots=True)
class StepBatch:
    """A micro-batch of a streaming query that is written: what it read is in the output, once."""

    number: int
    started: float
    """Seconds since the epoch."""
    seconds: float
    """How long it took."""
    rows: int
    """The rows that it read."""
    read_to: Mapping[TopicPartition, int]
    """The offset behind the last record that it read, of each partition that the engine names."""


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """What a streaming query has done so far (from Spark's `StreamingQueryProgress`)."""

    batch: int
    """The number of the last micro-batch; -1 before the first."""
    rows: int
    """The rows read by this run of the query."""
    rows_per_second: float
    behind: int | None = None
    """How many committed offsets are not read yet; None if the engine cannot tell."""
    held_back: Sequence[str] = ()
    """A sentence for each partition that an open transaction holds back."""
    batches: Sequence[StepBatch] = ()
    """The last ones, at most twenty, the newest last."""


class StepQuery(Protocol):
    """A running streaming step (Spark's `StreamingQuery`). A failure is a StepFailedError that names the step."""

    step: Step

    def progress(self) -> QueryProgress:
        """What it has done so far; raises if it failed."""

    def ended(self) -> bool:
        """Whether it came to its end by itself, as with `AVAILABLE_NOW`; raises if it failed."""

    def drain(self, timeout: float) -> bool:
        """Read what is committed now, then stop; False if that took longer than `timeout` seconds.

        A batch that was cut off is done again by the next run. Raise the failure of the query if it fails meanwhile.
        """

    def stop(self) -> None:
        """Stop at once; the batch at hand is done again by the next run."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How often identities appear against how often they should; `None` means "not verified", never 0."""

    duplicates: int | None
    missing: int | None
    examples: Sequence[str] = ()


@runtime_checkable
class StepEngine(Protocol):
    """Runs steps over committed records, and counts a verdict, somewhere else than in this process."""

    name: ClassVar[str]

    @classmethod
    def problems(cls, steps: Sequence[Step], folder: str) -> Sequence[Problem]:
        """What keeps these steps from running here (no Java, a function that cannot be imported); starts nothing."""

    @classmethod
    def start(cls, backend: str, properties: Mapping[str, str], folder: str, reader: PartChoice) -> Self:
        """Start over the cluster that the named backend reaches with these client properties; `reader` is the isolation
        reader that reads there. Relative paths and modules of steps are looked for in `folder`."""

    def run(self, step: Step, ranges: Mapping[TopicPartition, OffsetRange]) -> int:
        """Run a batch step over exactly these committed ranges, replace its output, return its rows; a topic gets the
        rows once, however often the step runs over these ranges. StepFailedError names the step and keeps the earlier
        output."""

    def start_query(self, step: Step, checkpoint: str | None, *, follow: bool) -> StepQuery:
        """Start a streaming step: until it has read what is committed now, or with `follow` at its trigger until it is
        stopped. It goes on from the folder `checkpoint`; None means that topics begin and end with this run, so the
        step starts anew and replaces its output. StepFailedError names the step."""

    def verdict(
        self,
        ranges: Mapping[TopicPartition, OffsetRange],
        identity: str,
        expected: Iterable[Sequence[bytes]],
    ) -> Verdict:
        """Count identities that appear more often than expected (duplicates) or less (missing) in the ranges.
        `identity` is `value`, `headers` or `field:NAME`; `expected` comes in chunks. DamagedDataError names records
        that carry no such identity: they are neither duplicates nor verified."""

    def close(self) -> None:
        """Stop everything that was started."""
