"""Find the rules about one resource without looking at the others. Kafka's `AclCache`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, MutableMapping
from typing import TypeAlias

from eosfw_memory.server.security.acl.acl_binding import WILDCARD, AclBinding, PatternType, ResourceType

_Acls: TypeAlias = "dict[AclBinding, None]"
"""A set that keeps the order in which rules came."""


class _Section:
    """The rules about one type of resource."""

    def __init__(self) -> None:
        self.literal: MutableMapping[str, _Acls] = {}
        self.prefixed: MutableMapping[str, _Acls] = {}
        self.lengths: Counter[int] = Counter()
        """How many prefixes there are of each length."""

    def matching(self, name: str) -> Iterator[AclBinding]:
        yield from self.literal.get(name, ())
        if name != WILDCARD:
            yield from self.literal.get(WILDCARD, ())
        for length in self.lengths:
            if length <= len(name):
                yield from self.prefixed.get(name[:length], ())

    def add(self, acl: AclBinding) -> None:
        prefixed = acl.pattern_type is PatternType.PREFIXED
        by_name = self.prefixed if prefixed else self.literal
        if prefixed and acl.resource_name not in by_name:
            self.lengths[len(acl.resource_name)] += 1
        by_name.setdefault(acl.resource_name, {})[acl] = None

    def remove(self, acl: AclBinding) -> None:
        prefixed = acl.pattern_type is PatternType.PREFIXED
        by_name = self.prefixed if prefixed else self.literal
        acls = by_name[acl.resource_name]
        del acls[acl]
        if acls:
            return
        del by_name[acl.resource_name]
        if prefixed:
            length = len(acl.resource_name)
            self.lengths[length] -= 1
            if not self.lengths[length]:
                del self.lengths[length]


class AclCache:
    """Every rule, each once; a look-up costs as many steps as prefixes have different lengths."""

    def __init__(self) -> None:
        self._acls: _Acls = {}
        self._sections: defaultdict[ResourceType, _Section] = defaultdict(_Section)

    def __iter__(self) -> Iterator[AclBinding]:
        return iter(tuple(self._acls))

    def __contains__(self, acl: AclBinding) -> bool:
        return acl in self._acls

    def add(self, acl: AclBinding) -> None:
        """Add a rule, unless it is there."""
        self._acls[acl] = None
        self._sections[acl.resource_type].add(acl)

    def remove(self, acl: AclBinding) -> None:
        """Remove a rule that is there."""
        del self._acls[acl]
        self._sections[acl.resource_type].remove(acl)

    def matching(self, resource_type: ResourceType, name: str) -> Iterator[AclBinding]:
        """The rules about one resource."""
        return self._sections[resource_type].matching(name)

    def about(self, resource_type: ResourceType) -> Iterator[AclBinding]:
        """The rules about a type of resource."""
        section = self._sections[resource_type]
        for by_name in (section.literal, section.prefixed):
            for acls in by_name.values():
                yield from acls
