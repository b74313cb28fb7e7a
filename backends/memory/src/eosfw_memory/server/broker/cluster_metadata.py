"""Read and write what the cluster knows beside its topics, in the topic `__cluster_metadata`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from eosfw.errors import DamagedDataError
from eosfw_memory.storage.records.batch import read_header
from eosfw_memory.storage.records.codec import decode_records, encode_batch
from eosfw_memory.storage.topics.topic import Topics

T = TypeVar("T")


class ClusterMetadata:
    """The records of the topic; which kind of record one is, its key tells by its length."""

    def __init__(self, topics: Topics, now_ms: Callable[[], int]) -> None:
        self._topics = topics
        self._now_ms = now_ms

    def latest(self, is_own: Callable[[bytes], bool], decode: Callable[[bytes], T]) -> Mapping[bytes, T]:
        """By each key of a kind its last value, in the order of the log, without those that were removed."""
        found: dict[bytes, T] = {}
        for key, value in self._records():
            if is_own(key):
                found.pop(key, None)
                if value is not None:
                    found[key] = decode(value)
        return found

    def write(self, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Write records, all or none; raise KafkaError if they cannot be kept."""
        if not records:
            return
        keys, values = zip(*records, strict=True)
        now_ms = self._now_ms()
        topic = self._topics.cluster_metadata or self._topics.create_cluster_metadata()
        topic.partitions[0].log.append_internal(encode_batch(keys, values, now_ms), len(records), now_ms)

    def _records(self) -> Iterator[tuple[bytes, bytes | None]]:
        topic = self._topics.cluster_metadata
        for batch in () if topic is None else topic.partitions[0].log.batches():
            columns = decode_records(batch, read_header(batch))
            for key, value in zip(columns.keys, columns.values, strict=True):
                if key is None:
                    raise DamagedDataError("a record of the cluster's metadata has no key")
                yield key, value
