"""Installed plugins and the validation of properties (Kafka Connect's `ConnectorPluginsResource`)."""

from __future__ import annotations

from eosfw.errors import BadRequestError
from eosfw.protocols import Herder
from eosfw_rest import entities
from eosfw_rest.messages import Answer, RestRequest
from eosfw_rest.resources.bodies import config_of

__all__ = ["list_plugins", "plugin_config", "validate"]


def list_plugins(request: RestRequest, herder: Herder) -> Answer:
    """The installed connectors, or with `connectorsOnly=false` all plugins."""
    found = herder.plugins(connectors_only=request.flag("connectorsOnly", default=True) is not False)
    return Answer(body=[entities.plugin_info(one) for one in found])


def plugin_config(request: RestRequest, herder: Herder) -> Answer:
    """The definitions of a plugin's properties (KIP-769)."""
    return Answer(body=[dict(one) for one in herder.plugin_config(request.parameters["plugin"])])


def validate(request: RestRequest, herder: Herder) -> Answer:
    """Validate properties of a connector; changes nothing."""
    plugin = request.parameters["plugin"]
    config = config_of(request)
    included = config.get("connector.class")
    if included is None:
        raise BadRequestError("The connector configuration contains no connector type")
    if not _short(included).endswith(_short(plugin)):
        raise BadRequestError(f"Included connector type {included} does not match request type {plugin}")
    return Answer(body=entities.config_infos(herder.validate(plugin, config)))


def _short(name: str) -> str:
    """A connector may be named with `Connector` at the end, and without."""
    return name.removesuffix("Connector")
