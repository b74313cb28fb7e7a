"""Read a right from a sentence, `Write on topic orders`, in the words of `kafka-acls.sh`."""

from __future__ import annotations

import re
from typing import Final

from eosfw.errors import ConfigError, Problem
from eosfw_memory.server.security.acl.acl_binding import (
    CLUSTER_NAME,
    WILDCARD,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)

_SENTENCE: Final = re.compile(
    r"(?:(?P<deny>deny) +)?(?P<operation>\w+) +on +(?P<kind>[\w-]+)(?: +(?P<name>\S+))?", re.IGNORECASE
)
_OPERATIONS: Final = {each.name.replace("_", "").lower(): each for each in AclOperation if each > AclOperation.ANY}
_KINDS: Final = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "cluster": ResourceType.CLUSTER,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
}


def parse_right(text: str, principal: str) -> AclBinding:
    """The rule that gives a principal a right, or denies it; a name with `*` behind is a prefix; raise ConfigError."""
    found = _SENTENCE.fullmatch(text.strip())
    operation = _OPERATIONS.get(found["operation"].lower()) if found else None
    kind = _KINDS.get(found["kind"].lower()) if found else None
    if found is None or operation is None or kind is None or (found["name"] is None) != (kind is ResourceType.CLUSTER):
        examples = "'Write on topic orders', 'Describe on transactional-id group-*', 'Deny Read on group g'"
        raise ConfigError(Problem("rights", f"{text!r} is no right; write {examples} or 'Create on cluster'"))
    name = found["name"] or CLUSTER_NAME
    prefixed = name != WILDCARD and name.endswith(WILDCARD)
    return AclBinding(
        kind,
        name.removesuffix(WILDCARD) if prefixed else name,
        PatternType.PREFIXED if prefixed else PatternType.LITERAL,
        principal,
        WILDCARD,
        operation,
        AclPermissionType.DENY if found["deny"] else AclPermissionType.ALLOW,
    )
