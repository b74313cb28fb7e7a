"""A config topic with many connectors."""

from __future__ import annotations

import json
from collections import Counter

from eosfw.ids import ConnectorTaskId
from eosfw.state.storage.config_log import ConfigLog, ConnectorChanges, ConnectorEntry

MANY = 200
EVERY = [ConnectorTaskId(f"c{number}", 0) for number in range(MANY)]


class Connectors:
    """A config topic with many connectors of one task each; counts of which of them somebody asks."""

    def __init__(self) -> None:
        self.log, self.offset, self.looks = ConfigLog(), 0, Counter[str]()
        for number in range(MANY):
            self.configure(f"c{number}", tasks=1)

    def configure(self, name: str, tasks: int, **properties: str) -> None:
        self.put(name, **properties)
        for task in range(tasks):
            self._apply(f"task-{name}-{task}", {"properties": {}})
        self._apply(f"commit-{name}", {"tasks": tasks})

    def delete(self, name: str) -> None:
        self._apply(f"connector-{name}", None)

    def put(self, name: str, **properties: str) -> None:
        """Properties whose tasks are still to be made."""
        self._apply(f"connector-{name}", {"properties": {"name": name, **properties}})

    def _apply(self, key: str, value: object) -> None:
        self.log.apply(self.offset, key.encode(), None if value is None else json.dumps(value).encode(), "w")
        self.offset += 1

    def entry(self, connector: str) -> ConnectorEntry:
        self.looks[connector] += 1
        return self.log.entry(connector)

    def connectors(self) -> dict[str, ConnectorEntry]:
        return {name: one for name, one in self.log.connectors().items() if one.properties is not None}

    def changes_since(self, version: int) -> ConnectorChanges:
        return self.log.changes_since(version)
