"""Reading of a connector's committed source offsets (Kafka Connect's `OffsetStorageReader`)."""

from __future__ import annotations

from collections.abc import Mapping

from eosfw.ids import TopicPartition
from eosfw.protocols import Admin, IsolationLevel, LogReader, OffsetStore
from eosfw.records import OffsetRange, SourceOffset, SourcePartition
from eosfw.runtime.config_topic import READ_TIMEOUT


def read_offsets(
    connector: str,
    topic: str,
    store: OffsetStore,
    admin: Admin,
    reader: LogReader,
    *,
    stall_timeout: float = READ_TIMEOUT,
) -> Mapping[str, tuple[SourcePartition, SourceOffset]]:
    """The committed offsets of a connector, by reading the offsets topic to its end.

    The end is that of read_uncommitted, so that the read waits for open transactions: an offset that one of them
    commits later must not be missed (OFF-02). A transaction that hangs is aborted after its own timeout, so
    `stall_timeout` should be longer than that.
    """
    count = admin.partitions([topic]).get(topic, 0)
    partitions = [TopicPartition(topic, number) for number in range(count)]
    starts = admin.log_start_offsets(partitions)
    ends = admin.end_offsets(partitions, IsolationLevel.READ_UNCOMMITTED)
    ranges = {one: OffsetRange(starts[one], ends[one]) for one in partitions if starts[one] < ends[one]}
    return store.decode(connector, reader.read(ranges, stall_timeout) if ranges else ())
