"""Read access rules and their filters from requests, and write rules into answers."""

from __future__ import annotations

from typing import Any, Final

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.security.acl.acl_binding import (
    CLUSTER_NAME,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)

_PATTERNS: Final = (PatternType.LITERAL, PatternType.PREFIXED)
_PERMISSIONS: Final = (AclPermissionType.DENY, AclPermissionType.ALLOW)


def binding_of(creation: Any) -> AclBinding:
    """The rule that is to be created; raise KafkaError for what is no rule."""
    acl = AclBinding(
        ResourceType(creation.resource_type),
        creation.resource_name,
        PatternType(creation.resource_pattern_type),
        creation.principal,
        creation.host,
        AclOperation(creation.operation),
        AclPermissionType(creation.permission_type),
    )
    if why := _mistake(acl):
        raise KafkaError(Code.INVALID_REQUEST, why)
    return acl


def _mistake(acl: AclBinding) -> str | None:
    misnamed = acl.resource_type is ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME
    mistakes = {
        f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}": misnamed,
        "Invalid empty resource name": not acl.resource_name,
        f"Invalid resourceType {acl.resource_type.name}": acl.resource_type in (ResourceType.UNKNOWN, ResourceType.ANY),
        f"Invalid patternType {acl.pattern_type.name}": acl.pattern_type not in _PATTERNS,
        f"Invalid operation {acl.operation.name}": acl.operation in (AclOperation.UNKNOWN, AclOperation.ANY),
        f"Invalid permissionType {acl.permission_type.name}": acl.permission_type not in _PERMISSIONS,
        f"Could not parse principal from `{acl.principal}`": ":" not in acl.principal,
    }
    return next((say for say, made in mistakes.items() if made), None)


def filter_of(request: Any) -> AclBindingFilter:
    """The filter of a request, or of one part of it."""
    return AclBindingFilter(
        ResourceType(request.resource_type_filter),
        request.resource_name_filter,
        PatternType(request.pattern_type_filter),
        request.principal_filter,
        request.host_filter,
        AclOperation(request.operation),
        AclPermissionType(request.permission_type),
    )


def parts_of(acl: AclBinding) -> Answer:
    """The fields of a rule without its pattern."""
    return {
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation,
        "permission_type": acl.permission_type,
    }


def fields_of(acl: AclBinding) -> Answer:
    """All fields of a rule."""
    return {
        "resource_type": acl.resource_type,
        "resource_name": acl.resource_name,
        "pattern_type": acl.pattern_type,
        **parts_of(acl),
    }
