"""Run a pipeline on the cluster of a test: its connectors, then its steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eosfw.connectors import SourceConnector
from eosfw.errors import ConfigError
from eosfw.ids import TopicPartition
from eosfw.pipeline import (
    LocalRun,
    Pipeline,
    RunControl,
    SilentReporter,
    StepRun,
    committed_ranges,
    in_order,
    load_with_problems,
    parse,
)
from eosfw.protocols import IsolationLevel, NewTopic, Step
from eosfw.records import OffsetRange
from pytest_eos.environment.clusters.cleanup import CreatedResources
from pytest_eos.environment.config.clocks import needs_real_clock
from pytest_eos.environment.config.markers import suggestion
from pytest_eos.runs.groups.worker_harness import WorkerHarness
from pytest_eos.runs.queries.dataframe_keys import is_frame
from pytest_eos.runs.queries.targets import active_session, frame_of_folder
from pytest_eos.runs.run import Run, Topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


RunInDriver = Callable[[Step, Pipeline, LocalRun], None]
_FOLDERS = ("parquet", "csv", "json", "delta")
"""The formats of outputs that a test moves to its own folder."""
_IGNORED = ("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic", "task.isolation")
"""Worker properties of the file that a test ignores: it has a group of its own, and tasks run in its own process."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a step wrote: a folder of files."""

    step: str
    path: Path
    rows: int
    options: Mapping[str, str] = field(default_factory=dict)
    """Those with which it was written."""

    def dataframe(self, spark: SparkSession | None = None) -> DataFrame:
        """Its rows in Spark; by default in the session of `eos_spark`."""
        session = spark or active_session(f"the output of step {self.step!r}")
        return frame_of_folder(self.path, session, self.options)

    def __str__(self) -> str:
        return f"the output of step {self.step}"


class PipelineRun:
    """The runs of a pipeline's connectors and the outputs of its steps."""

    def __init__(self, runs: Mapping[str, Run], outputs: Mapping[str, Output | Topic]) -> None:
        self.runs, self.outputs = runs, outputs

    def connector(self, name: str | None = None) -> Run:
        """The run of a connector; the name may be left out if there is one only."""
        return self.runs[choose_name("connector", name, self.runs)]

    def output(self, step: str | None = None) -> Output | Topic:
        """What a step wrote, a folder or a topic; the name may be left out if there is one step only."""
        return self.outputs[choose_name("step", step, self.outputs)]


def choose_name(what: str, name: str | None, known: Mapping[str, object]) -> str:
    """The given name, or the only known one; UsageError names the nearest."""
    if name is None and len(known) == 1:
        return next(iter(known))
    if not known:
        raise pytest.UsageError(f"the pipeline ran no {what}s")
    if name is None:
        raise pytest.UsageError(f"the pipeline has {len(known)} {what}s: say which, of: {', '.join(known)}")
    if name not in known:
        raise pytest.UsageError(f"the pipeline has no {what} {name!r}{suggestion(name, list(known), dashes=False)}")
    return name


def as_rows(expected: Any, key: Any) -> tuple[Any, Any]:
    """Expected mappings as tuples of their columns, or of those that `key` names; other rows as they are."""
    if is_frame(expected):
        return expected, key
    rows = list(expected)
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        return rows, key
    columns = list(rows[0]) if key is None else [key] if isinstance(key, str) else list(key)
    for row in rows:
        if missing := [name for name in columns if name not in row]:
            why = "which others have" if key is None else "which the key names"
            raise ValueError(f"the expected row {dict(row)} lacks {', '.join(missing)}, {why}")
        if key is None and (more := [name for name in row if name not in columns]):
            raise ValueError(f"the expected row {dict(row)} has {', '.join(map(str, more))}, which others lack")
    return [tuple(row[name] for name in columns) for row in rows], columns


def load(eos: WorkerHarness, source: str | Path | Mapping[str, Any], *, steps: bool = True) -> Pipeline:
    """A pipeline file, or a mapping of the same shape, moved to the test's cluster and folder.

    The cluster, the group and the output folders of the file are ignored: a test must not write there. So is
    `task.isolation`: a test freezes tasks in its own process.
    """
    if isinstance(source, Mapping):
        pipeline = parse(_plain_values(eos, source), eos.settings.folder / "the pipeline")
    else:
        pipeline = load_with_problems(source)
    if pipeline.problems:
        raise ConfigError(*pipeline.problems)
    worker = {name: value for name, value in pipeline.worker.items() if name not in _IGNORED}
    wanted = pipeline.steps if steps else ()
    moved = [_moved(step, eos.settings.folder, number) for number, step in enumerate(wanted, 1)]
    return replace(pipeline, worker=worker, steps=moved, broker={})


def _plain_values(eos: WorkerHarness, document: Any) -> Any:
    """The document with texts in place of paths, and names in place of connector classes."""
    if isinstance(document, Mapping):
        return {name: _plain_values(eos, value) for name, value in document.items()}
    if isinstance(document, list | tuple):
        return [_plain_values(eos, value) for value in document]
    if isinstance(document, type) and issubclass(document, SourceConnector):
        return eos.plugins.add_connector(document)
    return str(document) if isinstance(document, Path) else document


def _moved(step: Step, folder: Path, number: int) -> Step:
    """The step with its files below the test's folder; a topic or a console stays what it is."""
    own = f"{number}-{re.sub(r'[^A-Za-z0-9_-]+', '-', step.name)}"
    checkpoint = str(folder / "checkpoints" / own) if step.streaming else None
    if step.output_format not in _FOLDERS:
        return replace(step, checkpoint=checkpoint)
    return replace(step, output=str(folder / "output" / own), checkpoint=checkpoint)


def run_steps(
    eos: WorkerHarness, pipeline: Pipeline, local: LocalRun, in_driver: RunInDriver | None = None
) -> dict[str, Output | Topic]:
    """Run every step over what is committed when its turn comes; StepFailedError names the step.

    `in_driver` runs streaming steps in drivers of their own, under the zombie that the test asked for.
    """
    if not pipeline.steps:
        return {}
    control = RunControl(eos.runtime)
    _create_output_topics(eos, pipeline)
    engine = eos.plugins.step_engine(pipeline.engine).start(
        local.backend_name, local.client_properties, str(pipeline.folder), local.reader_choice
    )

    def ranges_of(topics: Collection[str]) -> Mapping[TopicPartition, OffsetRange]:
        return committed_ranges(local, sorted(topics), control, eos.settings.patience)

    outputs: dict[str, Output | Topic] = {}
    with closing(engine):
        run = StepRun(local, engine, control, SilentReporter(), ranges_of)
        for step in in_order(pipeline.steps):
            if step.streaming and in_driver is not None:
                in_driver(step, pipeline, local)
                rows = -1
            else:
                rows = run.run(step)
            if step.output_format in _FOLDERS:
                outputs[step.name] = Output(step.name, Path(step.output), rows, step.output_options)
            elif step.output_format == "topic":
                outputs[step.name] = Topic(eos, (step.output,))
    return outputs


def _create_output_topics(eos: WorkerHarness, pipeline: Pipeline) -> None:
    wanted = {step.output for step in pipeline.steps if step.output_format == "topic"}
    with closing(eos.backend.admin()) as admin:
        missing = sorted(wanted - set(admin.partitions(sorted(wanted)))) if wanted else []
        if missing:
            admin.create_topics([NewTopic(topic, replication_factor=-1) for topic in missing])


def check_runnable(eos: WorkerHarness, pipeline: Pipeline) -> None:
    """Raise if a step could not run, or if its topics hold records that the run did not write."""
    if not pipeline.connectors:
        raise pytest.UsageError(f"{pipeline.path.name} has no connectors: there is nothing to run")
    if pipeline.steps and eos.cluster.virtual:
        raise needs_real_clock(
            "a pipeline's steps (leave them out by `steps=False`, or ask for the fixture `eos_spark`)"
        )
    kind = eos.plugins.step_engine(pipeline.engine) if pipeline.steps else None
    if kind is not None and (problems := kind.problems(pipeline.steps, str(pipeline.folder))):
        raise ConfigError(*problems)
    if eos.cluster.local is None and (used := _used_topics(eos, pipeline)):
        raise pytest.UsageError(
            f"topics {', '.join(used)} of {pipeline.path.name} hold records already, and a step reads all of a topic: "
            f"delete them, or leave out --eos-bootstrap-servers"
        )


def remove_topics(eos: WorkerHarness, made: CreatedResources, pipeline: Pipeline) -> None:
    """Delete the topics of the file that a run created, so that the next test can use their names."""
    topics = _topics(pipeline) & made.topics
    if made.keep or not topics or eos.backend.capabilities.lacking("delete_topics"):
        return
    with closing(eos.backend.admin()) as admin:
        admin.delete_topics(topics)
        eos.waiter.until(lambda: not admin.partitions(topics), f"the deletion of {', '.join(sorted(topics))}")
    made.topics -= topics


def _topics(pipeline: Pipeline) -> set[str]:
    written = {each["topic"] for each in pipeline.connectors.values() if "topic" in each}
    return written | _step_topics(pipeline)


def _step_topics(pipeline: Pipeline) -> set[str]:
    read = {one.topic for step in pipeline.steps for one in step.inputs}
    return read | {step.output for step in pipeline.steps if step.output_format == "topic"}


def _used_topics(eos: WorkerHarness, pipeline: Pipeline) -> list[str]:
    with closing(eos.backend.admin()) as admin:
        counts = admin.partitions(_topics(pipeline))
        ones = [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]
        ends = admin.end_offsets(ones, IsolationLevel.READ_UNCOMMITTED)
    return sorted({one.topic for one, end in ends.items() if end})
