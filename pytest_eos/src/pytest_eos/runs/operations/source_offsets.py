"""The source offsets that the tasks of a run sent, and those that they were given at their starts, for the checker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eosfw.errors import EosfwError
from eosfw.protocols import OffsetStore
from eosfw.records import LogBatch, SourceOffset, SourcePartition
from pytest_eos.runs.groups.provenance import Author, Start
from pytest_eos.runs.operations.operation import Fields
from pytest_eos.runs.operations.source_positions import SourcePositions, text_of
from pytest_eos.runs.run import Run


class OffsetOperations:
    """Fields of operations about the source offsets of a run, as far as its offsets topics and its tasks say them."""

    def __init__(self, run: Run, batches: Iterable[LogBatch], positions: SourcePositions) -> None:
        self._requests, self._positions = run.eos.plugins.requests, positions
        self._sent: dict[Author | None, list[Fields]] = defaultdict(list)
        self._topics: dict[int | None, str] = {}
        """The offsets topic of each generation: that to which its tasks sent."""
        written = dict(_single_records(batches))
        store = run.offset_store()
        for place, author in run.eos.authors.offset_places().items():
            if author.task.connector != run.name:
                continue
            self._topics[author.generation] = place[0]
            if place in written:
                self._sent[author] += self._stated(run.name, store, written[place])

    def sent(self, author: Author | None) -> Sequence[Fields]:
        """The offsets that were sent in a transaction."""
        return self._sent.get(author, ())

    def given(self, start: Start) -> Iterator[Fields]:
        """The offsets after which a start of a task goes on; with a source partition alone if there is none."""
        topics = set(self._topics.values())
        topic = self._topics.get(start[1], topics.pop() if len(topics) == 1 else "")
        for partition, offset in self._requests.offsets_given(start):
            where = {"src_part": text_of(partition)} if offset is None else self._positions.of_offset(partition, offset)
            if where:
                yield {"part": topic, **where}

    def of(self, partition: SourcePartition, offset: SourceOffset) -> Fields:
        """Where an offset is; its source partition alone if nobody knows."""
        return self._positions.of_offset(partition, offset) or {"src_part": text_of(partition)}

    def _stated(self, connector: str, store: OffsetStore, record: LogBatch) -> Iterator[Fields]:
        try:
            stated: Mapping[str, Any] = store.decode(connector, [record])
        except EosfwError:  # a task that reads it says so
            return
        for partition, offset in stated.values():
            yield {"part": f"{record.topic}-{record.partition}", **self.of(partition, offset)}


def _single_records(batches: Iterable[LogBatch]) -> Iterator[tuple[tuple[str, int, int], LogBatch]]:
    """Each record with its place, as a batch of its own, because a store folds all records that it gets at once."""
    for batch in batches:
        columns = zip(batch.offsets, batch.keys, batch.values, batch.timestamps, strict=True)
        for offset, key, value, timestamp in columns:
            place = batch.topic, batch.partition, offset
            yield place, LogBatch(batch.topic, batch.partition, [offset], [key], [value], [timestamp])
