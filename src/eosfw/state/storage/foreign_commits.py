"""Task configurations that were written by somebody other than the group's leader (KIP-618's permitted scenario)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from eosfw.state.storage.config_log import ConnectorEntry


@dataclass(frozen=True, slots=True)
class _Suspect:
    """A commit of a worker of the group that does not lead it, as far as was known at the time."""

    connector: str
    generation: int
    writer: str
    since: float


class ForeignCommits:
    """Finds commits of others than the leader that came since the first look; not thread-safe.

    What was there before may be of a Kafka Connect group whose topics were taken over.
    """

    def __init__(self, grace: float) -> None:
        self._grace = grace
        """Seconds in which a worker may commit before it is known to lead, or after it is known to lead no more."""
        self._generations: dict[str, int | None] | None = None
        """The newest generation of each connector that was looked at; None before the first look."""
        self._known: frozenset[str] = frozenset()
        self._leader = ""
        self._led_at: dict[str, float] = {}
        """By worker, when it may have led last."""
        self._suspects: list[_Suspect] = []

    def look(
        self, changed: Mapping[str, ConnectorEntry], workers: Collection[str], leader: str, now: float
    ) -> list[str]:
        """What to tell the user of connectors that have changed since the last look, at first of all of them.

        `workers` are all that are known now, and those of earlier looks count as well. `now` is in seconds.
        """
        self._known |= frozenset(workers)
        # The leader before may have led until now: between two looks minutes may pass, if this worker is busy.
        self._led_at |= {self._leader: now, leader: now}
        self._leader = leader
        generations = {name: entry.generation for name, entry in changed.items()}
        if self._generations is None:
            self._generations = generations
            return []
        news = []
        for name, entry in sorted(changed.items()):
            if entry.generation is None or entry.generation == self._generations.get(name):
                continue
            writer = entry.committed_by
            if writer is None or writer not in self._known:
                who = f"{writer or 'a writer that does not name itself'}, which is no worker of this group"
                news.append(_text(name, entry.generation, who))
            else:
                self._suspects.append(_Suspect(name, entry.generation, writer, now))
        self._generations.update(generations)
        return news + self._judged(now)

    def _judged(self, now: float) -> list[str]:
        """Those of the suspects that are known by now to have been no leaders."""
        # The config topic and the members topic have no order in common: a new leader's first commit may be read before
        # the assignment that names it, and the last one of its predecessor after that.
        leaders = {one for one, at in self._led_at.items() if now - at <= 2 * self._grace}
        self._suspects = [one for one in self._suspects if one.writer not in leaders]
        over = [one for one in self._suspects if now - one.since > self._grace]
        self._suspects = [one for one in self._suspects if one not in over]
        return [_text(one.connector, one.generation, f"{one.writer}, which does not lead this group") for one in over]


def _text(connector: str, generation: int, who: str) -> str:
    return (
        f"generation {generation} of connector {connector} was committed to the config topic by {who}: "
        f"exactly-once is void while anybody but the group's leader writes there"
    )
