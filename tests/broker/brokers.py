"""Brokers without a network, for tests that call their handlers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw.ids import ProducerIdAndEpoch
from eosfw.security import Address
from eosfw_memory.common.codes import Code
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.settings import Settings
from eosfw_memory.server.protocol.handlers.records import fetch, produce
from eosfw_memory.server.quotas.request_quota import RequestQuota
from eosfw_memory.storage.files.data_directory import DataDirectory
from eosfw_memory.storage.files.disk import OperatingSystem
from eosfw_memory.storage.records.codec import encode_batch


def started(
    root: Path | None = None,
    properties: Mapping[str, str] | None = None,
    *,
    runtime: Runtime | None = None,
    system: OperatingSystem | None = None,
    waits: bool = False,
    **topics: int,
) -> Broker:
    """A broker, in memory or on a directory; topics that it has not yet get so many partitions."""
    storage = None if root is None else DataDirectory.open(root, waits=waits, node_id=1, system=system)
    settings = Settings.parse(properties or {})
    broker = Broker(settings, Address("127.0.0.1", 9092), runtime or ThreadRuntime(), storage)
    for name, partitions in topics.items():
        if broker.topics.by_name(name) is None:
            broker.topics.create(name, partitions, {})
    return broker


class Shifted(ThreadRuntime):
    """A runtime whose wall clock is shifted by an offset."""

    def __init__(self, shift: float = 0.0) -> None:
        self.shift = shift

    def wall(self) -> float:
        return super().wall() + self.shift


def durable_transactions(broker: Broker) -> list[Any]:
    """What a coordinator still knows of its ids after a start."""
    return sorted(each._replace(last_epoch=-1) for each in broker.coordinator.transactions())


def produced(
    broker: Broker, batch: bytes, version: int = 9, transactional_id: str | None = None, topic: str = "t"
) -> Code:
    """Send a batch to partition 0 as a client does; give its code."""
    data = SimpleNamespace(index=0, records=batch)
    topics = [SimpleNamespace(name=topic, partition_data=[data])]
    request = SimpleNamespace(transactional_id=transactional_id, acks=-1, topic_data=topics)
    answer: Any = broker.serve(produce.handle, request, Context(version))
    code: Code = answer["responses"][0]["partition_responses"][0]["error_code"]
    return code


def fetched(
    broker: Broker,
    session_id: int,
    epoch: int,
    positions: Mapping[int, int],
    *,
    max_wait_ms: int = 0,
    isolation_level: int = 0,
    quota: RequestQuota | None = None,
) -> Any:
    """Fetch partitions of topic t from offsets on, in a session; the answer by its fields, delayed if it may wait."""
    partitions = [
        SimpleNamespace(partition=number, fetch_offset=offset, partition_max_bytes=1_000_000)
        for number, offset in positions.items()
    ]
    request = SimpleNamespace(
        max_wait=timedelta(milliseconds=max_wait_ms),
        min_bytes=1,
        isolation_level=isolation_level,
        session_id=session_id,
        session_epoch=epoch,
        topics=[SimpleNamespace(topic="t", partitions=partitions)] if partitions else [],
        forgotten_topics_data=[],
    )
    answer = broker.serve(fetch.handle, request, Context(12, quota=quota))
    return answer if max_wait_ms else SimpleNamespace(**answer)


def transactional(broker: Broker, producer: ProducerIdAndEpoch, sequence: int = 0, value: bytes = b"v") -> bytes:
    """A batch of one record in a producer's transaction."""
    return encode_batch(None, [value], broker.now_ms(), producer=producer, base_sequence=sequence, transactional=True)
