"""Extensions of the REST interface, registered (Kafka Connect's `RestServer.registerRestExtensions`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from eosfw.errors import ConfigError, Problem
from eosfw.protocols import Herder, RestCalls, RestExtension, RestExtensionContext
from eosfw.protocols.herder import ConnectorStateInfo, ServerInfo
from eosfw_rest.routes import ROUTES

_log = logging.getLogger(__name__)


class HerderClusterState:
    """What a herder knows, without what it can change (Kafka Connect's `ConnectClusterStateImpl`)."""

    def __init__(self, herder: Herder) -> None:
        self._herder = herder

    def connectors(self) -> Sequence[str]:
        return self._herder.connectors()

    def connector_health(self, name: str) -> ConnectorStateInfo:
        return self._herder.connector_status(name)

    def connector_config(self, name: str) -> Mapping[str, str]:
        return dict(self._herder.connector_info(name).config)

    def cluster_details(self) -> ServerInfo:
        return self._herder.server_info()


def registered(extensions: Sequence[RestExtension], herder: Herder, rest: RestCalls) -> RestExtensionContext:
    """The routes and middleware of all extensions; ConfigError if one asks for a path that is taken."""
    context = RestExtensionContext(HerderClusterState(herder), rest)
    taken = {route.path for route in ROUTES} | {"/openapi.json"}
    for extension in extensions:
        before = len(context.routes)
        extension.register(context)
        _log.info("REST extension %s, version %s", extension.name, extension.version())
        for path in [route.path for route in context.routes[before:]]:
            # The route that comes first would answer, and the other one never.
            if path in taken:
                what = f"rest.extension.classes: {extension.name!r} adds {path}, which is taken: give it another path"
                raise ConfigError(Problem("", what))
            taken.add(path)
    return context
