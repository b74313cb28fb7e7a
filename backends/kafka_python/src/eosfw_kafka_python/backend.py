"""Reach a Kafka cluster through kafka-python."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from eosfw.capabilities import Capabilities
from eosfw.closeables import WeakCloseables
from eosfw.concurrency import Runtime
from eosfw.config.idempotence import idempotent
from eosfw.config.translation import Client, number, seconds
from eosfw.errors import Problem
from eosfw.protocols import IsolationLevel
from eosfw.security import FirstAuthentications
from eosfw_kafka_python.properties import KAFKA_PYTHON

if TYPE_CHECKING:
    from eosfw_kafka_python.admin import KafkaPythonAdmin
    from eosfw_kafka_python.connection import Connection
    from eosfw_kafka_python.group_consumer import KafkaPythonGroupConsumer
    from eosfw_kafka_python.producer import KafkaPythonProducer
    from eosfw_kafka_python.reader import KafkaPythonReader

_MAX_BLOCK = 60.0
_API_TIMEOUT = 30.0
_HEARTBEAT = 3.0
"""Seconds between two heartbeats at most (Kafka's default of `heartbeat.interval.ms`)."""
_BUFFER = 268_435_456
_LARGEST = 1_048_576


class KafkaPythonBackend:
    """A `Backend` over kafka-python."""

    name: ClassVar[str] = "kafka-python"
    capabilities: ClassVar[Capabilities] = Capabilities(
        transactions=True,
        read_committed=True,
        batch_headers=True,
        fence_by_init_producer_id=True,
        describe_transactions=True,
        abort_transactions=True,
        delete_topics=True,
    )

    def __init__(self, properties: Mapping[str, str], runtime: Runtime) -> None:
        self._properties = dict(properties)
        self._runtime = runtime
        self._made = WeakCloseables(runtime)
        self._authentications = FirstAuthentications(runtime)

    @classmethod
    def connect(cls, properties: Mapping[str, str], runtime: Runtime) -> Self:
        KAFKA_PYTHON.check(properties)
        return cls(properties, runtime)

    @classmethod
    def problems(cls, properties: Mapping[str, str], client: Client) -> list[Problem]:
        return KAFKA_PYTHON.problems(properties, client)

    def producer(
        self,
        transactional_id: str | None,
        *,
        transaction_timeout: float = 60.0,
        properties: Mapping[str, str] | None = None,
    ) -> KafkaPythonProducer:
        load_library()
        from eosfw_kafka_python.producer import KafkaPythonProducer, ProducerSettings

        given = self._layered(properties)
        repeats = idempotent(transactional_id, given, default=True)
        config = KAFKA_PYTHON.translate(self._properties, Client.PRODUCER, properties)
        config["enable_idempotence"] = repeats
        if transactional_id is not None:
            config |= _transactional(transactional_id, transaction_timeout, given)
        settings = ProducerSettings(
            transactional_id,
            seconds(given, "max.block.ms", _MAX_BLOCK),
            number(given, "max.request.size", _LARGEST),
            number(given, "buffer.memory", _BUFFER),
        )
        connection = self._connection(config, properties)
        return self._made.add(KafkaPythonProducer(_reconciled(config), settings, connection))

    def reader(
        self, isolation: IsolationLevel, *, headers: bool = False, properties: Mapping[str, str] | None = None
    ) -> KafkaPythonReader:
        load_library()
        from eosfw_kafka_python.reader import KafkaPythonReader

        config = KAFKA_PYTHON.translate(self._properties, Client.CONSUMER, properties)
        config["isolation_level"] = isolation.value
        connection = self._connection(config, properties)
        return self._made.add(KafkaPythonReader(connection, headers=headers))

    def admin(self, properties: Mapping[str, str] | None = None) -> KafkaPythonAdmin:
        load_library()
        from eosfw_kafka_python.admin import KafkaPythonAdmin
        from eosfw_kafka_python.broker_lookup import BrokerLookup

        timeout = seconds(self._layered(properties), "default.api.timeout.ms", _API_TIMEOUT)
        config = KAFKA_PYTHON.translate(self._properties, Client.ADMIN, properties)
        return self._made.add(KafkaPythonAdmin(timeout, lambda: BrokerLookup(self._connection(config, properties))))

    def group_consumer(
        self,
        group_id: str,
        topic: str,
        *,
        client_id: str,
        session_timeout: float = 10.0,
        rebalance_timeout: float = 60.0,
        properties: Mapping[str, str] | None = None,
    ) -> KafkaPythonGroupConsumer:
        load_library()
        from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

        from eosfw_kafka_python.group_consumer import KafkaPythonGroupConsumer

        given = self._layered(properties)
        heartbeat = seconds(given, "heartbeat.interval.ms", min(_HEARTBEAT, session_timeout / 3))
        config = KAFKA_PYTHON.translate(self._properties, Client.CONSUMER, properties) | {
            "group_id": group_id,
            "client_id": client_id,
            "partition_assignment_strategy": [CooperativeStickyAssignor],
            "session_timeout_ms": round(session_timeout * 1000),
            "max_poll_interval_ms": round(max(session_timeout, rebalance_timeout) * 1000),
            "heartbeat_interval_ms": round(heartbeat * 1000),
        }
        return self._made.add(KafkaPythonGroupConsumer(group_id, topic, self._connection(config, properties)))

    def close(self) -> None:
        self._made.close()

    def _connection(self, config: Mapping[str, Any], properties: Mapping[str, str] | None) -> Connection:
        from eosfw_kafka_python.connection import Connection

        servers = self._layered(properties)["bootstrap.servers"]
        authentication = self._authentications.of(self._properties, properties or {})
        return Connection(config, servers, self._runtime, authentication)

    def _layered(self, properties: Mapping[str, str] | None) -> Mapping[str, str]:
        return {**self._properties, **(properties or {})}


def load_library() -> None:
    """Import kafka-python when a client is made: the import takes a quarter of a second."""
    with warnings.catch_warnings():
        # Its import uses deprecated functions: it would fail where warnings are errors.
        warnings.filterwarnings("ignore", "(read|open)_text is deprecated", DeprecationWarning)
        import kafka  # noqa: F401


def _transactional(transactional_id: str, timeout: float, given: Mapping[str, str]) -> dict[str, Any]:
    # A delivery must fail before its transaction times out.
    delivery = min(timeout, seconds(given, "delivery.timeout.ms", timeout))
    return {
        "transactional_id": transactional_id,
        "transaction_timeout_ms": round(timeout * 1000),
        "delivery_timeout_ms": round(delivery * 1000),
        "acks": "all",
    }


def _reconciled(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with those values lowered that the library refuses in combination."""
    linger = min(config["linger_ms"], config["delivery_timeout_ms"] // 2)
    # One request may not take longer than the delivery with all its attempts.
    request = max(1, min(config["request_timeout_ms"], config["delivery_timeout_ms"] - linger))
    return {**config, "linger_ms": linger, "request_timeout_ms": request}
