"""The topics that connectors of a run write to, which a group keeps in its status topic (KIP-558)."""

from __future__ import annotations

from collections.abc import Sequence

from eosfw.ids import ConnectorTaskId
from eosfw.runtime.status import Notice, TaskStatus


class ActiveTopicsRecorder:
    """The `TaskListener` of a run that is shown; thread-safe, since it only ever adds."""

    def __init__(self) -> None:
        self._topics: dict[tuple[str, str], None] = {}

    def on_status(self, status: TaskStatus) -> None:
        """Do nothing: whoever asks for a status asks the worker."""

    def on_topic(self, task: ConnectorTaskId, topic: str) -> None:
        self._topics[task.connector, topic] = None

    def on_notice(self, task: ConnectorTaskId, notice: Notice) -> None:
        """Do nothing: the summary of the run has it."""

    def of(self, connector: str) -> Sequence[str]:
        """The topics of a connector."""
        return sorted(topic for name, topic in self._topics.copy() if name == connector)

    def all(self) -> set[str]:
        """The topics of all connectors."""
        return {topic for _, topic in self._topics.copy()}
