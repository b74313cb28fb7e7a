"""Check whether the client of a request may do what it asks. Kafka's `AuthHelper`."""

from __future__ import annotations

from typing import Any, Final

from eosfw_memory.common.codes import KafkaError
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.rights import CLUSTER_DESCRIBE
from eosfw_memory.server.security.acl.acl_binding import CLUSTER_NAME, AclOperation, ResourceType
from eosfw_memory.server.security.acl.right import Right

NOT_ASKED: Final = -(1 << 31)
"""What Kafka answers to whoever does not ask for operations."""
_OPERATIONS: Final = {
    ResourceType.TOPIC: (
        *(AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE, AclOperation.DESCRIBE, AclOperation.DELETE),
        *(AclOperation.ALTER, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS),
    ),
    ResourceType.GROUP: (
        *(AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE),
        *(AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS),
    ),
    ResourceType.CLUSTER: (
        *(AclOperation.CREATE, AclOperation.CLUSTER_ACTION, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS),
        *(AclOperation.IDEMPOTENT_WRITE, AclOperation.ALTER, AclOperation.DESCRIBE),
    ),
}
"""The operations that there are on a resource. Kafka's `AclEntry.supportedOperations`."""
_RIGHTS: Final = {
    resource_type: tuple(Right(operation, resource_type) for operation in operations)
    for resource_type, operations in _OPERATIONS.items()
}


def allows(broker: Broker, context: Context, right: Right, name: str = CLUSTER_NAME) -> bool:
    """Whether the client may do this to the resource of a name; without an authorizer it may do everything."""
    authorizer = broker.authorizer
    return authorizer is None or authorizer.authorize(context.principal, context.client_host, right, name)


def allows_any(broker: Broker, context: Context, right: Right) -> bool:
    """Whether the client may do this to at least one resource of the type."""
    authorizer = broker.authorizer
    return authorizer is None or authorizer.authorize_by_resource_type(context.principal, context.client_host, right)


def require(broker: Broker, context: Context, right: Right, name: str = CLUSTER_NAME) -> None:
    """Raise KafkaError unless the client may do this."""
    if not allows(broker, context, right, name):
        raise KafkaError(right.denied)


def authorized_operations(
    broker: Broker, context: Context, resource_type: ResourceType, name: str = CLUSTER_NAME
) -> int:
    """What the client may do to a resource, one bit for each operation (KIP-430)."""
    return sum(1 << each.operation for each in _RIGHTS[resource_type] if allows(broker, context, each, name))


def cluster_operations(broker: Broker, request: Any, context: Context) -> int:
    """What the client may do to the cluster, if its request asks for that."""
    if not getattr(request, "include_cluster_authorized_operations", False):
        return NOT_ASKED
    if not allows(broker, context, CLUSTER_DESCRIBE):
        return 0
    return authorized_operations(broker, context, ResourceType.CLUSTER)
