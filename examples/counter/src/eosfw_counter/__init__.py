"""Source connector `counter`: it counts, exactly once, until you have it read your source."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import eosfw


class CounterTask(eosfw.SourceTask):
    """Reads some of the streams."""

    config = eosfw.ConfigDef(eosfw.List("streams"), eosfw.Int("until"), eosfw.Int("batch.size"), eosfw.String("topic"))

    def start(self, config: eosfw.Config, context: eosfw.SourceTaskContext) -> None:
        """Go on behind what was committed; a task keeps its place nowhere else."""
        self.topic, self.until, self.most = config.topic, config.until, config.batch_size
        committed = {stream: context.offset({"stream": stream}) for stream in config.streams}
        self.next: dict[str, Any] = {stream: at["next"] if at else 0 for stream, at in committed.items()}

    def poll(self) -> list[eosfw.SourceRecord]:
        """Return many records at once: what a poll returns is committed in one transaction."""
        return [record for stream in self.next for record in self.read(stream)]

    def read(self, stream: str) -> Iterator[eosfw.SourceRecord]:
        """Take some numbers; the offset beside each leads right behind it."""
        for number in range(self.next[stream], min(self.next[stream] + self.most, self.until)):
            self.next[stream] = number + 1
            value, partition, offset = f"{stream}:{number}".encode(), {"stream": stream}, {"next": number + 1}
            yield eosfw.SourceRecord(self.topic, value, source_partition=partition, source_offset=offset)

    def at_end(self) -> bool:
        """Tell that everything is read; a source without end does without this method."""
        return all(number >= self.until for number in self.next.values())


class CounterConnector(eosfw.SourceConnector):
    """Splits the streams among tasks."""

    name, task = "counter", CounterTask
    config = eosfw.ConfigDef(
        eosfw.Int("streams", 2, "how many streams there are", at_least=1),
        eosfw.Int("until", 1000, "where each of them ends"),
        eosfw.Int("batch.size", 500, "most records that a poll takes of one stream", at_least=1),
        eosfw.String("topic", doc="where records go"),
    )

    def task_configs(self, config: eosfw.Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Give each stream to one task."""
        names = [f"s{number}" for number in range(config.streams)]
        shares = [names[number::max_tasks] for number in range(min(max_tasks, len(names)))]
        same = {name: str(config[name]) for name in ("until", "batch.size", "topic")}
        return [{"streams": ",".join(share), **same} for share in shares]

    def exactly_once_support(self, config: eosfw.Config) -> eosfw.ExactlyOnceSupport:
        """Promise that the same offset is always followed by the same records."""
        return eosfw.ExactlyOnceSupport.SUPPORTED


@eosfw.hookimpl
def eosfw_connectors() -> list[type[eosfw.SourceConnector]]:
    """Offer the connector to the framework."""
    return [CounterConnector]
