"""Reading of committed source offsets (Kafka Connect's `OffsetStorageReader`)."""

from __future__ import annotations

from collections.abc import Iterator

from eosfw.errors import InterruptedRunError, UnsupportedError
from eosfw.ids import TopicPartition
from eosfw.protocols import Admin, IsolationLevel, LogReader
from eosfw.records import LogBatch, OffsetRange
from eosfw.runtime.storage.kafka_based_log import READ_TIMEOUT
from eosfw.runtime.storage.offset_records import OffsetRecords, Ranges


class OffsetStorageReader:
    """Reads a topic of source offsets to its end; `close` may come from any thread.

    Kafka Connect's `OffsetStorageReaderImpl`. `setting` is the property that makes its reads wait for transactions,
    `records` what other readers of the topic have read already.
    """

    def __init__(
        self,
        admin: Admin,
        reader: LogReader,
        setting: str,
        *,
        stall_timeout: float = READ_TIMEOUT,
        close_admin: bool = True,
        records: OffsetRecords | None = None,
    ) -> None:
        self._admin, self._reader, self._setting = admin, reader, setting
        self._stall_timeout, self._close_admin = stall_timeout, close_admin
        self._records = records
        self._closed = False

    def read(self, topic: str) -> Iterator[LogBatch]:
        """The committed records of a topic, up to its end, or the newest of each key; raise at once if it is closed.

        The end is that of read_uncommitted, so that the read waits for open transactions: an offset that one of them
        commits later must not be missed (OFF-02). A transaction that hangs is aborted after its own timeout, so
        `stall_timeout` should be longer than that.
        """
        self._refuse_if_closed(topic)
        return self._batches(topic) if self._records is None else self._newest(topic, self._records)

    def close(self) -> None:
        """Close the clients; a read under way on another thread ends with an error."""
        self._closed = True
        self._reader.close()
        if self._close_admin:
            self._admin.close()

    def _newest(self, topic: str, records: OffsetRecords) -> Iterator[LogBatch]:
        topic_id = self._admin.topic_ids([topic]).get(topic, "")
        yield from records.read(topic_id, lambda: self._ranges(topic), lambda unread: self._read(topic, unread))

    def _batches(self, topic: str) -> Iterator[LogBatch]:
        if ranges := self._ranges(topic):
            yield from self._read(topic, ranges)

    def _read(self, topic: str, ranges: Ranges) -> Iterator[LogBatch]:
        for batch in self._reader.read(ranges, self._stall_timeout):
            self._refuse_if_closed(topic)
            yield batch

    def _ranges(self, topic: str) -> Ranges:
        count = self._admin.partitions([topic]).get(topic, 0)
        partitions = [TopicPartition(topic, number) for number in range(count)]
        try:
            starts = self._admin.log_start_offsets(partitions)
            ends = self._admin.end_offsets(partitions, IsolationLevel.READ_UNCOMMITTED)
        except UnsupportedError as why:
            raise UnsupportedError(
                f"{self._setting} needs a broker that tells admin clients the end offsets of topic {topic}, and this "
                f"one cannot: {why}. Change the setting, or upgrade the broker"
            ) from why
        return {one: OffsetRange(starts[one], ends[one]) for one in partitions if starts[one] < ends[one]}

    def _refuse_if_closed(self, topic: str) -> None:
        if self._closed:
            raise InterruptedRunError(f"the reader of offsets topic {topic} is closed")
