"""Definitions of properties by authors of connectors: types, validators, what user interfaces need."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.config import Boolean, Choice, Class, ConfigDef, Double, Int, Key, List, Long, Password, Short, String
from eosfw.config.definition.java_pattern import JavaPattern
from eosfw.config.definition.kinds import ConnectorName, TopicName
from eosfw.config.validators import all_of, between, each, matches, non_empty, one_of
from eosfw.errors import ConfigError


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        (Boolean("p"), " TRUE ", True),
        (String("p"), "a b", "a b"),
        (Password("p"), "secret", "secret"),
        (Int("p"), "-2147483648", -(2**31)),
        (Short("p"), "32767", 2**15 - 1),
        (Long("p"), "9223372036854775807", 2**63 - 1),
        (Double("p"), "2.5e3", 2500.0),
        (List("p"), "a, b,,c ", ("a", "b", "c")),
        (Class("p", among=(Fraction, Decimal)), "Fraction", Fraction),
        (Class("p", among=(Fraction, Decimal)), "decimal:Decimal", Decimal),
    ],
)
def test_each_type_of_kafka_is_parsed(key: Key, text: str, value: object) -> None:
    """PLG-01: the nine types of Kafka's `ConfigDef.Type`."""
    assert ConfigDef(key).parse({"p": text})["p"] == value


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (Boolean("p"), True),
        (String("p"), "a b"),
        (String("p", validator=matches("[a-z ]+")), "a b"),
        (JavaPattern("p"), re.compile("a b", re.ASCII)),
        (TopicName("p"), "topic"),
        (Password("p"), "secret"),
        (Int("p"), 7),
        (Short("p"), 7),
        (Long("p"), 7),
        (Double("p"), 2.5),
        (Choice("p", among=("one", "two")), "two"),
        (List("p"), ("a b", "c")),
        (Class("p", among=(Fraction,)), Fraction),
    ],
)
def test_blanks_at_the_ends_of_a_value_do_not_count(key: Key, value: object) -> None:
    """PLG-30: `ConfigDef.parseType` trims what Java's `String.trim` does; elements of a list, too."""
    for blanks in (" ", "\t", "\r\n", "\x00 "):
        texts = {Fraction: "Fraction", ("a b", "c"): f"a b{blanks},{blanks}c", re.compile("a b", re.ASCII): "a b"}
        text = texts.get(value, str(value))

        assert ConfigDef(key).parse({"p": f"{blanks}{text}{blanks}"})["p"] == value


@pytest.mark.parametrize(
    ("key", "text", "why"),
    [
        (String("p"), " \t", "String must be non-empty"),
        (Password("p"), "\n", "String must be non-empty"),
        (Int("p"), "1_000", "Not a number of type INT"),
        (Double("p"), "1_0.5", "Not a number of type DOUBLE"),
        (Int("p"), "", "Not a number of type INT"),
        (ConnectorName("p"), " orders", "must be printable, without '/' and without blanks at its ends"),
    ],
)
def test_what_is_left_of_a_value_must_be_valid(key: Key, text: str, why: str) -> None:
    """PLG-30: nothing is left of blanks; digits in groups are Python's alone."""
    with pytest.raises(ConfigError) as refused:
        ConfigDef(key).parse({"p": text})

    assert str(refused.value).endswith(f"for configuration p: {why}")


def test_a_blank_that_is_none_of_javas_stays() -> None:
    """PLG-30: `String.trim` removes what is not above U+0020."""
    assert ConfigDef(String("p")).parse({"p": "\u00a0a\u3000"})["p"] == "\u00a0a\u3000"


@pytest.mark.parametrize(
    ("key", "text", "why"),
    [
        (Short("p"), "32768", "Value must be no more than 32767"),
        (Short("p"), "one", "Not a number of type SHORT"),
        (Double("p"), "one", "Not a number of type DOUBLE"),
        (Double("p"), "nan", "Not a number of type DOUBLE"),
        (Double("p"), "1e999", "Not a number of type DOUBLE"),
        (Double("p", at_least=0.5), "0.25", "Value must be at least 0.5"),
        (Class("p", among=(Fraction,)), "os:system", "Class must be one of: fractions:Fraction"),
        (Int("p", validator=between(2, 5)), "6", "Value must be between 2 and 5"),
        (String("p", validator=one_of("a", "b")), "A", "String must be one of: a, b"),
        (String("p", validator=matches("[a-z]+")), "ab1", "String must match pattern [a-z]+"),
        (String("p", may_be_empty=True, validator=non_empty), "", "String must be non-empty"),
        (List("p", validator=non_empty), ",", "List must be non-empty"),
        (List("p", validator=each(one_of("a", "b"))), "a,c", "String must be one of: a, b"),
        (List("p", validator=all_of(non_empty, each(matches("x.*")))), "xy,z", "String must match pattern x.*"),
    ],
)
def test_a_value_that_is_not_valid_is_refused_with_what_was_expected(key: Key, text: str, why: str) -> None:
    """PLG-01: validators are asked with the parsed value, by the words of Kafka's."""
    with pytest.raises(ConfigError) as refused:
        ConfigDef(key).parse({"p": text})

    assert str(refused.value).endswith(f"for configuration p: {why}")


def test_any_callable_is_a_validator_and_a_default_is_not_asked_about() -> None:
    """PLG-01: a default may be a value that nobody can write."""

    def even(number: int) -> None:
        if number % 2:
            raise ValueError("Value must be even")

    definition = ConfigDef(Int("p", None, validator=even))

    assert definition.parse({})["p"] is None
    with pytest.raises(ConfigError, match="Value must be even"):
        definition.parse({"p": "3"})


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_comes_back_as_it_was_written(number: float) -> None:
    """PLG-01: also the smallest and the largest."""
    key = Double("p")

    assert key.parse(key.shown(number)) == number


def test_a_misspelt_importance_or_width_is_refused_where_it_is_written() -> None:
    """PLG-02: a user interface would not know it."""
    for how in ({"importance": "low"}, {"width": "WIDE"}):
        with pytest.raises(ValueError, match="property 'p': importance is one of HIGH, MEDIUM, LOW, width one of NONE"):
            String("p", **how)  # type: ignore[arg-type]


def test_properties_of_a_group_are_in_the_order_in_which_they_are_defined() -> None:
    """PLG-02: `orderInGroup` need not be written."""
    definition = ConfigDef(
        String("a", group="one"), String("b"), String("c", group="two"), String("d", group="one"),
        String("e", group="one", order=9), String("f", group="one"),
    )  # fmt: skip

    assert definition.groups() == ["one", "two"]
    assert definition.orders() == {"a": 1, "b": -1, "c": 1, "d": 2, "e": 9, "f": 10}


def test_what_is_for_user_interfaces_changes_no_parsed_value() -> None:
    """PLG-02: recommended values are no limits, and hidden properties count."""

    def never(_: Mapping[str, Any]) -> Any:
        raise AssertionError("nobody asked for a recommendation")

    definition = ConfigDef(String("p", "x", recommended=never, visible=never, group="g", importance="LOW"))

    assert dict(definition.parse({"p": "y"})) == {"p": "y"}
