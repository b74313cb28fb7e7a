"""Handlers of the REST interface on a whole worker's herder, on a virtual clock: no socket, no web server."""

from __future__ import annotations

import json

from tests.kip618.group import GroupPlugins
from tests.runtime.counting import CountingConnector

from eosfw.protocols import Herder, RestResponse
from eosfw_rest.herder_request_handler import HerderRequestHandler
from eosfw_rest.messages import Answer, RestRequest
from eosfw_rest.routes import ROUTES
from pytest_eos.environment.clusters.cluster import virtual
from pytest_eos.runs.groups.herders import HerderGroup

COUNTING = {"connector.class": "counting", "topic": "counts", "streams": "2", "until": "50", "tasks.max": "2"}


def nobody(*_: object) -> RestResponse:
    raise AssertionError("a worker alone forwards nothing")


def ask(herder: Herder, method: str, path: str, body: object = None, **parameters: str) -> Answer:
    """The answer of the route, by its path as the table has it."""
    (route,) = [one for one in ROUTES if (one.method, one.path) == (method, path)]
    sent = b"" if body is None else json.dumps(body).encode()
    request = RestRequest(method, path, parameters, {}, {}, sent)
    return HerderRequestHandler(nobody).answer(route.handler, request, herder, forwards=True)


def test_a_connector_lives_its_life_without_a_second_passing():
    """Created, run, paused, stopped, deleted; each answer has Connect's status code."""
    one = "/connectors/{connector}"
    with virtual(7) as cluster, HerderGroup(cluster, GroupPlugins(CountingConnector()), "g") as group:
        herder = group.start()

        def until(state: str, tasks: int) -> None:
            def reached() -> bool:
                body = ask(herder, "GET", f"{one}/status", connector="c").body
                states = [body.get("connector", {}).get("state"), *(task["state"] for task in body.get("tasks", []))]
                return states == [state] * (tasks + 1)

            group.until(reached, f"{state} with {tasks} tasks")

        assert ask(herder, "POST", "/connectors", {"name": "c", "config": COUNTING}).status == 201
        until("RUNNING", 2)
        assert ask(herder, "PUT", f"{one}/pause", connector="c").status == 202
        until("PAUSED", 2)
        assert ask(herder, "DELETE", f"{one}/offsets", connector="c").status == 400
        assert ask(herder, "PUT", f"{one}/stop", connector="c").status == 204
        until("STOPPED", 0)
        assert ask(herder, "DELETE", f"{one}/offsets", connector="c").status == 200
        assert ask(herder, "DELETE", one, connector="c").status == 204
        group.until(lambda: ask(herder, "GET", "/connectors").body == [], "no connector")
