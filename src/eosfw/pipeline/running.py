"""Run a pipeline from its connectors to its summary."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from eosfw.config.clients import task_producer
from eosfw.errors import ConfigError, EosfwError
from eosfw.identity import NONE
from eosfw.pipeline.checking import backend_of, pipeline_problems, topic_problems
from eosfw.pipeline.control import Control
from eosfw.pipeline.draining import drain
from eosfw.pipeline.local import LocalRun
from eosfw.pipeline.model import Pipeline
from eosfw.pipeline.reaching import require_reachable
from eosfw.pipeline.reporting import Reporter
from eosfw.pipeline.summary import StepResult, Summary
from eosfw.pipeline.verdict import UNVERIFIED, Ranges, identity, judge
from eosfw.pipeline.visible import committed_ranges
from eosfw.protocols import StepEngine, Verdict
from eosfw.registry import Plugins
from eosfw.runtime.preflight import connector_config
from eosfw.waiting import Runtime

_DEFAULT_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Options:
    """How a pipeline is to be run."""

    idle: float = 5.0
    """Seconds without records after which a source that cannot tell its end counts as drained."""
    steps_only: bool = False
    verify: bool = True

    @property
    def unverified(self) -> str | None:
        """Why nobody wants a verdict, in the words of the command line."""
        return "--steps-only" if self.steps_only else None if self.verify else "--no-verify"


def check(pipeline: Pipeline, plugins: Plugins, runtime: Runtime, options: Options | None = None) -> None:
    """Raise ConfigError with every problem of a pipeline; starts nothing, but asks an external cluster for topics."""
    options = options or Options()
    problems = pipeline_problems(pipeline, plugins, runtime, steps_only=options.steps_only)
    if problems:
        raise ConfigError(*problems)
    if pipeline.cluster.external and pipeline.steps:
        require_reachable(pipeline.cluster.properties, runtime)
        backend = backend_of(pipeline, plugins).connect(pipeline.cluster.properties, runtime)
        with closing(backend), closing(backend.admin()) as admin:
            problems = topic_problems(pipeline, admin)
    if problems:
        raise ConfigError(*problems)


def run(pipeline: Pipeline, plugins: Plugins, control: Control, reporter: Reporter, options: Options) -> Summary:
    """Check a pipeline, run its connectors until drained, its steps over what is committed; sum up."""
    runtime = control.runtime
    begun = runtime.now()
    reporter.phase(f"checking {pipeline.path.name}")
    check(pipeline, plugins, runtime, options)
    control.check()
    with LocalRun(pipeline, plugins, runtime) as local:
        reporter.started(local)
        if not options.steps_only:
            reporter.phase(f"running {', '.join(pipeline.connectors)} against {_where(local)}")
            drain(local, control, reporter, options.idle)
        after = _After(local, control, reporter)
        steps, verdict, unverified = after.work(options.unverified)
        return _summary(local, steps, verdict, unverified, runtime.now() - begun)


class _After:
    """What follows once sources are drained: steps, then the verdict."""

    def __init__(self, local: LocalRun, control: Control, reporter: Reporter) -> None:
        self._local, self._control, self._reporter = local, control, reporter
        self._patience = _patience(local)

    def work(self, unverified: str | None) -> tuple[dict[str, StepResult], Verdict, list[str]]:
        steps = self._local.pipeline.steps
        if all(identity(self._local, name) == NONE for name in self._local.pipeline.connectors):
            unverified = unverified or 'name an identity, "eosfw.identity", to have records counted'
        if not steps:
            return {}, *self._verdict(None, unverified)
        topics = sorted({one.topic for step in steps for one in step.inputs})
        ranges = self._ranges(topics)
        with self._engine() as engine:
            done = {step.name: self._step(engine, number, ranges) for number, step in enumerate(steps)}
            return done, *self._verdict(engine, unverified)

    @contextmanager
    def _engine(self) -> Iterator[StepEngine]:
        local = self._local
        kind = local.plugins.step_engine(local.pipeline.engine)
        self._reporter.phase(f"starting {kind.name}")
        engine = kind.start(local.backend_name, local.client_properties, str(local.pipeline.folder))
        forget = (self._control.on_stop(engine.close), self._control.on_kill(engine.close))
        try:
            self._control.check()
            yield engine
        except EosfwError:
            self._control.check()  # closing the engine makes its step fail: the reason is what counts
            raise
        finally:
            for one in forget:
                one()
            engine.close()

    def _step(self, engine: StepEngine, number: int, ranges: Ranges) -> StepResult:
        self._control.check()
        step = self._local.pipeline.steps[number]
        self._reporter.phase(f"running step {step.name}")
        topics = {one.topic for one in step.inputs}
        own = {partition: bounds for partition, bounds in ranges.items() if partition.topic in topics}
        return StepResult(engine.run(step, own), str(self._local.pipeline.folder / step.output))

    def _verdict(self, engine: StepEngine | None, unverified: str | None) -> tuple[Verdict, list[str]]:
        if unverified is not None:
            return UNVERIFIED, [unverified]
        self._control.check()
        self._reporter.phase("replaying the sources to count duplicates and missing records")
        return judge(self._local, self._ranges, engine)

    def _ranges(self, topics: Collection[str]) -> Ranges:
        return committed_ranges(self._local, topics, self._control, self._patience)


def _patience(local: LocalRun) -> float:
    """The longest transaction of any connector: what is open longer, its coordinator aborts."""
    timeouts = [_DEFAULT_PATIENCE]
    for name, properties in local.pipeline.connectors.items():
        connector = local.plugins.connector(properties["connector.class"])
        timeouts.append(
            task_producer(local.config, connector_config(connector, name, properties), "").transaction_timeout
        )
    return max(timeouts[1:] or timeouts)


def _where(local: LocalRun) -> str:
    who = "an embedded broker" if local.cluster is not None else "Kafka"
    return f"{who} at {local.client_properties['bootstrap.servers']}"


def _summary(
    local: LocalRun, steps: dict[str, StepResult], verdict: Verdict, unverified: Sequence[str], seconds: float
) -> Summary:
    notices = [f"{notice.text} ({notice.count:,})" for notice in local.worker.status().notices]
    return Summary(
        records=local.history.records,
        transactions=local.history.transactions,
        zombies_fenced=local.history.zombies_fenced,
        rows_out=sum(step.rows for step in steps.values()),
        duplicates=verdict.duplicates,
        missing=verdict.missing,
        seconds=seconds,
        steps=steps,
        notices=notices,
        unverified=unverified,
        examples=tuple(verdict.examples),
        kept=local.cluster is None,
    )
