"""What a herder tells of plugins, and its validation of connectors (`AbstractHerder.validateConnectorConfig`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from eosfw.config import Config, ConfigDef
from eosfw.config.connector import SOURCE_CONNECTOR
from eosfw.config.connector.topic_creation import group_definitions
from eosfw.config.parts import Aliased, Configurable
from eosfw.errors import BadRequestError, NotFoundError, PluginError, Problem
from eosfw.protocols.herder import ConfigInfos, ConnectorPluginInfo
from eosfw.registry import Plugins
from eosfw.registry.part_definitions import with_part_definitions
from eosfw.runtime.checks.log_redaction import redacted_log
from eosfw.runtime.checks.preflight import Validation, connector_validation
from eosfw.runtime.distributed.config_infos import Recommendation, config_infos, config_key_infos, recommendations
from eosfw.runtime.tasks.planner import TaskPlanner

_TYPES = {
    "connector": "source",
    "converter": "converter",
    "header converter": "header_converter",
    "transformation": "transformation",
    "predicate": "predicate",
}
"""Roles of plugins that Kafka Connect lists, with its words."""
_NULL = "Null value can not be supplied as the configuration value."


class PluginQueries:
    """Answers about plugins and properties; changes nothing."""

    def __init__(self, config: Config, plugins: Plugins, planner: TaskPlanner) -> None:
        self._config, self._plugins, self._planner = config, plugins, planner

    def plugins(self, *, connectors_only: bool) -> list[ConnectorPluginInfo]:
        """The installed plugins that Kafka Connect would list."""
        return [
            ConnectorPluginInfo(class_name(one.cls), _TYPES[one.role], one.version)
            for one in self._plugins.imported().registered()
            if one.role in _TYPES and (one.role == "connector" or not connectors_only)
        ]

    def plugin_config(self, plugin: str) -> list[Mapping[str, Any]]:
        """The definitions of a plugin's properties."""
        # A connector first, and it alone: to import every plugin that is installed takes seconds.
        with suppress(PluginError):
            return [*config_key_infos(_definition("connector", type(self._plugins.connector(plugin))))]
        for one in self._plugins.imported().registered():
            if one.role in _TYPES and plugin in _names(one.cls):
                return [*config_key_infos(_definition(one.role, one.cls))]
        raise NotFoundError(f"Unknown plugin {plugin}.")

    def validate(self, plugin: str, config: Mapping[str, str | None]) -> ConfigInfos:
        """Validate properties for a connector plugin."""
        given = dict(config)
        self._require_same_plugin(plugin, given.get("connector.class"))
        return self.validate_connector(given.get("name") or "", given)

    def validate_connector(self, name: str, given: Mapping[str, str | None]) -> ConfigInfos:
        """Validate all properties of a connector."""
        texts = {one: text for one, text in given.items() if text is not None}
        connector_class = texts.get("connector.class")
        if connector_class is None:
            raise BadRequestError("Connector config contains no connector type")
        try:
            definition: ConfigDef = SOURCE_CONNECTOR + self._plugins.connector(connector_class).config
        except PluginError as error:
            raise BadRequestError(str(error)) from error
        found = connector_validation(self._plugins, self._config, name, texts, self._planner.facts.problems)
        definition += group_definitions(found.values)
        definition = with_part_definitions(definition, self._plugins, self._config.given, texts, found.values)
        nulls = [Problem("", f"{one}: {_NULL}") for one, text in given.items() if text is None]
        with redacted_log(found.redacted):  # the connector may look into its source
            recommended = _recommended(definition, found)
        return config_infos(connector_class, definition, given, [*nulls, *found.problems], recommended)

    def _require_same_plugin(self, plugin: str, connector_class: str | None) -> None:
        if connector_class is None:
            return  # validation says so
        try:
            same = type(self._plugins.connector(plugin)) is type(self._plugins.connector(connector_class))
        except PluginError as error:
            raise BadRequestError(str(error)) from error
        if not same:
            raise BadRequestError(f"Included connector type {connector_class} does not match request type {plugin}")


def _recommended(definition: ConfigDef, found: Validation) -> dict[str, Recommendation]:
    """What properties recommend, without secrets: the connector is given those, to look into its source."""
    return {
        name: replace(
            one,
            values=tuple(found.redacted(value) if isinstance(value, str) else value for value in one.values),
            error=None if one.error is None else found.redacted(one.error),
        )
        for name, one in recommendations(definition, found.values).items()
    }


def _names(cls: type[Any]) -> tuple[str, ...]:
    aliases = cls.aliases if isinstance(cls, Aliased) else ()
    return (cls.name, cls.__name__, class_name(cls), *aliases)


def class_name(cls: type[Any]) -> str:
    """The name of a plugin's class, as `connector.class` takes it."""
    return f"{cls.__module__}:{cls.__qualname__}"


def _definition(role: str, cls: type[Any]) -> ConfigDef:
    if role == "connector":
        definition: ConfigDef = SOURCE_CONNECTOR + cls.config
        return definition
    return cls.config if isinstance(cls, Configurable) else ConfigDef()
