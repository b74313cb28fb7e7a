"""Set up what the demo plays on: a cluster, a worker, everybody who watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

from eosfw.config.worker import WORKER
from eosfw.errors import EosfwError
from eosfw.ids import TopicPartition
from eosfw.observe import Announcer, Gates, History
from eosfw.protocols import Backend, IsolationReader, Observer
from eosfw.records import LogBatch, OffsetRange
from eosfw.registry import Plugins
from eosfw.runtime import Worker
from eosfw.waiting import Runtime

PATIENCE = 120.0
"""Seconds after which a wait of the demo counts as stuck."""
GRACE_MS = 1500
"""How long tasks of a replaced generation may take to stop; only the zombie needs all of it."""
_LOOK = 0.02


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user asked for."""

    exactly_once: bool = True
    spark: bool = True
    backend: str = "confluent"
    bootstrap_servers: str | None = None


@dataclass(frozen=True, slots=True)
class Names:
    """What things are called on the cluster; unique on one that outlives the demo."""

    group: str = "eosfw-demo"
    topic: str = "flights"
    connector: str = "flights"

    @classmethod
    def on(cls, cluster: str | None, now: float) -> Names:
        """Plain names on an embedded cluster, marked by the time on one that others own."""
        return cls() if cluster is None else cls(f"eosfw-demo-{now:.0f}", f"flights-{now:.0f}")


class StuckError(EosfwError):
    """Something that the demo waits for did not happen."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A running worker on a running cluster, watched."""

    names: Names
    bootstrap_servers: str
    embedded: bool
    backend: Backend
    worker: Worker
    history: History
    gates: Gates
    plugins: Plugins
    runtime: Runtime

    def until(self, happened: Callable[[], bool], what: str) -> None:
        """Wait for something; raise when a task fails meanwhile, or when it takes too long."""
        deadline = self.runtime.now() + PATIENCE
        while not happened():
            for failed in self.worker.status().failures:
                raise StuckError(f"task {failed.id} failed while the demo waited until {what}: {failed.error}")
            if self.runtime.now() > deadline:
                raise StuckError(f"gave up after {PATIENCE:g} s waiting until {what}. {self._state()}")
            self.runtime.sleep(_LOOK)

    def _state(self) -> str:
        steps = ", ".join(f"{lane.task}: {step.step.value}" for lane, step in self.history.last_steps().items())
        oldest = self.history.oldest_open_transaction()
        held = f"; oldest open transaction: {oldest.transactional_id}, {oldest.age:.0f} s" if oldest else ""
        return f"Last step of each task: {steps or 'none'}{held}"

    def committed(self) -> Mapping[TopicPartition, OffsetRange]:
        """The committed ranges of the topic, as of now."""
        with closing(self._reader()) as reader:
            return reader.bounds([self.names.topic])

    def values(self, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[bytes]:
        """The values of committed records, read by our own reader."""
        with closing(self._reader()) as reader:
            for batch in reader.read(ranges, stall_timeout=30.0):
                if isinstance(batch, LogBatch):
                    yield from (value or b"" for value in batch.values)

    def _reader(self) -> IsolationReader:
        return self.plugins.isolation_reader("read_committed").over(self.backend, self.runtime)


@contextmanager
def stage(wishes: Wishes, plugins: Plugins, runtime: Runtime, *watchers: Observer) -> Iterator[Stage]:
    """Set everything up; take everything down again, whatever happened in between."""
    with ExitStack() as undo:
        bootstrap = wishes.bootstrap_servers
        if bootstrap is None:
            cluster = plugins.cluster().start({}, runtime)
            undo.callback(cluster.close)
            bootstrap = cluster.bootstrap_servers
        names = Names.on(wishes.bootstrap_servers, runtime.wall())
        backend = plugins.backend(wishes.backend).connect({"bootstrap.servers": bootstrap}, runtime)
        undo.callback(backend.close)
        history, gates = History(runtime), Gates(runtime)
        config = WORKER.parse(worker_properties(names, bootstrap, exactly_once=wishes.exactly_once), "demo")
        # gates come last: they block, and whoever records must have heard before
        announce = Announcer([*plugins.observers(), history, *watchers, gates])
        worker = Worker(config, backend, plugins, announce, runtime)
        undo.callback(worker.kill)
        undo.callback(gates.close)
        worker.start()
        embedded = wishes.bootstrap_servers is None
        yield Stage(names, bootstrap, embedded, backend, worker, history, gates, plugins, runtime)


def worker_properties(names: Names, bootstrap: str, *, exactly_once: bool) -> dict[str, str]:
    """A worker group as `eosfw run` would configure it."""
    return {
        "group.id": names.group,
        "bootstrap.servers": bootstrap,
        "exactly.once.source.support": "enabled" if exactly_once else "disabled",
        "task.shutdown.graceful.timeout.ms": str(GRACE_MS),
    }
