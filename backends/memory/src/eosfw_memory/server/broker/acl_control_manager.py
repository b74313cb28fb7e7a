"""Change the access rules of a cluster, in its log first. Kafka's `AclControlManager`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from uuid import UUID, uuid4

from eosfw_memory.server.broker.acl_records import decode_value, encode_value
from eosfw_memory.server.broker.cluster_metadata import ClusterMetadata
from eosfw_memory.server.security.acl.acl_binding import AclBinding
from eosfw_memory.server.security.acl.standard_authorizer import StandardAuthorizer

_KEY_BYTES: Final = 16
"""The key of a rule is its UUID; that of other records is longer."""


class AclControlManager:
    """The rules that an authorizer obeys, in the topic `__cluster_metadata`."""

    def __init__(self, authorizer: StandardAuthorizer, metadata: ClusterMetadata) -> None:
        self._authorizer = authorizer
        self._metadata = metadata
        self._ids: dict[AclBinding, UUID] = {}

    def load(self) -> None:
        """Rebuild the rules from the log."""
        found = self._metadata.latest(lambda key: len(key) == _KEY_BYTES, decode_value)
        self._ids = {acl: UUID(bytes=key) for key, acl in found.items()}
        self._authorizer.clear()
        for acl in self._ids:
            self._authorizer.add(acl)

    def create(self, acls: Iterable[AclBinding]) -> None:
        """Add rules, all or none; raise KafkaError if they cannot be kept."""
        new = {acl: uuid4() for acl in acls if acl not in self._ids}
        self._metadata.write([(acl_id.bytes, encode_value(acl_id, acl)) for acl, acl_id in new.items()])
        self._ids |= new
        for acl in new:
            self._authorizer.add(acl)

    def delete(self, acls: Iterable[AclBinding]) -> None:
        """Remove rules, all or none; raise KafkaError if that cannot be kept."""
        gone = [acl for acl in acls if acl in self._ids]
        self._metadata.write([(self._ids[acl].bytes, None) for acl in gone])
        for acl in gone:
            del self._ids[acl]
            self._authorizer.remove(acl)
