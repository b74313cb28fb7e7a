"""A real Kafka with users and ACLs (SASL/PLAIN, `StandardAuthorizer`) on 127.0.0.1."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from eosfw.concurrency import ThreadRuntime
from real_kafka import SETTINGS, RealKafka

ADMIN = "admin"
CELL_USERS = tuple(f"cell-{number}" for number in range(240))
"""Principals of the cells of `tests/conformance/rights`."""
USERS = (ADMIN, "worker", "connector", "fencer", *CELL_USERS)
_LISTENER = "listener.name.plaintext.plain.sasl.jaas.config"
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_WAIT = 30.0


def broker_properties() -> dict[str, str]:
    """The properties of a broker whose only listener for clients has users and whose authorizer grants nothing."""
    users = " ".join(f'user_{name}="{name}"' for name in USERS)
    return {
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        _LISTENER: f'{_MODULE} required username="{ADMIN}" password="{ADMIN}" {users};',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{ADMIN};User:ANONYMOUS",
    }


def embedded_properties() -> dict[str, str]:
    """The same for an embedded broker."""
    given = broker_properties()
    del given["sasl.mechanism.inter.broker.protocol"]  # there are no other brokers
    same = ("auto.create.topics.enable", "transaction.abort.timed.out.transaction.cleanup.interval.ms")
    return {**given, "listeners": "PLAINTEXT://127.0.0.1:0", **{name: SETTINGS[name] for name in same}}


@dataclass(frozen=True, slots=True, order=True)
class Acl:
    """One operation on one resource, by Kafka's names: `TOPIC`, `GROUP`, `TRANSACTIONAL_ID`."""

    user: str
    resource: str
    name: str
    operation: str
    prefixed: bool = False


class AuthorizedKafka:
    """One node; nobody but the administrator may do anything until it is granted."""

    def __init__(self, bootstrap_servers: str, stop: Callable[[], None]) -> None:
        from confluent_kafka.admin import AdminClient

        self.bootstrap_servers = bootstrap_servers
        self.stop = stop
        self._admin = AdminClient({**self._librdkafka(ADMIN), "log_level": 0})

    @classmethod
    def start(cls, folder: Path) -> Self:
        """Serve a fresh node."""
        node = RealKafka.start(folder, broker_properties())
        return cls(node.bootstrap_servers, node.stop)

    @classmethod
    def embed(cls) -> Self:
        """Serve an embedded broker with the same users and rules."""
        from eosfw_memory.cluster import EmbeddedCluster

        cluster = EmbeddedCluster.start(embedded_properties(), ThreadRuntime())
        return cls(cluster.bootstrap_servers, cluster.close)

    def properties(self, user: str) -> dict[str, str]:
        """Client properties by Kafka's names."""
        return {"bootstrap.servers": self.bootstrap_servers, **credentials(user)}

    def grant(self, acls: Iterable[Acl]) -> None:
        """Allow; returns once the broker obeys."""
        _granted(self._admin, acls)

    def revoke_everything(self) -> None:
        """Take back all grants; returns once the broker obeys."""
        from confluent_kafka.admin import (
            AclBindingFilter,
            AclOperation,
            AclPermissionType,
            ResourcePatternType,
            ResourceType,
        )

        every = AclBindingFilter(
            ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
        )
        _settle(self._admin.delete_acls([every], request_timeout=_WAIT))
        while self._admin.describe_acls(every, request_timeout=_WAIT).result(_WAIT):
            """Ask again, as for a grant."""

    def _librdkafka(self, user: str) -> dict[str, Any]:
        return self.properties(user)


def granted(properties: Mapping[str, str], acls: Iterable[Acl]) -> None:
    """Allow, as the administrator whom the properties name; returns once the broker obeys."""
    from confluent_kafka.admin import AdminClient

    _granted(AdminClient({**properties, "log_level": 0}), acls)


def _granted(admin: Any, acls: Iterable[Acl]) -> None:
    wanted = list(acls)
    _settle(admin.create_acls([_binding(one) for one in wanted], request_timeout=_WAIT))
    for one in wanted:
        # The controller has answered; the broker, whose own authorizer is asked here, may still have to read it.
        while not admin.describe_acls(_filter(one), request_timeout=_WAIT).result(_WAIT):
            """Ask again."""


def _settle(futures: Mapping[Any, Any]) -> None:
    for future in futures.values():
        future.result(_WAIT)


def credentials(user: str) -> dict[str, str]:
    """Who a client is; passwords are the names."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": user,
    }


def _binding(one: Acl) -> Any:
    from confluent_kafka.admin import AclBinding

    return AclBinding(*_arguments(one))


def _filter(one: Acl) -> Any:
    from confluent_kafka.admin import AclBindingFilter

    return AclBindingFilter(*_arguments(one))


def _arguments(one: Acl) -> tuple[Any, ...]:
    from confluent_kafka.admin import AclOperation, AclPermissionType, ResourcePatternType, ResourceType

    pattern = ResourcePatternType.PREFIXED if one.prefixed else ResourcePatternType.LITERAL
    kind = getattr(ResourceType, one.resource)
    return (
        kind,
        one.name,
        pattern,
        f"User:{one.user}",
        "*",
        getattr(AclOperation, one.operation),
        AclPermissionType.ALLOW,
    )
