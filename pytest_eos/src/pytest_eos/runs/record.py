"""The records that a reader returns, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from eosfw.records import Headers, LogBatch


class Record(NamedTuple):
    """One record as a reader sees it."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp: int | None = None
    """Milliseconds since 1970."""

    @property
    def place(self) -> str:
        """Topic, partition and offset as `topic-0@7`."""
        return f"{self.topic}-{self.partition}@{self.offset}"


def records_of(batch: LogBatch) -> Iterator[Record]:
    """The records of a batch, one by one."""
    headers = batch.headers or [()] * len(batch)
    columns = zip(batch.offsets, batch.keys, batch.values, headers, batch.timestamps, strict=True)
    for offset, key, value, own, timestamp in columns:
        yield Record(batch.topic, batch.partition, offset, key, value, own, timestamp)
