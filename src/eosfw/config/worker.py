"""The properties of a worker group (Kafka Connect's `DistributedConfig`)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from eosfw.config.config_providers import CONFIG_PROVIDERS, PROVIDER_PREFIX, provider_problems
from eosfw.config.connector.topic_creation import TOPIC_CREATION_ENABLE
from eosfw.config.definition.config_def import Boolean, Choice, Config, Int, List, Long, String
from eosfw.config.definition.kinds import Aliases, GroupId, ReplicationFactor, TopicName
from eosfw.config.definition.layered import LayeredDef
from eosfw.config.distributed import DISTRIBUTED, distributed_problems
from eosfw.config.override_policy import OVERRIDE_POLICY, POLICY, is_built_in
from eosfw.config.parts import (
    CONVERTERS,
    FENCER,
    ISOLATION_READER,
    METRIC_REPORTERS,
    METRICS_CONTEXT,
    OFFSET_STORE,
    PART_PREFIXES,
    REPORT_INTERVAL,
    REST_EXTENSIONS,
)
from eosfw.errors import Problem

SUPPORT = "exactly.once.source.support"
ALIAS = "exactly.once.source.enabled"
TASK_ISOLATION = "task.isolation"
CLIENT_PREFIXES = ("producer.", "consumer.", "admin.")
_OTHER_CLUSTER = {
    "bootstrap.servers": "would take the clients of every connector to another cluster than the worker's; remove it. A "
    "single connector can: with the same servers in its producer.override., consumer.override. and admin.override."
}

_NOT_YET = (
    "internal.key.converter", "internal.value.converter", "plugin.path", "plugin.discovery",
    "rest.host.name", "rest.port", "ssl.",
    "config.storage.partitions",
    "metrics.", "offset.storage.file.filename", "task.",
)  # fmt: skip
STORAGE_TOPICS = {
    "config.storage.topic": "configs",
    "offset.storage.topic": "offsets",
    "status.storage.topic": "status",
}
"""The properties that name a group's own topics, with what such a topic is called behind the group's name."""


def default_topic(group_id: str, kind: str) -> str:
    """The topic of a worker group's `configs`, `offsets` or `status`, unless its properties name another."""
    return f"{group_id}-{kind}"


def task_isolation_problems(worker: Config, where: str, instead: str) -> list[Problem]:
    """The problem of processes for tasks where they are not to be had, with what to do instead; none of threads."""
    if worker[TASK_ISOLATION] == "thread":
        return []
    return [Problem(where, f"{TASK_ISOLATION}={worker[TASK_ISOLATION]} is for `eosfw run`: {instead}")]


class WorkerDef(LayeredDef):
    """Worker properties: the alias of KIP-618's draft is accepted, and topics are named after the group by default."""

    def read(self, properties: Mapping[str, str], where: str = "") -> tuple[dict[str, Any], list[Problem]]:
        values, problems = super().read(properties, where)
        problems += self._alias(properties, values, where)
        group = values.get("group.id")
        for name, kind in STORAGE_TOPICS.items():
            if group and values.get(name) is None and name not in properties:
                values[name] = default_topic(group, kind)
        problems += [Problem(where, what) for what in (*_shared_topics(values), *distributed_problems(values))]
        problems += [Problem(where, what) for what in _stray_problems(values, properties)]
        return values, problems

    def _alias(self, properties: Mapping[str, str], values: dict[str, Any], where: str) -> list[Problem]:
        on = values.get(ALIAS)
        if on is None:
            return []
        support = "enabled" if on else "disabled"
        if SUPPORT in properties and values.get(SUPPORT, support) != support:
            return [
                Problem(where, f"{ALIAS}={properties[ALIAS]} contradicts {SUPPORT}={properties[SUPPORT]}: keep one")
            ]
        values[SUPPORT] = support
        return []


def _stray_problems(values: Mapping[str, Any], properties: Mapping[str, str]) -> list[str]:
    problems = provider_problems(properties)
    if is_built_in(str(values.get(POLICY))):
        own = (name for name in properties if name.startswith(f"{POLICY}."))
        problems += [f"{name} is for a policy of a plugin, and {POLICY} names none" for name in own]
    for key, part in ((REST_EXTENSIONS, "an extension"), (METRIC_REPORTERS, "a reporter")):
        known = tuple(f"{key}.{name}." for name in values.get(key, ()))
        problems += [
            f"{name} is for {part} that {key} does not name"
            for name in properties
            if name.startswith(f"{key}.") and not name.startswith(known)
        ]
    return problems


def _shared_topics(values: Mapping[str, Any]) -> list[str]:
    return [
        f"{first} and {second} are both {values[first]!r}: name two topics"
        for first, second in combinations(STORAGE_TOPICS, 2)
        if values.get(first) is not None and values[first] == values.get(second)
    ]


WORKER = WorkerDef(
    GroupId("group.id", doc="name of the worker group; transactional ids and topics are named after it"),
    List("bootstrap.servers", None, "brokers as HOST:PORT, comma-separated; without it an embedded broker is started"),
    Choice(
        SUPPORT,
        "disabled",
        "enabled: records and source offsets commit in one transaction; preparing: the leader's writes alone; in a "
        "pipeline file the default is enabled",
        among=("disabled", "preparing", "enabled"),
    ),
    Boolean(ALIAS, None, f"another name for {SUPPORT}: true is enabled, false is disabled"),
    TopicName("config.storage.topic", None, "topic of connector configurations; default GROUP-configs"),
    ReplicationFactor(
        "config.storage.replication.factor", -1, "replicas of the config topic; -1: the cluster's default"
    ),
    TopicName("offset.storage.topic", None, "topic of source offsets; default GROUP-offsets"),
    Int("offset.storage.partitions", 25, "partitions of the offsets topic", at_least=1, at_most=10_000),
    ReplicationFactor(
        "offset.storage.replication.factor", -1, "replicas of the offsets topic; -1: the cluster's default"
    ),
    String(OFFSET_STORE, "kafka", "how source offsets are stated as records, by name; `offset.store.*` are for it"),
    String(
        FENCER,
        None,
        "who fences earlier producers, by name; `fencer.*` are for it; default: the one named like the backend, else "
        "`admin`, which asks the backend's admin client",
    ),
    String(
        ISOLATION_READER,
        "read_committed",
        "who reads topics for steps and for the verdict, by name; `isolation.reader.*` are for it",
    ),
    *(
        String(
            key, None, f"what turns {what} into bytes, by name; `{key}.*` are for it; default: they are bytes already"
        )
        for key, what in zip(CONVERTERS, ("keys", "values", "headers"), strict=True)
    ),
    Aliases(
        REST_EXTENSIONS,
        (),
        "extensions of the REST interface, by name, comma-separated; `rest.extension.classes.NAME.*` are for one",
    ),
    Aliases(
        METRIC_REPORTERS,
        (),
        "who is given what the worker measures, by name, comma-separated; `metric.reporters.NAME.*` are for one, "
        "`metrics.context.*` are labels for all",
    ),
    Long(REPORT_INTERVAL, 30_000, "how often reporters are given the values, in ms", at_least=1),
    Long("offset.flush.interval.ms", 60_000, "how often offsets are committed between boundaries", at_least=1),
    Long(
        "offset.flush.timeout.ms",
        5_000,
        "how long a flush of records and offsets may take without exactly-once; a transaction has "
        "transaction.timeout.ms",
        at_least=1,
    ),
    Boolean(
        TOPIC_CREATION_ENABLE,
        True,
        "create a topic before a connector's first record for it, as its `topic.creation.*` say; false: leave that to "
        "the brokers' `auto.create.topics.enable`",
    ),
    Long("task.shutdown.graceful.timeout.ms", 5_000, "how long all tasks together get to stop", at_least=0),
    Choice(
        TASK_ISOLATION,
        "thread",
        "where `eosfw run` runs tasks of connectors: `thread`, all in its own process, or `process`, each in one "
        "of its own on this machine",
        among=("thread", "process"),
    ),
    *OVERRIDE_POLICY,
    CONFIG_PROVIDERS,
    *DISTRIBUTED,
    prefixes=(
        *CLIENT_PREFIXES,
        *PART_PREFIXES,
        PROVIDER_PREFIX,
        f"{REST_EXTENSIONS}.",
        f"{METRIC_REPORTERS}.",
        METRICS_CONTEXT,
        f"{POLICY}.",
    ),
    not_yet=_NOT_YET,
    refused=_OTHER_CLUSTER,
)
