"""The properties of single groups, over those of the broker (KIP-848). Kafka's `GroupConfig`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from eosfw.config import ConfigDef, Int
from eosfw.errors import ConfigError
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators.groups.group_metadata_manager import GroupSettings

SESSION_TIMEOUT: Final = "consumer.session.timeout.ms"
HEARTBEAT_INTERVAL: Final = "consumer.heartbeat.interval.ms"
GROUP: Final = ConfigDef(
    Int(SESSION_TIMEOUT, default=45_000, at_least=1, doc="a member that is silent for so long is removed"),
    Int(HEARTBEAT_INTERVAL, default=5_000, at_least=1, doc="how often members shall send heartbeats"),
)


def check_group_config(config: Mapping[str, str], settings: GroupSettings) -> None:
    """Raise InvalidConfig, naming the property, for properties that no group may have."""
    for name in config:
        if name not in GROUP.keys:
            raise _invalid(f"Unknown group config name: {name}")
    try:
        values = GROUP.parse(config)
    except ConfigError as wrong:
        raise _invalid(str(wrong)) from wrong
    for name, low, high in (
        (HEARTBEAT_INTERVAL, settings.consumer_min_heartbeat_interval_ms, settings.consumer_max_heartbeat_interval_ms),
        (SESSION_TIMEOUT, settings.consumer_min_session_timeout_ms, settings.consumer_max_session_timeout_ms),
    ):
        limit = "group." + name.replace("consumer.", "consumer.{}.")
        if values[name] < low:
            raise _invalid(f"{name} must be greater than or equal to {limit.format('min')}")
        if values[name] > high:
            raise _invalid(f"{name} must be less than or equal to {limit.format('max')}")
    if values[SESSION_TIMEOUT] <= values[HEARTBEAT_INTERVAL]:
        raise _invalid(f"{SESSION_TIMEOUT} must be greater than {HEARTBEAT_INTERVAL}")


def _invalid(message: str) -> KafkaError:
    return KafkaError(Code.INVALID_CONFIG, message)


class GroupConfigs:
    """What was set for each group, and what is in force then. Kafka's `GroupConfigManager`."""

    def __init__(self, settings: GroupSettings) -> None:
        self.settings = settings
        self._given: dict[str, Mapping[str, str]] = {}

    def groups(self) -> Iterable[str]:
        """The groups that have properties of their own."""
        return self._given.keys()

    def given(self, group_id: str) -> Mapping[str, str]:
        """The properties that were set for a group."""
        return self._given.get(group_id, {})

    def give(self, group_id: str, config: Mapping[str, str]) -> None:
        """Have these properties for a group, and no others."""
        if config:
            self._given[group_id] = config
        else:
            self._given.pop(group_id, None)

    def in_force(self, group_id: str) -> Mapping[str, str]:
        """All properties of a group."""
        settings = self.settings
        defaults = {
            SESSION_TIMEOUT: str(settings.consumer_session_timeout_ms),
            HEARTBEAT_INTERVAL: str(settings.consumer_heartbeat_interval_ms),
        }
        return {**defaults, **self.given(group_id)}

    def session_timeout_ms(self, group_id: str) -> int:
        return int(self.given(group_id).get(SESSION_TIMEOUT, self.settings.consumer_session_timeout_ms))

    def heartbeat_interval_ms(self, group_id: str) -> int:
        return int(self.given(group_id).get(HEARTBEAT_INTERVAL, self.settings.consumer_heartbeat_interval_ms))
