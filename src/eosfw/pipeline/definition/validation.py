"""The validation of a whole pipeline before its first task starts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from eosfw.concurrency import Runtime
from eosfw.config.clients import ClientProblems, exactly_once
from eosfw.config.connector import SERVERS
from eosfw.config.definition.config_def import Config, nearest
from eosfw.config.parts import ISOLATION_READER
from eosfw.config.worker import WORKER
from eosfw.errors import ConfigError, EosfwError, PluginError, Problem
from eosfw.pipeline.definition.connectivity import require_addresses
from eosfw.pipeline.definition.model import FOLDER_FORMATS, Pipeline
from eosfw.pipeline.definition.step_order import output_topics
from eosfw.protocols import Admin, Backend, IsolationLevel, StepEngine
from eosfw.registry import Plugins
from eosfw.registry.config_transformer import parse_worker, redacted, transform_by, with_override_policy
from eosfw.runtime.checks.preflight import connector_problems, topic_problem, worker_problems
from eosfw.text import readable

_UNUSED_ADDRESS = "127.0.0.1:1"
"""An address for validating client properties before the embedded cluster has one; nothing connects to it."""


def worker_config(pipeline: Pipeline, plugins: Plugins) -> Config:
    """The worker group's properties; ConfigError with everything that is wrong."""
    return parse_worker(plugins, WORKER, pipeline.worker, f"{pipeline.path.name} [worker]")


def backend_of(pipeline: Pipeline, plugins: Plugins) -> type[Backend]:
    """The client that a pipeline names, else the embedded cluster's own, else the only one installed."""
    named = pipeline.cluster.backend
    if named is not None:
        return plugins.backend(named)
    installed = plugins.names("backend")
    if not pipeline.cluster.external:
        # A cluster that runs in this process may bring a client that calls it directly, under the same name.
        served = [name for name in plugins.names("cluster") if name in installed]
        own = [name for name in served if name == pipeline.broker.get("name", name)]
        if len(own) == 1:
            return plugins.backend(own[0])
    if len(installed) != 1:
        found = f"installed: {', '.join(installed)}" if installed else "none is installed"
        raise PluginError(f"name the client of the cluster: [cluster] backend = ...; {found}")
    return plugins.backend(installed[0])


def pipeline_problems(pipeline: Pipeline, plugins: Plugins, runtime: Runtime, *, steps_only: bool) -> list[Problem]:
    """Everything wrong with a pipeline that can be seen without a cluster; starts nothing."""
    problems = [*pipeline.problems, *_cluster_problems(pipeline, plugins, runtime), *_step_problems(pipeline, plugins)]
    backend, asked = _client(pipeline, plugins)
    worker, wrong = _worker(pipeline, plugins)
    wrong += worker_problems(plugins, worker, backend, asked)
    problems += [Problem(f"{pipeline.path.name} [worker]", problem.what) for problem in wrong]
    problems += [*_reader_problems(pipeline, worker), *_output_topic_problems(pipeline, worker)]
    problems += _checkpoint_problems(pipeline)
    if steps_only:
        return problems + _steps_only_problems(pipeline)
    if not pipeline.connectors and not pipeline.problems:
        problems.append(Problem(pipeline.path.name, "has no connectors: add [connectors.NAME]"))
    for name, properties in pipeline.connectors.items():
        problems += [
            Problem(f"{pipeline.path.name} [connectors.{name}]", problem.what)
            for problem in [
                *connector_problems(plugins, worker, name, properties, asked),
                *_other_cluster_problems(properties),
            ]
        ]
    return problems + ([] if pipeline.cluster.external else _missing_topics(pipeline, {}))


def _other_cluster_problems(properties: Mapping[str, str]) -> list[Problem]:
    name = f"producer.override.{SERVERS}"
    what = "a run reads and verifies its topics on one cluster; a worker group can run this connector: eosfw worker"
    return [Problem("", f"{name}: {what}")] if name in properties else []


def topic_problems(pipeline: Pipeline, admin: Admin) -> list[Problem]:
    """Topics that steps read, though no connector or step writes them and the cluster does not have them."""
    return _missing_topics(pipeline, admin.partitions())


def _client(pipeline: Pipeline, plugins: Plugins) -> tuple[str, ClientProblems]:
    try:
        kind = backend_of(pipeline, plugins)
    except PluginError:  # reported elsewhere; there is no client whose properties could be validated
        return "", lambda *_: ()
    return kind.name, kind.problems


def _worker(pipeline: Pipeline, plugins: Plugins) -> tuple[Config, list[Problem]]:
    values, problems = WORKER.read(pipeline.worker)
    fallback = {name: key.default for name, key in WORKER.keys.items()}
    config = Config({**fallback, **values}, pipeline.worker)
    try:
        return with_override_policy(plugins, config), problems
    except ConfigError as error:
        return config, [*problems, *error.problems]


def _cluster_problems(pipeline: Pipeline, plugins: Plugins, runtime: Runtime) -> list[Problem]:
    where = f"{pipeline.path.name} [cluster]"
    problems = _problems_of(where, lambda: _validate_addresses(pipeline))
    problems = problems or _problems_of(where, lambda: _validate_client(pipeline, plugins, runtime))
    if pipeline.cluster.external:
        if pipeline.broker:
            problems.append(
                Problem(f"{pipeline.path.name} [broker]", "is for runs without bootstrap.servers: remove it")
            )
        return problems
    return problems + _problems_of(where, lambda: plugins.cluster(pipeline.broker.get("name")))


def _validate_addresses(pipeline: Pipeline) -> None:
    if pipeline.cluster.external:
        servers = pipeline.cluster.properties["bootstrap.servers"]
        require_addresses("", servers, f'"bootstrap.servers" = "{servers}"')


def cluster_properties(pipeline: Pipeline, plugins: Plugins) -> Mapping[str, str]:
    """The properties of the pipeline's cluster, with the values that their references stand for."""
    return transform_by(plugins, pipeline.worker, pipeline.cluster.properties).values


def _validate_client(pipeline: Pipeline, plugins: Plugins, runtime: Runtime) -> None:
    kind = backend_of(pipeline, plugins)
    lacking = kind.capabilities.lacking("transactions", "read_committed")
    if lacking and exactly_once(_worker(pipeline, plugins)[0]):
        raise PluginError(f"backend {kind.name!r} cannot run exactly once: it lacks {', '.join(lacking)}")
    transformed = transform_by(plugins, pipeline.worker, pipeline.cluster.properties)
    try:
        kind.connect({"bootstrap.servers": _UNUSED_ADDRESS, **transformed.values}, runtime).close()
    except ConfigError as error:
        hidden = transformed.replaced.values()
        raise ConfigError(*(Problem(one.where, redacted(one.what, hidden)) for one in error.problems)) from None


def _step_problems(pipeline: Pipeline, plugins: Plugins) -> list[Problem]:
    if not pipeline.steps:
        return []
    engines: list[type[StepEngine]] = []
    problems = _problems_of(
        f"{pipeline.path.name} [[steps]]", lambda: engines.append(plugins.step_engine(pipeline.engine))
    )
    for engine in engines:
        problems += engine.problems(pipeline.steps, str(pipeline.folder))
    return problems


def _output_topic_problems(pipeline: Pipeline, worker: Config) -> list[Problem]:
    found = [(name, topic, topic_problem(worker, topic)) for topic, name in output_topics(pipeline.steps).items()]
    return [
        Problem(f"{pipeline.path.name} step {name!r}", f"output topic {readable(topic)} {why}")
        for name, topic, why in found
        if why is not None
    ]


def _checkpoint_problems(pipeline: Pipeline) -> list[Problem]:
    """Checkpoints that would be mixed with each other, or with rows."""
    streaming = [step for step in pipeline.steps if step.streaming]
    folders = [step for step in pipeline.steps if step.output_format in FOLDER_FORMATS]
    problems: list[Problem] = []
    for number, step in enumerate(streaming):
        place = pipeline.checkpoint(step).resolve()
        where = f"{pipeline.path.name} step {step.name!r}"
        for other in streaming[:number]:
            if _overlap(place, pipeline.checkpoint(other).resolve()):
                what = f"its checkpoint {place} overlaps that of step {other.name!r}: name a folder of its own"
                problems.append(Problem(where, what))
        for other in folders:
            if _overlap(place, (pipeline.folder / other.output).resolve()):
                what = f"its checkpoint {place} and the output of step {other.name!r} overlap: name another folder"
                problems.append(Problem(where, what))
    return problems


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _reader_problems(pipeline: Pipeline, worker: Config) -> list[Problem]:
    """Inputs that a reader of the step engine would show as they are committed, beside the chosen isolation reader."""
    chosen = worker[ISOLATION_READER]
    if chosen == IsolationLevel.READ_COMMITTED.value:
        return []
    return [
        Problem(
            f"{pipeline.path.name} step {step.name!r}",
            f"input {one.table} has the reader {one.reader!r}, which passes by {ISOLATION_READER}={chosen}: remove one",
        )
        for step in pipeline.steps
        for one in step.inputs
        if one.reader is not None
    ]


def _steps_only_problems(pipeline: Pipeline) -> list[Problem]:
    none = not pipeline.steps and not pipeline.problems
    problems = [Problem(pipeline.path.name, "has no steps to run alone")] if none else []
    if not pipeline.cluster.external:
        what = "steps alone have nothing to read on an embedded broker: set bootstrap.servers"
        problems.append(Problem(f"{pipeline.path.name} [cluster]", what))
    return problems


def _missing_topics(pipeline: Pipeline, existing: Mapping[str, int]) -> list[Problem]:
    written = [None if "transforms" in each else each.get("topic") for each in pipeline.connectors.values()]
    if None in written:
        return []  # a connector or its transformations name topics in another way, which only the run can check
    known = {*existing, *(topic for topic in written if topic), *output_topics(pipeline.steps)}
    return [
        Problem(f"{pipeline.path.name} step {step.name!r}", _no_topic(one.topic, known))
        for step in pipeline.steps
        for one in step.inputs
        if one.topic not in known
    ]


def _no_topic(topic: str, known: Collection[str]) -> str:
    near = nearest(topic, known)
    return f"reads topic {topic!r}, which does not exist and no connector or step writes" + (
        f"; did you mean {near!r}?" if near else ""
    )


def _problems_of(where: str, attempt: Callable[[], Any]) -> list[Problem]:
    try:
        attempt()
    except ConfigError as error:
        return [Problem(where, problem.what) for problem in error.problems]
    except EosfwError as error:
        return [Problem(where, str(error))]
    return []
