"""Change the access rules of a cluster, in its log first. Kafka's `AclControlManager`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from uuid import UUID, uuid4

from eosfw.errors import DamagedDataError
from eosfw_memory.server.broker.acl_records import decode_value, encode_value
from eosfw_memory.server.security.acl.acl_binding import AclBinding
from eosfw_memory.server.security.acl.standard_authorizer import StandardAuthorizer
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.records.batch import read_header
from eosfw_memory.storage.records.codec import decode_records, encode_batch
from eosfw_memory.storage.topics.topic import Topics


class AclControlManager:
    """The rules that an authorizer obeys, in the topic `__cluster_metadata`."""

    def __init__(self, authorizer: StandardAuthorizer, topics: Topics, now_ms: Callable[[], int]) -> None:
        self._authorizer = authorizer
        self._topics = topics
        self._now_ms = now_ms
        self._ids: dict[AclBinding, UUID] = {}

    def load(self) -> None:
        """Rebuild the rules from the log."""
        topic = self._topics.cluster_metadata
        found: dict[bytes, AclBinding] = {}
        for batch in () if topic is None else topic.partitions[0].log.batches():
            columns = decode_records(batch, read_header(batch))
            for key, value in zip(columns.keys, columns.values, strict=True):
                if key is None:
                    raise DamagedDataError("a record of access rules has no key")
                found.pop(key, None)
                if value is not None:
                    found[key] = decode_value(value)
        self._ids = {acl: UUID(bytes=key) for key, acl in found.items()}
        self._authorizer.clear()
        for acl in self._ids:
            self._authorizer.add(acl)

    def create(self, acls: Iterable[AclBinding]) -> None:
        """Add rules, all or none; raise KafkaError if they cannot be kept."""
        new = {acl: uuid4() for acl in acls if acl not in self._ids}
        self._write([(acl_id.bytes, encode_value(acl_id, acl)) for acl, acl_id in new.items()])
        self._ids |= new
        for acl in new:
            self._authorizer.add(acl)

    def delete(self, acls: Iterable[AclBinding]) -> None:
        """Remove rules, all or none; raise KafkaError if that cannot be kept."""
        gone = [acl for acl in acls if acl in self._ids]
        self._write([(self._ids[acl].bytes, None) for acl in gone])
        for acl in gone:
            del self._ids[acl]
            self._authorizer.remove(acl)

    def _write(self, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        if not records:
            return
        keys, values = zip(*records, strict=True)
        now_ms = self._now_ms()
        self._log().append_internal(encode_batch(keys, values, now_ms), len(records), now_ms)

    def _log(self) -> PartitionLog:
        topic = self._topics.cluster_metadata or self._topics.create_cluster_metadata()
        return topic.partitions[0].log
