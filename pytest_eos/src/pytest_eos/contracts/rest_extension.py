"""The contract of an extension of the REST interface: it adds to it, and changes nothing that was there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.config.parts import PartChoice
from eosfw.errors import NotFoundError
from eosfw.ids import ConnectorTaskId
from eosfw.observe import Metric
from eosfw.protocols import RestExtension, RestExtensionContext, RestResponse, RestServer
from eosfw.protocols.herder import (
    ConfigInfos,
    ConnectorInfo,
    ConnectorOffset,
    ConnectorState,
    ConnectorStateInfo,
    GroupMember,
    OpenTransactionInfo,
    ServerInfo,
    StreamingQueryInfo,
    WorkerGroup,
    WorkerHealth,
)
from eosfw.runtime import worker_config
from pytest_eos.environment.config.installed_plugins import installed_plugins

_WAIT = 10.0
_CONFIG = {"connector.class": "file", "topic": "orders"}
_BUILT_IN = ("/", "/health", "/connectors", "/connectors/orders", "/connectors/orders/config", "/connectors/nobody")


class _HerderOfOneConnector:
    """A herder of the connector `orders`; it answers what an extension may ask, and refuses every change."""

    def connectors(self) -> Sequence[str]:
        """Its only connector."""
        return ["orders"]

    def connector_info(self, name: str) -> ConnectorInfo:
        """Its properties."""
        self._require(name)
        return ConnectorInfo(name, _CONFIG, [ConnectorTaskId(name, 0)])

    def connector_status(self, name: str) -> ConnectorStateInfo:
        """It runs."""
        self._require(name)
        return ConnectorStateInfo(name, ConnectorState("RUNNING", "worker:8083"), [])

    def connector_statuses(self) -> Mapping[str, ConnectorStateInfo]:
        """The state of its only connector."""
        return {"orders": self.connector_status("orders")}

    def server_info(self) -> ServerInfo:
        """A version and a cluster."""
        return ServerInfo("1.0", "unknown", "cluster")

    def health(self) -> WorkerHealth:
        """Always well."""
        return WorkerHealth("healthy", "ready")

    def group(self) -> WorkerGroup:
        """One worker, which leads."""
        member = GroupMember("worker", "http://worker:8083", [ConnectorTaskId("orders", 0)], "enabled", "1.0")
        return WorkerGroup("contract", 1, "worker", "sessioned", rebalancing=False, members=[member], moving=[])

    def open_transactions(self) -> Sequence[OpenTransactionInfo]:
        """None."""
        return []

    def streaming_queries(self) -> Sequence[StreamingQueryInfo]:
        """None."""
        return []

    def metrics(self) -> Sequence[Metric]:
        """None."""
        return []

    def connector_offsets(self, name: str) -> Sequence[ConnectorOffset]:
        """None are committed."""
        self._require(name)
        return []

    def plugin_config(self, _plugin: str) -> Sequence[Mapping[str, Any]]:
        """No property is defined."""
        return []

    def validate(self, plugin: str, _config: Mapping[str, str | None]) -> ConfigInfos:
        """Nothing is wrong."""
        return ConfigInfos(plugin, 0, [], [])

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"an extension asked for {name}: it may read the state of the cluster alone")

    def _require(self, name: str) -> None:
        if name != "orders":
            raise NotFoundError(f"Connector {name} not found")


class RestExtensionContract:
    """Inherit, and define the fixture `rest_extension_class` (a class that is offered by `eosfw_rest_extensions`).

    Define `rest_extension_properties`, too, if the class has required properties.
    """

    @pytest.fixture
    def rest_extension_class(self) -> type[RestExtension]:
        """The class under test."""
        raise NotImplementedError("define the fixture rest_extension_class")

    @pytest.fixture
    def rest_extension_properties(self) -> Mapping[str, str]:
        """What a worker would write as `rest.extension.classes.NAME.*`."""
        return {}

    @pytest.fixture
    def rest_extension(
        self, rest_extension_class: type[RestExtension], rest_extension_properties: Mapping[str, str]
    ) -> Iterator[RestExtension]:
        """An extension that was made and configured as a worker does it."""
        choice = PartChoice("rest.extension.classes.contract", rest_extension_class.name, rest_extension_properties)
        extension = choice.configured(rest_extension_class())
        yield extension
        extension.close()

    @pytest.fixture
    def rest_herder(self) -> Any:
        """A herder of one connector, `orders`, which runs; it refuses every change."""
        return _HerderOfOneConnector()

    @pytest.fixture
    def rest_servers(self) -> Iterator[list[RestServer]]:
        """Two of the installed REST interface at free ports of loopback; they serve nothing yet."""
        kind = installed_plugins().rest_server()
        assert kind is not None, "no REST interface is installed: pip install 'eosfw[rest]'"
        config = worker_config({"group.id": "contract", "listeners": "http://127.0.0.1:0"}, kind)
        servers = [kind.start(config, ThreadRuntime()) for _ in range(2)]
        yield servers
        for server in servers:
            server.close()

    def test_an_extension_names_itself_and_its_version(self, rest_extension: RestExtension) -> None:
        """It is chosen by its name, in `rest.extension.classes`."""
        assert isinstance(rest_extension, RestExtension)
        assert rest_extension.name
        assert rest_extension.version()

    def test_an_extension_adds_routes_or_middleware(self, rest_extension: RestExtension) -> None:
        """It registers by adding to the context: nothing else of the REST interface is its to change."""
        context = RestExtensionContext(_Read(_HerderOfOneConnector()), _StartingRest())

        rest_extension.register(context)

        assert [*context.routes, *context.middleware], "it added neither a route nor middleware"

    def test_every_route_can_be_reached(self, rest_extension: RestExtension, rest_servers: list[RestServer]) -> None:
        """A route at a path that is taken would never be asked; the REST interface refuses it."""
        context = RestExtensionContext(_Read(_HerderOfOneConnector()), _StartingRest())
        rest_extension.register(context)
        server = rest_servers[0]
        server.serve(_HerderOfOneConnector(), [rest_extension])

        answers = {}
        for route in context.routes:
            path = route.path.replace("{", "").replace("}", "")
            method = min(getattr(route, "methods", None) or {"GET"})
            answers[f"{method} {path}"] = server.request(method, f"{server.url}{path}", b"", {}, _WAIT)
        # Its thread may still be writing the traceback of a route; CPython 3.11 cannot parse source, for that or for a
        # failed assertion, in two threads at once (gh-106905).
        server.close()

        for request, answer in answers.items():
            assert answer.status not in (405, 500), f"{request} answers {answer.status}"
            assert answer.body != b'{"error_code":404,"message":"HTTP 404 Not Found"}', f"{request} has no route"

    def test_what_was_there_answers_as_before(
        self, rest_extension: RestExtension, rest_servers: list[RestServer]
    ) -> None:
        """Clients of Kafka Connect, and other workers, rely on it."""
        plain, extended = rest_servers
        plain.serve(_HerderOfOneConnector())
        extended.serve(_HerderOfOneConnector(), [rest_extension])

        for path in _BUILT_IN:
            expected = plain.request("GET", f"{plain.url}{path}", b"", {}, _WAIT)
            answer = extended.request("GET", f"{extended.url}{path}", b"", {}, _WAIT)
            assert (answer.status, answer.body) == (expected.status, expected.body), path

    def test_an_extension_may_be_closed_repeatedly(self, rest_extension: RestExtension) -> None:
        """The REST interface closes it, and a worker that could not start does so again."""
        rest_extension.close()
        rest_extension.close()


class _StartingRest:
    """The REST interface of a worker that is still starting."""

    def __call__(
        self,
        method: str,
        target: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        worker: str | None = None,
    ) -> RestResponse:
        """Always 503."""
        del method, target, body, headers, worker
        return RestResponse(503, b'{"error_code": 503, "message": "The worker is still starting up"}')


class _Read:
    """The state of the cluster that an extension is given."""

    def __init__(self, herder: _HerderOfOneConnector) -> None:
        self.connectors = herder.connectors
        self.connector_health = herder.connector_status
        self.cluster_details = herder.server_info
        self._info = herder.connector_info

    def connector_config(self, name: str) -> Mapping[str, str]:
        """The properties of the connector."""
        return self._info(name).config
