"""The worker's own offsets topic, under the worker's identity (`globalOffsetBackingStore` of Kafka Connect)."""

from __future__ import annotations

from contextlib import closing
from functools import partial

from eosfw.closeables import open_both
from eosfw.concurrency import Runtime
from eosfw.config import Config, clients
from eosfw.config.worker import SUPPORT
from eosfw.protocols import Backend, IsolationLevel
from eosfw.runtime.storage.internal_topics import OFFSETS
from eosfw.runtime.storage.offset_backup import OffsetBackup
from eosfw.runtime.storage.offset_records import OffsetRecords
from eosfw.runtime.storage.offset_storage_reader import OffsetStorageReader

COPY_TIMEOUT = 5.0
"""Seconds for the last copies of offsets when a worker stops cleanly."""


class GlobalOffsetBackingStore:
    """Reads and copies offsets for connectors that have an offsets topic of their own; thread-safe.

    A connector's principal needs no right to this topic, so it cannot spoil the offsets of others (KIP-618).
    """

    def __init__(self, worker: Config, backend: Backend, runtime: Runtime) -> None:
        self.topic: str = worker[OFFSETS]
        self.backend = backend
        self.config = worker
        producer = clients.plain_producer(worker).properties
        self.records = OffsetRecords(runtime)
        """What was read of it."""
        self.backup = OffsetBackup(lambda: backend.producer(None, properties=producer), runtime)

    @property
    def isolation(self) -> IsolationLevel:
        """How the topic is read."""
        return IsolationLevel(clients.offsets_isolation(self.config, None))

    def reader(self) -> OffsetStorageReader:
        """A reader of the topic; the caller closes it."""
        properties = clients.worker_offsets_consumer(self.config).properties
        reader = partial(self.backend.reader, self.isolation, properties=properties)
        setting = setting_of(self.config, self.isolation)
        return OffsetStorageReader(*open_both(self.backend.admin, reader), setting, records=self.records)

    def cluster_id(self) -> str | None:
        """The id of the cluster that has the topic; None if it is not told."""
        with closing(self.backend.admin()) as admin:
            return admin.cluster_id()

    def close(self, timeout: float) -> None:
        """Write copies that wait, for `timeout` seconds at most."""
        self.backup.close(timeout)


def setting_of(worker: Config, isolation: IsolationLevel) -> str:
    """The property for whose sake offsets are read to the end of all transactions."""
    return f"{SUPPORT}=enabled" if clients.exactly_once(worker) else f"isolation.level={isolation.value}"
