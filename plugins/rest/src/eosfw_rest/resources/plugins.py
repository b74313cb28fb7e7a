"""Installed plugins and the validation of properties (Kafka Connect's `ConnectorPluginsResource`)."""

from __future__ import annotations

from eosfw.protocols import Herder
from eosfw.protocols.herder import WorkerGroupQueries
from eosfw_rest import entities
from eosfw_rest.messages import Answer, RestRequest
from eosfw_rest.resources.bodies import config_of


def list_plugins(request: RestRequest, herder: Herder) -> Answer:
    """The installed connectors, or with `connectorsOnly=false` all plugins."""
    found = herder.plugins(connectors_only=request.flag("connectorsOnly", default=True) is not False)
    return Answer(body=[entities.plugin_info(one) for one in found])


def plugin_config(request: RestRequest, queries: WorkerGroupQueries) -> Answer:
    """The definitions of a plugin's properties (KIP-769)."""
    return Answer(body=[dict(one) for one in queries.plugin_config(request.parameters["plugin"])])


def validate(request: RestRequest, queries: WorkerGroupQueries) -> Answer:
    """Validate properties of a connector; changes nothing."""
    infos = queries.validate(request.parameters["plugin"], config_of(request))
    return Answer(body=entities.config_infos(infos))
