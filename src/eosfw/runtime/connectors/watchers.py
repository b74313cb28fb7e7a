"""The connectors of a worker that watch their sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eosfw.concurrency import Spawned
from eosfw.connectors import watches_source
from eosfw.runtime.connectors.offsets import ConnectorOffsetReader, OffsetServices
from eosfw.runtime.connectors.watcher import ConnectorWatcher, WatchedConnector, WatcherServices
from eosfw.runtime.tasks.planner import ValidatedConnector


@dataclass(frozen=True, slots=True)
class _Entry:
    properties: Mapping[str, str]
    watcher: ConnectorWatcher


class ConnectorWatchers:
    """Starts and stops the watchers of connectors; any thread."""

    def __init__(self, services: WatcherServices, offsets: OffsetServices) -> None:
        self._services, self._offsets = services, offsets
        self._lock = services.runtime.lock()
        """Guards what follows; a watcher calls nothing of this class."""
        self._entries: dict[str, _Entry] = {}
        self._threads: dict[str, Spawned] = {}
        """By connector that of its newest watcher, also of one that was asked to stop."""
        self._closed = False

    def start(self, name: str, validated: ValidatedConnector, *, again: bool = False) -> None:
        """Have a connector watch its source, if it can; `again` also if it does so with these properties."""
        with self._lock:
            known = self._entries.get(name)
            if self._closed or (known is not None and known.properties == validated.properties and not again):
                return
            self.stop(name)
            if watches_source(validated.connector):
                watcher = ConnectorWatcher(self._watched(name, validated), self._services, self._threads.get(name))
                self._entries[name] = _Entry(validated.properties, watcher)
                self._threads[name] = watcher.thread

    def _watched(self, name: str, validated: ValidatedConnector) -> WatchedConnector:
        return WatchedConnector(
            name=name,
            connector=validated.connector,
            config=validated.config,
            offset_reader=ConnectorOffsetReader(self._offsets, name, validated.properties),
        )

    def stop(self, name: str) -> None:
        """Have a connector watch its source no longer; does not wait."""
        with self._lock:
            if (known := self._entries.pop(name, None)) is not None:
                known.watcher.trigger_stop()

    def stop_all(self) -> None:
        """Have no connector watch its source any longer; does not wait."""
        with self._lock:
            for name in tuple(self._entries):
                self.stop(name)

    def close(self, timeout: float) -> None:
        """Stop all for good, and wait so many seconds for them together."""
        with self._lock:
            self._closed = True
            self.stop_all()
            threads = tuple(self._threads.values())
        deadline = self._services.runtime.now() + timeout
        for thread in threads:
            thread.join(max(0.0, deadline - self._services.runtime.now()))

    def failures(self) -> dict[str, BaseException]:
        """The errors of the connectors that failed, by name."""
        with self._lock:
            found = {name: entry.watcher.error for name, entry in self._entries.items()}
        return {name: error for name, error in found.items() if error is not None}

    def settled(self) -> bool:
        """Whether every connector has started, and nothing that one asked for is left to do."""
        with self._lock:
            return all(entry.watcher.settled for entry in self._entries.values())
