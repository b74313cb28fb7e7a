"""Translation of Kafka's property names for client libraries (CFG-05, CFG-07, CFG-08)."""

from __future__ import annotations

import pytest

from eosfw.config.translation import Client, Translation, Translator, handled_by_backend, number, problems, seconds
from eosfw.errors import ConfigError

SERVERS = {"bootstrap.servers": "127.0.0.1:1"}
FOREVER = ["2147483647", "9223372036854775807"]


def _color(text: str) -> str:
    if text not in ("red", "green"):
        raise ValueError(text)
    return text.upper()


MINE = Translator(
    "mine",
    {
        "bootstrap.servers": Translation(Client.ANY, "servers"),
        "linger.ms": Translation(Client.PRODUCER, "linger", int),
        "compression.type": Translation(Client.PRODUCER, "color", _color, "Not one of its values"),
        "ssl.key.password": Translation(Client.ANY, "secret", int),
        "fetch.min.bytes": Translation(Client.CONSUMER, "least", int),
        **handled_by_backend(Client.ANY, "max.block.ms"),
    },
    hints={"sasl.jaas.config": "say sasl.username instead"},
    defaults={Client.ANY: {"patience": 7}, Client.PRODUCER: {"linger": 20}},
    fixed={Client.CONSUMER: {"group": "none", "least": 1}},
)


def test_a_client_gets_its_own_properties_in_its_library_s_words() -> None:
    """CFG-07: converted; another kind's properties are left out in silence, as are those the backend acts on."""
    given = {**SERVERS, "linger.ms": "5", "fetch.min.bytes": "9", "max.block.ms": "10"}

    assert MINE.translate(given, Client.PRODUCER) == {"servers": "127.0.0.1:1", "linger": 5, "patience": 7}
    assert MINE.translate(given, Client.ADMIN) == {"servers": "127.0.0.1:1", "patience": 7}


def test_client_properties_are_layered_with_enforced_ones_on_top() -> None:
    """CFG-07: what a guarantee rests on cannot be talked away."""
    assert MINE.translate(SERVERS, Client.PRODUCER)["linger"] == 20
    assert MINE.translate({**SERVERS, "linger.ms": "5"}, Client.PRODUCER)["linger"] == 5
    assert MINE.translate({**SERVERS, "linger.ms": "5"}, Client.PRODUCER, {"linger.ms": "6"})["linger"] == 6
    assert MINE.translate(SERVERS, Client.CONSUMER, {"fetch.min.bytes": "9"})["least"] == 1


@pytest.mark.parametrize("name", ["linger.ms", "compression.type", "max.block.ms", "bootstrap.servers"])
@pytest.mark.parametrize("value", [False, 5, None])
def test_a_value_that_is_no_text_is_refused(name: str, value: object) -> None:
    """Bad input: `False` where Kafka's properties have `"false"`."""
    refusal = [f"Invalid value {value} for configuration {name}: it must be a text (str)"]

    with pytest.raises(ConfigError) as connecting:
        MINE.check({**SERVERS, name: value})  # type: ignore[dict-item]
    with pytest.raises(ConfigError) as overriding:
        MINE.translate(SERVERS, Client.PRODUCER, {name: value})  # type: ignore[dict-item]

    assert [problem.what for problem in connecting.value.problems] == refusal
    assert [problem.what for problem in overriding.value.problems] == refusal


def test_a_secret_that_is_no_text_is_not_shown() -> None:
    """Bad input: a password of digits alone, without quotes."""
    with pytest.raises(ConfigError) as caught:
        MINE.check({**SERVERS, "ssl.key.password": 12345})  # type: ignore[dict-item]

    assert "12345" not in str(caught.value)


def test_every_unknown_name_is_refused_at_once_with_a_remedy() -> None:
    """CFG-05: never a property that is quietly dropped."""
    wrong = {"linger.m": "5", "sasl.jaas.config": "x", "interceptor.classes": "x"}

    with pytest.raises(ConfigError) as caught:
        MINE.check(wrong)

    assert [problem.what for problem in caught.value.problems] == [
        "the mine backend cannot translate linger.m: did you mean linger.ms?",
        "the mine backend cannot translate sasl.jaas.config: say sasl.username instead",
        "the mine backend cannot translate interceptor.classes: remove it, or choose another backend",
        'Missing required configuration "bootstrap.servers"; say HOST:PORT of a broker',
    ]


def test_a_property_of_another_client_kind_is_refused_in_an_override() -> None:
    """CFG-07: `producer.override.fetch.min.bytes` is a mistake, `fetch.min.bytes` of the whole backend is none."""
    MINE.check({**SERVERS, "fetch.min.bytes": "1"})

    with pytest.raises(ConfigError, match=r"fetch\.min\.bytes is no property of a Kafka producer client"):
        MINE.translate(SERVERS, Client.PRODUCER, {"fetch.min.bytes": "1"})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"linger.ms": "soon"}, "Invalid value soon for configuration linger.ms: Not a number"),
        ({"compression.type": "zip"}, "Invalid value zip for configuration compression.type: Not one of its values"),
        ({"ssl.key.password": "hush"}, "Invalid value [hidden] for configuration ssl.key.password: Not a number"),
    ],
)
def test_an_untranslatable_value_is_refused_before_any_client_is_made(wrong: dict[str, str], message: str) -> None:
    """CFG-05: a secret is never shown."""
    with pytest.raises(ConfigError) as caught:
        MINE.check({**SERVERS, **wrong})

    assert [problem.what for problem in caught.value.problems] == [message]


def test_a_backend_without_a_translation_table_reports_its_own_problems() -> None:
    """CFG-05: one that acts on every property itself has nothing to translate."""
    known = {"linger.ms": Client.PRODUCER}

    found = problems({"linger.ms": "5", "lingerms": "5"}, Client.ADMIN, known, "the own backend does not know")

    assert [problem.what for problem in found] == [
        "linger.ms is no property of a Kafka admin client",
        "the own backend does not know lingerms: did you mean linger.ms?",
    ]


@pytest.mark.parametrize("forever", FOREVER)
def test_an_infinite_java_timeout_becomes_the_default_deadline(forever: str) -> None:
    """CFG-08: a finite wait stays what it was."""
    assert seconds({"max.block.ms": forever}, "max.block.ms", 60.0) == 60.0
    assert seconds({"max.block.ms": "1500"}, "max.block.ms", 60.0) == 1.5
    assert seconds({"max.block.ms": " "}, "max.block.ms", 60.0) == 60.0
    assert seconds({}, "max.block.ms", 60.0) == 60.0


def test_a_property_that_is_no_number_is_a_configuration_error() -> None:
    """CFG-05."""
    assert number({"buffer.memory": " 9 "}, "buffer.memory", 7) == 9
    assert number({}, "buffer.memory", 7) == 7
    with pytest.raises(ConfigError, match=r"Invalid value much for configuration buffer\.memory: Not a number"):
        number({"buffer.memory": "much"}, "buffer.memory", 7)


def test_a_number_below_zero_is_a_configuration_error() -> None:
    """As in Java, where each of these numbers is `atLeast(0)`."""
    expected = r"Invalid value -1 for configuration default\.api\.timeout\.ms: Value must be at least 0"
    with pytest.raises(ConfigError, match=expected):
        seconds({"default.api.timeout.ms": "-1"}, "default.api.timeout.ms", 30.0)
