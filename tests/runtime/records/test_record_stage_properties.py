"""Properties of transformations, predicates and converters are validated before tasks are replaced."""

from __future__ import annotations

from typing import ClassVar

import pytest

from eosfw.config import Config, ConfigDef
from eosfw.errors import ConfigError
from eosfw.records import SourceRecord

from ..scripted_task import connector_of, record, scripted
from ..worker_harness import WorkerHarness


def one(kind: str, **own: str) -> dict[str, str]:
    """One transformation with alias `a`."""
    return {
        "transforms": "a",
        "transforms.a.type": kind,
        **{f"transforms.a.{name}": text for name, text in own.items()},
    }


def chosen_by(predicate: str, alias: str, kind: str) -> dict[str, str]:
    """A filter with a predicate."""
    return {**one("Filter", predicate=predicate), "predicates": alias, f"predicates.{alias}.type": kind}


REFUSED = {
    "no type": ({"transforms": "a"}, 'Missing required configuration "transforms.a.type"'),
    "unknown type": (one("RegexRooter"), "transforms.a.type: no transformation 'RegexRooter'; installed: Cast$Key,"),
    "nearest type": (one("RegexRooter"), "Did you mean 'RegexRouter'?"),
    "unknown predicate type": (chosen_by("p", "p", "HasHeader"), "Did you mean 'HasHeaderKey'?"),
    "unknown converter": ({"value.converter": "jason"}, "Did you mean 'json'?"),
    "property of a transformation": (
        one("RegexRouter", regexp="x", replacement=""),
        "unknown configuration 'transforms.a.regexp'; did you mean 'transforms.a.regex'?",
    ),
    "regular expression": (
        one("RegexRouter", regex="(", replacement=""),
        "Invalid value ( for configuration transforms.a.regex: Invalid regular expression",
    ),
    "group of a replacement": (one("RegexRouter", regex="x", replacement="$1"), "No group 1"),
    "pattern of a time": (
        one("TimestampRouter", **{"timestamp.format": "yyyyQ"}),
        "Illegal pattern character 'Q'",
    ),
    "nothing to insert": (one("InsertField$Value"), "No field insertion configured"),
    "property of a converter": (
        {"value.converter": "json", "value.converter.schema.enable": "false"},
        "did you mean 'value.converter.schemas.enable'?",
    ),
    "property without converter": ({"key.converter.schemas.enable": "false"}, "say key.converter, too"),
    "undefined predicate": (
        chosen_by("even", "evens", "RecordIsTombstone"),
        "for configuration transforms.a.predicate: there is no such predicate; did you mean 'evens'?",
    ),
    "unused predicate": (
        {"predicates": "p", "predicates.p.type": "RecordIsTombstone"},
        "no transformation uses predicate 'p'",
    ),
    "negation of nothing": (one("Filter", negate="true"), "transforms.a.negate negates nothing"),
    "negation that is neither": (
        {**chosen_by("p", "p", "RecordIsTombstone"), "transforms.a.negate": "yes"},
        "Invalid value yes for configuration transforms.a.negate",
    ),
    "alias that is not named": ({**one("Filter"), "transforms.b.type": "Filter"}, "add 'b' to transforms"),
    "alias twice": ({"transforms": "a,a"}, "Duplicate alias provided."),
    "tolerance": ({"errors.tolerance": "al"}, "did you mean all?"),
}


@pytest.mark.parametrize(("properties", "message"), REFUSED.values(), ids=REFUSED)
def test_wrong_properties_are_refused_before_tasks_are_replaced(properties: dict[str, str], message: str):
    with WorkerHarness(connector_of(scripted([record(1)]))) as stage:
        stage.put("c")
        stage.until_drained()
        before = stage.worker.status().connectors["c"].generation
        with pytest.raises(ConfigError) as refused:
            stage.worker.put_connector("c", {"connector.class": "made", "topic": "t", **properties})
        assert stage.worker.status().connectors["c"].generation == before

    assert message in str(refused.value)


class Broken:
    """Raises what is no ConfigError."""

    name = "broken"
    config: ClassVar = ConfigDef()

    def configure(self, config: Config) -> None:
        raise KeyError("oops")

    def apply(self, record: SourceRecord) -> SourceRecord:
        return record


def test_a_part_that_fails_when_it_is_configured_is_a_problem():
    """CFG-04: a fault of a plugin must not end the worker."""
    with (
        WorkerHarness(connector_of(scripted()), parts=[Broken]) as stage,
        pytest.raises(ConfigError, match=r"transforms\.a\.type: it failed when it was configured: KeyError: 'oops'"),
    ):
        stage.put("c", transforms="a", transforms_a_type="broken")


def test_a_worker_with_an_unknown_converter_does_not_start():
    stage = WorkerHarness(value_converter="jason")

    with pytest.raises(ConfigError, match=r"value\.converter: no converter 'jason'.* Did you mean 'json'"):
        stage.worker.start()


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("org.apache.kafka.connect.json.JsonConverter", "json"),
        ("org.apache.kafka.connect.storage.StringConverter", "string"),
        ("org.apache.kafka.connect.converters.ByteArrayConverter", "bytes"),
    ],
)
def test_kafka_connects_class_names_choose_the_same_parts(alias: str, name: str):
    with WorkerHarness(connector_of(scripted([record(1)]))) as stage:
        stage.put("c", value_converter=alias)
        stage.until_drained()
        wanted = b'{"schema":null,"payload":"MQ=="}' if name == "json" else b"1"
        assert stage.cluster.committed("t") == [wanted]
