"""Groups of settings for topics that are created for records (KIP-158)."""

from __future__ import annotations

import pytest

from eosfw.config import Config
from eosfw.config.connector import SOURCE_CONNECTOR
from eosfw.config.connector.topic_creation import TopicCreationGroup, configured_groups, topic_creation_problems
from eosfw.errors import ConfigError

LEAST = {"name": "c", "connector.class": "file"}
PREFIX = "topic.creation."


def parsed(**properties: str) -> Config:
    """A connector with these properties; `__` stands for the dot behind a group."""
    return SOURCE_CONNECTOR.parse(LEAST | {PREFIX + name: text for name, text in given(properties).items()})


def given(properties: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): text for name, text in properties.items()}


def chosen(config: Config, topic: str) -> TopicCreationGroup:
    return next(group for group in configured_groups(config) if group.matches(topic))


def problems(**properties: str) -> list[str]:
    return [problem.what for problem in topic_creation_problems(parsed(**properties))]


def test_without_properties_topics_are_as_the_cluster_creates_them() -> None:
    """TPC-02."""
    assert configured_groups(parsed()) == (TopicCreationGroup("default", -1, -1),)


def test_the_first_group_that_fits_is_chosen_and_exclude_wins() -> None:
    """TPC-02: whole names, by several patterns; what no group is for belongs to the default."""
    config = parsed(
        groups="compacted, wide",
        compacted_include=r"orders-\d+,users",
        compacted_exclude="orders-9",
        compacted_cleanup_policy="compact",
        compacted_partitions="2",
        wide_include="orders.*",
        wide_replication_factor="1",
        default_partitions="12",
        default_replication_factor="3",
        default_retention_ms="1000",
    )

    compacted = chosen(config, "orders-1")
    assert (compacted.partitions, compacted.replication_factor) == (2, 3)
    assert compacted.config == {"cleanup.policy": "compact"}
    names = ["users", "users2", "orders-9", "orders-1x", "other"]
    assert [chosen(config, name).name for name in names] == ["compacted", "default", "wide", "wide", "default"]
    wide = chosen(config, "orders-9")
    assert (wide.partitions, wide.replication_factor, wide.config) == (12, 1, {})
    assert chosen(config, "other") == TopicCreationGroup("default", 12, 3, config={"retention.ms": "1000"})
    assert topic_creation_problems(config) == []


def test_the_default_group_may_be_named_and_has_no_patterns() -> None:
    """TPC-02: as in Kafka Connect, which ignores them."""
    config = parsed(groups="default", default_exclude=".*", default_partitions="3")

    assert chosen(config, "t") == TopicCreationGroup("default", 3, -1)
    assert topic_creation_problems(config) == []


def test_a_group_whose_name_begins_with_that_of_another_keeps_its_properties() -> None:
    """TPC-02."""
    config = parsed(groups="a,a.b", a_b_include="x", a_include="y", a_b_partitions="4")

    assert chosen(config, "x").partitions == 4
    assert chosen(config, "y").config == {}


def test_java_reads_the_patterns() -> None:
    r"""TPC-02: `\d` is a digit of ASCII, named groups are Java's."""
    assert chosen(parsed(groups="g", g_include=r"(?<n>\d)-\k<n>"), "1-1").name == "g"
    assert chosen(parsed(groups="g", g_include=r"\d"), "\u0661").name == "default"


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"groups": "g", "g_include": "["}, "for configuration topic.creation.g.include: Syntax error in regular"),
        (
            {"groups": "g", "g_partitions": "0"},
            "topic.creation.g.partitions: Number of partitions must be positive, or -1 to use the broker's default",
        ),
        (
            {"groups": "g", "g_replication_factor": "-2"},
            "factor must be positive and not larger than the number of brokers in the Kafka cluster, or -1 to use the",
        ),
        ({"groups": "g", "g_inlcude": "t"}, "did you mean 'topic.creation.g.include'?"),
        ({"default_partition": "2"}, "did you mean 'topic.creation.default.partitions'?"),
        ({"groups": "orders", "order_include": "t"}, "for a group that topic.creation.groups does not name: did you"),
        ({"x_include": "t"}, "for a group that topic.creation.groups does not name: add 'x' to topic.creation.groups"),
        ({"enable": "true"}, "topic.creation.enable is a property of the worker: set it there"),
    ],
)
def test_a_property_that_cannot_be_meant_is_refused(properties: dict[str, str], text: str) -> None:
    """TPC-03: with Kafka Connect's text, or with the nearest name where Connect would ignore it."""
    [found] = problems(**properties)

    assert text in found


@pytest.mark.parametrize("name", ["cleanup.policy", "retention.ms", "min.insync.replicas", "confluent.placement"])
def test_any_property_of_a_topic_is_taken(name: str) -> None:
    """TPC-02: which there are the cluster knows."""
    assert topic_creation_problems(parsed(groups="g", **{f"g_{name}": "x"})) == []


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("groups", "g,g", "Duplicate alias provided."),
        ("default_partitions", "0", "Number of partitions must be positive"),
        ("default_replication_factor", "x", "Not a number of type SHORT"),
    ],
)
def test_an_impossible_default_is_refused(name: str, text: str, reason: str) -> None:
    """TPC-03."""
    with pytest.raises(ConfigError, match=reason):
        parsed(**{name: text})
