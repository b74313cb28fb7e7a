"""The contract of a REST interface of a worker."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import RetriableError
from eosfw.protocols import RestServer
from eosfw.runtime import worker_config

_WAIT = 10.0


class _Herder:
    """Knows the names of two connectors, nothing else."""

    def connectors(self) -> Sequence[str]:
        return ["orders", "payments"]

    def __getattr__(self, name: str) -> Any:
        raise NotImplementedError(name)


class RestServerContract:
    """Inherit, and define the fixture `rest_server_class` (a class that is offered by `eosfw_rest_servers`)."""

    @pytest.fixture
    def rest_server_class(self) -> type[RestServer]:
        """The class under test."""
        raise NotImplementedError("define the fixture rest_server_class")

    @pytest.fixture
    def rest_server(self, rest_server_class: type[RestServer]) -> Iterator[RestServer]:
        """One that listens at a free port of loopback."""
        config = worker_config({"group.id": "contract", "listeners": "http://127.0.0.1:0"}, rest_server_class)
        server = rest_server_class.start(config, ThreadRuntime())
        yield server
        server.close()

    def test_the_url_has_the_free_port(self, rest_server: RestServer) -> None:
        assert urlsplit(rest_server.url).hostname == "127.0.0.1"
        assert urlsplit(rest_server.url).port

    def test_requests_are_refused_until_a_herder_is_served(self, rest_server: RestServer) -> None:
        assert rest_server.request("GET", f"{rest_server.url}/connectors", b"", {}, _WAIT).status == 503

    def test_a_herder_is_asked_once_it_is_served(self, rest_server: RestServer) -> None:
        rest_server.serve(_Herder())

        answer = rest_server.request("GET", f"{rest_server.url}/connectors", b"", {}, _WAIT)

        assert (answer.status, json.loads(answer.body)) == (200, ["orders", "payments"])

    def test_a_worker_that_is_not_there_is_a_passing_reason(self, rest_server: RestServer) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"

            with pytest.raises(RetriableError):
                rest_server.request("PUT", f"{nobody}/connectors/c/fence", b"", {}, _WAIT)

    def test_nothing_listens_after_close_which_may_come_twice(self, rest_server: RestServer) -> None:
        rest_server.close()
        rest_server.close()

        parts = urlsplit(rest_server.url)
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((parts.hostname or "", parts.port or 0), timeout=_WAIT)
