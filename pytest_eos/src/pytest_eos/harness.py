"""Give a test everything it needs: workers on a cluster, runs, zombies, assertions."""

from __future__ import annotations

import random
import shlex
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import pytest

from eosfw.concurrency import Runtime
from eosfw.config.parts import ISOLATION_READER, PartChoice
from eosfw.connectors import SourceConnector
from eosfw.observe import History
from eosfw.observe.gates import Freeze
from eosfw.observe.timeline import svg, text
from eosfw.pipeline.model import ClusterChoice
from eosfw.protocols import Backend, Fencer, IsolationReader, Observer, OffsetStore
from pytest_eos.assertions import assert_exactly_once as _assert_exactly_once
from pytest_eos.assertions import assert_no_duplicates as _assert_no_duplicates
from pytest_eos.cleanup import CreatedResources
from pytest_eos.clusters import Cluster
from pytest_eos.extra_plugins import ExtraPlugins, Wrap
from pytest_eos.faults import BrokerFaults
from pytest_eos.installed_plugins import installed_plugins
from pytest_eos.markers import ZombieSpec
from pytest_eos.pipeline import PipelineRun, chosen, load, refuse, remove_topics, run_steps
from pytest_eos.provenance import Authors
from pytest_eos.resource_recorder import record_resources
from pytest_eos.run import Run, Topic
from pytest_eos.session_statistics import SessionStatistics
from pytest_eos.worker_group import POLL_INTERVAL, VIRTUAL_POLL_INTERVAL, Waiter, WorkerGroup, as_texts
from pytest_eos.zombies import Zombies

Until = int | Literal["drained"]
_COLUMNS = 100


@dataclass(frozen=True, slots=True)
class HarnessSettings:
    """Which test this is, where it may write."""

    nodeid: str
    folder: Path
    seed: int
    patience: float


class EosHarness:
    """The test harness for one test. The fixture `eos` makes it."""

    def __init__(
        self,
        cluster: Cluster,
        backend: str,
        settings: HarnessSettings,
        *,
        zombie_spec: ZombieSpec | None = None,
        statistics: SessionStatistics | None = None,
        created: CreatedResources | None = None,
    ) -> None:
        self.cluster, self.backend_name, self.settings = cluster, backend, settings
        self.statistics = statistics or SessionStatistics()
        self.runtime: Runtime = cluster.runtime
        self.history = History(self.runtime)
        """What happened in all workers of the test."""
        self.authors = Authors()
        self.waiter = Waiter(
            self.runtime, settings.patience, longest=VIRTUAL_POLL_INTERVAL if cluster.virtual else POLL_INTERVAL
        )
        self.zombies = Zombies(self)
        self.faults = BrokerFaults(cluster, settings.nodeid)
        self.random = random.Random(f"{settings.seed} {settings.nodeid}")  # noqa: S311 - repeatable on purpose, no secret
        """Chance that `--eos-seed` repeats."""
        self._names = random.Random(f"{settings.seed} {settings.nodeid} names")  # noqa: S311 - same
        self._created = created
        self._plugins = ExtraPlugins(installed_plugins(), self.authors, created)
        self._zombie_spec, self._zombie_made = zombie_spec, False
        self._workers: list[WorkerGroup] = []
        self._undo = ExitStack()
        self._backend: Backend | None = None
        self.last_run: Run | None = None
        """The run that was set up last: its connector names the records that are expected of a DataFrame."""

    # --- parts

    @property
    def backend(self) -> Backend:
        """A client of the cluster, for the test's own reads and writes."""
        if self._backend is None:
            connected = installed_plugins().backend(self.backend_name).connect(self.cluster.client, self.runtime)
            self._backend = record_resources(connected, self._created)
            self._undo.callback(self._backend.close)
        return self._backend

    @property
    def plugins(self) -> ExtraPlugins:
        """What workers of this test find installed."""
        return self._plugins

    def use(
        self,
        *,
        fencer: type[Fencer] | None = None,
        offset_store: type[OffsetStore] | None = None,
        isolation_reader: type[IsolationReader] | None = None,
        wrap_backend: Wrap | None = None,
    ) -> None:
        """Put parts under test in the place of those installed; call it before the first worker is made."""
        plugins = self._plugins
        plugins.fencer_class = fencer or plugins.fencer_class
        plugins.offset_store_class = offset_store or plugins.offset_store_class
        plugins.isolation_reader_class = isolation_reader or plugins.isolation_reader_class
        plugins.wrap = wrap_backend or plugins.wrap

    def require_capabilities(self, *needed: str) -> None:
        """Fail the test when its backend cannot do what it needs."""
        lacking = installed_plugins().backend(self.backend_name).capabilities.lacking(*needed)
        if lacking:
            others = [name for name in installed_plugins().names("backend") if self._can(name, needed)]
            known = f"backends that can: {', '.join(others)}" if others else "no installed backend can"
            pytest.fail(
                f"backend {self.backend_name!r} lacks {', '.join(lacking)}, which this test needs; {known}",
                pytrace=False,
            )

    def _can(self, backend: str, needed: tuple[str, ...]) -> bool:
        return not installed_plugins().backend(backend).capabilities.lacking(*needed)

    # --- workers and runs

    def worker(
        self, group: str | None = None, *, observers: Sequence[Observer] = (), **properties: object
    ) -> WorkerGroup:
        """The test's worker; with a group's name or properties (`offset_flush_interval_ms=10`) another one.

        A worker of the same group as an earlier one takes over from it, or goes on where that one stopped; it has the
        properties of that one, but for those that are given.
        """
        if group is None and not properties and self._workers:
            if not self._workers[-1].stopped:
                return self._workers[-1]
            group = self._workers[-1].name
        given = {name.replace("_", "."): value for name, value in properties.items()}
        made = WorkerGroup(
            group or self.fresh_group(),
            ClusterChoice(self.backend_name, self.cluster.client),
            self._plugins,
            self.waiter,
            observers=(self.history, self.authors, *observers),
            properties={**self._earlier(group), **as_texts(given)},
            served=self.cluster.local,
        )
        self._undo.enter_context(made)
        self._workers.append(made)
        return made

    def _earlier(self, group: str | None) -> Mapping[str, str]:
        """What the last worker of a group was given; nothing if there was none."""
        return next((one.properties for one in reversed(self._workers) if one.name == group), {})

    def fresh_group(self) -> str:
        """A name of a worker group that nobody else uses."""
        chance = self._names.getrandbits(128) if self.cluster.virtual else uuid.uuid4().int
        name = f"eos-{chance:032x}"[:12]
        if self._created is not None:
            self._created.prefixes.add(f"{name}-")
        return name

    def default_connector_name(self, connector: str) -> str:
        """What a connector is called in a run that does not say: `module:Class` and names alike."""
        return connector.rpartition(":")[2].lower()

    def run(
        self,
        connector: type[SourceConnector] | str,
        properties: Mapping[str, object] | None = None,
        *,
        until: Until = "drained",
        name: str | None = None,
        worker: WorkerGroup | None = None,
    ) -> Run:
        """Run a connector until so many records are committed, or its sources are drained; then stop it cleanly.

        Where the test is marked with `eos_zombie`, one of its tasks freezes on the way, is replaced, and wakes.
        """
        run = self.create_run(connector, properties, name=name, worker=worker)
        self._run_together(run, (), until)
        run.group.stop()
        return run

    def create_run(
        self,
        connector: type[SourceConnector] | str,
        properties: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        worker: WorkerGroup | None = None,
    ) -> Run:
        """A run that is set up but not put on its worker yet: `run.group.put(run.name, run.properties)` does that."""
        cls = connector if isinstance(connector, str) else self._plugins.add_connector(connector)
        group = worker or self.worker()
        name = name or self.default_connector_name(cls)
        kind = self._plugins.connector(cls)
        given = {"connector.class": cls, **as_texts(properties or {})}
        given.setdefault("eosfw.identity", "headers")
        given.setdefault("tasks.max", "2")
        if "topic" in kind.config.keys and "topic" not in given:
            given["topic"] = f"{group.name}-{name}"
        self.last_run = Run(self, group, name, given)
        return self.last_run

    def run_pipeline(
        self,
        source: str | Path | Mapping[str, Any],
        *,
        zombie: str | None = None,
        until: Until = "drained",
        steps: bool = True,
    ) -> PipelineRun:
        """Run a pipeline file, or a mapping of the same shape: its connectors until drained, then its steps.

        It runs on the test's cluster, in a worker group of its own; steps write below `tmp_path`, whatever the file
        says. From here on the test is in the folder of the file, where its relative paths start. Where the test is
        marked with `eos_zombie`, a task of the connector `zombie` (default: the first) freezes on the way, is
        replaced, and wakes before the steps run. Steps need the fixture `eos_spark`. `connector(NAME)` of the answer
        is a Run; `output(STEP)` is what a step wrote, for `assert_exactly_once`.

        ConfigError names what is wrong with the file, StepFailedError a step that failed.
        """
        pipeline = load(self, source, steps=steps)
        refuse(self, pipeline)
        if self._created is not None:
            self._undo.callback(remove_topics, self, self._created, pipeline)
        self._undo.enter_context(chdir(pipeline.folder))
        group = self.worker(self.fresh_group(), observers=(), **dict[str, Any](pipeline.worker))
        # Kafka's default, not that of `run`: a file means what it says.
        given = {name: {"tasks.max": "1", **properties} for name, properties in pipeline.connectors.items()}
        kinds = {name: properties["connector.class"] for name, properties in given.items()}
        runs = {name: self.create_run(kinds[name], given[name], name=name, worker=group) for name in given}
        with_zombie = runs[chosen("connector", zombie or next(iter(runs)), runs)]
        self._run_together(with_zombie, [run for run in runs.values() if run is not with_zombie], until)
        outputs = run_steps(self, pipeline, group.local)
        group.stop()
        return PipelineRun(runs, outputs)

    def reader_choice(self) -> PartChoice:
        """The isolation reader that the newest worker chose, by which topics are read."""
        return self._workers[-1].local.reader_choice if self._workers else PartChoice(ISOLATION_READER)

    def topic(self, name: str) -> Topic:
        """A topic of the cluster, to be read or judged."""
        return Topic(self, (name,))

    def _run_together(self, run: Run, others: Sequence[Run], until: Until) -> None:
        """Run connectors of one group, the first of them with the zombie that the test's marker asks for."""
        for other in others:
            other.group.put(other.name, other.properties)
        if self._zombie_spec is None:
            run.group.put(run.name, run.properties)
            _await(run.group, until)
        else:
            self._zombie_made = True
            self._run_with_zombie(run, self._zombie_spec, until)

    def _run_with_zombie(self, run: Run, zombie_spec: ZombieSpec, until: Until) -> None:
        group, given = run.group, run.properties
        task_count = group.task_count(self._plugins.connector(given["connector.class"]), run.name, given)
        # The last of several tasks, and a successor with one task less, so that source partitions move.
        victim = task_count - 1 if zombie_spec.task is None else zombie_spec.task
        zombie = self.zombies.task(zombie_spec.step, task=victim, connector=run.name, nth=zombie_spec.nth, worker=group)
        group.put(run.name, given)
        zombie.await_frozen()
        group.put(run.name, {**given, "tasks.max": str(max(1, task_count - 1))})
        _await(group, until)
        zombie.wake().await_end()

    # --- assertions

    def assert_exactly_once(self, seen: Any, expected: Any, *, key: Any = None, allow_empty: bool = False) -> None:
        """`pytest_eos.assert_exactly_once`; `seen` may also be a topic's name."""
        __tracebackhide__ = True
        _assert_exactly_once(self._seen(seen), expected, key=key, eos=self, allow_empty=allow_empty)

    def assert_no_duplicates(self, seen: Any, *, key: Any = None, allow_empty: bool = False) -> None:
        """`pytest_eos.assert_no_duplicates`; `seen` may also be a topic's name."""
        __tracebackhide__ = True
        _assert_no_duplicates(self._seen(seen), key=key, eos=self, allow_empty=allow_empty)

    def _seen(self, seen: Any) -> Any:
        return self.topic(seen) if isinstance(seen, str) else seen

    # --- what a failure shows

    def never_frozen(self) -> str | None:
        """Why this test shows nothing, if so: zombies it asked for did not rise, faults did not happen."""
        complaints = self.zombies.complaints() + self.faults.complaints()
        if self._zombie_spec is not None and not self._zombie_made:
            complaints.append(
                f"the zombie at {self._zombie_spec} never rose: "
                "the test called neither `eos.run` nor `eos.run_pipeline`."
            )
        return "\n".join(complaints) or None

    def timeline(self) -> str:
        """The test's transactions in lines of characters."""
        return text(self.history, self._freezes(), columns=_COLUMNS)

    def timeline_section(self) -> str:
        """The same, where the picture lies, how to run the test with the same chance again."""
        again = f"rerun: pytest {shlex.quote(self.settings.nodeid)} --eos-seed={self.settings.seed}"
        if not self.history.events():
            return f"no task was started\n{again}"
        picture = self.settings.folder / "timeline.svg"
        picture.write_text(svg(self.history, self._freezes(), title=self.settings.nodeid), encoding="utf-8")
        return f"{self.timeline()}\npicture: {picture}\n{again}"

    def _freezes(self) -> list[Freeze]:
        tasks = [zombie.freeze for zombie in self.zombies.made if zombie.freeze is not None]
        return tasks + [freeze for process in self.zombies.processes for freeze in process.freezes]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.zombies.close()
        self._undo.close()


def _await(group: WorkerGroup, until: Until) -> None:
    if until == "drained":
        group.until_drained()
    else:
        group.until_records(until)
