"""A route for probes: `GET /ready` answers 200 while all connectors and their tasks run, else 503 and which do not.

"rest.extension.classes" = "readiness"
"rest.extension.classes.readiness.connectors" = "orders, payments"
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from eosfw import Config, ConfigDef, List, hookimpl
from eosfw.errors import NotFoundError
from eosfw.protocols import ConnectClusterState, RestExtensionContext


class ReadinessRoute:
    """Adds `GET /ready`."""

    name = "readiness"
    config = ConfigDef(List("connectors", (), "connectors that must run; default: all that there are"))

    def configure(self, config: Config) -> None:
        self._connectors = config["connectors"]

    def register(self, context: RestExtensionContext) -> None:
        state = context.cluster_state

        def ready(_: Request) -> JSONResponse:  # no `async`: the state of the cluster may have to be waited for
            waiting = {name: text for name in self._connectors or state.connectors() if (text := _problem(state, name))}
            return JSONResponse({"waiting": waiting}, 503 if waiting else 200)

        context.routes.append(Route("/ready", ready))

    def version(self) -> str:
        return "1.0"

    def close(self) -> None:
        pass


def _problem(state: ConnectClusterState, name: str) -> str | None:
    try:
        health = state.connector_health(name)
    except NotFoundError:
        return "there is no such connector"
    states = {"connector": health.connector.state} | {f"task {task.id}": task.state for task in health.tasks}
    return ", ".join(f"{what} {one}" for what, one in states.items() if one != "RUNNING") or None


@hookimpl
def eosfw_rest_extensions() -> list[type[ReadinessRoute]]:
    return [ReadinessRoute]
