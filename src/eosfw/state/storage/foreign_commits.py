"""Task configurations that were written by somebody other than a worker of the group (KIP-618's permitted scenario)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from eosfw.state.storage.config_log import ConnectorEntry


class ForeignCommits:
    """Finds commits of unknown writers that came since the first look; not thread-safe.

    What was there before may be of a Kafka Connect group whose topics were taken over.
    """

    def __init__(self) -> None:
        self._generations: dict[str, int | None] | None = None
        """The newest generation of each connector that was looked at; None before the first look."""
        self._known: frozenset[str] = frozenset()

    def look(self, changed: Mapping[str, ConnectorEntry], workers: Collection[str]) -> list[str]:
        """What to tell the user of connectors that have changed since the last look, at first of all of them.

        `workers` are all that are known now, and those of earlier looks count as well.
        """
        self._known |= frozenset(workers)
        generations = {name: entry.generation for name, entry in changed.items()}
        if self._generations is None:
            self._generations = generations
            return []
        news = [
            f"generation {entry.generation} of connector {name} was committed to the config topic by "
            f"{entry.committed_by or 'a writer that does not name itself'}, which is no worker of this group: "
            f"exactly-once is void while anybody but the group's leader writes there"
            for name, entry in sorted(changed.items())
            if entry.generation is not None
            and (name not in self._generations or entry.generation != self._generations[name])
            and entry.committed_by not in self._known
        ]
        self._generations.update(generations)
        return news
