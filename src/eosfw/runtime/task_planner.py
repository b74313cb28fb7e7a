"""Turn a connector's properties into plans for its tasks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from eosfw.capabilities import Capabilities
from eosfw.config import Config, clients
from eosfw.config.clients import ClientProblems, ClientSettings
from eosfw.config.connector import BOUNDARY, IDENTITY
from eosfw.config.parts import OFFSET_STORE, chosen
from eosfw.connectors import SourceConnector
from eosfw.errors import ConfigError, EosfwError, Problem
from eosfw.identity import kind_in_force
from eosfw.ids import ConnectorTaskId, task_transactional_id
from eosfw.registry import Plugins, parts
from eosfw.runtime.preflight import connector_config, connector_problems
from eosfw.runtime.task_plan import ClientProperties, OffsetsTopic, TaskPlan
from eosfw.state.boundary import Boundary, IntervalBoundary, PollBoundary, RequestedBoundary

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ValidatedConnector:
    """A connector that passed every check, with the shares its work splits into."""

    connector: SourceConnector
    config: Config
    properties: Mapping[str, str]
    tasks: Sequence[Mapping[str, str]]
    task_configs: Sequence[Config]

    def transactional_ids(self, group_id: str) -> list[str]:
        """Under which its tasks write, where they write exactly once."""
        tasks = [ConnectorTaskId(self.config["name"], number) for number in range(len(self.tasks))]
        return [task_transactional_id(group_id, task) for task in tasks]


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What a plan depends on that only the cluster, or the client that leads there, can tell."""

    capabilities: Capabilities
    problems: ClientProblems
    """`Backend.problems` of that client."""
    max_transaction_timeout: float | None = None
    """Seconds; None where the broker does not say."""


class TaskPlanner:
    """Plans the tasks of one worker's connectors."""

    def __init__(self, worker: Config, plugins: Plugins, facts: ClusterFacts) -> None:
        self._worker, self._plugins, self._facts = worker, plugins, facts

    def check(self, name: str, properties: Mapping[str, str]) -> ValidatedConnector:
        """Check a connector and split its work; ConfigError lists every problem."""
        problems = connector_problems(self._plugins, self._worker, name, properties, self._facts.problems)
        if problems:
            raise ConfigError(*problems)
        full = {"name": name, **properties}
        connector = self._plugins.connector(full["connector.class"])
        config = connector_config(connector, name, properties)
        most = config["tasks.max"]
        tasks = _split(connector, config, most)
        if len(tasks) > most:
            raise ConfigError(
                Problem(
                    f"connector {name}", f"the connector split its work into {len(tasks)} tasks; tasks.max is {most}"
                )
            )
        task_configs = [task_config(connector, task, f"task {name}-{number}") for number, task in enumerate(tasks)]
        return ValidatedConnector(connector, config, full, tasks, task_configs)

    def plans(self, validated: ValidatedConnector, generation: int) -> list[TaskPlan]:
        """One plan per task of a generation."""
        return [self._plan(validated, generation, number) for number in range(len(validated.tasks))]

    def _plan(self, validated: ValidatedConnector, generation: int, number: int) -> TaskPlan:
        worker, config = self._worker, validated.config
        task = ConnectorTaskId(config["name"], number)
        transactional_id = task_transactional_id(worker["group.id"], task)
        producer = clients.task_producer(worker, config, transactional_id, self._facts.max_transaction_timeout)
        consumer = clients.offsets_consumer(worker, config)
        admin = clients.connector_admin(worker, config)
        if number == 0:
            warn(producer, consumer, admin)
        return TaskPlan(
            task,
            generation,
            validated.connector.task,
            validated.task_configs[number],
            self._boundary(config),
            offsets_topic(worker),
            parts.offset_store(self._plugins, chosen(OFFSET_STORE, worker, config)),
            transactional_id if clients.exactly_once(worker) else None,
            producer.transaction_timeout,
            kind_in_force(config[IDENTITY], self._facts.capabilities) == "headers",
            config[IDENTITY] is not None,
            (config["topic.creation.default.partitions"], config["topic.creation.default.replication.factor"]),
            ClientProperties(producer.properties, consumer.properties, admin.properties),
        )

    def _boundary(self, config: Config) -> Callable[[], Boundary]:
        flush = self._worker["offset.flush.interval.ms"] / 1000
        if not clients.exactly_once(self._worker):  # without transactions, offsets follow at Connect's own pace
            return lambda: IntervalBoundary(flush)
        if config[BOUNDARY] == "interval":
            return lambda: IntervalBoundary(clients.commit_interval_ms(self._worker, config) / 1000)
        return RequestedBoundary if config[BOUNDARY] == "connector" else PollBoundary


def _split(connector: SourceConnector, config: Config, most: int) -> list[dict[str, str]]:
    try:
        return [dict(task) for task in connector.task_configs(config, most)]
    except EosfwError:
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise ConfigError(Problem(f"connector {config['name']}", f"it could not split its work: {said}")) from error


def task_config(connector: SourceConnector, properties: Mapping[str, str], where: str) -> Config:
    """A task's properties, parsed if its class says how."""
    definition = connector.task.config
    return Config(properties, properties) if definition is None else definition.parse(properties, where)


def offsets_topic(worker: Config) -> OffsetsTopic:
    """Where a worker group keeps source offsets."""
    return OffsetsTopic(
        worker["offset.storage.topic"],
        worker["offset.storage.partitions"],
        worker["offset.storage.replication.factor"],
    )


def warn(*settings: ClientSettings) -> None:
    """Log what was replaced on the way to a client's properties."""
    for warning in (text for one in settings for text in one.warnings):
        logger.warning(warning)
