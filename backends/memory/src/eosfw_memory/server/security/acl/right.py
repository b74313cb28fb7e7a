"""Name what a request needs: an operation on a kind of resource."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from eosfw_memory.common.codes import Code
from eosfw_memory.server.security.acl.acl_binding import AclOperation, ResourceType

_DENIED: Final = {
    ResourceType.TOPIC: Code.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: Code.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: Code.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}


@dataclass(frozen=True, slots=True, eq=False)
class Right:
    """An operation on a kind of resource; Kafka's `Action` without the name.

    Rights are compared by identity, since each is a part of the key under which decisions are remembered.
    """

    operation: AclOperation
    resource_type: ResourceType

    @property
    def denied(self) -> Code:
        """The answer to whoever does not have it."""
        return _DENIED[self.resource_type]

    def __str__(self) -> str:
        return f"{_spoken(self.operation.name)} on {_spoken(self.resource_type.name)}"


def _spoken(name: str) -> str:
    """A name as Kafka's command line has it: `AlterConfigs`."""
    return "".join(word.capitalize() for word in name.split("_"))
