"""The words of access rules, with the numbers of Kafka's protocol. Kafka's `common.acl` and `common.resource`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Self

WILDCARD: Final = "*"
"""Every name of a resource, every host."""
CLUSTER_NAME: Final = "kafka-cluster"
"""The only name of a resource of the type CLUSTER."""


class _Word(IntEnum):
    """A word that stands for its number; a number of a newer Kafka is unknown."""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        return cls(0)


class ResourceType(_Word):
    """What a rule is about."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(_Word):
    """How the name of a rule stands for names of resources; ANY and MATCH occur in filters alone."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(_Word):
    """What is done to a resource."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14


class AclPermissionType(_Word):
    """What a rule says."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


@dataclass(frozen=True, slots=True)
class AclBinding:
    """One rule. Kafka's `AclBinding`, a `ResourcePattern` with an `AccessControlEntry`."""

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: AclOperation
    permission_type: AclPermissionType


@dataclass(frozen=True, slots=True)
class AclBindingFilter:
    """Selects rules; None and ANY let everything pass. Kafka's `AclBindingFilter`."""

    resource_type: ResourceType = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission_type: AclPermissionType = AclPermissionType.ANY

    def matches(self, acl: AclBinding) -> bool:
        """Whether a rule passes."""
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self._matches_pattern(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (AclOperation.ANY, acl.operation)
            and self.permission_type in (AclPermissionType.ANY, acl.permission_type)
        )

    def _matches_pattern(self, acl: AclBinding) -> bool:
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, acl.pattern_type):
            return False
        if self.resource_name is None or self.resource_name == acl.resource_name:
            return True
        # MATCH asks which rules are about a resource of this name.
        return self.pattern_type is PatternType.MATCH and covers(acl, self.resource_name)


def covers(acl: AclBinding, name: str) -> bool:
    """Whether the pattern of a rule stands for the name of a resource."""
    if acl.pattern_type is PatternType.PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in (WILDCARD, name)
