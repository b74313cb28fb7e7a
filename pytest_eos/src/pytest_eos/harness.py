"""The harness of the fixture `eos`: it runs connectors, freezes tasks and checks which records became visible."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any, Literal, Self

import pytest

from eosfw.connectors import SourceConnector
from eosfw.observe import Freeze, History
from eosfw.observe.timeline import svg, text
from eosfw.pipeline import LocalRun, Pipeline
from eosfw.protocols import Step
from pytest_eos.environment.clusters.cleanup import CreatedResources
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.environment.clusters.faults import BrokerFaults
from pytest_eos.environment.config.markers import ZombieSpec
from pytest_eos.environment.config.session_statistics import SessionStatistics
from pytest_eos.runs.groups.worker_group import WorkerGroup
from pytest_eos.runs.groups.worker_harness import HarnessSettings
from pytest_eos.runs.pipeline import (
    PipelineRun,
    RunInDriver,
    check_runnable,
    choose_name,
    load,
    remove_topics,
    run_steps,
)
from pytest_eos.runs.queries import step_query
from pytest_eos.runs.queries.runs import QueryRun, QueryRuns
from pytest_eos.runs.queries.targets import is_folder
from pytest_eos.runs.queries.timeline import query_events, query_freezes
from pytest_eos.runs.run import Run
from pytest_eos.runs.run_harness import RunHarness
from pytest_eos.verdict.assertions import assert_exactly_once as _assert_exactly_once
from pytest_eos.verdict.assertions import assert_no_duplicates as _assert_no_duplicates
from pytest_eos.verdict.false_commits import false_commits
from pytest_eos.zombies import Zombies

Until = int | Literal["drained"]
_COLUMNS = 100


class EosHarness(RunHarness):
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
        super().__init__(cluster, backend, settings, statistics=statistics, created=created)
        self.zombies = Zombies(self)
        self.queries = QueryRuns(self)
        self.faults = BrokerFaults(cluster, settings.nodeid)
        self.random = random.Random(f"{settings.seed} {settings.nodeid}")  # noqa: S311 - repeatable on purpose, no secret
        """A random generator that `--eos-seed` makes repeatable."""
        self._zombie_spec, self._zombie_made = zombie_spec, False

    # --- runs

    def run(
        self,
        connector: type[SourceConnector] | str,
        properties: Mapping[str, object] | None = None,
        *,
        until: Until = "drained",
        name: str | None = None,
        worker: WorkerGroup | None = None,
    ) -> Run:
        """Run a connector until that many records are committed, or its sources are drained; then stop it cleanly.

        If the test is marked with `eos_zombie`, one of its tasks is frozen, replaced and woken meanwhile.
        """
        run = self.create_run(connector, properties, name=name, worker=worker)
        self._run_together(run, (), until)
        run.group.stop()
        return run

    def run_pipeline(
        self,
        source: str | Path | Mapping[str, Any],
        *,
        zombie: str | None = None,
        until: Until = "drained",
        steps: bool = True,
    ) -> PipelineRun:
        """Run a pipeline file, or a mapping of the same shape: its connectors until drained, then its steps.

        It runs on the test's cluster, in a worker group of its own. Steps write below `tmp_path`, not to the folders
        that the file names. The working directory changes to the folder of the file, where its relative paths start.
        If the test is marked with `eos_zombie`, a task of the connector `zombie` (default: the first) is frozen,
        replaced, and woken before the steps run. At a step of a micro-batch, `zombie` names a streaming step (default:
        the first), which runs in drivers of its own. Steps need the fixture `eos_spark`. `connector(NAME)` of the
        result is a Run; `output(STEP)` is what a step wrote, for `assert_exactly_once`.

        ConfigError names what is wrong with the file, StepFailedError a step that failed.
        """
        pipeline = load(self, source, steps=steps)
        check_runnable(self, pipeline)
        if self._created is not None:
            self._undo.callback(remove_topics, self, self._created, pipeline)
        self._undo.enter_context(chdir(pipeline.folder))
        group = self.worker(self.fresh_group(), observers=(), **dict[str, Any](pipeline.worker))
        # Kafka's default, not that of `run`: a pipeline file must mean the same here as for `eosfw run`.
        given = {name: {"tasks.max": "1", **properties} for name, properties in pipeline.connectors.items()}
        kinds = {name: properties["connector.class"] for name, properties in given.items()}
        runs = {name: self.create_run(kinds[name], given[name], name=name, worker=group) for name in given}
        of_step = self._zombie_spec is not None and self._zombie_spec.who is not None
        with_zombie = runs[choose_name("connector", (None if of_step else zombie) or next(iter(runs)), runs)]
        self._run_together(with_zombie, [run for run in runs.values() if run is not with_zombie], until)
        outputs = run_steps(self, pipeline, group.local, self._in_driver(pipeline, zombie))
        group.stop()
        return PipelineRun(runs, outputs)

    def run_query(
        self, query: str, options: Mapping[str, object] | None = None, *, checkpoint: str | Path | None = None
    ) -> QueryRun:
        """Run a streaming query in a driver of its own until its source has no more (`availableNow`).

        `query` is `module:function`; the function is called there with the Spark session and `options` (texts; the
        test's backend and cluster are added) and returns a DataStreamWriter, not started. If the test is marked with
        `eos_zombie` at a step of a micro-batch, the driver stops there, and a second one takes the checkpoint; then
        the first one wakes. An executor's task stops with its executor instead, and another attempt takes its place.
        """
        zombie = self._zombie_spec
        if zombie is not None and zombie.who is None:
            raise pytest.UsageError(f"{zombie} is a step of a connector's task: a query has the steps `batch:...`")
        self._zombie_made = True
        return self.queries.run(query, options or {}, None if checkpoint is None else Path(checkpoint), zombie)

    def _in_driver(self, pipeline: Pipeline, zombie: str | None) -> RunInDriver | None:
        """How the streaming step with the zombie runs; None if the test asks for none in a step."""
        spec = self._zombie_spec
        if spec is None or spec.who is None:
            return None
        streaming = {step.name: step for step in pipeline.steps if step.streaming}
        if not streaming:
            raise pytest.UsageError(f"{spec} is a step of a micro-batch: {pipeline.path.name} has no streaming steps")
        chosen = choose_name("streaming step", zombie or next(iter(streaming)), streaming)

        def run(step: Step, pipeline: Pipeline, local: LocalRun) -> None:
            own = spec if step.name == chosen else None
            self._zombie_made = self._zombie_made or own is not None
            where = Path(step.checkpoint or self.settings.folder / "checkpoints" / step.name)
            self.queries.run(step_query.QUERY, step_query.as_options(step, pipeline, local), where, own)

        return run

    def _run_together(self, run: Run, others: Sequence[Run], until: Until) -> None:
        """Run connectors of one group; `run` gets the zombie of the test's marker."""
        for other in others:
            other.group.put(other.name, other.properties)
        if self._zombie_spec is None or self._zombie_spec.who is not None:
            run.group.put(run.name, run.properties)
            _await(run.group, until)
        else:
            self._zombie_made = True
            self._run_with_zombie(run, self._zombie_spec, until)

    def _run_with_zombie(self, run: Run, zombie_spec: ZombieSpec, until: Until) -> None:
        group, given = run.group, run.properties
        task_count = group.task_count(self._plugins.connector(given["connector.class"]), run.name, given)
        # The last of several tasks is frozen, and the next generation has one task less, so source partitions change
        # their task.
        victim = task_count - 1 if zombie_spec.task is None else zombie_spec.task
        zombie = self.zombies.task(zombie_spec.step, task=victim, connector=run.name, nth=zombie_spec.nth, worker=group)
        group.put(run.name, given)
        zombie.await_frozen()
        group.put(run.name, {**given, "tasks.max": str(max(1, task_count - 1))})
        _await(group, until)
        zombie.wake().await_end()

    # --- assertions

    def assert_exactly_once(
        self, seen: Any, expected: Any, *, key: Any = None, ordered: bool = False, allow_empty: bool = False
    ) -> None:
        """`pytest_eos.assert_exactly_once`; `seen` may also be a topic's name."""
        __tracebackhide__ = True
        _assert_exactly_once(self._seen(seen), expected, key=key, ordered=ordered, eos=self, allow_empty=allow_empty)

    def assert_no_duplicates(self, seen: Any, *, key: Any = None, allow_empty: bool = False) -> None:
        """`pytest_eos.assert_no_duplicates`; `seen` may also be a topic's name."""
        __tracebackhide__ = True
        _assert_no_duplicates(self._seen(seen), key=key, eos=self, allow_empty=allow_empty)

    def assert_no_anomaly(self, run: Run | QueryRun, topic: str | None = None) -> None:
        """Assert that the history of a run that is over has no anomaly (`eosfw verify`), and leave it as a file.

        The history is `history.jsonl` in the folder of the test. A connector needs `eosfw.identity=headers`, the
        default; a query is judged by the `topic` that it wrote with the exactly-once sink. AssertionError names each
        anomaly with the events that show it, or why the history shows nothing.
        """
        __tracebackhide__ = True
        from pytest_eos.runs.operations import operations_of, query_operations
        from pytest_eos.verdict.anomalies import assert_no_anomaly

        if isinstance(run, Run):
            operations = operations_of(run)
        elif topic is None:
            raise TypeError(f"{run} is judged by a topic: assert_no_anomaly(query_run, 'TOPIC')")
        else:
            operations = query_operations(self, run, topic)
        assert_no_anomaly(run, operations, self.settings.folder / "history.jsonl")

    def assert_minimal_rights(self, run: Run, user: str = "connector") -> None:
        """Assert that a connector needs each right that `eosfw acl plan` lists for it, and no other.

        The user is one of `@pytest.mark.eos_cluster(rights={"connector": []})`, to whom the marker gives nothing. The
        connector of a run that is over runs again with its rights, until its source is drained: with all of them it
        must do so, without any single one fail and say which resource it has no right to. A right is taken away by a
        Deny, thus also where another one implies it. The topics of the run and of its group are deleted in between;
        the rights of the group's worker are given, and not taken away. AssertionError names the rights that are not
        needed or not told, or what is missing.
        """
        __tracebackhide__ = True
        from pytest_eos.verdict.minimal_rights import assert_minimal_rights

        assert_minimal_rights(run, user)

    def _seen(self, seen: Any) -> Any:
        return self.topic(seen) if isinstance(seen, str) and not is_folder(seen) else seen

    # --- what a failure shows

    def never_frozen(self) -> str | None:
        """The reason why this test proves nothing, if so: a zombie was never frozen, or a fault never happened."""
        complaints = self.zombies.complaints() + self.queries.complaints() + self.faults.complaints()
        if self._zombie_spec is not None and not self._zombie_made:
            calls = (
                "neither `eos.run` nor `eos.run_pipeline`" if self._zombie_spec.who is None else "no `eos.run_query`"
            )
            complaints.append(f"the zombie at {self._zombie_spec} never rose: the test called {calls}.")
        return "\n".join(complaints) or None

    def false_commits(self) -> str:
        """The zombies that report a commit although they were fenced; empty if there are none."""
        frozen = [zombie.freeze.event for zombie in self.zombies.made if zombie.freeze is not None]
        return "\n".join(false_commits(self, frozen))

    def timeline(self) -> str:
        """The test's transactions, drawn as text."""
        return text(self._drawn(), self._freezes(), columns=_COLUMNS)

    def picture(self, title: str) -> str:
        """The test's transactions, drawn as an SVG file."""
        return svg(self._drawn(), self._freezes(), title=title)

    def timeline_section(self) -> str:
        """The timeline, the path of its picture, and the command that repeats the test with the same seed."""
        again = f"\nrerun: {self.settings.command} --eos-seed={self.settings.seed}" if self.settings.command else ""
        drawn = self._drawn()
        if not drawn.events():
            return f"no task was started{again}"
        picture = self.settings.folder / "timeline.svg"
        picture.write_text(self.picture(self.settings.nodeid), encoding="utf-8")
        return f"{self.timeline()}\npicture: {picture}{again}"

    def _drawn(self) -> History:
        """The history with the steps of streaming queries, which other processes announced."""
        if not self.queries.drivers:
            return self.history
        merged = History(self.runtime, keep=None)
        for event in sorted([*self.history.events(), *query_events(self.queries.drivers)], key=lambda each: each.at):
            merged.observe(event)
        return merged

    def _freezes(self) -> list[Freeze]:
        tasks = [zombie.freeze for zombie in self.zombies.made if zombie.freeze is not None]
        tasks += query_freezes(self.queries.drivers)
        return tasks + [freeze for process in self.zombies.processes for freeze in process.freezes]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.queries.close()
        self.zombies.close()
        self._undo.close()


def _await(group: WorkerGroup, until: Until) -> None:
    if until == "drained":
        group.until_drained()
    elif not isinstance(until, int):
        raise pytest.UsageError(f"until={until!r} is neither 'drained' nor a number of records")
    else:
        group.until_records(until)
