"""Creation and deletion of topics, each refused with a sentence before anything changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from eosfw.config.definition.config_def import nearest
from eosfw.config.definition.kinds import CLUSTERS_OWN
from eosfw.errors import ConfigError, Problem, TopicExistsError

if TYPE_CHECKING:
    from eosfw.protocols import Admin, NewTopic


def parse_properties(given: Sequence[str]) -> dict[str, str]:
    """Properties written NAME=VALUE; BadParameter for one that is not, or that is given twice."""
    properties: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise typer.BadParameter(f"{text!r} is not written NAME=VALUE", param_hint="--config")
        if name in properties:
            raise typer.BadParameter(f"{name} is given twice", param_hint="--config")
        properties[name] = value
    return properties


def refuse_internal(names: Sequence[str]) -> None:
    """ConfigError for a topic that the cluster makes for itself: its coordinators would lose their state."""
    for name in names:
        if name in CLUSTERS_OWN:
            raise ConfigError(Problem(name, "this topic is the cluster's own: it is not created or deleted by hand"))


def create(admin: Admin, topic: NewTopic) -> None:
    """Create a topic; the error for a property that the cluster does not know names the nearest."""
    known = admin.partitions()
    if topic.name in known:
        raise TopicExistsError(f"there is a topic {topic.name!r} already, with {counted(known[topic.name])}")
    try:
        admin.create_topics([topic])
    except ConfigError as refused:
        raise ConfigError(Problem("", f"{refused}{_property_hint(admin, topic.config, known)}")) from refused


def _property_hint(admin: Admin, config: Mapping[str, str], topics: Mapping[str, int]) -> str:
    # Which properties there are depends on the cluster's version; any of its topics tells them.
    known = admin.topic_config(next(iter(topics))) if config and topics else {}
    guesses = [nearest(name, known) for name in config if name not in known]
    return "".join(f"; the nearest property is {near!r}" for near in guesses if near)


def delete(admin: Admin, names: Sequence[str]) -> None:
    """Delete topics with their records; raise the first failure once every topic had its answer."""
    outcomes = admin.delete_topics(names)
    for why in outcomes.values():
        if why is not None:
            raise why


def counted(partitions: int) -> str:
    """A number of partitions in words."""
    return f"{partitions} partition{'' if partitions == 1 else 's'}"
