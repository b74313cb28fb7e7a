"""Validation of connectors and workers before anything starts (CFG-01, CFG-04, CFG-05; `AbstractHerder.validate`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from eosfw.config.clients import ClientProblems, client_problems, exactly_once, override_problems, policy_problems
from eosfw.config.connector import (
    BOUNDARY,
    COMMIT_OVERLAP,
    CONNECTOR_VERSION,
    OFFSETS_TOPIC,
    REQUIREMENT,
    SOURCE_CONNECTOR,
)
from eosfw.config.connector.topic_creation import topic_creation_problems
from eosfw.config.definition.config_def import Config, ConfigDef
from eosfw.config.definition.kinds import CLUSTERS_OWN, TopicName
from eosfw.config.override_policy import override_refusals
from eosfw.config.secrets import secret_values
from eosfw.config.worker import STORAGE_TOPICS, SUPPORT
from eosfw.connectors import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from eosfw.errors import ConfigError, PluginError, Problem
from eosfw.registry import Plugins, parts
from eosfw.registry.check_failures import log_failure
from eosfw.registry.config_transformer import (
    TransformedProperties,
    installed_provider_problems,
    redacted,
    transform_by,
)
from eosfw.registry.plugin_versions import connector_version_problem
from eosfw.registry.record_parts import record_part_problems, record_part_secrets, worker_converter_problems
from eosfw.runtime.checks.log_redaction import redacted_log
from eosfw.runtime.checks.problem_list import read_problems
from eosfw.runtime.storage.internal_topics import OFFSETS, members_topic_name
from eosfw.text import readable

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Validation:
    """What the validation of a connector's properties has found."""

    problems: list[Problem]
    """Each with the connector's name as its place."""
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The parsed values, None for one that cannot be parsed; empty if the connector or a reference is unknown."""
    secrets: Collection[str] = field(default=(), repr=False)

    def redacted(self, text: str) -> str:
        """A text without the secrets among the values."""
        return redacted(text, self.secrets)


def connector_problems(
    plugins: Plugins, worker: Config, name: str, properties: Mapping[str, str], find_problems: ClientProblems
) -> list[Problem]:
    """Everything wrong with a connector's properties, each with the connector's name as its place.

    `find_problems` is `Backend.problems` of the client that will run it.
    """
    return connector_validation(plugins, worker, name, properties, find_problems).problems


def connector_validation(
    plugins: Plugins, worker: Config, name: str, properties: Mapping[str, str], find_problems: ClientProblems
) -> Validation:
    """The same problems, with the values that could be parsed."""
    written = {"name": name, **properties}
    problems = []
    if written["name"] != name:
        what = f"name={readable(written['name'])} differs from the connector's name {name!r}: remove it"
        problems.append(Problem("", what))
    try:
        transformed = transform(plugins, worker, written)
    except ConfigError as error:
        # Without its value a property cannot be judged: the others wait until it has one.
        return Validation([Problem(f"connector {name}", problem.what) for problem in (*problems, *error.problems)])
    given = transformed.values
    try:
        connector = plugins.connector(given["connector.class"]) if given.get("connector.class") else None
    except PluginError as error:
        connector = None
        problems.append(Problem("", f"connector.class: {error}"))
    passwords = secret_values(given, None if connector is None else connector.config)
    of_parts = record_part_secrets(plugins, worker, framework_config(given))
    secrets = {*transformed.replaced.values(), *passwords, *of_parts}
    with redacted_log(lambda text: redacted(text, secrets)):
        problems += _property_problems(plugins, connector, worker, given, find_problems)
    return Validation(
        [Problem(f"connector {name}", redacted(problem.what, secrets)) for problem in problems],
        {} if connector is None else _parsed(connector, given),
        secrets,
    )


def worker_problems(plugins: Plugins, worker: Config, backend: str, find_problems: ClientProblems) -> list[Problem]:
    """What is wrong with a worker's properties for clients and parts; `find_problems` is its `Backend.problems`."""
    problems = override_problems(worker) + client_problems(find_problems, worker)
    problems += installed_provider_problems(plugins, worker.given)
    problems += parts.worker_problems(plugins, worker, backend) + worker_converter_problems(plugins, worker)
    return [Problem("worker", problem.what) for problem in problems]


def connector_config(connector: SourceConnector, name: str, properties: Mapping[str, str]) -> Config:
    """Parse a connector's properties by the framework's definition and its own; ConfigError lists what is wrong."""
    return (SOURCE_CONNECTOR + connector.config).parse({"name": name, **properties}, f"connector {name}")


def transform(plugins: Plugins, worker: Config, properties: Mapping[str, str]) -> TransformedProperties:
    """The properties with values for references to the worker's config providers; ConfigError if one has none."""
    return transform_by(plugins, worker.given, properties)


def framework_config(properties: Mapping[str, str]) -> Config:
    """A connector's properties by the framework's definition alone; what cannot be read has its default."""
    return _with_defaults(SOURCE_CONNECTOR, properties, SOURCE_CONNECTOR.read(properties)[0])


def _parsed(connector: SourceConnector, given: Mapping[str, str]) -> dict[str, Any]:
    definition = SOURCE_CONNECTOR + connector.config
    return {**dict.fromkeys(definition.keys), **definition.read(given)[0]}


def _with_defaults(definition: ConfigDef, given: Mapping[str, str], values: Mapping[str, Any]) -> Config:
    return Config({**{name: key.default for name, key in definition.keys.items()}, **values}, given)


def _property_problems(
    plugins: Plugins,
    connector: SourceConnector | None,
    worker: Config,
    given: Mapping[str, str],
    find_problems: ClientProblems,
) -> list[Problem]:
    if connector is None:
        # Without the connector its own properties are unknown: only the framework's are validated.
        known = {name: text for name, text in given.items() if name in SOURCE_CONNECTOR.keys}
        return SOURCE_CONNECTOR.read(known)[1]
    definition = SOURCE_CONNECTOR + connector.config
    values, problems = definition.read(given)
    config = _with_defaults(definition, given, values)
    problems += _override_problems(worker, config, find_problems)
    problems += _topic_problems(worker, config) + parts.connector_problems(plugins, worker, config)
    problems += record_part_problems(plugins, worker, config) + topic_creation_problems(config)
    if refused := connector_version_problem(plugins, connector, config[CONNECTOR_VERSION]):
        problems.append(Problem("", refused))
    if len(values) < len(definition.keys):
        return problems  # a value could not be parsed: the connector would judge a default instead
    problems += [Problem("", what) for what in _support_problem(connector, worker, config)]
    problems += [Problem("", what) for what in _boundary_problem(connector, config)]
    return problems + _own_problems(connector, config)


def _override_problems(worker: Config, config: Config, find_problems: ClientProblems) -> list[Problem]:
    refused = override_refusals(worker, config.given)
    # What is refused is not looked at any further: a message about its value would show it.
    rest = Config(config, {name: text for name, text in config.given.items() if name not in refused})
    problems = policy_problems(refused) + override_problems(worker, rest)
    return problems + client_problems(find_problems, worker, rest)


def _support_problem(connector: SourceConnector, worker: Config, config: Config) -> list[str]:
    if config[REQUIREMENT] != "required":
        return []
    if not exactly_once(worker):
        return [f"{REQUIREMENT}=required, but the worker has {SUPPORT}={worker[SUPPORT]}: set it to enabled"]
    answer, why = _call_connector(lambda: connector.exactly_once_support(config))
    if answer is ExactlyOnceSupport.SUPPORTED:
        return []
    if why is not None:
        return [f"{REQUIREMENT}=required, but the connector failed when asked whether it is exactly once: {why}"]
    if answer is ExactlyOnceSupport.UNSUPPORTED:
        return [f"{REQUIREMENT}=required, but the connector says it cannot be exactly once with these properties"]
    unsaid = f"{REQUIREMENT}=required, but the connector does not say whether it is exactly once: "
    return [f"{unsaid}consult its documentation; if it is, set {REQUIREMENT}=requested"]


def _boundary_problem(connector: SourceConnector, config: Config) -> list[str]:
    if config[BOUNDARY] != "connector":
        return []
    if config[COMMIT_OVERLAP]:
        return [f"{COMMIT_OVERLAP}=true needs {BOUNDARY}=poll or interval: a connector's own boundaries end one by one"]
    answer, why = _call_connector(lambda: connector.transaction_boundaries(config))
    if answer is ConnectorTransactionBoundaries.SUPPORTED:
        return []
    if why is not None:
        return [f"{BOUNDARY}=connector, but the connector failed when asked whether it ends transactions itself: {why}"]
    return [f"{BOUNDARY}=connector, but the connector does not end transactions itself: use poll or interval"]


def _own_problems(connector: SourceConnector, config: Config) -> list[Problem]:
    found, why = _call_connector(lambda: read_problems(connector.problems(config), "problems"))
    if why is not None:
        return [Problem("", f"the connector failed when it checked its properties: {why}")]
    return [Problem("", str(problem)) for problem in found or ()]


def _topic_problems(worker: Config, config: Config) -> list[Problem]:
    topic, own = config.get("topic"), config[OFFSETS_TOPIC]
    why = topic_problem(worker, topic) if isinstance(topic, str) else None
    problems = [] if why is None else [Problem("", f"topic={readable(str(topic))} {why}")]
    if own is None:
        return problems
    # TXN-15: a task that writes into the topic of its offsets never reaches the end of that topic.
    output = "is the topic that the connector writes records to: name another topic for its source offsets"
    why = output if own == topic else _reserved(worker, own)
    return problems if why is None else [*problems, Problem("", f"{OFFSETS_TOPIC}={readable(own)} {why}")]


def topic_problem(worker: Config, topic: str) -> str | None:
    """Why records must not, or cannot, be written to a topic."""
    # TXN-15, for the topic of the offsets of every connector that has none of its own.
    if topic == worker[OFFSETS]:
        return f"is the worker's own {OFFSETS}: name another topic for records"
    try:
        TopicName("topic").parse(topic)
    except ValueError as why:
        return f"cannot name a topic: {why}"
    return _reserved(worker, topic)


def _reserved(worker: Config, topic: str) -> str | None:
    """Why a connector must neither write records nor offsets to a topic."""
    internal = {worker[name]: name for name in STORAGE_TOPICS if name != OFFSETS}
    if topic in internal:
        return f"is the worker's own {internal[topic]}: name another topic"
    if topic == members_topic_name(worker):
        return "is the topic by which the worker group finds its members: name another topic"
    return "is a topic of the cluster's own: name another one" if topic in CLUSTERS_OWN else None


def _call_connector(question: Callable[[], Answer]) -> tuple[Answer | None, str | None]:
    try:
        return question(), None
    except (Exception, SystemExit) as error:  # noqa: BLE001 CFG-04: an exception of a connector is a validation error
        log_failure(logger, "a connector failed while its properties were checked", error)
        return None, str(error) or f"{type(error).__name__}, see the log"
