"""All paths of the REST interface with their handlers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from eosfw.protocols import Herder
from eosfw_rest.messages import Answer, RestRequest
from eosfw_rest.resources import connectors, group, internal, loggers, metrics, offsets, plugins, root

Handler = Callable[[RestRequest, Herder], Answer]


@dataclass(frozen=True, slots=True)
class Route:
    """A method and a path, and who answers."""

    method: str
    path: str
    handler: Handler
    query: tuple[str, ...] = ()
    status: int = 200
    """The status code of success."""
    has_body: bool = False
    internal: bool = False
    """For other workers alone: signed, neither forwarded nor documented."""


_ONE: Final = "/connectors/{connector}"
_PLUGIN: Final = "/connector-plugins/{plugin}"
ROUTES: Final[tuple[Route, ...]] = (
    Route("GET", "/", root.server_info),
    Route("GET", "/health", root.health),
    Route("GET", "/metrics", metrics.exposition, query=("connector",)),
    Route("GET", "/group", group.members),
    Route("GET", "/transactions", group.open_transactions),
    Route("GET", "/streaming-queries", group.streaming_queries),
    Route("GET", "/connectors", connectors.list_connectors, query=("expand",)),
    Route("POST", "/connectors", connectors.create, status=201, has_body=True),
    Route("GET", _ONE, connectors.info),
    Route("DELETE", _ONE, connectors.delete, status=204),
    Route("GET", f"{_ONE}/config", connectors.config),
    Route("PUT", f"{_ONE}/config", connectors.put_config, has_body=True),
    Route("PATCH", f"{_ONE}/config", connectors.patch_config, has_body=True),
    Route("GET", f"{_ONE}/status", connectors.status),
    Route("POST", f"{_ONE}/restart", connectors.restart, query=("includeTasks", "onlyFailed"), status=202),
    Route("PUT", f"{_ONE}/pause", connectors.pause, status=202),
    Route("PUT", f"{_ONE}/resume", connectors.resume, status=202),
    Route("PUT", f"{_ONE}/stop", connectors.stop, status=204),
    Route("GET", f"{_ONE}/tasks", connectors.tasks),
    Route("GET", f"{_ONE}/tasks/{{task}}/status", connectors.task_status),
    Route("POST", f"{_ONE}/tasks/{{task}}/restart", connectors.restart_task, status=204),
    Route("GET", f"{_ONE}/topics", connectors.active_topics),
    Route("PUT", f"{_ONE}/topics/reset", connectors.reset_topics, status=202),
    Route("GET", f"{_ONE}/offsets", offsets.show),
    Route("PATCH", f"{_ONE}/offsets", offsets.alter, has_body=True),
    Route("DELETE", f"{_ONE}/offsets", offsets.reset),
    Route("GET", "/connector-plugins", plugins.list_plugins, query=("connectorsOnly",)),
    Route("GET", f"{_PLUGIN}/config", plugins.plugin_config),
    Route("PUT", f"{_PLUGIN}/config/validate", plugins.validate, has_body=True),
    Route("GET", "/admin/loggers", loggers.list_loggers),
    Route("GET", "/admin/loggers/{logger}", loggers.logger),
    Route("PUT", "/admin/loggers/{logger}", loggers.set_level, query=("scope",), has_body=True),
    Route("PUT", f"{_ONE}/fence", internal.fence, status=204, internal=True),
    Route("POST", f"{_ONE}/tasks", internal.put_task_configs, status=204, internal=True),
)


def routes(*, admin: bool) -> tuple[Route, ...]:
    """The routes under `/admin`, or all others."""
    return tuple(route for route in ROUTES if route.path.startswith("/admin/") is admin)
