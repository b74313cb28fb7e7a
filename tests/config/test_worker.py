"""Worker properties: parsing and error messages (CFG-01, CFG-02, hostile inputs)."""

from __future__ import annotations

import pytest

from eosfw.config.worker import WORKER
from eosfw.errors import ConfigError


def refused(**properties: str) -> str:
    given = {"group.id": "g"} | {name.replace("_", "."): text for name, text in properties.items()}
    with pytest.raises(ConfigError) as message:
        WORKER.parse(given, "worker")
    return str(message.value)


@pytest.mark.parametrize("word", ["enabled", "ENABLED", "Preparing", "disabled"])
def test_the_switch_reads_in_any_case(word: str) -> None:
    """CFG-01."""
    config = WORKER.parse({"group.id": "g", "exactly.once.source.support": word})

    assert config["exactly.once.source.support"] == word.lower()
    assert WORKER.parse({"group.id": "g"})["exactly.once.source.support"] == "disabled"


@pytest.mark.parametrize(("alias", "support"), [("true", "enabled"), ("FALSE", "disabled")])
def test_the_older_name_is_an_alias(alias: str, support: str) -> None:
    """CFG-02."""
    config = WORKER.parse({"group.id": "g", "exactly.once.source.enabled": alias})

    assert config["exactly.once.source.support"] == support


def test_an_alias_that_contradicts_is_refused() -> None:
    """CFG-02."""
    message = refused(exactly_once_source_enabled="true", exactly_once_source_support="disabled")

    assert "exactly.once.source.enabled=true contradicts exactly.once.source.support=disabled" in message


def test_an_alias_that_agrees_is_accepted() -> None:
    """CFG-02."""
    given = {"group.id": "g", "exactly.once.source.enabled": "true", "exactly.once.source.support": "Enabled"}

    assert WORKER.parse(given)["exactly.once.source.support"] == "enabled"


def test_internal_topics_are_named_after_the_group() -> None:
    config = WORKER.parse({"group.id": "team-a"})

    topics = [config[f"{kind}.storage.topic"] for kind in ("config", "offset", "status")]
    assert topics == ["team-a-configs", "team-a-offsets", "team-a-status"]


@pytest.mark.parametrize(("one", "other"), [("config", "offset"), ("config", "status"), ("offset", "status")])
def test_internal_topics_must_differ(one: str, other: str) -> None:
    message = refused(**{f"{one}.storage.topic": "both", f"{other}.storage.topic": "both"})

    assert f"{one}.storage.topic and {other}.storage.topic are both 'both': name two topics" in message


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("exactly.once.source.suport", "exactly.once.source.support"),
        ("grup.id", "group.id"),
        ("producr.linger.ms", "producer.linger.ms"),
        ("ofset.flush.interval.ms", "offset.flush.interval.ms"),
    ],
)
def test_a_misspelt_property_is_answered_with_the_nearest(name: str, nearest: str) -> None:
    assert f"unknown configuration {name!r}; did you mean {nearest!r}?" in refused(**{name: "x"})


def test_a_long_unknown_name_is_cut_short() -> None:
    assert len(refused(**{"x" * 1_000_000: "y"})) < 1_000


@pytest.mark.parametrize("name", ["internal.key.converter", "rest.port", "plugin.path", "metrics.num.samples"])
def test_an_unsupported_kafka_connect_property_is_refused_as_unsupported(name: str) -> None:
    """A property that is known but does nothing yet must not pass in silence."""
    assert f"{name!r} is a property of Kafka Connect that is not supported yet" in refused(**{name: "x"})


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ("", "String must be non-empty"),
        ("g" * 250, "at most 200 characters long, not 250"),
        ("grüppe", "may only hold letters"),
        ("a\0b", "may only hold letters"),
        ("a\u202eb", "may only hold letters"),
        ("a b", "may only hold letters"),
        ("../g", "may only hold letters"),
    ],
)
def test_a_group_that_cannot_name_topics_is_refused(group: str, message: str) -> None:
    assert message in refused(group_id=group)


@pytest.mark.parametrize("topic", [".", "..", "a/b", "t" * 300, ""])
def test_a_topic_with_an_illegal_name_is_refused(topic: str) -> None:
    assert "Invalid value" in refused(offset_storage_topic=topic)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("offset.storage.partitions", "0", "Value must be at least 1"),
        ("offset.storage.partitions", "many", "Not a number of type INT"),
        ("offset.flush.interval.ms", "10s", "Not a number of type LONG"),
        ("offset.flush.interval.ms", "-1", "Value must be at least 1"),
        ("task.shutdown.graceful.timeout.ms", "99999999999999999999", "Value must be no more than"),
        ("config.storage.replication.factor", "0", "Value must be -1"),
    ],
)
def test_a_number_out_of_range_names_the_range(name: str, text: str, message: str) -> None:
    assert message in refused(**{name: text})


def test_all_problems_are_reported_at_once() -> None:
    message = refused(group_id="", offset_storage_partitions="0", nonsense="1").splitlines()

    assert len(message) == 3


def test_client_properties_pass_by_prefix_but_not_the_bare_prefix() -> None:
    assert WORKER.parse({"group.id": "g", "producer.linger.ms": "5"}).given["producer.linger.ms"] == "5"

    assert "names no property" in refused(**{"producer.": "5"})


@pytest.mark.parametrize("kind", ["producer", "consumer", "admin"])
def test_a_worker_cannot_take_all_connectors_to_another_cluster(kind: str) -> None:
    """OFF-06: its own topics would be elsewhere; a connector can say it for itself."""
    name = f"{kind}.bootstrap.servers"

    assert f"{name!r} would take the clients of every connector to another cluster" in refused(
        **{name: "127.0.0.1:9092"}
    )
