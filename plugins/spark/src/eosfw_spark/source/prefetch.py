"""Small batches of a stream are read beside the driver: handing them to Python in tasks takes longer than reading them.

Spark takes rows from there only if the reader is its wrapper of a `SimpleDataSourceStreamReader`: with the plan of a
batch it then asks for the rows, keeps them as a block, and one task takes them from it. If the block is lost, that task
reads the records itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Final

from eosfw.records import LogBatch
from eosfw_spark.source.batch_reader import read_splits
from eosfw_spark.source.offset_ranges import Split
from eosfw_spark.source.options import ReadOptions, StreamOptions

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST: Final = 4 << 20
"""Bytes of keys and values; what is larger would fill the driver's memory, and takes its time in a task, too."""


def may_prefetch(splits: Sequence[Split], options: StreamOptions) -> bool:
    """Whether a batch has few offsets, and the user does not say how it is divided among tasks."""
    divided = options.read.min_partitions or options.read.max_records
    return not divided and 0 < sum(each.offsets.end - each.offsets.start for each in splits) <= options.prefetch_offsets


def prefetch(splits: Sequence[Split], options: ReadOptions) -> list[pa.RecordBatch] | None:
    """The rows of a batch; None if they are too large: that depends on the records alone, as a replay needs it."""
    from eosfw_spark.source.columns import arrow_batches

    found: list[LogBatch] = []
    size = 0
    with closing(read_splits(splits, options)) as batches:
        for batch in batches:
            found.append(batch)
            size += _size(batch)
            if size > LARGEST:
                return None
    return list(arrow_batches(found, headers=options.headers))


def _size(batch: LogBatch) -> int:
    return sum(len(each) for column in (batch.keys, batch.values) for each in column if each is not None)
