"""Whether a group with members may go from one protocol to the other. Kafka's `ConsumerGroupMigrationPolicy`."""

from __future__ import annotations

from enum import StrEnum


class MigrationPolicy(StrEnum):
    """The values are those of `group.consumer.migration.policy`."""

    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"

    @property
    def upgrades(self) -> bool:
        """Whether a classic group becomes a consumer group."""
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE)

    @property
    def downgrades(self) -> bool:
        """Whether a consumer group becomes a classic group."""
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.DOWNGRADE)
