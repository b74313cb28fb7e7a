"""The source offsets of a connector, read outside its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eosfw.closeables import open_both
from eosfw.concurrency import Runtime
from eosfw.config import Config, clients
from eosfw.config.parts import OFFSET_STORE, chosen
from eosfw.connectors import SourceConnector
from eosfw.protocols import Backend, OffsetStore
from eosfw.records import SourceOffset, SourcePartition
from eosfw.registry import Plugins, parts
from eosfw.runtime.checks.preflight import connector_config, transform
from eosfw.runtime.storage.connector_offset_backing_store import (
    ConnectorOffsetBackingStore,
    OffsetTopics,
    confirmed_offset_topics,
)
from eosfw.runtime.storage.global_offset_backing_store import GlobalOffsetBackingStore
from eosfw.runtime.storage.offset_storage_reader import OffsetStorageReader
from eosfw.runtime.storage.stalled_read import stalls_explained
from eosfw.state.storage.combined_offsets import StoredOffsets


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetServices:
    """What the offsets of connectors are read and written with."""

    config: Config
    """The worker's properties."""
    backend: Backend
    plugins: Plugins
    worker_offsets: GlobalOffsetBackingStore
    runtime: Runtime
    max_transaction_timeout: float | None = None
    """The broker's longest transaction, in seconds; None if the broker does not tell."""


@dataclass(frozen=True, slots=True)
class ConnectorOffsets:
    """A connector with what its offsets are read and written with."""

    name: str
    connector: SourceConnector
    config: Config
    store: OffsetStore
    topics: OffsetTopics
    backing: ConnectorOffsetBackingStore


def stored_offsets(services: OffsetServices, name: str, properties: Mapping[str, str]) -> StoredOffsets:
    """The committed offsets by the offset store's keys, with the partitions as the store returned them."""
    found = offsets_of(services, name, properties)
    load(services, found)
    return found.backing.offsets


def offsets_of(services: OffsetServices, name: str, properties: Mapping[str, str]) -> ConnectorOffsets:
    """A connector with what its offsets are read and written with; nothing is read yet."""
    worker, given = services.config, transform(services.plugins, services.config, properties).values
    connector = services.plugins.connector(given.get("connector.class", ""))
    config = connector_config(connector, name, given)
    store = parts.offset_store(services.plugins, chosen(OFFSET_STORE, worker, config))
    topics = confirmed_offset_topics(services.worker_offsets, config)
    backing = ConnectorOffsetBackingStore(name, topics, store, services.worker_offsets)
    return ConnectorOffsets(name, connector, config, store, topics, backing)


def load(services: OffsetServices, found: ConnectorOffsets) -> None:
    """Read the offsets into `found.backing`; waits for open transactions."""
    worker, config = services.config, found.config
    topics = found.topics
    admin, reader = open_both(
        lambda: services.backend.admin(clients.connector_admin(worker, config).properties),
        lambda: services.backend.reader(
            topics.isolation, properties=clients.offsets_consumer(worker, config).properties
        ),
    )
    with stalls_explained(services.backend, worker["group.id"]):
        known = topics.known(services.worker_offsets)
        found.backing.load(OffsetStorageReader(admin, reader, topics.setting, records=known))


@dataclass(frozen=True, slots=True)
class ConnectorOffsetReader:
    """The `OffsetReader` of a connector (Kafka Connect's `OffsetStorageReaderImpl`)."""

    _services: OffsetServices
    _name: str
    _properties: Mapping[str, str]

    def offset(self, partition: SourcePartition) -> SourceOffset | None:
        return self.offsets([partition])[0]

    def offsets(self, partitions: Sequence[SourcePartition]) -> list[SourceOffset | None]:
        found = offsets_of(self._services, self._name, self._properties)
        load(self._services, found)
        stored = [found.backing.offsets.get(found.store.partition_key(one)) for one in partitions]
        return [None if one is None else dict(one[1]) for one in stored]
