"""Whether the installed version of a plugin is the one that a configuration asks for (KIP-891).

Python has one version of a distribution installed: it fits, or is refused. Kafka Connect may have several.
"""

from __future__ import annotations

from eosfw.config.connector import CONNECTOR_VERSION
from eosfw.config.definition.version_range import PluginVersion, VersionRange
from eosfw.config.parts import PLUGIN_VERSION, PartChoice
from eosfw.connectors import SourceConnector
from eosfw.errors import ConfigError, Problem
from eosfw.registry.lookup import Plugins


def connector_version_problem(plugins: Plugins, connector: SourceConnector, wanted: VersionRange | None) -> str | None:
    """Why a connector is not the one that `connector.plugin.version` asks for."""
    if wanted is None:
        return None
    return _problem(CONNECTOR_VERSION, connector.name, connector.version or plugins.version_of(type(connector)), wanted)


def refuse_other_version(plugins: Plugins, choice: PartChoice, part: object) -> None:
    """Raise ConfigError unless a part is of the version that is asked for."""
    if choice.version is None:
        return
    name = f"{choice.key}.{PLUGIN_VERSION}"
    try:
        wanted = PluginVersion(name).parse(choice.version)
    except ValueError as why:
        raise ConfigError(Problem("", f"Invalid value {choice.version} for configuration {name}: {why}")) from None
    if wanted is not None and (refused := _problem(name, choice.name, plugins.version_of(type(part)), wanted)):
        raise ConfigError(Problem("", refused))


def _problem(name: str, plugin: str | None, version: str | None, wanted: VersionRange) -> str | None:
    if version is not None and wanted.contains(version):
        return None
    return f"{name}: Plugin {plugin} has version {version} which does not match the required version range {wanted}"
