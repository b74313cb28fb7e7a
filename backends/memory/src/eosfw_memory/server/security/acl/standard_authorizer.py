"""Decide whether a principal may do something, by rules. Kafka's `StandardAuthorizer`.

- A rule that denies wins over all that allow; without any that allows, the answer is no.
- Of a resource that no rule is about, `allow.everyone.if.no.acl.found` decides.
- Who may read, write, delete or alter a resource may describe it, and who may alter its configuration may see it. What
  is denied implies nothing.
- `super.users` may do everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from ipaddress import ip_address
from typing import Final

from eosfw_memory.server.security.acl.acl_binding import (
    WILDCARD,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
)
from eosfw_memory.server.security.acl.acl_cache import AclCache
from eosfw_memory.server.security.acl.right import Right

_EVERYBODY: Final = "User:*"
_ANY_NAME: Final = "hardcode"
"""The name with which Kafka asks whether somebody may do something to any resource of a type."""
_IMPLYING: Final = {
    AclOperation.DESCRIBE: frozenset(
        {AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER, AclOperation.DESCRIBE}
    ),
    AclOperation.DESCRIBE_CONFIGS: frozenset({AclOperation.ALTER_CONFIGS, AclOperation.DESCRIBE_CONFIGS}),
}
_MAX_REMEMBERED: Final = 1 << 15
"""Decisions that are remembered; clients choose the names they ask about, so there must be an end."""
_LONGEST_REMEMBERED: Final = 249
"""Characters of a name whose decision is remembered: the longest name of a topic. Requests have names of 32 KiB."""


class StandardAuthorizer:
    """The rules of a cluster, and what follows from them."""

    def __init__(self, super_users: Collection[str] = (), *, allow_if_no_acl: bool = False) -> None:
        self._super_users = frozenset(super_users)
        self._allow_if_no_acl = allow_if_no_acl
        self._acls = AclCache()
        self._decisions: dict[tuple[str, str, Right, str], bool] = {}

    def authorize(self, principal: str, host: str, right: Right, name: str) -> bool:
        """Whether a principal may do something to a resource, from a host: an address, with or without Java's slash."""
        asked = (principal, host, right, name)
        decided = self._decisions.get(asked)
        if decided is None:
            decided = self._decide(principal, _hosts(host), right, name)
            if len(name) > _LONGEST_REMEMBERED:
                return decided
            if len(self._decisions) >= _MAX_REMEMBERED:
                self._decisions.clear()
            self._decisions[asked] = decided
        return decided

    def authorize_by_resource_type(self, principal: str, host: str, right: Right) -> bool:
        """Whether a principal may do something to at least one resource of a type; implied operations do not count."""
        if self.authorize(principal, host, right, _ANY_NAME):
            return True
        hosts = _hosts(host)
        allowed: list[AclBinding] = []
        denied: set[tuple[PatternType, str]] = set()
        for acl in self._acls.about(right.resource_type):
            if not _is_for(acl, principal, hosts) or acl.operation not in (AclOperation.ALL, right.operation):
                continue
            if acl.permission_type is AclPermissionType.ALLOW:
                allowed.append(acl)
            else:
                denied.add((acl.pattern_type, acl.resource_name))
        if (PatternType.LITERAL, WILDCARD) in denied:
            return False
        return any(not _is_covered(acl, denied) for acl in allowed)

    def acls(self, wanted: AclBindingFilter | None = None) -> Iterator[AclBinding]:
        """The rules that pass a filter."""
        return (acl for acl in self._acls if wanted is None or wanted.matches(acl))

    def add(self, acl: AclBinding) -> None:
        """Obey a rule from now on."""
        if acl not in self._acls:
            self._acls.add(acl)
            self._decisions.clear()

    def remove(self, acl: AclBinding) -> None:
        """Obey a rule no more."""
        if acl in self._acls:
            self._acls.remove(acl)
            self._decisions.clear()

    def clear(self) -> None:
        """Forget every rule."""
        self._acls = AclCache()
        self._decisions.clear()

    def _decide(self, principal: str, hosts: Collection[str], right: Right, name: str) -> bool:
        if principal in self._super_users:
            return True
        found = allowed = False
        for acl in self._acls.matching(right.resource_type, name):
            found = True
            if not _is_for(acl, principal, hosts) or not _is_about(acl, right.operation):
                continue
            if acl.permission_type is AclPermissionType.DENY:
                return False
            allowed = True
        return allowed or (not found and self._allow_if_no_acl)


def _hosts(host: str) -> Collection[str]:
    """What rules about a host say: `*`, or its address, of which Java writes all zeros in IPv6."""
    address = host.removeprefix("/")
    if ":" not in address:
        return WILDCARD, address
    try:
        groups = ip_address(address.partition("%")[0]).exploded.split(":")
    except ValueError:
        return WILDCARD, address
    _, zone, name = address.partition("%")
    return WILDCARD, address, f"{':'.join(f'{int(group, 16):x}' for group in groups)}{zone}{name}"


def _is_for(acl: AclBinding, principal: str, hosts: Collection[str]) -> bool:
    return acl.principal in (principal, _EVERYBODY) and acl.host in hosts


def _is_about(acl: AclBinding, operation: AclOperation) -> bool:
    if acl.operation in (AclOperation.ALL, operation):
        return True
    return acl.permission_type is AclPermissionType.ALLOW and acl.operation in _IMPLYING.get(operation, ())


def _is_covered(acl: AclBinding, denied: Collection[tuple[PatternType, str]]) -> bool:
    """Whether everything that a rule allows is denied by another."""
    literal, name = acl.pattern_type is PatternType.LITERAL, acl.resource_name
    if literal and name == WILDCARD:
        return False
    if literal and (PatternType.LITERAL, name) in denied:
        return True
    return any((PatternType.PREFIXED, name[:length]) in denied for length in range(1, len(name) + 1))
