"""The backend `memory`: it calls a cluster of this process directly, and any other over a socket."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import ClassVar, Self

from eosfw.capabilities import Capabilities
from eosfw.closeables import WeakCloseables
from eosfw.concurrency import Runtime
from eosfw.config.idempotence import idempotent
from eosfw.config.security import SecurityProtocol
from eosfw.config.translation import Client, seconds
from eosfw.errors import ConfigError, Problem
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel, TransactionHandle
from eosfw.records import OffsetRange
from eosfw.security import FirstAuthentications
from eosfw.test_support import StoredBatch
from eosfw_memory.client.admin.admin import MemoryAdmin
from eosfw_memory.client.consumer.consumer_coordinator import GroupRebalanceConfig
from eosfw_memory.client.consumer.group_consumer import MemoryGroupConsumer
from eosfw_memory.client.consumer.reader import MemoryReader, ReaderSettings
from eosfw_memory.client.metadata import ClusterMetadata
from eosfw_memory.client.producer.producer import MemoryProducer, ProducerSettings
from eosfw_memory.client.properties import TRANSPORT, ClientSettings, check, problems_of
from eosfw_memory.client.shared.attached_producer import MemoryAttachedProducer
from eosfw_memory.client.shared.late_write_check import LateWriteCheck
from eosfw_memory.client.shared.shared_transaction import MemorySharedTransaction
from eosfw_memory.client.transport.channel import Network
from eosfw_memory.client.transport.channel_builder import ChannelBuilder
from eosfw_memory.client.transport.direct import DirectNetwork
from eosfw_memory.client.transport.sockets import SocketNetwork
from eosfw_memory.cluster import EmbeddedCluster, served_here
from eosfw_memory.server.broker.broker import Broker

__all__ = ["MemoryBackend"]

_HEARTBEAT = 3.0
"""Seconds between two heartbeats at most (Kafka's default of `heartbeat.interval.ms`)."""


class MemoryBackend:
    """A `Backend` that speaks Kafka's protocol itself."""

    name: ClassVar[str] = "memory"
    capabilities: ClassVar[Capabilities] = Capabilities(
        transactions=True,
        read_committed=True,
        batch_headers=True,
        fence_by_init_producer_id=True,
        describe_transactions=True,
        abort_transactions=True,
        delete_topics=True,
        shared_transactions=True,
    )

    def __init__(self, properties: Mapping[str, str], runtime: Runtime) -> None:
        self._properties = dict(properties)
        self._runtime = runtime
        self._made = WeakCloseables(runtime)
        self._authentications = FirstAuthentications(runtime)

    @classmethod
    def connect(cls, properties: Mapping[str, str], runtime: Runtime) -> Self:
        check(properties)
        _served(ClientSettings.of(properties, None, Client.ANY))
        return cls(properties, runtime)

    @classmethod
    def problems(cls, properties: Mapping[str, str], client: Client) -> list[Problem]:
        return problems_of(properties, client)

    def producer(
        self,
        transactional_id: str | None,
        *,
        transaction_timeout: float = 60.0,
        properties: Mapping[str, str] | None = None,
    ) -> MemoryProducer:
        settings = ClientSettings.of(self._properties, properties, Client.PRODUCER)
        own = _producer_settings(transactional_id, transaction_timeout, settings)
        return self._made.add(MemoryProducer(own, self._metadata(settings, may_create=True)))

    def shared_transaction(
        self,
        transactional_id: str,
        *,
        transaction_timeout: float = 60.0,
        properties: Mapping[str, str] | None = None,
    ) -> MemorySharedTransaction:
        settings = ClientSettings.of(self._properties, properties, Client.PRODUCER)
        own = _producer_settings(transactional_id, transaction_timeout, settings)
        check = LateWriteCheck(self._metadata(settings), self.admin, settings.transaction_version)
        return self._made.add(MemorySharedTransaction(MemoryProducer(own, self._metadata(settings)), check))

    def attach(
        self, handle: TransactionHandle, *, properties: Mapping[str, str] | None = None
    ) -> MemoryAttachedProducer:
        settings = ClientSettings.of(self._properties, properties, Client.PRODUCER)
        own = _producer_settings(handle.transactional_id, 0.0, settings)
        return self._made.add(MemoryAttachedProducer(handle, own, self._metadata(settings)))

    def reader(
        self, isolation: IsolationLevel, *, headers: bool = False, properties: Mapping[str, str] | None = None
    ) -> MemoryReader:
        settings = ClientSettings.of(self._properties, properties, Client.CONSUMER)
        own = ReaderSettings(isolation, headers, settings.fetch_bytes, settings.partition_bytes, settings.fetch_wait)
        return self._made.add(MemoryReader(own, self._metadata(settings)))

    def stored_batches(
        self, partition: TopicPartition, start: int, end: int, stall_timeout: float
    ) -> Iterator[StoredBatch]:
        """The headers of all batches of a range, of control records and aborted transactions, too."""
        with closing(self.reader(IsolationLevel.READ_UNCOMMITTED)) as reader:
            yield from reader.read_stored({partition: OffsetRange(start, end)}, stall_timeout)

    def admin(self, properties: Mapping[str, str] | None = None) -> MemoryAdmin:
        settings = ClientSettings.of(self._properties, properties, Client.ADMIN)
        return self._made.add(MemoryAdmin(settings.api_timeout, lambda: self._metadata(settings)))

    def group_consumer(
        self,
        group_id: str,
        topic: str,
        *,
        client_id: str,
        session_timeout: float = 10.0,
        rebalance_timeout: float = 60.0,
        properties: Mapping[str, str] | None = None,
    ) -> MemoryGroupConsumer:
        settings = ClientSettings.of(self._properties, {**(properties or {}), "client.id": client_id}, Client.CONSUMER)
        heartbeat = seconds(settings.given, "heartbeat.interval.ms", min(_HEARTBEAT, session_timeout / 3))
        own = GroupRebalanceConfig(
            group_id=group_id,
            topic=topic,
            session_timeout=session_timeout,
            rebalance_timeout=rebalance_timeout,
            heartbeat_interval=heartbeat,
        )
        return self._made.add(MemoryGroupConsumer(own, self._metadata(settings)))

    def close(self) -> None:
        self._made.close()

    def _metadata(self, settings: ClientSettings, *, may_create: bool = False) -> ClusterMetadata:
        servers, client_id = settings.servers, settings.client_id
        authentication = self._authentications.of(settings.given)
        network: Network
        if _served(settings) is not None:
            network = DirectNetwork(servers, lambda: _broker(servers), self._runtime, client_id)
        else:
            builder = ChannelBuilder(settings.security, authentication)
            network = SocketNetwork(servers, client_id, settings.request_timeout, self._runtime, builder)
        age = settings.metadata_age
        return ClusterMetadata(network, self._runtime, authentication, max_age=age, may_create=may_create)


def _producer_settings(
    transactional_id: str | None, transaction_timeout: float, settings: ClientSettings
) -> ProducerSettings:
    return ProducerSettings(
        transactional_id,
        transaction_timeout,
        settings.max_block,
        settings.max_request,
        settings.buffer,
        idempotent(transactional_id, settings.given, default=False),
        settings.acks,
        settings.transaction_version,
    )


def _served(settings: ClientSettings) -> EmbeddedCluster | None:
    """The cluster to call directly, or None for one to reach over a socket."""
    plain = settings.security.protocol is SecurityProtocol.PLAINTEXT
    found = served_here(settings.servers) if plain and settings.transport != "socket" else None
    if found is None and settings.transport == "direct":
        here = f"this process serves no embedded cluster at {settings.servers}; start one, or say socket"
        why = here if plain else "direct calls have neither TLS nor SASL; say socket"
        raise ConfigError(Problem(TRANSPORT, why))
    return found


def _broker(servers: str) -> Broker | None:
    """The broker at an address now: a client goes on with the cluster that is started where its own was closed."""
    cluster = served_here(servers)
    return None if cluster is None else cluster.broker
