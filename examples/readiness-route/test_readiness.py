"""The route keeps every promise of a REST extension, and tells whether connectors run."""

import json

import pytest
from eosfw_readiness import ReadinessRoute

from pytest_eos import contracts


class TestReadiness(contracts.RestExtensionContract):
    @pytest.fixture
    def rest_extension_class(self):
        return ReadinessRoute

    @pytest.mark.parametrize(
        ("connectors", "status", "waiting"),
        [("", 200, {}), ("orders", 200, {}), ("orders, nobody", 503, {"nobody": "there is no such connector"})],
    )
    def test_a_probe_is_told_which_connectors_do_not_run(self, rest_herder, rest_servers, connectors, status, waiting):
        extension = ReadinessRoute()
        extension.configure(ReadinessRoute.config.parse({"connectors": connectors}))
        server = rest_servers[0]
        server.serve(rest_herder, [extension])

        answer = server.request("GET", f"{server.url}/ready", b"", {}, 10.0)

        assert (answer.status, json.loads(answer.body)) == (status, {"waiting": waiting})
