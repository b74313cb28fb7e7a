"""Requests to restart a connector with or without its tasks (KIP-745; Kafka Connect's `RestartRequest`)."""

from __future__ import annotations

from dataclasses import dataclass

_FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class RestartRequest:
    """What to restart of one connector."""

    connector: str
    only_failed: bool = False
    """Whether only what is FAILED is restarted."""
    include_tasks: bool = False
    """Whether tasks are restarted beside the connector itself."""

    def restarts_connector(self, state: str) -> bool:
        """Whether it restarts a connector that is in this state."""
        return not self.only_failed or state == _FAILED

    def restarts_task(self, state: str) -> bool:
        """Whether it restarts a task that is in this state."""
        return self.include_tasks and self.restarts_connector(state)

    @property
    def impact(self) -> int:
        """How much it restarts, compared with other requests for the same connector."""
        return 2 * (not self.only_failed) + self.include_tasks
