"""A real Kafka whose users have rights, as a cluster of the harness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from authorized_kafka import ADMIN, AuthorizedKafka, credentials
from eosfw_memory.server.security.acl.acl_binding import AclBinding
from eosfw_memory.server.security.acl.right_text import parse_right
from eosfw_memory.server.security.principal import user as principal
from pytest_eos.environment.clusters.cluster import Cluster

_WAIT = 30.0


class KafkaWithRights(Cluster):
    """The harness is its administrator; users are those of `authorized_kafka`."""

    __slots__ = ()

    @classmethod
    def of(cls, kafka: AuthorizedKafka) -> KafkaWithRights:
        """A running node."""
        return cls(kafka.bootstrap_servers, properties=credentials(ADMIN))

    def client_of(self, user: str) -> dict[str, str]:
        return {"bootstrap.servers": self.bootstrap_servers, **credentials(user)}

    def allow(self, user: str, *rights: str) -> None:
        from confluent_kafka.admin import AclBinding

        wanted = [AclBinding(*_parts(parse_right(each, principal(user)))) for each in rights]
        admin = self._admin()
        _settled(admin.create_acls(wanted, request_timeout=_WAIT))
        self._await(rights, user, bool)

    def revoke(self, user: str, *rights: str) -> None:
        admin = self._admin()
        _settled(admin.delete_acls(self._filters(rights, user), request_timeout=_WAIT))
        self._await(rights, user, lambda found: not found)

    def _await(self, rights: tuple[str, ...], user: str, obeys: Callable[[Any], bool]) -> None:
        """The controller has answered; the broker may still have to read what it wrote."""
        admin = self._admin()
        for each in self._filters(rights, user):
            while not obeys(admin.describe_acls(each, request_timeout=_WAIT).result(_WAIT)):
                """Ask again."""

    def _filters(self, rights: tuple[str, ...], user: str) -> list[Any]:
        from confluent_kafka.admin import AclBindingFilter

        return [AclBindingFilter(*_parts(parse_right(each, principal(user)))) for each in rights]

    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient({**self.client, "log_level": 0})


def _parts(acl: AclBinding) -> tuple[Any, ...]:
    from confluent_kafka.admin import AclOperation, AclPermissionType, ResourcePatternType, ResourceType

    return (
        ResourceType[acl.resource_type.name],
        acl.resource_name,
        ResourcePatternType[acl.pattern_type.name],
        acl.principal,
        acl.host,
        AclOperation[acl.operation.name],
        AclPermissionType[acl.permission_type.name],
    )


def _settled(futures: Any) -> None:
    for future in futures.values():
        future.result(_WAIT)
