"""Plugins, definitions and validation as Kafka Connect shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.kip618.group import GroupPlugins
from tests.runtime.counting import CountingConnector

from eosfw import __version__
from eosfw.config import Choice, Class, ConfigDef, Password, String
from eosfw.errors import BadRequestError, NotFoundError
from eosfw.registry import Plugins, load_plugins
from eosfw.runtime.distributed.config_infos import config_key_infos
from pytest_eos.runs.groups.herders import HerderGroup

FILE = {"connector.class": "file", "name": "f", "file": __file__, "topic": "t"}


@pytest.fixture
def group(cluster):
    """A group with what is installed."""
    with HerderGroup(cluster, load_plugins(), "g") as group:
        yield group


def test_validation_shows_each_definition_with_its_value(group):
    herder = group.start()
    infos = herder.validate("FileSourceConnector", {**FILE, "tasks.max": "3"})
    assert [info.value["errors"] for info in infos.configs if info.value["errors"]] == []
    assert (infos.name, infos.error_count) == ("file", 0)
    shown = {str(info.value["name"]): info for info in infos.configs}
    assert shown["tasks.max"].value == {
        "name": "tasks.max",
        "value": "3",
        "recommended_values": [],
        "errors": [],
        "visible": True,
    }
    assert shown["tasks.max"].definition == {
        "name": "tasks.max",
        "type": "INT",
        "required": False,
        "default_value": "1",
        "importance": "HIGH",
        "documentation": "how many tasks at most",
        "group": "Common",
        "width": "SHORT",
        "display_name": "Tasks max",
        "dependents": [],
        "order": 4,
    }
    assert shown["transaction.boundary"].value["recommended_values"] == ["poll", "interval", "connector"]


def test_validation_shows_what_groups_of_topics_have(group):
    """TPC-03: as Kafka Connect does, with an error at its place."""
    herder = group.start()
    groups = {"topic.creation.groups": "logs", "topic.creation.default.partitions": "3"}
    given = {"topic.creation.logs.include": "log.*", "topic.creation.logs.replication.factor": "0"}
    infos = herder.validate("file", {**FILE, **groups, **given})

    shown = {str(info.value["name"]): info for info in infos.configs if "logs" in str(info.value["name"])}
    assert [name.removeprefix("topic.creation.logs.") for name in shown] == [
        "include", "exclude", "replication.factor", "partitions",
    ]  # fmt: skip
    include, _, replicas, partitions = shown.values()
    assert include.value["value"] == "log.*"
    assert include.definition["group"] == "Topic Creation: logs"
    assert (partitions.definition["type"], partitions.definition["default_value"]) == ("INT", "3")
    assert replicas.definition["display_name"] == "Replication Factor for Topics in logs"
    assert "Replication factor must be positive" in replicas.value["errors"][0]
    assert infos.error_count == 1


CHANGED = {
    **FILE,
    "transforms": "line,at",
    "transforms.line.type": "HoistField$Value",
    "transforms.line.field": "line",
    "transforms.line.predicate": "some",
    "transforms.at.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "predicates": "some",
    "predicates.some.type": "TopicNameMatches",
}


def test_validation_shows_what_transformations_and_predicates_take(group: HerderGroup) -> None:
    """PLG-33: a group for each alias, in Kafka Connect's order, with an error at its place."""
    infos = group.start().validate("file", CHANGED)

    shown = {str(info.value["name"]): info for info in infos.configs}
    assert infos.groups[-3:] == ["Transforms: line", "Transforms: at", "Predicates: some"]
    line = [name for name, info in shown.items() if (info.definition or {}).get("group") == "Transforms: line"]
    assert [name.removeprefix("transforms.line.") for name in line] == [
        "type", "plugin.version", "field", "negate", "predicate",
    ]  # fmt: skip
    assert [shown[name].definition["order"] for name in line] == [0, 1, 2, 3, 4]
    kind, field, predicate = shown["transforms.line.type"], shown["transforms.line.field"], shown[line[-1]]
    assert (kind.definition["type"], kind.definition["display_name"]) == ("CLASS", "Transformation type for line")
    assert {"Cast$Value", "ValueToKey"} <= set(kind.value["recommended_values"])
    assert (field.definition["display_name"], field.value["value"]) == ("field", "line")
    assert predicate.value["recommended_values"] == ["some"]
    assert shown["predicates.some.pattern"].value["errors"] == [
        'Missing required configuration "predicates.some.pattern" which has no default value'
    ]
    (error,) = [error for info in infos.configs for error in info.value["errors"] if "InsertField" in error]
    assert error.startswith("transforms.at: No field insertion configured: InsertField$Value needs one of topic.field")


def test_validation_shows_which_converters_there_are(cluster: Any) -> None:
    """PLG-33: with the worker's as the default, and the version that is installed."""
    with HerderGroup(cluster, load_plugins(), "g", **{"value.converter": "string"}) as group:
        infos = group.start().validate("file", FILE)

    shown = {str(info.value["name"]): info for info in infos.configs}
    assert {"json", "string"} <= set(shown["value.converter"].value["recommended_values"])
    assert "simple" not in shown["value.converter"].value["recommended_values"]
    assert "simple" in shown["header.converter"].value["recommended_values"]
    assert shown["value.converter"].definition["type"] == "CLASS"
    assert shown["value.converter"].definition["default_value"] == "string"
    assert shown["key.converter"].definition["default_value"] is None
    assert shown["key.converter.plugin.version"].definition["display_name"] == "Key converter version"
    assert shown["connector.plugin.version"].value["recommended_values"] == [__version__]


@pytest.mark.parametrize("alias", ["nowhere", "", "line"])
def test_validation_of_an_alias_without_a_known_class_says_so(group: HerderGroup, alias: str) -> None:
    """PLG-33: what every alias has is shown all the same."""
    given = {**FILE, "transforms": "a", "transforms.a.type": alias}
    infos = group.start().validate("file", {name: text for name, text in given.items() if text})

    shown = {str(info.value["name"]): info for info in infos.configs}
    assert shown["transforms.a.type"].value["errors"]
    assert shown["transforms.a.negate"].definition["default_value"] == "false"


def test_each_error_stands_at_the_property_it_is_about(group):
    herder = group.start()
    infos = herder.validate("file", {**FILE, "tasks.max": "0", "flie": "x", "topic": None})
    errors = {str(info.value["name"]): info.value["errors"] for info in infos.configs if info.value["errors"]}
    assert errors["tasks.max"] == ["Invalid value 0 for configuration tasks.max: Value must be at least 1"]
    assert errors["flie"] == ["unknown configuration 'flie'; did you mean 'file'?"]
    assert "topic: Null value can not be supplied as the configuration value." in errors["topic"]
    assert infos.error_count == sum(map(len, errors.values()))
    assert next(info for info in infos.configs if info.value["name"] == "flie").definition is None


def test_properties_of_another_plugin_are_refused(group):
    herder = group.start()
    with pytest.raises(BadRequestError, match=r"^Connector config contains no connector type$"):
        herder.validate("file", {})
    with pytest.raises(BadRequestError, match="no connector 'nobody'"):
        herder.validate("file", {**FILE, "connector.class": "nobody"})


def test_plugins_are_listed_by_class_and_describe_their_properties(group):
    herder = group.start()
    listed = [(one.class_name, one.type) for one in herder.plugins(connectors_only=True)]
    assert ("eosfw_file.connector:FileSourceConnector", "source") in listed
    kinds = {"source", "transformation", "predicate", "converter", "header_converter"}
    assert {one.type for one in herder.plugins(connectors_only=False)} == kinds
    keys = [key["name"] for key in herder.plugin_config("eosfw_file.connector:FileSourceConnector")]
    assert {"file", "topic", "tasks.max"} <= set(keys)
    with pytest.raises(NotFoundError, match=r"^Unknown plugin nobody\.$"):
        herder.plugin_config("nobody")


def test_definitions_of_a_connector_import_no_other_plugin(group, monkeypatch):
    """A page of the console shows them, and importing all plugins takes seconds."""
    monkeypatch.setattr(Plugins, "imported", lambda _: pytest.fail("all plugins were imported"))

    assert group.start().plugin_config("file")


class Asked:
    """A source that counts how often it is asked for its tables."""

    def __init__(self) -> None:
        self.values: list[Mapping[str, Any]] = []
        self.error: Exception | None = None

    def tables(self, values: Mapping[str, Any]) -> Iterator[str]:
        self.values.append(values)
        if self.error is not None:
            raise self.error
        yield from (f"{values['database']}.orders", "in-" + (values["password"] or ""))


class Tables(CountingConnector):
    name = "tables"
    source = Asked()
    config = CountingConnector.config + ConfigDef(
        Choice(
            "mode", "table", "what is read", among=("table", "query"), dependents=("table", "query"), group="Reading"
        ),
        String("database", doc="where tables are", group="Reading", dependents=("table", "again"), width="SHORT"),
        Password("password", "", "of the database", importance="LOW"),
        String(
            "table",
            None,
            "which one",
            recommended=source.tables,
            visible=lambda values: values["mode"] == "table",
            group="Reading",
            display_name="Table",
        ),
        String("again", None, "another one", recommended=source.tables),
        String("query", None, "which one", visible=lambda values: values["mode"] == "query", dependents=("nobody",)),
        Class("format", Asked, "how", among=(Asked,)),
    )


TABLES = {"connector.class": "tables", "name": "t", "topic": "t", "database": "shop", "password": "canary"}


@pytest.fixture
def validated(cluster):
    """The outcome of a validation of `tables`, by property."""
    Tables.source.values.clear()
    Tables.source.error = None
    with HerderGroup(cluster, GroupPlugins(Tables()), "g") as group:
        herder = group.start()

        def validate(**changes):
            infos = herder.validate("tables", {**TABLES, **changes})
            return infos, {str(info.value["name"]): info for info in infos.configs}

        yield validate


def test_a_user_interface_is_shown_every_field_of_a_definition(validated):
    """PLG-02: all fields of Connect's `ConfigKeyInfo`."""
    infos, shown = validated()
    assert shown["table"].definition == {
        "name": "table",
        "type": "STRING",
        "required": False,
        "default_value": None,
        "importance": "MEDIUM",
        "documentation": "which one",
        "group": "Reading",
        "width": "NONE",
        "display_name": "Table",
        "dependents": [],
        "order": 3,
    }
    assert shown["database"].definition["width"] == "SHORT"
    assert shown["database"].definition["dependents"] == ["table", "again"]
    assert shown["format"].definition["type"] == "CLASS"
    assert shown["format"].value["value"] == f"{__name__}:Asked"
    assert [name for name in infos.groups if name in ("Common", "Reading")] == ["Common", "Reading"]
    assert {key["name"]: key for key in config_key_infos(Tables.config)}["table"]["order"] == 3


def test_values_are_recommended_by_the_values_of_other_properties_once_in_a_request(validated):
    """PLG-03: two properties have one recommender, which may ask the source; a secret in an answer is hidden."""
    _, shown = validated()
    assert shown["table"].value["recommended_values"] == ["shop.orders", "in-[hidden]"]
    assert shown["again"].value["recommended_values"] == ["shop.orders", "in-[hidden]"]
    assert len(Tables.source.values) == 1
    assert Tables.source.values[0]["mode"] == "table"
    assert shown["mode"].value["recommended_values"] == ["table", "query"]
    validated()
    assert len(Tables.source.values) == 2


def test_a_property_is_visible_when_the_values_of_others_leave_it_a_meaning(validated):
    """PLG-03: `visible` follows what was written."""
    for mode, visible in (("table", (True, False)), ("query", (False, True))):
        _, shown = validated(mode=mode)
        assert (shown["table"].value["visible"], shown["query"].value["visible"]) == visible


def test_a_recommender_that_fails_is_an_error_of_its_property_without_a_secret(validated):
    """PLG-03: and what can be recommended otherwise is; a value that cannot be parsed is None to it."""
    Tables.source.error = RuntimeError("no access with canary")
    infos, shown = validated(streams="many")
    assert shown["table"].value["errors"] == [
        "table: no values can be recommended: RuntimeError: no access with [hidden]"
    ]
    assert Tables.source.values[0]["streams"] is None
    assert infos.error_count == len(shown["table"].value["errors"]) + 3  # again, streams, nobody


def test_a_dependent_that_is_not_defined_is_named(validated):
    """PLG-02: by Kafka's words."""
    _, shown = validated()
    assert shown["nobody"].value["errors"] == ["nobody is referred in the dependents, but not defined."]


def test_properties_of_the_framework_are_in_the_groups_of_kafka_connect(group):
    """PLG-02: a user interface arranges them as it does those of a Java worker."""
    infos = group.start().validate("file", FILE)
    shown = {info.definition["name"]: info.definition for info in infos.configs}
    recorded = Path(__file__).parents[1] / "rest" / "connect_answers.json"
    calls = [
        json.loads(line.rstrip(",\n")) for line in recorded.read_text().splitlines() if '"call": "PUT /conn' in line
    ]
    theirs = next(one["body"] for one in calls if "configs" in one["body"])
    for config in theirs["configs"]:
        expected = config["definition"]
        if expected["group"] is not None:
            found = shown[expected["name"]]
            same = ("type", "required", "default_value", "importance", "group", "width", "display_name", "dependents")
            assert {name: found[name] for name in same} == {name: expected[name] for name in same}
    assert set(infos.groups) <= set(theirs["groups"])
