"""Plugins, definitions and validation as Kafka Connect shows them."""

from __future__ import annotations

import pytest

from eosfw.errors import BadRequestError, NotFoundError
from eosfw.registry import load_plugins
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
        "importance": "MEDIUM",
        "documentation": "how many tasks at most",
        "group": None,
        "width": "NONE",
        "display_name": "tasks.max",
        "dependents": [],
        "order": -1,
    }
    assert shown["transaction.boundary"].value["recommended_values"] == ["poll", "interval", "connector"]


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
    kinds = {"source", "transformation", "predicate", "converter"}
    assert {one.type for one in herder.plugins(connectors_only=False)} == kinds
    keys = [key["name"] for key in herder.plugin_config("eosfw_file.connector:FileSourceConnector")]
    assert {"file", "topic", "tasks.max"} <= set(keys)
    with pytest.raises(NotFoundError, match=r"^Unknown plugin nobody\.$"):
        herder.plugin_config("nobody")
