"""Set up a cluster, a worker and its observers for the demo."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from eosfw.concurrency import Runtime
from eosfw.errors import EosfwError
from eosfw.ids import TopicPartition
from eosfw.observe import Gates, History
from eosfw.pipeline import ClusterChoice, LocalRun, Pipeline, RunConsole
from eosfw.protocols import IsolationReader, Observer
from eosfw.records import LogBatch, OffsetRange
from eosfw.registry import Plugins
from eosfw.runtime import Worker

PATIENCE = 120.0
"""Seconds after which a wait of the demo fails."""
GRACE_MS = 1000
"""The time that tasks of a replaced generation have to stop; only the zombie uses all of it."""
FLUSH_MS = 25
"""The interval of offset commits without exactly-once; Kafka Connect's default is a minute."""
_LOOK = 0.02
_CONSOLE = "127.0.0.1:0"
"""At a free port: a demo must not fail because something else listens."""


def default_backend(bootstrap_servers: str | None) -> str:
    """The default backend: that of the embedded broker, or confluent for a running cluster."""
    return "memory" if bootstrap_servers is None else "confluent"


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """The options of the command."""

    exactly_once: bool = True
    spark: bool = True
    backend: str = "memory"
    bootstrap_servers: str | None = None
    console: bool = False
    """Whether to serve the console beside the run."""


@dataclass(frozen=True, slots=True)
class ResourceNames:
    """The names on the cluster; unique on a running cluster."""

    group: str
    topic: str
    connector: str

    @classmethod
    def on(cls, cluster: str | None, topic: str, now: float) -> ResourceNames:
        """Plain names on an embedded cluster; with a timestamp on a running one."""
        connector, dot, table = topic.partition(".")
        if cluster is None:
            return cls("eosfw-demo", topic, connector)
        return cls(f"eosfw-demo-{now:.0f}", f"{connector}-{now:.0f}{dot}{table}", connector)


class StuckError(EosfwError):
    """The demo waited for something that did not happen."""


@dataclass(frozen=True, slots=True)
class DemoEnvironment:
    """A running worker on a cluster, with its gates and history."""

    names: ResourceNames
    run: LocalRun
    gates: Gates

    @property
    def worker(self) -> Worker:
        """The worker that runs the tasks."""
        return self.run.worker

    @property
    def history(self) -> History:
        """The history of all tasks."""
        return self.run.history

    @property
    def address(self) -> str:
        """The address of the cluster."""
        return self.run.client_properties["bootstrap.servers"]

    def until(self, happened: Callable[[], bool], what: str) -> None:
        """Wait until a condition is true; raise if a task fails, or if it takes too long."""
        runtime = self.run.runtime
        deadline = runtime.now() + PATIENCE
        while not happened():
            for failed in self.worker.status().failures:
                raise StuckError(f"task {failed.id} failed while the demo waited until {what}: {failed.error}")
            if runtime.now() > deadline:
                raise StuckError(f"gave up after {PATIENCE:g} s waiting until {what}. {self._state()}")
            runtime.sleep(_LOOK)

    def _state(self) -> str:
        last = self.history.last_steps().items()
        steps = [f"{lane.task} of generation {lane.generation}: {event.step.value}" for lane, event in last]
        oldest = self.history.oldest_open_transaction()
        held = f"; oldest open transaction: {oldest.transactional_id}, {oldest.age:.0f} s" if oldest else ""
        return f"Last step of each task: {', '.join(steps) or 'none'}{held}"

    def committed(self) -> Mapping[TopicPartition, OffsetRange]:
        """The ranges of the topic that are committed now."""
        with closing(self._reader()) as reader:
            return reader.bounds([self.names.topic])

    def records(self, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[tuple[bytes | None, bytes | None]]:
        """Keys and values of committed records, read by the framework's reader; those of a partition in their order."""
        with closing(self._reader()) as reader:
            for batch in reader.read(ranges, stall_timeout=30.0):
                if isinstance(batch, LogBatch):
                    yield from zip(batch.keys, batch.values, strict=True)

    def _reader(self) -> IsolationReader:
        return self.run.reader()


@contextmanager
def open_environment(
    options: DemoOptions, topic: str, plugins: Plugins, runtime: Runtime, *watchers: Observer
) -> Iterator[DemoEnvironment]:
    """Set the environment up, and close it afterwards."""
    names = ResourceNames.on(options.bootstrap_servers, topic, runtime.wall())
    gates = Gates(runtime)
    console = RunConsole.open(_CONSOLE, plugins, runtime) if options.console else None
    # gates come last: they block, and the other observers must have recorded the event before
    observers = (*watchers, gates)
    with LocalRun(pipeline(options, names), plugins, runtime, observers=observers, console=console) as run, gates:
        run.worker.start()
        yield DemoEnvironment(names, run, gates)


def pipeline(options: DemoOptions, names: ResourceNames) -> Pipeline:
    """The pipeline of the demo, without its connector, which the scenario changes."""
    where = options.bootstrap_servers
    worker = {
        "group.id": names.group,
        "exactly.once.source.support": "enabled" if options.exactly_once else "disabled",
        "offset.flush.interval.ms": str(FLUSH_MS),
        "task.shutdown.graceful.timeout.ms": str(GRACE_MS),
    }
    cluster = ClusterChoice(options.backend, {} if where is None else {"bootstrap.servers": where})
    return Pipeline(Path("eosfw-demo"), cluster, worker)
