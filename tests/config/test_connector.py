"""Properties of every source connector."""

from __future__ import annotations

import pytest

from eosfw import ConfigDef, Password, String
from eosfw.config.connector import SOURCE_CONNECTOR
from eosfw.config.definition.kinds import ConnectorName
from eosfw.errors import ConfigError

LEAST = {"name": "c", "connector.class": "file"}


def refused(**properties: str) -> str:
    with pytest.raises(ConfigError) as reported:
        SOURCE_CONNECTOR.parse(LEAST | properties, "c")
    return str(reported.value)


def test_unset_properties_have_kafkas_defaults() -> None:
    config = SOURCE_CONNECTOR.parse(LEAST)

    assert (config["tasks.max"], config["exactly.once.support"], config["transaction.boundary"]) == (
        1,
        "requested",
        "poll",
    )
    assert config["transaction.boundary.interval.ms"] is None


@pytest.mark.parametrize("text", ["0", "-1", "1000000", "∞", "1.5", "NaN", ""])
def test_an_impossible_number_of_tasks_is_refused(text: str) -> None:
    assert "for configuration tasks.max" in refused(**{"tasks.max": text})


@pytest.mark.parametrize(
    "name",
    ["", " ", "../x", "a/b", "x" * 10_000, "a\0b", "a\nb", "a\rb", "a\u202eb", "a\u2028b", " a", "a\t", "x" * 201],
)
def test_a_connector_name_that_breaks_a_log_line_or_a_path_is_refused_and_escaped(name: str) -> None:
    with pytest.raises(ValueError, match=r"String must be non-empty|must be") as reported:
        ConnectorName("name").parse(name)

    assert "\n" not in str(reported.value)
    assert len(str(reported.value)) < 200


@pytest.mark.parametrize("text", ["POLL", "Interval", "connector"])
def test_the_boundary_reads_in_any_case(text: str) -> None:
    """CFG-05."""
    assert SOURCE_CONNECTOR.parse(LEAST | {"transaction.boundary": text})["transaction.boundary"] == text.lower()


def test_a_misspelt_choice_is_answered_with_the_nearest() -> None:
    assert "did you mean interval?" in refused(**{"transaction.boundary": "intervall"})


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("task.max", "tasks.max"),
        ("transaction.boundry", "transaction.boundary"),
        ("producer.overide.acks", "producer.override.acks"),
        ("eosfw.identiy", "eosfw.identity"),
    ],
)
def test_a_misspelt_property_is_answered_with_the_nearest(name: str, nearest: str) -> None:
    assert f"did you mean {nearest!r}?" in refused(**{name: "x"})


def test_a_name_that_only_ends_like_a_known_one_gets_no_suggestion() -> None:
    """The property of a converter without its prefix is not one of the fencer."""
    assert "did you mean" not in refused(**{"schema.registry.url": "x"})


@pytest.mark.parametrize("text", ["field:", "field", "valu", "headers,value", ""])
def test_an_identity_that_does_not_exist_is_refused(text: str) -> None:
    """Records without an identity are not verified, so a misspelt one must not pass in silence."""
    assert "eosfw.identity" in refused(**{"eosfw.identity": text})


def test_a_connectors_own_properties_stand_beside_the_frameworks() -> None:
    both = SOURCE_CONNECTOR + ConfigDef(String("topic"), Password("secret", default=None))

    config = both.parse(LEAST | {"topic": "t", "producer.override.linger.ms": "5"})
    assert config["topic"] == "t"

    with pytest.raises(ConfigError, match="did you mean 'topic'"):
        both.parse(LEAST | {"topik": "t"})


def test_a_secret_is_not_shown_when_refused() -> None:
    both = SOURCE_CONNECTOR + ConfigDef(Password("secret"))

    with pytest.raises(ConfigError) as reported:
        both.parse(LEAST | {"secret": " "})
    assert "[hidden]" in str(reported.value)
