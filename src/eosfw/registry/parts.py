"""Creation of the parts that properties choose."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from eosfw.closeables import Closeable
from eosfw.concurrency import Runtime
from eosfw.config import Config
from eosfw.config.parts import (
    FENCER,
    ISOLATION_READER,
    METRIC_REPORTERS,
    OFFSET_STORE,
    REST_EXTENSIONS,
    PartChoice,
    chosen,
    chosen_each,
    without_choice,
)
from eosfw.errors import ConfigError, PluginError, Problem, with_class
from eosfw.protocols import Backend, Fencer, IsolationReader, MetricsReporter, OffsetStore, RestExtension
from eosfw.registry.check_failures import log_failure
from eosfw.registry.lookup import Plugins

__all__ = [
    "connector_problems",
    "fencer",
    "isolation_reader",
    "metrics_reporters",
    "offset_store",
    "problems_of",
    "rest_extensions",
    "worker_problems",
]

logger = logging.getLogger(__name__)
_READER = "read_committed"
_Part = TypeVar("_Part", Fencer, IsolationReader)


def offset_store(plugins: Plugins, choice: PartChoice) -> OffsetStore:
    """A new offset store; ConfigError if its properties do not fit."""
    return choice.configured(plugins.offset_store(choice.name or "kafka"))


def fencer(
    plugins: Plugins, choice: PartChoice, backend: Backend, admin: Mapping[str, str], runtime: Runtime
) -> Fencer:
    """A new fencer over a backend, with the admin client's properties; the caller closes it."""
    return _closed_if_refused(choice, plugins.fencer(backend.name, choice.name).connect(backend, admin, runtime))


def isolation_reader(
    plugins: Plugins, choice: PartChoice, backend: Backend, runtime: Runtime, *, headers: bool = False
) -> IsolationReader:
    """A new isolation reader over a backend; the caller closes it."""
    kind = plugins.isolation_reader(choice.name or _READER)
    return _closed_if_refused(choice, kind.over(backend, runtime, headers=headers))


def rest_extensions(plugins: Plugins, worker: Config) -> list[RestExtension]:
    """New extensions of the REST interface; the REST interface closes them. ConfigError if properties do not fit."""
    return [_rest_extension(plugins, choice) for choice in chosen_each(REST_EXTENSIONS, worker)]


def _rest_extension(plugins: Plugins, choice: PartChoice) -> RestExtension:
    return choice.configured(plugins.rest_extension(choice.name or ""))


def metrics_reporters(plugins: Plugins, worker: Config) -> list[MetricsReporter]:
    """New metrics reporters; whoever starts them closes them. ConfigError if properties do not fit."""
    return [_metrics_reporter(plugins, choice) for choice in chosen_each(METRIC_REPORTERS, worker)]


def _metrics_reporter(plugins: Plugins, choice: PartChoice) -> MetricsReporter:
    return choice.configured(plugins.metrics_reporter(choice.name or ""))


def worker_problems(plugins: Plugins, worker: Config, backend: str) -> list[Problem]:
    """What is wrong with the parts that a worker of this backend chooses."""
    choices = [chosen(key, worker) for key in _JUDGED if key in worker.given or chosen(key, worker).properties]
    problems = [problem for choice in choices for problem in _problems(plugins, choice, backend)]
    for property_, make in ((REST_EXTENSIONS, _rest_extension), (METRIC_REPORTERS, _metrics_reporter)):
        for choice in chosen_each(property_, worker):
            problems += problems_of(property_, partial(make, plugins, choice))
    return problems


def connector_problems(plugins: Plugins, worker: Config, connector: Config) -> list[Problem]:
    """What is wrong with the parts that a connector chooses; those of its worker are checked with the worker."""
    problems = []
    for key in (OFFSET_STORE, FENCER):
        problems += without_choice(key, connector)
        if connector[key] is not None:
            problems += _problems(plugins, chosen(key, worker, connector))
    return problems


def problems_of(property_: str, make: Callable[[], Any]) -> list[Problem]:
    """What is wrong with a part that a property chooses: it is made, configured and closed again."""
    try:
        made = make()
    except ConfigError as error:
        return list(error.problems)
    except PluginError as error:
        return [Problem("", f"{property_}: {error}")]
    except (Exception, SystemExit) as error:  # noqa: BLE001 a plugin may raise anything, and that is a validation error
        log_failure(logger, "a part failed while its properties were checked", error)
        return [Problem("", f"{property_}: it failed when it was configured: {with_class(error)}")]
    try:
        if isinstance(made, Closeable):
            made.close()
    except Exception as error:  # noqa: BLE001 it was made for the check alone
        log_failure(logger, f"closing {type(made).__name__} failed", error)
    return []


def _problems(plugins: Plugins, choice: PartChoice, backend: str = "") -> list[Problem]:
    return problems_of(choice.key, lambda: _JUDGED[choice.key](plugins, choice, backend))


# An offset store needs no cluster, so it is made for the check; of other parts only the properties are checked.
_JUDGED: Mapping[str, Callable[[Plugins, PartChoice, str], Any]] = {
    OFFSET_STORE: lambda plugins, choice, _: offset_store(plugins, choice),
    FENCER: lambda plugins, choice, backend: choice.config(plugins.fencer(backend, choice.name)),
    ISOLATION_READER: lambda plugins, choice, _: choice.config(plugins.isolation_reader(choice.name or _READER)),
}


def _closed_if_refused(choice: PartChoice, part: _Part) -> _Part:
    try:
        return choice.configured(part)
    except BaseException:
        part.close()
        raise
