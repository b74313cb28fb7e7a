"""The groups of settings by which a connector's topics are created (KIP-158, Connect's `TopicCreationConfig`).

`topic.creation.groups=a,b` names groups, `topic.creation.a.include` the topics that the first one is for; everything
else under `topic.creation.a.` is a property of those topics. The group `default` is for all other topics.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from eosfw.config.definition.config_def import Config, ConfigDef, Int, Key, List, Short, nearest
from eosfw.config.definition.java_pattern import compile_java
from eosfw.config.definition.kinds import Aliases
from eosfw.config.definition.layered import originals_with_prefix
from eosfw.errors import Problem

__all__ = [
    "TOPIC_CREATION",
    "TOPIC_CREATION_ENABLE",
    "TOPIC_CREATION_PREFIX",
    "TopicCreationGroup",
    "configured_groups",
    "group_definitions",
    "topic_creation_problems",
]

TOPIC_CREATION_ENABLE: Final = "topic.creation.enable"
TOPIC_CREATION_PREFIX: Final = "topic.creation."
_GROUPS = f"{TOPIC_CREATION_PREFIX}groups"
_DEFAULT, _UI_GROUP = "default", "Topic Creation"
_INCLUDE, _EXCLUDE, _PARTITIONS, _REPLICATION_FACTOR = "include", "exclude", "partitions", "replication.factor"
_SETTINGS = (_INCLUDE, _EXCLUDE, _PARTITIONS, _REPLICATION_FACTOR)
_MOST_PARTITIONS = 10_000
_CLUSTER_DEFAULT = -1
"""As a number of partitions or replicas: what the cluster has for topics that are created without one (KIP-464)."""


def _refuse_partitions(number: int) -> None:
    if number < 1 and number != _CLUSTER_DEFAULT:
        raise ValueError("Number of partitions must be positive, or -1 to use the broker's default")


def _refuse_replicas(number: int) -> None:
    if number < 1 and number != _CLUSTER_DEFAULT:
        raise ValueError(
            "Replication factor must be positive and not larger than the number of brokers in the Kafka cluster, or "
            "-1 to use the broker's default"
        )


@dataclass(frozen=True, slots=True)
class _TopicPatterns(List):
    """Java's regular expressions for names of topics, separated by commas."""

    def parse(self, text: str) -> tuple[re.Pattern[str], ...]:  # type: ignore[override]
        try:
            return tuple(map(compile_java, List.parse(self, text)))
        except ValueError as why:
            raise ValueError(str(why).replace("Invalid", "Syntax error in", 1)) from None


TOPIC_CREATION: Final[tuple[Key, ...]] = (
    Aliases(
        _GROUPS,
        (),
        "groups of topics with settings of their own, by names of yours; the first that fits creates a topic. For "
        "each GROUP: `topic.creation.GROUP.include` and `.exclude`, regular expressions for whole names of topics, "
        "comma-separated, of which `exclude` wins; `.partitions` and `.replication.factor`, by default those of "
        "`default`; and any other property of topics, such as `topic.creation.GROUP.cleanup.policy`",
        importance="LOW",
        group=_UI_GROUP,
        width="LONG",
        display_name="Topic Creation Groups",
    ),
    Int(
        f"{TOPIC_CREATION_PREFIX}{_DEFAULT}.{_PARTITIONS}",
        _CLUSTER_DEFAULT,
        "partitions of topics created for records that no group is for; -1: the cluster's default. "
        "`topic.creation.default.*` takes any other property of topics",
        at_most=_MOST_PARTITIONS,
        validator=_refuse_partitions,
        importance="LOW",
        group=_UI_GROUP,
        width="LONG",
        display_name="Partition Count for Topics in default",
    ),
    Short(
        f"{TOPIC_CREATION_PREFIX}{_DEFAULT}.{_REPLICATION_FACTOR}",
        _CLUSTER_DEFAULT,
        "replicas of such topics; -1: the cluster's default",
        validator=_refuse_replicas,
        importance="LOW",
        group=_UI_GROUP,
        width="LONG",
        display_name="Replication Factor for Topics in default",
    ),
)
"""The definitions, for a connector's `ConfigDef`."""


@dataclass(frozen=True, slots=True)
class TopicCreationGroup:
    """Settings for the topics whose names fit (Kafka Connect's `TopicCreationGroup`)."""

    name: str
    partitions: int
    replication_factor: int
    include: Sequence[re.Pattern[str]] = ()
    exclude: Sequence[re.Pattern[str]] = ()
    config: Mapping[str, str] = field(default_factory=dict)
    """Properties of the topics."""

    def matches(self, topic: str) -> bool:
        """Whether these settings are for a topic."""
        if self.name == _DEFAULT:
            return True
        return _any_matches(self.include, topic) and not _any_matches(self.exclude, topic)


def configured_groups(connector: Config) -> tuple[TopicCreationGroup, ...]:
    """The groups in the order in which they are asked, the default last; the properties must have been validated."""
    return tuple(_group(name, connector) for name in (*_named_groups(connector), _DEFAULT))


def group_definitions(values: Mapping[str, Any]) -> ConfigDef:
    """The definitions of what named groups have, by the values of a connector (`SourceConnectorConfig.enrich`)."""
    shared = {name: values.get(_prefix(_DEFAULT) + name) for name in (_PARTITIONS, _REPLICATION_FACTOR)}
    return ConfigDef(
        *(
            replace(key, default=shared.get(key.name.removeprefix(_prefix(group)), key.default))
            for group in dict.fromkeys(values.get(_GROUPS) or ())
            if group != _DEFAULT
            for key in _definition(group).keys.values()
        )
    )


def topic_creation_problems(connector: Config) -> list[Problem]:
    """What is wrong with the properties of groups of topics."""
    problems = [Problem("", text) for text in _without_group(connector)]
    for group in (*_named_groups(connector), _DEFAULT):
        settings, others = _properties(group, connector)
        if group != _DEFAULT:
            problems += _definition(group).read(settings)[1]
        problems += [Problem("", text) for text in _misspelt(group, others)]
    return problems


def _named_groups(connector: Config) -> list[str]:
    # The default group always exists; to name it is allowed, as in Kafka Connect.
    return [name for name in connector[_GROUPS] if name != _DEFAULT]


def _group(name: str, connector: Config) -> TopicCreationGroup:
    settings, config = _properties(name, connector)
    # What the default group includes or excludes does not count, as in Kafka Connect.
    values = {} if name == _DEFAULT else _definition(name).read(settings)[0]

    def setting(key: str) -> Any:
        """The group's own, else that of the default."""
        own = values.get(_prefix(name) + key)
        return connector.get(_prefix(_DEFAULT) + key, ()) if own is None else own

    include, exclude = setting(_INCLUDE), setting(_EXCLUDE)
    return TopicCreationGroup(name, setting(_PARTITIONS), setting(_REPLICATION_FACTOR), include, exclude, config)


def _definition(group: str) -> ConfigDef:
    """The settings of a group by their whole names, which messages show."""
    shown: dict[str, Any] = {"importance": "LOW", "group": f"{_UI_GROUP}: {group}", "width": "LONG"}
    return ConfigDef(
        _TopicPatterns(
            _prefix(group) + _INCLUDE,
            (),
            "regular expressions for whole names of the topics that this group is for, comma-separated",
            display_name=f"Inclusion Topic Pattern for {group}",
            **shown,
        ),
        _TopicPatterns(
            _prefix(group) + _EXCLUDE,
            (),
            "regular expressions for names of topics that it is not for, though they are included",
            display_name=f"Exclusion Topic Pattern for {group}",
            **shown,
        ),
        Short(
            _prefix(group) + _REPLICATION_FACTOR,
            None,
            "replicas of its topics; default: those of the default group",
            validator=_refuse_replicas,
            display_name=f"Replication Factor for Topics in {group}",
            **shown,
        ),
        Int(
            _prefix(group) + _PARTITIONS,
            None,
            "partitions of its topics; default: those of the default group",
            at_most=_MOST_PARTITIONS,
            validator=_refuse_partitions,
            display_name=f"Partition Count for Topics in {group}",
            **shown,
        ),
    )


def _properties(group: str, connector: Config) -> tuple[dict[str, str], dict[str, str]]:
    """The settings of a group by their whole names, and the properties of its topics by theirs."""
    settings, config = {}, {}
    for name, text in originals_with_prefix(connector.given, _prefix(group)).items():
        if _group_of(_prefix(group) + name, connector) != group:
            continue
        if name in _SETTINGS:
            settings[_prefix(group) + name] = text
        else:
            config[name] = text
    return settings, config


def _group_of(name: str, connector: Config) -> str | None:
    """The group that a property is for: the longest name, since one may begin with another and a dot."""
    fitting = [group for group in (*_named_groups(connector), _DEFAULT) if name.startswith(_prefix(group))]
    return max(fitting, key=len, default=None)


def _without_group(connector: Config) -> Iterator[str]:
    for name in sorted(connector.given):
        if name == _GROUPS or not name.startswith(TOPIC_CREATION_PREFIX) or _group_of(name, connector):
            continue
        if name == TOPIC_CREATION_ENABLE:
            yield f"{name} is a property of the worker: set it there"
            continue
        group = name.removeprefix(TOPIC_CREATION_PREFIX).partition(".")[0]
        near = nearest(group, (*_named_groups(connector), _DEFAULT))
        hint = f"did you mean {near!r}?" if near else f"add {group!r} to {_GROUPS}"
        yield f"{name} is for a group that {_GROUPS} does not name: {hint}"


def _misspelt(group: str, names: Iterable[str]) -> Iterator[str]:
    import difflib  # only where topics have properties

    # Which properties a topic has only its cluster knows; none of Kafka's is so similar to one of these settings.
    for name in names:
        for near in difflib.get_close_matches(name, _SETTINGS, n=1, cutoff=0.75):
            yield f"unknown configuration {_prefix(group) + name!r}; did you mean {_prefix(group) + near!r}?"


def _prefix(group: str) -> str:
    return f"{TOPIC_CREATION_PREFIX}{group}."


def _any_matches(patterns: Iterable[re.Pattern[str]], topic: str) -> bool:
    return any(pattern.fullmatch(topic) for pattern in patterns)
