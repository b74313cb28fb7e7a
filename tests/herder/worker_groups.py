"""Groups of several workers for tests: connectors that count slowly, workers that freeze, and what they wrote."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace

from tests.kip618.group import PLUGINS, GroupPlugins
from tests.runtime.counting import CountingConnector, CountingTask

from eosfw.concurrency import Runtime
from eosfw.connectors import PollResult
from eosfw.ids import TopicPartition
from eosfw.protocols import Gap, IsolationReader
from eosfw.records import OffsetRange
from eosfw.runtime import DistributedHerder
from pytest_eos.environment.clusters.cluster import Cluster, virtual
from pytest_eos.runs.groups.herders import HerderGroup

SESSION = 10.0


class SlowConnector(CountingConnector):
    """Gives one record of each stream every 100 ms."""

    def __init__(self, runtime: Runtime) -> None:
        class Task(CountingTask):
            def poll(self) -> PollResult:
                runtime.sleep(0.1)
                return super().poll()

        self.task = Task  # type: ignore[misc]


class Workers(HerderGroup):
    """Workers of a group, and what they wrote."""

    def __init__(self, cluster: Cluster, backend: str = "memory", **worker: str) -> None:
        plugins = GroupPlugins(SlowConnector(cluster.runtime))
        self.cluster, self.client_name = cluster, backend
        super().__init__(cluster, plugins, f"g{uuid.uuid4().hex[:6]}", backend, **worker)  # type: ignore[arg-type]

    @property
    def topic(self) -> str:
        """Where the connectors write to."""
        return f"{self.name}-counts"

    def set_worker(self, **worker: str) -> None:
        """Change the properties of the workers that start from now on."""
        self._properties |= {key.replace("_", "."): text for key, text in worker.items()}

    def put(self, tasks: int, name: str = "c") -> None:
        """Create or change a connector that counts in five streams; each connector writes to its own topic."""
        topic = self.topic if name == "c" else f"{self.topic}-{name}"
        properties = {"connector.class": "counting", "topic": topic, "streams": "5", "until": "0"}
        self.leader().put_connector(name, {**properties, "tasks.max": str(tasks)})

    def leader(self) -> DistributedHerder:
        """The worker that leads, as soon as there is exactly one."""
        return self.workers[self.leader_name()]

    def leader_name(self) -> str:
        """Its name."""
        self.until(lambda: len(self.leaders()) == 1, "a leader")
        return self.leaders()[0]

    def follower_name(self) -> str:
        """A worker that does not lead."""
        leader = self.leader()
        return next(name for name, herder in self.workers.items() if herder is not leader)

    def shares(self) -> dict[str, int]:
        """How many tasks each worker runs, those aside that are frozen."""
        return {name: len(self.running(name)) for name in sorted(self.workers) if not self.is_frozen(name)}

    def until_shared(self, *counts: int, patience: float = 120.0) -> None:
        """Wait until the workers run so many tasks, each task once; any worker may have any share."""

        def settled() -> bool:
            tasks = [task for name in self.shares() for task in self.running(name)]
            return sorted(self.shares().values()) == sorted(counts) and len(tasks) == len(set(tasks))

        try:
            self.until(settled, f"shares {counts}", patience)
        except AssertionError as error:
            found = {
                name: [f"{one.id} {one.state.value} {one.step}" for one in herder.worker_status().tasks]
                for name, herder in self.workers.items()
            }
            raise AssertionError(f"{error}; there are {self.shares()}: {found}") from error

    def until_more(self, count: int = 20) -> None:
        """Wait until that many more records are committed."""
        with self._reader() as reader:
            before = reader.bounds([self.topic])

            def more() -> bool:
                # The topic may not have been there before.
                ranges = {
                    one: replace(seen, start=before[one].end if one in before else 0)
                    for one, seen in reader.bounds([self.topic]).items()
                }
                return len(values(reader, ranges)) >= count

            self.until(more, f"{count} more records")

    def committed(self) -> list[bytes]:
        """What a reader of committed records sees."""
        with self._reader() as reader:
            return values(reader, reader.bounds([self.topic]))

    @contextmanager
    def _reader(self) -> Iterator[IsolationReader]:
        backend = PLUGINS.backend(self.client_name).connect(self.cluster.client, self.runtime)
        with closing(backend), closing(PLUGINS.isolation_reader().over(backend, self.runtime)) as reader:
            yield reader

    def check_exactly_once(self) -> None:
        """Each stream counts from 0, with no gap and no repeat."""
        streams: dict[bytes, list[int]] = defaultdict(list)
        for value in self.committed():
            stream, _, number = value.partition(b":")
            streams[stream].append(int(number))
        assert len(streams) == 5
        for stream, numbers in streams.items():
            assert sorted(numbers) == list(range(len(numbers))), f"{stream!r} has gaps or repeats"

    def failures(self) -> list[str]:
        """The tasks that failed."""
        return [str(one.error) for herder in self.workers.values() for one in herder.worker_status().failures]


def values(reader: IsolationReader, ranges: Mapping[TopicPartition, OffsetRange]) -> list[bytes]:
    """The values that are visible in the ranges."""
    found = reader.read(ranges, 30.0)
    return [value for batch in found if not isinstance(batch, Gap) for value in batch.values]


@contextmanager
def workers(seed: int | str = 7, **worker: str) -> Iterator[Workers]:
    """A group on an embedded cluster in virtual time."""
    with virtual(seed) as cluster, Workers(cluster, **worker) as group:
        yield group
