"""A run that goes on until it is interrupted: connectors, and the streaming steps behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

from eosfw.errors import EosfwError, InterruptedRunError
from eosfw.pipeline.connector_run import run_until_stopped
from eosfw.pipeline.definition.step_order import in_order
from eosfw.pipeline.local.control import RunControl
from eosfw.pipeline.local.local_run import LocalRun
from eosfw.pipeline.local.reporter import Reporter
from eosfw.pipeline.step_run import create_output_topics, start_query
from eosfw.protocols import Step, StepEngine, StepQuery

_LOOK = 0.5
"""Seconds between two looks at the queries."""
_CUT_OFF = (
    "not everything that is committed was read within task.shutdown.graceful.timeout.ms;"
    " the next run goes on there, without loss or repeat"
)


@contextmanager
def started_engine(run: LocalRun, control: RunControl, reporter: Reporter) -> Iterator[StepEngine]:
    """The step engine of a pipeline, started; a kill closes it at once."""
    kind = run.plugins.step_engine(run.pipeline.engine)
    reporter.phase(f"starting {kind.name}")
    engine = kind.start(run.backend_name, run.client_properties, str(run.pipeline.folder), run.reader_choice)
    unregister = control.on_kill(engine.close)
    try:
        control.check()
        yield engine
    finally:
        unregister()
        engine.close()


def follow(run: LocalRun, control: RunControl, reporter: Reporter, *, connectors: bool) -> None:
    """Run connectors and streaming steps until the run is asked to end, then commit what was polled and read it.

    Always ends with the reason for which it was asked to end, or with the error of a task or a query.
    """
    streaming = [step for step in in_order(run.pipeline.steps) if step.streaming]
    if batches := [step.name for step in run.pipeline.steps if not step.streaming]:
        reporter.warning(f"steps without a trigger are left out, a run without --follow has them: {', '.join(batches)}")
    with ExitStack() as undo:
        queries = _Queries(run, control, reporter, streaming)
        if streaming:
            create_output_topics(run)
            queries.engine = undo.enter_context(started_engine(run, control, reporter))
            undo.callback(queries.stop)
        names = [*(run.pipeline.connectors if connectors else ()), *(step.name for step in streaming)]
        reporter.phase(f"following {', '.join(names)}")
        try:
            if connectors:
                run_until_stopped(run, control, reporter, queries.look)
            else:
                _until_stopped(control, queries.look)
        except InterruptedRunError:
            # Only now: the connectors have committed what they had polled, so that the queries read that as well.
            queries.drain()
            raise
        control.check()


class _Queries:
    """The queries of streaming steps; each is started when its topics exist, and a failure of one ends the run."""

    def __init__(self, run: LocalRun, control: RunControl, reporter: Reporter, steps: Sequence[Step]) -> None:
        self._run, self._control, self._reporter = run, control, reporter
        self._steps = steps
        self._waiting = list(steps)
        self._by_step: dict[str, StepQuery] = {}
        self._next = 0.0
        self.engine: StepEngine | None = None
        """What the queries run in; None if there are no steps."""

    def look(self) -> None:
        """Start the queries that can be started; report how far the others are, or raise the failure of one."""
        now = self._control.runtime.now()
        if now < self._next:
            return
        self._next = now + _LOOK
        self._start()
        for query in self._started:
            query.ended()
            self._reporter.query(query.step.name, query.progress())

    def _start(self) -> None:
        if not self._waiting or self.engine is None:
            return
        with closing(self._run.backend.admin()) as admin:
            existing = admin.partitions(sorted({one.topic for step in self._waiting for one in step.inputs}))
        ready = [step for step in self._waiting if all(one.topic in existing for one in step.inputs)]
        for step in ready:
            self._waiting.remove(step)
            self._by_step[step.name] = start_query(self._run, self.engine, step, follow=True)

    @property
    def _started(self) -> list[StepQuery]:
        """In the order of the steps, however they came to be started: a step that is drained feeds the next one."""
        return [self._by_step[step.name] for step in self._steps if step.name in self._by_step]

    def drain(self) -> None:
        """Read what is committed now, in the order of the steps, within the time that tasks have to stop."""
        now = self._control.runtime.now
        deadline = now() + int(self._run.config["task.shutdown.graceful.timeout.ms"]) / 1000
        for query in self._started:
            try:
                query.ended()
                drained = query.drain(max(0.0, deadline - now()))
            except EosfwError as error:  # the run ends anyway, by what was asked of it
                self._reporter.warning(str(error))
                continue
            self._reporter.query(query.step.name, query.progress())
            if not drained:
                self._reporter.warning(f"step {query.step.name}: {_CUT_OFF}")

    def stop(self) -> None:
        """Stop every query at once."""
        for query in self._started:
            query.stop()


def _until_stopped(control: RunControl, look: Callable[[], None]) -> None:
    while not control.stopping:
        look()
        control.pause(_LOOK)
    control.check()
