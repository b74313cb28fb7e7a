"""Small batches of a stream are read beside the driver: handing them to Python in tasks takes longer than reading them.

Spark takes rows from there only if the reader is its wrapper of a `SimpleDataSourceStreamReader`: with the plan of a
batch it then asks for the rows, keeps them as a block, and one task takes them from it. If the block is lost, that task
reads the records itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from eosfw_spark.source.offset_ranges import Split
from eosfw_spark.source.offset_reader import OffsetReader
from eosfw_spark.source.options import StreamOptions

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST: Final = 4 << 20
"""Bytes of records; what is larger would fill the driver's memory, and takes its time in a task, too."""


def may_prefetch(splits: Sequence[Split], options: StreamOptions) -> bool:
    """Whether a batch has few offsets, and the user does not say how it is divided among tasks."""
    divided = options.read.min_partitions or options.read.max_records
    return not divided and 0 < sum(each.offsets.end - each.offsets.start for each in splits) <= options.prefetch_offsets


def prefetch(splits: Sequence[Split], cluster: OffsetReader, *, headers: bool) -> list[pa.RecordBatch] | None:
    """The rows of a batch, in the order of a task that reads them; None if they are larger, in a replay as well."""
    from eosfw_spark.source.columns import arrow_batches

    found = cluster.records(splits, LARGEST)
    return None if found is None else list(arrow_batches(found, headers=headers))
