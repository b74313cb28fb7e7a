"""Change the quotas of clients, in the cluster's log first. Kafka's `ClientQuotaControlManager`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from eosfw_memory.server.broker.client_quota_records import (
    ClientQuotaRecord,
    decode_value,
    encode_key,
    encode_value,
    is_quota_key,
)
from eosfw_memory.server.broker.cluster_metadata import ClusterMetadata
from eosfw_memory.server.quotas.client_quota_entity import Entity, Quotas
from eosfw_memory.server.quotas.client_quota_manager import ClientQuotaManager


class ClientQuotaControlManager:
    """The quotas that the broker holds its clients to."""

    def __init__(self, manager: ClientQuotaManager, metadata: ClusterMetadata) -> None:
        self._manager = manager
        self._metadata = metadata
        self._quotas: dict[Entity, dict[str, float]] = {}

    @property
    def quotas(self) -> Quotas:
        """All quotas."""
        return self._quotas

    def load(self) -> None:
        """Rebuild the quotas from the log."""
        found = self._metadata.latest(is_quota_key, decode_value)
        self._quotas = {}
        for entity, name, bound in found.values():
            self._quotas.setdefault(entity, {})[name] = bound
        self._apply()

    def alter(self, changes: Iterable[tuple[Entity, Mapping[str, float | None]]]) -> None:
        """Set quotas, or with None remove them, all or none; raise KafkaError if they cannot be kept."""
        after = {entity: dict(values) for entity, values in self._quotas.items()}
        records: list[tuple[bytes, bytes | None]] = []
        for entity, values in changes:
            kept = after.setdefault(entity, {})
            for name, bound in values.items():
                if kept.get(name) == bound:
                    continue
                if bound is None:
                    del kept[name]
                    records.append((encode_key(entity, name), None))
                else:
                    kept[name] = bound
                    records.append((encode_key(entity, name), encode_value(ClientQuotaRecord(entity, name, bound))))
        self._metadata.write(records)
        self._quotas = {entity: values for entity, values in after.items() if values}
        self._apply()

    def _apply(self) -> None:
        self._manager.update(self._quotas)
