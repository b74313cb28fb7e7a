"""Validation of a connector, and planning of its tasks from the config topic."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eosfw.capabilities import Capabilities
from eosfw.config import Config, clients
from eosfw.config.clients import ClientProblems, ClientSettings, ProducerSettings
from eosfw.config.connector import BOUNDARY, COMMIT_OVERLAP, CONNECTOR_VERSION, IDENTITY, RELOAD_ACTION, TASKS_MAX
from eosfw.config.connector.error_handling import ErrorHandlingConfig
from eosfw.config.connector.topic_creation import TOPIC_CREATION_ENABLE, configured_groups
from eosfw.config.parts import OFFSET_STORE, chosen
from eosfw.config.secrets import secret_values
from eosfw.connectors import SourceConnector
from eosfw.errors import ConfigError, EosfwError, Problem, TaskFailedError, described
from eosfw.identity import effective_identity_kind
from eosfw.ids import ConnectorTaskId, task_transactional_id
from eosfw.registry import Plugins, parts
from eosfw.registry.config_transformer import TransformedProperties
from eosfw.registry.plugin_versions import connector_version_problem
from eosfw.registry.record_parts import record_part_secrets, record_parts
from eosfw.runtime.checks.config_transformer import WorkerConfigTransformer
from eosfw.runtime.checks.preflight import connector_config, connector_problems
from eosfw.runtime.group.protocols import Assignment
from eosfw.runtime.storage.connector_offset_backing_store import offset_topics
from eosfw.runtime.tasks.config_reloads import ConfigReloads
from eosfw.runtime.tasks.plan import AssignedTask, ClientProperties, TaskPlan
from eosfw.runtime.tasks.tasks_max import too_many_tasks
from eosfw.state.storage.config_log import ConnectorEntry
from eosfw.state.tasks.boundary import Boundary, IntervalBoundary, PollBoundary, RequestedBoundary

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ValidatedConnector:
    """A connector that passed validation, with the configurations of its tasks."""

    connector: SourceConnector
    config: Config
    properties: Mapping[str, str]
    tasks: Sequence[Mapping[str, str]]
    task_configs: Sequence[Config]

    def transactional_ids(self, group_id: str) -> list[str]:
        """The transactional ids of its tasks, if they write exactly once."""
        tasks = [ConnectorTaskId(self.config["name"], number) for number in range(len(self.tasks))]
        return [task_transactional_id(group_id, task) for task in tasks]


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What a plan needs to know of the cluster and its client."""

    capabilities: Capabilities
    problems: ClientProblems
    """`Backend.problems` of that client."""
    max_transaction_timeout: float | None = None
    """The broker's longest transaction, in seconds; None if the broker does not tell."""


class TaskPlanner:
    """Validates connectors and plans tasks by the properties of one worker."""

    def __init__(
        self, worker: Config, plugins: Plugins, facts: ClusterFacts, reloads: ConfigReloads | None = None
    ) -> None:
        self._worker, self._plugins, self._reloads = worker, plugins, reloads
        self.facts = facts
        self.transformer = WorkerConfigTransformer(worker, plugins)

    def check(self, name: str, properties: Mapping[str, str]) -> ValidatedConnector:
        """Validate a connector and ask it for its task configurations; ConfigError lists every problem."""
        odd = [key for key, value in properties.items() if _has_half_surrogate(name, key, value)]
        problems = [Problem(f"connector {name!r}", f"its property {key!r} has {_HALF_SURROGATE}") for key in odd]
        if not problems:
            problems = connector_problems(self._plugins, self._worker, name, properties, self.facts.problems)
        if problems:
            raise ConfigError(*problems)
        transformed = self.transformer.transform({"name": name, **properties})
        with self.transformer.hidden_secrets():
            return self._validated({"name": name, **properties}, transformed)

    def _validated(self, written: Mapping[str, str], transformed: TransformedProperties) -> ValidatedConnector:
        name = written["name"]
        connector = self._plugins.connector(transformed.values["connector.class"])
        self._remember_passwords(connector, transformed.values)
        config = connector_config(connector, name, transformed.values)
        self.transformer.remember(record_part_secrets(self._plugins, self._worker, config))
        tasks = _split(connector, config, config[TASKS_MAX])
        if refused := too_many_tasks(config, len(tasks)):
            raise ConfigError(Problem("", refused))
        if odd := _first_odd(tasks):
            raise ConfigError(Problem(f"connector {name}", odd))
        for task in tasks:
            self._remember_passwords(connector, task)
        task_configs = [task_config(connector, task, f"task {name}-{number}") for number, task in enumerate(tasks)]
        self._schedule_reload(config, None, transformed.ttl)
        return ValidatedConnector(
            connector=connector,
            config=config,
            properties=written,
            tasks=[transformed.restored(task) for task in tasks],
            task_configs=task_configs,
        )

    def assigned_tasks(self, assignment: Assignment) -> list[AssignedTask]:
        """The tasks of an assignment, with the ids under which they write."""
        exactly_once, generation = clients.exactly_once(self._worker), assignment.generation
        tasks = [ConnectorTaskId(assignment.connector, number) for number in assignment.tasks]
        return [AssignedTask(one, generation, self._transactional_id(one) if exactly_once else None) for one in tasks]

    def _transactional_id(self, task: ConnectorTaskId) -> str:
        return task_transactional_id(self._worker["group.id"], task)

    def plan(self, task: AssignedTask, entry: ConnectorEntry) -> TaskPlan:
        """How a task runs by what the config topic says of its connector; TaskFailedError if that is incomplete."""
        if entry.applied_properties is None or task.id.task >= len(entry.tasks):
            raise TaskFailedError(
                f"task {task.id} cannot start: the config topic has no complete configuration for generation "
                f"{task.generation}; start the connector again"
            )
        worker, name = self._worker, task.id.connector
        transformed = self.transformer.transform(entry.applied_properties)
        properties = transformed.values
        transformed_share = self.transformer.transform(entry.tasks[task.id.task])
        share = transformed_share.values
        connector = self._plugins.connector(properties.get("connector.class", ""))
        for given in (properties, share):
            self._remember_passwords(connector, given)
        config = connector_config(connector, name, properties)
        self.transformer.remember(record_part_secrets(self._plugins, worker, config))
        # Again: what was checked by the worker that wrote it may be installed here in another version.
        refused = connector_version_problem(self._plugins, connector, config[CONNECTOR_VERSION])
        if refused := refused or too_many_tasks(config, len(entry.tasks)):
            raise TaskFailedError(refused)
        ttls = (one.ttl for one in (transformed, transformed_share) if one.ttl is not None)
        self._schedule_reload(config, task.id.task, min(ttls, default=None))
        producer, consumer, admin = self._client_settings(config, task.id)
        return TaskPlan(
            task=task,
            task_factory=connector.task,
            config=task_config(connector, share, f"task {task.id}"),
            boundary=self._boundary(config),
            commit_overlap=config[COMMIT_OVERLAP] and clients.exactly_once(worker),
            offset_topics=offset_topics(worker, config),
            store=parts.offset_store(self._plugins, chosen(OFFSET_STORE, worker, config)),
            transaction_timeout=producer.transaction_timeout,
            offset_flush_timeout=worker["offset.flush.timeout.ms"] / 1000,
            identity_headers=effective_identity_kind(config[IDENTITY], self.facts.capabilities) == "headers",
            identity_named=config[IDENTITY] is not None,
            topic_groups=configured_groups(config) if worker[TOPIC_CREATION_ENABLE] else (),
            clients=ClientProperties(producer.properties, consumer.properties, admin.properties),
            record_parts=record_parts(self._plugins, worker, config),
            error_handling=ErrorHandlingConfig.from_connector(config),
        )

    def _schedule_reload(self, config: Config, task: int | None, ttl: float | None) -> None:
        """Have a task, or the connector itself (None), restarted when values of config providers have expired."""
        name = config["name"] if task is None else str(ConnectorTaskId(config["name"], task))
        restarts = self._reloads is not None and config[RELOAD_ACTION] == "restart"
        if self._reloads is not None:
            self._reloads.schedule(config["name"], task, ttl if restarts else None)
        if ttl is not None and restarts:
            logger.info("Scheduling a restart of %s in %g ms", name, ttl * 1000)
        elif ttl is not None and config[RELOAD_ACTION] == "none":
            logger.warning("%s has values of config providers that hold good for %g s: restart it then", name, ttl)

    def remember_secrets(self, properties: Mapping[str, str]) -> None:
        """Take for secrets what a connector gets that may never have been started here."""
        given = self.transformer.transform(properties).values
        self._remember_passwords(self._plugins.connector(given.get("connector.class", "")), given)

    def _remember_passwords(self, connector: SourceConnector, properties: Mapping[str, str]) -> None:
        for definition in (connector.config, connector.task.config):
            if definition is not None:
                self.transformer.remember(secret_values(properties, definition))

    def log_replaced_properties(self, validated: ValidatedConnector) -> None:
        """Warn of client properties of a connector that exactly-once replaces."""
        settings = self._client_settings(validated.config, ConnectorTaskId(validated.config["name"], 0))
        for warning in (text for one in settings for text in one.warnings):
            logger.warning("%s", self.transformer.redact(warning))

    def _client_settings(
        self, config: Config, task: ConnectorTaskId
    ) -> tuple[ProducerSettings, ClientSettings, ClientSettings]:
        worker, longest = self._worker, self.facts.max_transaction_timeout
        return (
            clients.task_producer(worker, config, self._transactional_id(task), longest),
            clients.offsets_consumer(worker, config),
            clients.connector_admin(worker, config),
        )

    def _boundary(self, config: Config) -> Callable[[], Boundary]:
        flush = self._worker["offset.flush.interval.ms"] / 1000
        if not clients.exactly_once(self._worker):
            # Without transactions offsets are committed at the worker's interval, as in Kafka Connect.
            return lambda: IntervalBoundary(flush)
        if config[BOUNDARY] == "interval":
            return lambda: IntervalBoundary(clients.commit_interval_ms(self._worker, config) / 1000)
        return RequestedBoundary if config[BOUNDARY] == "connector" else PollBoundary


def _split(connector: SourceConnector, config: Config, most: int) -> list[dict[str, str]]:
    where = f"connector {config['name']}"
    try:
        returned = connector.task_configs(config, most)
        shares = list(returned) if isinstance(returned, Iterable) else None
    except EosfwError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(Problem(where, f"it could not split its work: {described(error)}")) from error
    if shares is None or not all(isinstance(share, Mapping) for share in shares):
        said = f"task_configs returned a {type(returned).__name__}; it must return a list of mappings, one a task"
        raise ConfigError(Problem(where, said))
    return [dict(share) for share in shares]


def _first_odd(tasks: Sequence[Mapping[Any, Any]]) -> str | None:
    """A property that the config topic would give back changed, since it holds text alone."""
    for number, task in enumerate(tasks):
        for name, value in task.items():
            if not (isinstance(name, str) and isinstance(value, str)):
                return (
                    f"its configuration of task {number} has {name!r} as {type(value).__name__}; "
                    f"names and values must be text"
                )
            if _has_half_surrogate(name, value):
                return f"its configuration of task {number} has {name!r} with {_HALF_SURROGATE}"
    return None


_HALF_SURROGATE = "a half surrogate, which no topic can hold: names and values must be encodable as UTF-8"


def _has_half_surrogate(*texts: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for text in texts for character in text)


def task_config(connector: SourceConnector, properties: Mapping[str, str], where: str) -> Config:
    """A task's properties, parsed by the definition of its class if it has one."""
    definition = connector.task.config
    return Config(properties, properties) if definition is None else definition.parse(properties, where)
