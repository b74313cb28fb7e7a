"""A batch read of committed records (Spark's `KafkaBatch`)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from eosfw.garbage_collection import collection_paused
from eosfw.protocols import Admin, ArrowIsolationReader, IsolationReader
from eosfw.records import LogBatch, OffsetRange
from eosfw_spark.clients import kept_clients, open_backend, open_isolation_reader
from eosfw_spark.source.data_loss import TopicIds, find_deleted, report_data_losses
from eosfw_spark.source.offset_ranges import (
    Ranges,
    Split,
    explicit_ranges,
    ranges_to_read,
    split_ranges,
    topics_to_read,
)
from eosfw_spark.source.options import ReadOptions
from eosfw_spark.source.split_reader import Read, SplitReader

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)


class SplitPartition(InputPartition):
    """The input partition of one Spark task."""

    def __init__(self, *splits: Split) -> None:
        super().__init__(splits)
        self.splits = splits


class EosfwReader(DataSourceReader):
    """Plans on the driver, so that all tasks use the same end offsets; tasks read with clients of their own process."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """Split the ranges into input partitions."""
        options = self._options
        for name in options.ignored:
            logger.warning("option %s is for streams: a batch read takes everything up to its endingOffsets", name)
        ranges, ids = self._ask()
        splits = split_ranges(ranges, options.min_partitions, options.max_records)
        return [SplitPartition(replace(each, topic_id=ids.get(each.partition.topic))) for each in splits]

    def _ask(self) -> tuple[Ranges, TopicIds]:
        options = self._options
        explicit = explicit_ranges(options)
        with open_backend(options.backend, options.properties) as backend, closing(backend.admin()) as admin:
            if explicit is not None:
                return explicit, admin.topic_ids(options.topics)
            with open_isolation_reader(backend, options.reader, headers=options.headers) as reader:
                return plan_ranges(options, reader, admin)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one input partition as Arrow batches."""
        # If there is nothing to read, Spark passes one partition of another class.
        if isinstance(partition, SplitPartition):
            yield from read_arrow(partition.splits, self._options)


def plan_ranges(options: ReadOptions, reader: IsolationReader, admin: Admin) -> tuple[Ranges, TopicIds]:
    """The range of each partition, and the ids that the topics had before they were asked for their offsets."""
    topics = topics_to_read(options, admin)
    if not topics:
        logger.warning("subscribePattern matches no topic on %s: nothing is read", options.address)
    ids = admin.topic_ids(topics)
    bounds = reader.bounds(topics)
    planned = ranges_to_read(options, bounds, lambda times: admin.offsets_for_times(times, options.isolation))
    report_data_losses(find_deleted(planned, bounds), fail=options.fail_on_data_loss)
    # What was deleted before it was read is reported, and left out.
    starts = {each: min(max(offsets.start, bounds[each].start), offsets.end) for each, offsets in planned.items()}
    return {each: OffsetRange(starts[each], offsets.end) for each, offsets in planned.items()}, ids


def read_arrow(splits: Sequence[Split], options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Read ranges, one after the other, as Arrow batches, in the process of a Spark task."""
    from eosfw_spark.source.columns import arrow_batches

    # Each message starts a search for cycles, and a read makes none; Spark's worker collects after the task.
    with collection_paused():
        yield from arrow_batches(_records(splits, options), headers=options.headers, typed=options.typed)


def _records(splits: Sequence[Split], options: ReadOptions) -> Iterator[LogBatch]:
    with kept_clients(options.backend, options.properties, options.reader, headers=options.headers) as clients:
        reader = clients.reader
        read: Read = reader.read_arrow if isinstance(reader, ArrowIsolationReader) else reader.read
        shown = SplitReader(read, lambda: closing(clients.backend.admin()), fail_on_data_loss=options.fail_on_data_loss)
        for split in splits:
            yield from shown.read([split], options.stall_timeout)
