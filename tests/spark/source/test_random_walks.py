"""A stream beside whatever a seed draws: writers, deletions, restarts, other options; each record comes once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from itertools import count
from random import Random

import pytest

from eosfw.builtin.isolation import ReadCommitted
from eosfw.errors import RetriableError
from eosfw.ids import TopicPartition
from eosfw.records import OffsetRange
from pytest_eos.environment.config.options import SETTINGS

from ..histories import Histories
from .stream_run import StreamRun, StreamRunBefore42

SEEDS, NIGHTLY_SEEDS = 5, 200
ATTEMPTS = 3
"""Of a batch whose topic is created again while it is read."""


class Walk:
    """Two topics with their writers, and one query that reads them."""

    def __init__(self, history: Histories, kind: type[StreamRun], seed: int, patch: pytest.MonkeyPatch) -> None:
        self.history, self.kind, self.draw, self.patch = history, kind, Random(seed), patch
        self.names = [history.topic(), history.topic()]
        self.partitions = dict.fromkeys(self.names, 1)
        self.numbers = count()
        self.log: list[str] = []
        self.batches: dict[int, list[bytes | None]] = {}
        self.committed: dict[bytes, TopicPartition] = {}
        self.deleted: set[bytes] = set()
        """Records that were deleted, perhaps before they were read."""
        self.planned: int | None = None
        """The batch that is planned, and not done yet."""
        self.steps: list[object] = []
        self.run = self._started()

    def go(self) -> None:
        """Some steps, then read what is left."""
        acts = {self.write: 8, self.read: 9, self.restart: 2, self.delete: 3, self.miss: 1}
        for _ in range(self.draw.randint(10, 35)):
            self.draw.choices(list(acts), list(acts.values()))[0]()
        self.patch.undo()
        self.restart()
        self.read_planned()
        while self.run.plan():
            self.planned = len(self.log) - 1
            self.read_planned()

    def write(self) -> None:
        """Commit some records, or abort them."""
        topic = self.draw.choice(self.names)
        partition = self.draw.randrange(self.partitions[topic])
        values = [b"%d" % next(self.numbers) for _ in range(self.draw.randint(1, 4))]
        commit = self.draw.random() < 0.8
        self.steps.append(("commit" if commit else "abort", topic, partition, values))
        if commit:
            self.history.commit(topic, values, partition=partition)
            self.committed.update(dict.fromkeys(values, TopicPartition(topic, partition)))
        else:
            self.history.abort(topic, values, partition=partition)

    def read(self) -> None:
        """Plan a batch, read it, or do both; the driver may die before it is done."""
        if self.planned is None and self.run.plan():
            self.planned = len(self.log) - 1
        if self.draw.random() < 0.8:
            self.read_planned()

    def read_planned(self) -> None:
        if self.planned is None:
            return
        for _ in range(ATTEMPTS):
            try:
                self.batches[self.planned] = self.run.values(self.planned)
                break
            except RetriableError as why:
                self.steps.append(why)
        self.steps.append((self.planned, self.log[-1], self.batches[self.planned]))
        if self.draw.random() < 0.9:
            self.planned = None

    def restart(self) -> None:
        """Start the query again, with other options."""
        self.run.reader.stop()
        self.run = self._started()

    def delete(self) -> None:
        """Delete the first records of a partition, or a topic, which is then created again; or add a partition."""
        topic = self.draw.choice(self.names)
        act = self.draw.choice(["records", "topic", "add"])
        self.steps.append((act, topic))
        if act == "add":
            self.partitions[topic] += 1
            self.history.add_partitions(topic, self.partitions[topic])
            return
        first = TopicPartition(topic, 0)
        place = {"records": lambda where: where == first, "topic": lambda where: where.topic == topic}[act]
        self.deleted.update(each for each, where in self.committed.items() if place(where))
        if act == "topic":
            self.partitions[topic] = 1
            self.history.create_again(topic)
        elif (log := self.history.bounds(topic)[first]).end > log.start:
            self.history.delete_before(topic, self.draw.randint(log.start + 1, log.end))

    def miss(self) -> None:
        """Have the next look find nothing of a topic, as a broker answers that has just started."""
        if len(self.log) < 2:  # a query does not begin without one of its topics
            return
        topic, bounds = self.draw.choice(self.names), ReadCommitted.bounds
        self.steps.append(("miss", topic))

        def missing(reader: ReadCommitted, topics: Collection[str]) -> Mapping[TopicPartition, OffsetRange]:
            self.patch.undo()
            return {each: one for each, one in bounds(reader, topics).items() if each.topic != topic}

        self.patch.setattr(ReadCommitted, "bounds", missing)

    def _started(self) -> StreamRun:
        draw = self.draw
        given = {
            "kafka.bootstrap.servers": self.history.servers,
            "subscribe": ",".join(self.names),
            "startingOffsets": "earliest",
            "failOnDataLoss": "false",
            "backend": draw.choice(["memory", "confluent"]),
            "prefetchOffsets": draw.choice(["0", "1000"]),
            "minPartitions": str(draw.randint(1, 5)),
        }
        limit = draw.choice(["maxOffsetsPerTrigger", "maxBytesPerTrigger", None])
        if limit is not None:
            given[limit] = str(draw.randint(1, 20))
        now = self.kind is StreamRun and draw.random() < 0.4
        self.steps.append((given, now))
        return self.kind(given, self.log, available_now=True) if now else self.kind(given, self.log)


@pytest.mark.parametrize("kind", [StreamRun, StreamRunBefore42])
@pytest.mark.parametrize("seeds", [SEEDS, pytest.param(NIGHTLY_SEEDS, marks=pytest.mark.nightly)])
def test_each_committed_record_comes_once_whatever_the_seed_draws(
    history: Histories,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    kind: type[StreamRun],
    seeds: int,
) -> None:
    """SPK-10, SPK-11: unless it was deleted before it was read; what aborted never comes."""
    first = request.config.stash[SETTINGS].seed
    for seed in range(first, first + seeds):
        walk = Walk(history, kind, seed, monkeypatch)
        walk.go()
        walk.run.reader.stop()
        history.close()  # the producers of this walk; a process can have some hundreds

        found = Counter(value for batch in walk.batches.values() for value in batch)
        # A deleted record may have been read before; nothing else may be missing, or come twice, or not be committed.
        wrong = found - Counter(walk.committed.keys()) | Counter(walk.committed.keys() - walk.deleted) - found
        assert not wrong, (seed, wrong, *walk.steps)
