"""A real Kafka with users and ACLs (SASL/PLAIN, `StandardAuthorizer`) on 127.0.0.1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from real_kafka import RealKafka

ADMIN = "admin"
USERS = (ADMIN, "worker", "connector", "fencer")
_LISTENER = "listener.name.plaintext.plain.sasl.jaas.config"
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_WAIT = 30.0


def _broker_properties() -> Mapping[str, str]:
    users = " ".join(f'user_{name}="{name}"' for name in USERS)
    return {
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        _LISTENER: f'{_MODULE} required username="{ADMIN}" password="{ADMIN}" {users};',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{ADMIN};User:ANONYMOUS",
    }


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

    def __init__(self, node: RealKafka) -> None:
        from confluent_kafka.admin import AdminClient

        self._node = node
        self.bootstrap_servers = node.bootstrap_servers
        self._admin = AdminClient({**self._librdkafka(ADMIN), "log_level": 0})

    @classmethod
    def start(cls, folder: Path) -> Self:
        """Serve a fresh node."""
        return cls(RealKafka.start(folder, _broker_properties()))

    def properties(self, user: str) -> dict[str, str]:
        """Client properties by Kafka's names."""
        return {"bootstrap.servers": self.bootstrap_servers, **credentials(user)}

    def grant(self, acls: Iterable[Acl]) -> None:
        """Allow; returns once the broker obeys."""
        self._settle(self._admin.create_acls([_binding(one) for one in acls], request_timeout=_WAIT))

    def revoke(self, acls: Iterable[Acl]) -> None:
        """Take back what was granted."""
        self._settle(self._admin.delete_acls([_filter(one) for one in acls], request_timeout=_WAIT))

    def revoke_everything(self) -> None:
        """Take back all grants."""
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
        self._settle(self._admin.delete_acls([every], request_timeout=_WAIT))

    def stop(self) -> None:
        """End the node."""
        self._node.stop()

    def _librdkafka(self, user: str) -> dict[str, Any]:
        return self.properties(user)

    def _settle(self, futures: Mapping[Any, Any]) -> None:
        for future in futures.values():
            future.result(_WAIT)


def granted(properties: Mapping[str, str], acls: Iterable[Acl]) -> None:
    """Allow, as the administrator whom the properties name; returns once the broker obeys."""
    from confluent_kafka.admin import AdminClient

    admin, wanted = AdminClient({**properties, "log_level": 0}), list(acls)
    for future in admin.create_acls([_binding(one) for one in wanted], request_timeout=_WAIT).values():
        future.result(_WAIT)
    for one in wanted:
        # The controller has answered; the broker, whose own authorizer is asked here, may still have to read it.
        while not admin.describe_acls(_filter(one), request_timeout=_WAIT).result(_WAIT):
            """Ask again."""


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
