"""Extensions add to the REST interface of a worker, and read the state of its group."""

from __future__ import annotations

import json
from typing import ClassVar

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
from eosfw.state.steps import StepEvent, TaskStep
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


def with_extension(extension: type) -> Plugins:
    """The installed plugins, and one more."""
    installed = load_plugins()
    own = RegisteredPlugin("REST extension", extension, PluginSource("acme", "1.0", "acme"))
    return Plugins([*installed.registered(), own], installed.failures)


@pytest.fixture
def worker_plugins() -> Plugins:
    return with_extension(Overview)


@pytest.fixture
def worker_properties() -> dict[str, str]:
    return {"rest.extension.classes": "overview", "rest.extension.classes.overview.most": "3"}


def test_a_worker_has_the_extensions_that_its_properties_choose(worker):
    status, answer = exchange(worker, request("GET", "/overview"))

    assert (status, answer["states"]) == (200, {})


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        (
            {"rest.extension.classes": "overvew"},
            "no REST extension 'overvew'; installed: console, overview. Did you mean",
        ),
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


class Operator:
    """Calls the REST interface for its own pages."""

    name = "operator"

    def __init__(self) -> None:
        self.rest = None

    def register(self, context: RestExtensionContext) -> None:
        self.rest = context.rest
        context.routes.append(Route("/operator", lambda _: JSONResponse({})))

    def version(self) -> str:
        return "1.0"

    def close(self) -> None:
        pass


@pytest.fixture
def rest(serve):
    """The REST interface as an extension calls it."""
    extension = Operator()
    serve(extension)
    return extension.rest


def test_an_extension_calls_the_rest_interface_of_its_worker(rest, herder):
    """PLG-34: so a page for browsers needs neither a socket nor credentials of its own."""
    config = {"connector.class": "file", "file": "x", "topic": "t"}

    created = rest("POST", "/connectors", json.dumps({"name": "a b", "config": config}).encode())
    shown = rest("GET", "/connectors/a%20b/config")

    assert (created.status, shown.status) == (201, 200)
    assert json.loads(shown.body) == config | {"name": "a b"}
    assert created.headers["content-type"] == "application/json"
    assert json.loads(rest("GET", "/connectors?expand=status").body)["a b"]["status"]["name"] == "a b"


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("GET", "/connectors/nobody", 404),
        ("GET", "/nowhere", 404),
        ("PATCH", "/group", 405),
        ("GET", "/connectors/../health", 400),
        ("PUT", "/connectors/a/fence", 404),
    ],
)
def test_what_an_extension_may_not_call_is_answered_with_the_status(rest, method, target, status):
    """PLG-34: requests between workers are signed, so no extension may send one."""
    answer = rest(method, target)

    assert answer.status == status
    assert json.loads(answer.body)["error_code"] == status


def test_an_extension_asks_another_worker_of_the_group(rest, started):
    """PLG-34: what a worker measures it says itself."""
    other = started()

    assert rest("GET", "/group", worker=other.url).status == 200
    other.close()
    gone = rest("GET", "/group", worker=other.url)
    assert (gone.status, b"does not answer" in gone.body) == (503, True)
    assert rest("GET", "/group", worker="file:///etc").status == 503


class Listener(Operator):
    """Hears of the worker's steps."""

    name = "listener"
    heard: ClassVar[list[StepEvent]] = []

    def observe(self, event: StepEvent) -> None:
        self.heard.append(event)


class TestListener:
    """On a worker of a group."""

    @pytest.fixture
    def worker_plugins(self) -> Plugins:
        return with_extension(Listener)

    @pytest.fixture
    def worker_properties(self) -> dict[str, str]:
        return {"rest.extension.classes": "listener"}

    def test_an_extension_that_is_an_observer_hears_of_the_steps_of_its_worker(self, worker):
        """PLG-35: without it, a page could show no more than the status topic says."""
        assert exchange(worker, request("GET", "/operator"))[0] == 200
        steps = {event.step for event in Listener.heard}
        assert {TaskStep.CLAIM_LEADERSHIP, TaskStep.PUBLISH_ASSIGNMENT} <= steps
