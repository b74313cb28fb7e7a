"""The records that a run wrote, and those that its source says it should have written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

from eosfw.closeables import Closeable
from eosfw.config.parts import OFFSET_STORE, VALUE_CONVERTER, PartChoice, chosen
from eosfw.errors import UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.observe.timeline import text
from eosfw.pipeline import replay_records
from eosfw.protocols import Admin, IsolationLevel, IsolationReader, OffsetStore, ReversibleConverter
from eosfw.records import LogBatch, OffsetRange, SourceRecord
from eosfw.registry import parts
from eosfw.runtime import connector_config
from pytest_eos.environment.config.clocks import needs_real_clock
from pytest_eos.environment.diagnostics.stall_report import open_transactions_text
from pytest_eos.runs.committed_transactions import committed_transactions
from pytest_eos.runs.groups.worker_group import WorkerGroup
from pytest_eos.runs.groups.worker_harness import WorkerHarness
from pytest_eos.runs.record import Record, records_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


T = TypeVar("T")
Ranges = Mapping[TopicPartition, OffsetRange]


class Topic:
    """Topics of the test's cluster; records before the offsets of `since` are left out."""

    def __init__(
        self, eos: WorkerHarness, topics: tuple[str, ...], since: Mapping[TopicPartition, int] | None = None
    ) -> None:
        self.eos = eos
        self._topics, self._since = topics, since or {}

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of the topics."""
        return self._topics

    def ranges(self) -> Ranges:
        """The ranges that the isolation reader under test can read; waits until no earlier transaction is open."""
        with closing(self.eos.backend.admin()) as admin:
            self._await_ended_transactions(admin)
        with closing(self._reader()) as reader:
            bounds = reader.bounds(self.topics)
        return {one: OffsetRange(max(r.start, self._since.get(one, 0)), r.end) for one, r in bounds.items()}

    def records(self) -> Iterator[Record]:
        """The records that the isolation reader returns, by partition and offset."""
        ranges = self.ranges()
        with closing(self._reader(headers=True)) as reader:
            for batch in reader.read(ranges, self.eos.settings.patience):
                if isinstance(batch, LogBatch):
                    yield from records_of(batch)

    def committed_places(self) -> frozenset[str]:
        """The places of committed records, read by the backend's own reader."""
        with closing(self.eos.backend.reader(IsolationLevel.READ_COMMITTED)) as reader:
            batches = reader.read(self.ranges(), self.eos.settings.patience)
            return frozenset(row.place for batch in batches for row in records_of(batch))

    def values(self) -> list[bytes | None]:
        """The values, sorted."""
        return sorted((record.value for record in self.records()), key=lambda value: value or b"")

    def dataframe(self, spark: SparkSession) -> DataFrame:
        """The records as a DataFrame with the columns of Spark's Kafka source, headers included."""
        if self.eos.cluster.virtual:
            raise needs_real_clock("Spark (a session that the test brings along; the fixture `eos_spark` sees to it)")
        ranges = self.ranges()
        reader = spark.read.format("eosfw").option("backend", self.eos.backend_name)
        choice = self._reader_choice()
        if choice.name is not None:
            own = {f"isolationReader.{name}": text for name, text in choice.properties.items()}
            reader = reader.options(isolationReader=choice.name, **own)
        return (
            reader.options(**{f"kafka.{name}": text for name, text in self.eos.cluster.client.items()})
            .option("assign", json.dumps(_partitions(ranges)))
            .option("startingOffsets", json.dumps(_offsets(ranges, "start")))
            .option("endingOffsets", json.dumps(_offsets(ranges, "end")))
            .option("includeHeaders", "true")
            .load()
        )

    def _reader_choice(self) -> PartChoice:
        """The isolation reader that the test's newest worker chose."""
        return self.eos.reader_choice()

    def _reader(self, *, headers: bool = False) -> IsolationReader:
        eos = self.eos
        return parts.isolation_reader(eos.plugins, self._reader_choice(), eos.backend, eos.runtime, headers=headers)

    def _await_ended_transactions(self, admin: Admin) -> None:
        counts = admin.partitions(self.topics)
        ones = [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]
        written = admin.end_offsets(ones, IsolationLevel.READ_UNCOMMITTED)

        def decided() -> bool:
            stable = admin.end_offsets(ones, IsolationLevel.READ_COMMITTED)
            return all(stable[one] >= end for one, end in written.items())

        def open_ones() -> str:
            tells = self.eos.backend.capabilities.describe_transactions
            return open_transactions_text(admin.open_transactions(ones) if tells else ())

        self.eos.waiter.until(decided, f"the end of every transaction in {', '.join(self.topics)}", open_ones)

    def __str__(self) -> str:
        return f"topic {', '.join(self.topics)}"


class Run(Topic):
    """A connector's run: the visible records, and those that an independent replay of its source expects."""

    def __init__(self, eos: WorkerHarness, group: WorkerGroup, name: str, properties: Mapping[str, str]) -> None:
        super().__init__(eos, (), _end_offsets(eos))
        self.group, self.name, self.properties = group, name, properties
        self._read: dict[str, Any] | None = None

    def finish(self) -> None:
        """Note that the run is over: from now on its topics and its source are read once, however often they are asked.

        A verdict that looks at them in several ways then takes no longer.
        """
        self._read = {}

    def ranges(self) -> Ranges:
        """The ranges that the isolation reader under test can read; waits until no earlier transaction is open."""
        return self._once("ranges", super().ranges)

    def records(self) -> Iterator[Record]:
        """The records that the isolation reader returns, by partition and offset."""
        read = super().records
        return read() if self._read is None else iter(self._once("records", lambda: list(read())))

    def _once(self, what: str, read: Callable[[], T]) -> T:
        if self._read is None:
            return read()
        if what not in self._read:
            self._read[what] = read()
        found: T = self._read[what]
        return found

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics to which the connector wrote."""
        # Transformations may send records elsewhere.
        topic = None if self.properties.get("transforms") else self.properties.get("topic")
        return tuple(sorted({*self.eos.authors.topics.get(self.name, ()), *((topic,) if topic else ())}))

    def source_records(self) -> list[SourceRecord]:
        """The expected records: fresh tasks replay the source up to the committed offsets."""
        return list(self._once("source", self._replayed))

    def _replayed(self) -> list[SourceRecord]:
        return [record for chunk in replay_records(self.group.local, self.name) for record in chunk]

    def transactions(self) -> list[list[Record]]:
        """The records of each committed transaction, in the order of commits, with the records in the order of sends.

        Transactions without a visible record are left out. ValueError if the author of a record is unknown: the
        connector needs `"eosfw.identity" = "headers"`, the default in tests.
        """
        return committed_transactions(self.name, self.records(), self.eos.authors, self.group.history.events())

    def read_values(self) -> list[Any]:
        """The values of the records as the run's `value.converter` reads them, by partition and offset.

        Without a converter they are bytes; TypeError if it reads nothing back (`ReversibleConverter`).
        """
        choice = self._chosen(VALUE_CONVERTER)
        if choice.name is None:
            return [record.value for record in self.records()]
        converter: object = choice.configured(self.group.local.plugins.converter(choice.name))
        try:
            if not isinstance(converter, ReversibleConverter):
                raise TypeError(f"value.converter {choice.name!r} reads nothing back: it has no `to_connect_data`")
            return [converter.to_connect_data(record.topic, record.value).value for record in self.records()]
        finally:
            if isinstance(converter, Closeable):
                converter.close()

    def offset_store(self) -> OffsetStore:
        """The offset store that the run's properties choose."""
        return parts.offset_store(self.group.local.plugins, self._chosen(OFFSET_STORE))

    def _chosen(self, key: str) -> PartChoice:
        local = self.group.local
        kind = local.plugins.connector(self.properties["connector.class"])
        return chosen(key, local.config, connector_config(kind, self.name, self.properties))

    def _reader_choice(self) -> PartChoice:
        return self.group.local.reader_choice

    def timeline(self) -> str:
        """The run's transactions, drawn as text."""
        return text(self.group.history)

    def __str__(self) -> str:
        return f"connector {self.name}, topic {', '.join(self.topics)}"


def whole_topics(run: Run) -> Topic:
    """The topics of a run and its source with all that is in them, thus also what an earlier run or process wrote."""
    named = {*run.topics, *(record.topic for record in run.source_records())}
    with closing(run.eos.backend.admin()) as admin:
        known = named & set(admin.partitions())  # a property `topic` may be but the beginning of their names
    return Topic(run.eos, tuple(sorted(known or named)))


def _end_offsets(eos: WorkerHarness) -> Mapping[TopicPartition, int]:
    """The ends of all topics, as it is not known yet to which of them the connector writes."""
    found: Mapping[TopicPartition, int] = {}

    def answered() -> bool:
        nonlocal found
        ones = [TopicPartition(topic, n) for topic, count in admin.partitions().items() for n in range(count)]
        try:
            found = admin.end_offsets(ones, IsolationLevel.READ_UNCOMMITTED)
        except UnknownTopicOrPartitionError:
            return False  # somebody else has deleted a topic meanwhile
        return True

    with closing(eos.backend.admin()) as admin:
        eos.waiter.until(answered, "the end offsets of all topics")
    return found


def _partitions(ranges: Ranges) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for one in sorted(ranges):
        found.setdefault(one.topic, []).append(one.partition)
    return found


def _offsets(ranges: Ranges, end: str) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for one, offsets in ranges.items():
        found.setdefault(one.topic, {})[str(one.partition)] = getattr(offsets, end)
    return found
