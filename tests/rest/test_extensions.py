"""Extensions add to the REST interface of a worker, and read the state of its group."""

from __future__ import annotations

import pytest
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from eosfw import Config, ConfigDef, Int
from eosfw.concurrency import ThreadRuntime
from eosfw.config.worker import WORKER
from eosfw.errors import ConfigError
from eosfw.protocols import RestExtensionContext
from eosfw.registry import Plugins, load_plugins
from eosfw.registry.lookup import PluginSource, RegisteredPlugin
from eosfw.registry.parts import worker_problems
from eosfw_rest.authentication import token_line
from eosfw_rest.server import ConnectRestServer

from .conftest import LOOPBACK
from .raw_http import exchange, request


class Counter:
    """An ASGI middleware that counts requests."""

    def __init__(self, app, counted: list[str]) -> None:
        self.app, self.counted = app, counted

    async def __call__(self, scope, receive, send) -> None:
        self.counted.append(scope["path"])
        await self.app(scope, receive, send)


class Overview:
    """Shows all that an extension may know."""

    name = "overview"
    config = ConfigDef(Int("most", 10))

    def __init__(self, path: str = "/overview") -> None:
        self.path, self.counted, self.closed = path, list[str](), 0

    def configure(self, config: Config) -> None:
        self.most = config["most"]

    def register(self, context: RestExtensionContext) -> None:
        state = context.cluster_state

        def overview(_: Request) -> JSONResponse:
            names = state.connectors()
            return JSONResponse(
                {
                    "states": {name: state.connector_health(name).connector.state for name in names},
                    "topics": {name: state.connector_config(name)["topic"] for name in names},
                    "cluster": state.cluster_details().kafka_cluster_id,
                }
            )

        context.routes.append(Route(self.path, overview))
        context.middleware.append(Middleware(Counter, counted=self.counted))

    def version(self) -> str:
        return "1.0"

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def serve(herder):
    """Serve a herder with an extension; return the address."""
    servers = []

    def start(extension: Overview, **properties: str) -> str:
        config = (WORKER + ConnectRestServer.config).parse({"group.id": "rest", "listeners": LOOPBACK, **properties})
        servers.append(ConnectRestServer.start(config, ThreadRuntime()))
        servers[-1].serve(herder, [extension])
        return servers[-1].url.removeprefix("http://")

    yield start
    for server in servers:
        server.close()


def test_an_extension_answers_with_the_state_of_the_cluster(serve, herder):
    herder.put_connector("orders", {"name": "orders", "connector.class": "file", "file": "x", "topic": "t"})
    extension = Overview()
    address = serve(extension)

    status, answer = exchange(address, request("GET", "/overview"))

    assert (status, answer["states"], answer["topics"]) == (200, {"orders": "RUNNING"}, {"orders": "t"})
    assert answer["cluster"] == herder.server_info().kafka_cluster_id
    assert exchange(address, request("GET", "/connectors")) == (200, ["orders"])
    assert extension.counted == ["/overview", "/connectors"]


def test_an_extension_lies_behind_the_authentication(serve, tmp_path):
    token, line = token_line("ci")
    (tmp_path / "credentials").write_text(line + "\n")
    extension = Overview()
    address = serve(extension, **{"rest.authentication.file": str(tmp_path / "credentials")})

    assert exchange(address, request("GET", "/overview"))[0] == 401
    assert extension.counted == [], "middleware is asked for nobody who was not let in"
    assert exchange(address, request("GET", "/overview", Authorization=f"Bearer {token}"))[0] == 200


@pytest.mark.parametrize("path", ["/connectors", "/connectors/{connector}", "/openapi.json"])
def test_a_path_that_is_taken_is_refused(serve, path):
    """Its route would never be asked, and nobody would know."""
    with pytest.raises(ConfigError, match=rf"'overview' adds {path}, which is taken: give it another path"):
        serve(Overview(path))


def test_the_rest_interface_closes_its_extensions(herder):
    config = (WORKER + ConnectRestServer.config).parse({"group.id": "rest", "listeners": LOOPBACK})
    server, extension = ConnectRestServer.start(config, ThreadRuntime()), Overview()
    server.serve(herder, [extension])

    server.close()

    assert extension.closed == 1


@pytest.fixture
def worker_plugins() -> Plugins:
    installed = load_plugins()
    own = RegisteredPlugin("REST extension", Overview, PluginSource("acme", "1.0", "acme"))
    return Plugins([*installed.registered(), own], installed.failures)


@pytest.fixture
def worker_properties() -> dict[str, str]:
    return {"rest.extension.classes": "overview", "rest.extension.classes.overview.most": "3"}


def test_a_worker_has_the_extensions_that_its_properties_choose(worker):
    status, answer = exchange(worker, request("GET", "/overview"))

    assert (status, answer["states"]) == (200, {})


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"rest.extension.classes": "overvew"}, "no REST extension 'overvew'; installed: overview. Did you mean"),
        (
            {"rest.extension.classes": "overview", "rest.extension.classes.overview.mots": "3"},
            "unknown configuration 'rest.extension.classes.overview.mots'; did you mean",
        ),
        (
            {"rest.extension.classes.overview.most": "3"},
            "is for an extension that rest.extension.classes does not name",
        ),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(worker_plugins, properties, message):
    given = {"group.id": "g", **properties}
    values, problems = WORKER.read(given)
    problems += worker_problems(worker_plugins, Config(values, given), "memory")

    (problem,) = problems
    assert message in problem.what
