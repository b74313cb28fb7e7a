"""Task configurations that were written by somebody other than a worker of the group (KIP-618's permitted scenario)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from eosfw.state.storage.config_log import ConnectorEntry


class ForeignCommits:
    """Finds commits of unknown writers that came since the first look; not thread-safe.

    What was there before may be of a Kafka Connect group whose topics were taken over.
    """

    def __init__(self) -> None:
        self._seen: Mapping[str, ConnectorEntry] | None = None
        self._known: frozenset[str] = frozenset()

    def look(self, connectors: Mapping[str, ConnectorEntry], workers: Collection[str]) -> list[str]:
        """What to tell the user; `workers` are all that are known now, and those of earlier looks count as well."""
        self._known |= frozenset(workers)
        before, self._seen = self._seen, connectors
        if before is None or before is connectors:
            return []
        return [
            f"generation {entry.generation} of connector {name} was committed to the config topic by "
            f"{entry.committed_by or 'a writer that does not name itself'}, which is no worker of this group: "
            f"exactly-once is void while anybody but the group's leader writes there"
            for name, entry in sorted(connectors.items())
            if entry.generation is not None
            and (name not in before or entry.generation != before[name].generation)
            and entry.committed_by not in self._known
        ]
