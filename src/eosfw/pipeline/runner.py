"""The run of a pipeline, from its connectors to its summary."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from eosfw.concurrency import Runtime
from eosfw.config.clients import task_producer
from eosfw.errors import ConfigError, EosfwError, Problem
from eosfw.pipeline.connector_run import drain
from eosfw.pipeline.definition.connectivity import require_reachable
from eosfw.pipeline.definition.model import VERIFY_HINT, Pipeline, Verification, effective_verification
from eosfw.pipeline.definition.step_order import in_order
from eosfw.pipeline.definition.validation import (
    backend_of,
    cluster_properties,
    pipeline_problems,
    topic_problems,
)
from eosfw.pipeline.follow import follow, started_engine
from eosfw.pipeline.local.broker_watch import BrokerWatch
from eosfw.pipeline.local.console import RunConsole
from eosfw.pipeline.local.control import RunControl
from eosfw.pipeline.local.hosting import HostChoice, host_problems
from eosfw.pipeline.local.local_run import LocalRun
from eosfw.pipeline.local.reporter import Reporter
from eosfw.pipeline.lso_wait import committed_ranges
from eosfw.pipeline.step_run import StepRun, create_input_topics, create_output_topics
from eosfw.pipeline.verdicts.summary import StepResult, Summary
from eosfw.pipeline.verdicts.verdict import UNVERIFIED, Ranges, judge, unverifiable
from eosfw.protocols import Step, Verdict
from eosfw.registry import Plugins
from eosfw.runtime.checks.preflight import connector_config, transform

_DEFAULT_TRANSACTION_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Options:
    """How a pipeline is to be run."""

    idle: float = 5.0
    """Seconds without records after which a source that cannot tell its end counts as drained."""
    steps_only: bool = False
    follow: bool = False
    """Run until it is interrupted: connectors go on at the end of their sources, streaming steps with them."""
    verify: Verification | None = None
    """None leaves it to the pipeline file."""
    host: HostChoice | None = None
    """What runs the connectors' tasks; None runs them in this process."""

    def on_engine(self, pipeline: Pipeline) -> Pipeline:
        """The pipeline with its steps in the engine that hosts the tasks, if one does."""
        return pipeline if self.host is None else replace(pipeline, engine=self.host.engine)

    def verification(self, pipeline: Pipeline) -> Verification:
        """Whether a run of this pipeline is to be verified; steps alone write nothing that could be."""
        if self.steps_only or self.follow:
            return Verification.OFF
        return effective_verification(option=self.verify, file=pipeline.verify, external=pipeline.cluster.external)

    def why_not_verified(self, pipeline: Pipeline) -> str | None:
        """Why the run is not verified, in words for the user; None if it is."""
        if self.steps_only:
            return "--steps-only"
        if self.verification(pipeline) is not Verification.OFF:
            return None
        return 'verify = "off"' if self.verify or pipeline.verify else VERIFY_HINT


def check(pipeline: Pipeline, plugins: Plugins, runtime: Runtime, options: Options | None = None) -> None:
    """Raise ConfigError with every problem of a pipeline; starts nothing, but asks an external cluster for topics."""
    options = options or Options()
    pipeline = options.on_engine(pipeline)
    problems = pipeline_problems(pipeline, plugins, runtime, steps_only=options.steps_only)
    problems += [] if options.host is None else host_problems(plugins, options.host, pipeline)
    if options.follow and options.steps_only and not any(step.streaming for step in pipeline.steps):
        what = "--follow has nothing to run: no step has a trigger, and --steps-only leaves out the connectors"
        problems.append(Problem(pipeline.path.name, what))
    if problems:
        raise ConfigError(*problems)
    if options.verification(pipeline) is Verification.REQUIRED:
        problems = unverifiable(pipeline, backend_of(pipeline, plugins).capabilities)
    if pipeline.cluster.external and pipeline.steps:
        properties = cluster_properties(pipeline, plugins)
        require_reachable(properties, runtime)
        backend = backend_of(pipeline, plugins).connect(properties, runtime)
        with closing(backend), closing(backend.admin()) as admin:
            problems += topic_problems(pipeline, admin)
    if problems:
        raise ConfigError(*problems)


def run(
    pipeline: Pipeline,
    plugins: Plugins,
    control: RunControl,
    reporter: Reporter,
    options: Options,
    console: RunConsole | None = None,
) -> Summary:
    """Validate a pipeline, run its connectors until drained, then its steps over what was committed.

    `console` shows the run from the moment in which it has its worker.
    """
    runtime = control.runtime
    begun = runtime.now()
    pipeline = options.on_engine(pipeline)
    reporter.phase(f"checking {pipeline.path.name}")
    with BrokerWatch(pipeline.cluster.properties, runtime, reporter.warning):
        check(pipeline, plugins, runtime, options)
        control.check()
        if options.host is not None:
            reporter.phase(f"starting {options.host.engine}")
        with LocalRun(pipeline, plugins, runtime, host=options.host, console=console) as local:
            reporter.started(local)
            if options.follow:
                follow(local, control, reporter, connectors=not options.steps_only)
            if not options.steps_only:
                reporter.phase(f"running {', '.join(pipeline.connectors)} against {_where(local)}")
                drain(local, control, reporter, options.idle)
                create_input_topics(local)
            after = _StepsAndVerdict(local, control, reporter)
            done = after.work(options.why_not_verified(pipeline))
            return _summary(local, done, options.verification(pipeline), runtime.now() - begun)


@dataclass(frozen=True, slots=True)
class _Results:
    """Results of the steps and of verification."""

    steps: dict[str, StepResult]
    verdict: Verdict
    unverified: Sequence[str]


class _StepsAndVerdict:
    """What follows once sources are drained: steps, then verification."""

    def __init__(self, local: LocalRun, control: RunControl, reporter: Reporter) -> None:
        self._local, self._control, self._reporter = local, control, reporter
        self._read_timeout = _longest_transaction(local)

    def work(self, why_not_verified: str | None) -> _Results:
        if not self._local.pipeline.steps:
            return _Results({}, *self._verdict(why_not_verified))
        return _Results(self._steps(), *self._verdict(why_not_verified))

    def _steps(self) -> dict[str, StepResult]:
        local, control = self._local, self._control
        create_output_topics(local)
        with started_engine(local, control, self._reporter) as engine:
            unregister = control.on_stop(engine.close)
            try:
                run = StepRun(local, engine, control, self._reporter, self._ranges)
                return {step.name: self._step(run, step) for step in in_order(local.pipeline.steps)}
            except EosfwError:
                control.check()  # if the run was asked to end: closing the engine makes its step fail
                raise
            finally:
                unregister()

    def _step(self, run: StepRun, step: Step) -> StepResult:
        self._control.check()
        self._reporter.phase(f"running step {step.name}")
        return StepResult(run.run(step), output_text(self._local.pipeline, step), step.streaming)

    def _verdict(self, why_not_verified: str | None) -> tuple[Verdict, Sequence[str]]:
        if why_not_verified is not None:
            return UNVERIFIED, [why_not_verified]
        self._control.check()
        self._reporter.phase("verifying: reading sources and topics once more")
        try:
            return judge(self._local, self._ranges, self._advanced)
        except EosfwError as error:  # the records are committed, so there is a summary
            self._control.check()
            return UNVERIFIED, [str(error)]

    def _advanced(self, done: int, total: int) -> None:
        self._control.check()
        if total:
            self._reporter.advanced(done, total, "offsets")

    def _ranges(self, topics: Collection[str]) -> Ranges:
        return committed_ranges(self._local, topics, self._control, self._read_timeout)


def _longest_transaction(local: LocalRun) -> float:
    """The longest transaction timeout of any connector: the coordinator aborts what is open longer."""
    timeouts = [_DEFAULT_TRANSACTION_TIMEOUT]
    for name, properties in local.pipeline.connectors.items():
        connector = local.plugins.connector(properties["connector.class"])
        config = connector_config(connector, name, transform(local.plugins, local.config, properties).values)
        timeouts.append(task_producer(local.config, config, "").transaction_timeout)
    return max(timeouts[1:] or timeouts)


def output_text(pipeline: Pipeline, step: Step) -> str:
    """Where a step writes, for people."""
    if step.output_format in ("topic", "iceberg"):
        return f"{'topic' if step.output_format == 'topic' else 'table'} {step.output}"
    return str(pipeline.folder / step.output) if step.output else step.output_format


def _where(local: LocalRun) -> str:
    who = "an embedded broker" if local.cluster is not None else "Kafka"
    return f"{who} at {local.client_properties['bootstrap.servers']}"


def _summary(local: LocalRun, done: _Results, verification: Verification, seconds: float) -> Summary:
    status = local.worker.status()
    notices = [f"{notice.text} ({notice.count:,})" for notice in status.notices]
    return Summary(
        records=local.history.records,
        transactions=local.history.transactions,
        zombies_fenced=local.history.zombies_fenced,
        rows_out=sum(step.rows for step in done.steps.values()),
        duplicates=done.verdict.duplicates,
        missing=done.verdict.missing,
        seconds=seconds,
        steps=done.steps,
        notices=notices,
        verify=verification.value,
        unverified=done.unverified,
        examples=tuple(done.verdict.examples),
        poll_failures={str(task): failures for task, failures in status.poll_failures.items()},
        kept=local.kept,
    )
