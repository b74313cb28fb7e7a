"""The findings about one pipeline file, its cluster and its sources."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sized
from contextlib import closing
from pathlib import Path

from eosfw.concurrency import Runtime
from eosfw.errors import ConfigError, EosfwError, ExitCode
from eosfw.health import Finding, Health
from eosfw.pipeline import Pipeline
from eosfw.pipeline.definition.connectivity import require_reachable
from eosfw.pipeline.definition.parsing import load_with_problems
from eosfw.pipeline.definition.source_check import SourceCheckResult, check_sources
from eosfw.pipeline.definition.validation import (
    backend_of,
    cluster_properties,
    pipeline_problems,
    topic_problems,
    worker_config,
)
from eosfw.registry import Plugins
from eosfw.runtime.storage.internal_topics import internal_topic_problems

_API_TIMEOUT = "default.api.timeout.ms"
_MAX_API_TIMEOUT_MS = 5000
"""The longest that a cluster may take to answer a request; a run waits longer."""


def pipeline_findings(file: Path, plugins: Plugins, runtime: Runtime) -> list[Finding]:
    """Everything that prevents a run of this file, or how it would run; starts nothing."""
    try:
        pipeline = load_with_problems(file)
    except EosfwError as error:
        return [_broken(file.name, str(error))]
    os.chdir(pipeline.folder)  # where relative paths of its connectors start, as in a run
    problems = pipeline_problems(pipeline, plugins, runtime, steps_only=not pipeline.connectors)
    if problems:
        return [_broken(problem.where or file.name, problem.what) for problem in problems]
    found = [Finding(file.name, Health.FINE, _parts(pipeline, plugins))]
    found += [finding for one in check_sources(pipeline, plugins, runtime) for finding in _source(one)]
    return [*found, *_cluster(pipeline, plugins, runtime)]


def _source(answer: SourceCheckResult) -> Iterator[Finding]:
    subject = f"source of {answer.connector}"
    if not answer.problems:
        yield Finding(subject, Health.FINE, "its connector reached it")
    for problem in answer.problems:
        yield Finding(subject, Health.UNAVAILABLE if answer.unavailable else Health.BROKEN, problem)


def _parts(pipeline: Pipeline, plugins: Plugins) -> str:
    parts = f"{_counted(pipeline.connectors, 'connector')} through backend {backend_of(pipeline, plugins).name}"
    if pipeline.steps:
        parts += f", {_counted(pipeline.steps, 'step')} in {plugins.step_engine(pipeline.engine).name}"
    return parts


def _cluster(pipeline: Pipeline, plugins: Plugins, runtime: Runtime) -> Iterator[Finding]:
    if not pipeline.cluster.external:
        yield Finding("cluster", Health.FINE, "an embedded broker, started for each run")
        return
    servers = pipeline.cluster.properties["bootstrap.servers"]
    try:
        properties = cluster_properties(pipeline, plugins)
        require_reachable(properties, runtime)
        yield from _cluster_findings(pipeline, properties, plugins, runtime)
    except ConfigError as error:
        yield _broken(f"cluster at {servers}", str(error))
    except EosfwError as error:
        gone = error.exit_code is ExitCode.UNAVAILABLE
        remedy = "start it, or correct bootstrap.servers in [cluster]" if gone else ""
        yield Finding("cluster", Health.UNAVAILABLE if gone else Health.BROKEN, str(error), remedy)


def _cluster_findings(
    pipeline: Pipeline, properties: Mapping[str, str], plugins: Plugins, runtime: Runtime
) -> Iterator[Finding]:
    timeout = _api_timeout(properties.get(_API_TIMEOUT, "").strip())
    backend = backend_of(pipeline, plugins).connect({**properties, _API_TIMEOUT: timeout}, runtime)
    with closing(backend), closing(backend.admin()) as admin:
        topics = admin.partitions()
        problems = topic_problems(pipeline, admin)
        internal = internal_topic_problems(admin, worker_config(pipeline, plugins)) if pipeline.connectors else []
    for problem in [*problems, *internal]:
        yield _broken(problem.where, problem.what)
    answer = f"{properties['bootstrap.servers']} answers; it has {_counted(topics, 'topic')}"
    yield Finding("cluster", Health.FINE, answer)


def _api_timeout(given: str) -> str:
    """The given timeout, at most 5 s; a text that is no number is left for the client to refuse."""
    return str(min(int(given or _MAX_API_TIMEOUT_MS), _MAX_API_TIMEOUT_MS)) if given.isdecimal() or not given else given


def _counted(what: Sized, name: str) -> str:
    return f"{len(what)} {name}{'' if len(what) == 1 else 's'}"


def _broken(where: str, what: str) -> Finding:
    return Finding(where, Health.BROKEN, what)
