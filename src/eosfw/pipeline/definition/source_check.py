"""The check whether the sources of connectors can be read, made by the connectors themselves."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from eosfw.concurrency import Runtime
from eosfw.config import Config
from eosfw.config.secrets import secret_values
from eosfw.config.worker import WORKER
from eosfw.connectors import SourceConnector
from eosfw.errors import ConfigError, PluginError, Problem, RetriableError, SourceUnavailableError, described
from eosfw.pipeline.definition.model import Pipeline
from eosfw.registry import Plugins
from eosfw.registry.load_timeout import LOAD_TIMEOUT, call_with_timeout
from eosfw.runtime.checks.config_transformer import WorkerConfigTransformer
from eosfw.runtime.checks.preflight import connector_config
from eosfw.runtime.checks.problem_list import read_problems

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SourceCheckResult:
    """What a connector found out about its source; without problems it can be read."""

    connector: str
    problems: Sequence[str]
    unavailable: bool = False
    """Whether trying again later may help."""


def check_sources(
    pipeline: Pipeline, plugins: Plugins, runtime: Runtime, timeout: float = LOAD_TIMEOUT
) -> list[SourceCheckResult]:
    """The results of all connectors that have a `check`. The pipeline's properties must have been validated."""
    answers = []
    for name, properties in pipeline.connectors.items():
        connector = plugins.connector(properties["connector.class"])
        if type(connector).check is not SourceConnector.check:
            with closing(WorkerConfigTransformer(WORKER.parse(pipeline.worker), plugins)) as transformer:
                given = transformer.transform(properties).values
                transformer.remember(secret_values(given, connector.config))
                with transformer.hidden_secrets():
                    found = _check(name, connector, connector_config(connector, name, given), runtime, timeout)
            answers.append(replace(found, problems=tuple(map(transformer.redact, found.problems))))
    return answers


def require_sources(pipeline: Pipeline, plugins: Plugins, runtime: Runtime) -> None:
    """Raise ConfigError if a source cannot be read, SourceUnavailableError if it cannot be read now."""
    answers = [answer for answer in check_sources(pipeline, plugins, runtime) if answer.problems]
    problems = [
        Problem(f"{pipeline.path.name} [connectors.{answer.connector}]", what)
        for answer in answers
        for what in answer.problems
    ]
    if any(not answer.unavailable for answer in answers):
        raise ConfigError(*problems)
    if problems:
        raise SourceUnavailableError(*problems)


def _check(
    name: str, connector: SourceConnector, config: Config, runtime: Runtime, timeout: float
) -> SourceCheckResult:
    try:
        found = call_with_timeout(timeout, lambda: read_problems(connector.check(config), "check"), runtime)
    except RetriableError as error:
        return SourceCheckResult(name, (described(error),), unavailable=True)
    except PluginError as error:  # it did not answer in time
        return SourceCheckResult(name, (f"the source could not be looked at: {error}",), unavailable=True)
    except Exception as error:  # noqa: BLE001 whatever a connector raises is a problem of its source
        logger.debug("connector %s failed when it looked at its source: %s", name, type(error).__name__)
        return SourceCheckResult(name, (f"the connector failed when it looked at its source: {described(error)}",))
    return SourceCheckResult(name, tuple(map(str, found)))
