"""Reach a Kafka cluster through librdkafka."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from confluent_kafka import KafkaException

from eosfw.capabilities import Capabilities
from eosfw.closeables import CloseableT, WeakCloseables
from eosfw.concurrency import Runtime
from eosfw.config.idempotence import idempotent
from eosfw.config.security import security_settings
from eosfw.config.translation import Client, seconds
from eosfw.errors import ConfigError, Problem
from eosfw.protocols import IsolationLevel
from eosfw.security import FirstAuthentications, require_usable_files
from eosfw_confluent.admin import ConfluentAdmin
from eosfw_confluent.admin_calls import AdminSettings
from eosfw_confluent.group_consumer import ConfluentGroupConsumer, GroupSettings
from eosfw_confluent.producer import ConfluentProducer, ProducerSettings
from eosfw_confluent.properties import LIBRDKAFKA, invalid_properties, properties_of
from eosfw_confluent.reader import ConfluentReader, ReaderSettings

_MAX_BLOCK = 60.0
_API_TIMEOUT = 30.0
_LONGEST_API_TIMEOUT = 1_500.0
"""librdkafka takes an hour at most; requests to coordinators get more than twice this."""
_HEARTBEAT = 3.0
"""Seconds between two heartbeats at most (Kafka's default of `heartbeat.interval.ms`)."""
_REQUEST_BEYOND_TRANSACTION = 100
"""Milliseconds that librdkafka lets a request last beyond the timeout of its producer's transactions."""
_FENCING_TIMEOUT = 10.0
"""Any legal value: it is stored with the id until the next owner initialises, and no transaction opens before."""


class ConfluentBackend:
    """A `Backend` over confluent-kafka."""

    name: ClassVar[str] = "confluent"
    capabilities: ClassVar[Capabilities] = Capabilities(transactions=True, read_committed=True, delete_topics=True)

    def __init__(self, properties: Mapping[str, str], runtime: Runtime) -> None:
        self._properties = dict(properties)
        self._runtime = runtime
        self._made = WeakCloseables(runtime)
        self._authentications = FirstAuthentications(runtime)

    @classmethod
    def connect(cls, properties: Mapping[str, str], runtime: Runtime) -> Self:
        LIBRDKAFKA.check(properties)
        require_usable_files(security_settings(properties))  # librdkafka names OpenSSL's error, not always the file
        return cls(properties, runtime)

    @classmethod
    def problems(cls, properties: Mapping[str, str], client: Client) -> list[Problem]:
        return LIBRDKAFKA.problems(properties, client) or invalid_properties(properties, client)

    def producer(
        self,
        transactional_id: str | None,
        *,
        transaction_timeout: float = 60.0,
        properties: Mapping[str, str] | None = None,
    ) -> ConfluentProducer:
        given = self._layered(properties)
        repeats = idempotent(transactional_id, given, default=True)
        config = LIBRDKAFKA.translate(self._properties, Client.PRODUCER, properties)
        config["enable.idempotence"] = str(repeats).lower()
        if transactional_id is not None:
            config |= _transactional(transactional_id, transaction_timeout, given)
        return self._producer(transactional_id, config, properties)

    def reader(
        self, isolation: IsolationLevel, *, headers: bool = False, properties: Mapping[str, str] | None = None
    ) -> ConfluentReader:
        config = LIBRDKAFKA.translate(self._properties, Client.CONSUMER, properties)
        config["isolation.level"] = isolation.value
        authentication = self._authentications.of(self._properties, properties or {})
        given = self._layered(properties)
        settings = ReaderSettings(given["bootstrap.servers"], headers, authentication)
        return self._keep(lambda: ConfluentReader(config, settings, self._runtime), Client.CONSUMER, given)

    def admin(self, properties: Mapping[str, str] | None = None) -> ConfluentAdmin:
        given = self._layered(properties)
        config = LIBRDKAFKA.translate(self._properties, Client.ADMIN, properties)
        timeout = min(_LONGEST_API_TIMEOUT, seconds(given, "default.api.timeout.ms", _API_TIMEOUT))

        def throw_away(victim: str) -> ConfluentProducer:
            # It writes nothing, so that what users set for producers would only contradict its short transaction.
            own = {name: text for name, text in config.items() if name != "retries"}
            return self._producer(victim, own | _transactional(victim, _FENCING_TIMEOUT, {}), properties)

        authentication = self._authentications.of(self._properties, properties or {})
        settings = AdminSettings(given["bootstrap.servers"], timeout, throw_away, authentication)
        return self._keep(lambda: ConfluentAdmin(config, settings, self._runtime), Client.ADMIN, given)

    def group_consumer(
        self,
        group_id: str,
        topic: str,
        *,
        client_id: str,
        session_timeout: float = 10.0,
        rebalance_timeout: float = 60.0,
        properties: Mapping[str, str] | None = None,
    ) -> ConfluentGroupConsumer:
        given = self._layered(properties)
        config = LIBRDKAFKA.translate(self._properties, Client.CONSUMER, properties)
        heartbeat = seconds(given, "heartbeat.interval.ms", min(_HEARTBEAT, session_timeout / 3))
        config |= {
            "group.id": group_id,
            "client.id": client_id,
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": round(session_timeout * 1000),
            "max.poll.interval.ms": round(max(session_timeout, rebalance_timeout) * 1000),
            "heartbeat.interval.ms": round(heartbeat * 1000),
            "auto.offset.reset": "latest",
            "enable.partition.eof": "false",
        }
        authentication = self._authentications.of(self._properties, properties or {})
        settings = GroupSettings(given["bootstrap.servers"], group_id, topic, authentication)
        return self._keep(lambda: ConfluentGroupConsumer(config, settings, self._runtime), Client.CONSUMER, given)

    def close(self) -> None:
        self._made.close()

    def _producer(
        self, transactional_id: str | None, config: Mapping[str, Any], properties: Mapping[str, str] | None
    ) -> ConfluentProducer:
        given = self._layered(properties)
        max_block = seconds(given, "max.block.ms", _MAX_BLOCK)
        authentication = self._authentications.of(self._properties, properties or {})
        settings = ProducerSettings(transactional_id, given["bootstrap.servers"], max_block, authentication)
        return self._keep(
            lambda: ConfluentProducer(_reconciled(config), settings, self._runtime), Client.PRODUCER, given
        )

    def _layered(self, properties: Mapping[str, str] | None) -> Mapping[str, str]:
        return {**self._properties, **(properties or {})}

    def _keep(self, make: Callable[[], CloseableT], client: Client, given: Mapping[str, str]) -> CloseableT:
        try:
            return self._made.add(make())
        except KafkaException as why:
            # Only a value can be refused here: a new client has not connected to a cluster yet. librdkafka mostly calls
            # its property otherwise than the user did.
            found = invalid_properties(properties_of(client, given), client)
            raise ConfigError(*found or [Problem("the confluent backend", why.args[0].str())]) from why


def _transactional(transactional_id: str, timeout: float, given: Mapping[str, str]) -> dict[str, object]:
    # librdkafka requires that a delivery fails before its transaction times out.
    delivery = min(timeout, seconds(given, "delivery.timeout.ms", timeout))
    return {
        "transactional.id": transactional_id,
        "transaction.timeout.ms": round(timeout * 1000),
        "delivery.timeout.ms": round(delivery * 1000),
        "acks": "all",
    }


def _reconciled(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with those values lowered that librdkafka refuses in combination."""
    longest: dict[str, int] = {}
    if (delivery := _milliseconds(config, "delivery.timeout.ms")) > 0:  # 0 is for ever
        longest["linger.ms"] = delivery // 2
    if "transaction.timeout.ms" in config:
        longest["socket.timeout.ms"] = config["transaction.timeout.ms"] + _REQUEST_BEYOND_TRANSACTION
    return {**config, **{name: most for name, most in longest.items() if _milliseconds(config, name) > most}}


def _milliseconds(config: Mapping[str, Any], name: str) -> int:
    try:
        return int(config.get(name, 0))
    except ValueError:  # librdkafka says so
        return 0
