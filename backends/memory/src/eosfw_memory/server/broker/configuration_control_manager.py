"""Change the properties of groups, in the cluster's log first. Kafka's `ConfigurationControlManager`."""

from __future__ import annotations

from collections.abc import Mapping

from eosfw_memory.server.broker.cluster_metadata import ClusterMetadata
from eosfw_memory.server.broker.config_records import (
    ConfigRecord,
    decode_value,
    encode_key,
    encode_value,
    is_config_key,
)
from eosfw_memory.server.coordinators.groups.group_config import GroupConfigs


class ConfigurationControlManager:
    """The properties that single groups have."""

    def __init__(self, configs: GroupConfigs, metadata: ClusterMetadata) -> None:
        self._configs = configs
        self._metadata = metadata

    def load(self) -> None:
        """Rebuild the properties from the log."""
        found: dict[str, dict[str, str]] = {}
        for group_id, name, value in self._metadata.latest(is_config_key, decode_value).values():
            found.setdefault(group_id, {})[name] = value
        for group_id, config in found.items():
            self._configs.give(group_id, config)

    def alter(self, group_id: str, config: Mapping[str, str]) -> None:
        """Have these properties for a group, and no others; raise KafkaError if they cannot be kept."""
        before = self._configs.given(group_id)
        records: list[tuple[bytes, bytes | None]] = [
            (encode_key(group_id, name), encode_value(ConfigRecord(group_id, name, value)))
            for name, value in config.items()
            if before.get(name) != value
        ]
        records += [(encode_key(group_id, name), None) for name in before if name not in config]
        self._metadata.write(records)
        self._configs.give(group_id, config)
