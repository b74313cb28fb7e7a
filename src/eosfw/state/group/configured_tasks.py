"""Every task of the connectors of a group, as the config topic says."""

from __future__ import annotations

from collections.abc import Mapping

from eosfw.ids import ConnectorTaskId
from eosfw.state.storage.config_log import ConnectorEntry


class ConfiguredTasks:
    """The tasks that are to be assigned; one thread updates it, any may read `tasks`."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._all: set[ConnectorTaskId] = set()
        self.tasks: frozenset[ConnectorTaskId] = frozenset()
        """The same object until a task comes or goes, so that whoever has seen it need not compare."""

    def update(self, changed: Mapping[str, ConnectorEntry]) -> None:
        """Take in the connectors that have changed, the deleted ones too."""
        counts = {name: len(entry.tasks) for name, entry in changed.items()}
        resized = {name: count for name, count in counts.items() if count != self._counts.get(name, 0)}
        for name, count in resized.items():
            known = self._counts.get(name, 0)
            self._all.difference_update(ConnectorTaskId(name, number) for number in range(count, known))
            self._all.update(ConnectorTaskId(name, number) for number in range(known, count))
            self._counts[name] = count
        if resized:
            self.tasks = frozenset(self._all)
