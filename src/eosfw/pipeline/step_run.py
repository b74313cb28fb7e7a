"""The run of a pipeline's steps, as far as records are committed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import closing

from eosfw.config.connector.topic_creation import TOPIC_CREATION_ENABLE, configured_groups
from eosfw.errors import TopicExistsError
from eosfw.ids import TopicPartition
from eosfw.pipeline.definition.step_order import output_topics
from eosfw.pipeline.local.control import RunControl
from eosfw.pipeline.local.local_run import LocalRun
from eosfw.pipeline.local.reporter import Reporter
from eosfw.protocols import NewTopic, Step, StepEngine, StepQuery
from eosfw.records import OffsetRange
from eosfw.runtime.checks.preflight import connector_config, transform
from eosfw.runtime.storage.topic_creation import RecordTopics

Ranges = Mapping[TopicPartition, OffsetRange]
_POLL_INTERVAL = 0.25
"""Seconds between two looks at a query; each asks Spark for the progress of its last batches."""


class StepRun:
    """Runs steps in one engine; `ranges_of` waits until what was written to topics is decided."""

    def __init__(
        self,
        local: LocalRun,
        engine: StepEngine,
        control: RunControl,
        reporter: Reporter,
        ranges_of: Callable[[Collection[str]], Ranges],
    ) -> None:
        self._local, self._engine, self._ranges_of = local, engine, ranges_of
        self._control, self._reporter = control, reporter

    def run(self, step: Step) -> int:
        """Run a step over all that is committed now, and return its rows; those that were read, of a streaming one."""
        ranges = self._ranges_of(sorted({one.topic for one in step.inputs}))
        return self._read_available(step) if step.streaming else self._engine.run(step, ranges)

    def _read_available(self, step: Step) -> int:
        query = start_query(self._local, self._engine, step, follow=False)
        try:
            while not query.ended():
                self._control.check()
                self._reporter.query(step.name, query.progress())
                self._control.pause(_POLL_INTERVAL)
            progress = query.progress()
            self._reporter.query(step.name, progress)
            return progress.rows
        finally:
            query.stop()


def start_query(local: LocalRun, engine: StepEngine, step: Step, *, follow: bool) -> StepQuery:
    """Start a streaming step that goes on from its checkpoint, if topics outlive the run."""
    return engine.start_query(step, str(local.pipeline.checkpoint(step)) if local.kept else None, follow=follow)


def create_input_topics(local: LocalRun) -> None:
    """Create the topics of connectors that steps read, where there was no record by which a task creates them.

    A source that has nothing yet is empty; only a topic that nobody writes is a mistake.
    """
    read = {one.topic for step in local.pipeline.steps for one in step.inputs}
    # Transformations may send records to other topics than the connector names.
    named = {name: each for name, each in local.pipeline.connectors.items() if "transforms" not in each}
    written = {name: each for name, each in named.items() if each.get("topic") in read}
    if not written or not local.config[TOPIC_CREATION_ENABLE]:
        return
    with closing(local.backend.admin()) as admin:
        for name, properties in written.items():
            values = transform(local.plugins, local.config, properties).values
            connector = local.plugins.connector(properties["connector.class"])
            groups = configured_groups(connector_config(connector, name, values))
            RecordTopics(admin, groups).ensure(properties["topic"])


def create_output_topics(local: LocalRun) -> None:
    """Create the topics that steps write and that do not exist."""
    wanted = output_topics(local.pipeline.steps)
    if not wanted:
        return
    with closing(local.backend.admin()) as admin:
        missing = sorted(set(wanted) - set(admin.partitions(list(wanted))))
        for topic in missing:
            try:
                admin.create_topics([NewTopic(topic, replication_factor=-1)])
            except TopicExistsError:
                continue  # made by somebody else meanwhile
