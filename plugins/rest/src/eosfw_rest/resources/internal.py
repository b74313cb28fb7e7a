"""Requests of other workers of the group (Kafka Connect's `InternalClusterResource`); the herder checks signatures."""

from __future__ import annotations

from eosfw.errors import BadRequestError
from eosfw.protocols import Herder
from eosfw.protocols.herder import InternalRequest
from eosfw_rest.json_text import loaded_texts
from eosfw_rest.messages import Answer, RestRequest
from eosfw_rest.resources.bodies import as_config


def fence(request: RestRequest, herder: Herder) -> Answer:
    """Fence earlier producers of a connector's tasks (KIP-618)."""
    herder.fence_zombies(request.parameters["connector"], _received(request))
    return Answer(204)


def put_task_configs(request: RestRequest, herder: Herder) -> Answer:
    """Write the properties of a connector's tasks; the body of whoever has not signed it is not read."""
    herder.put_task_configs(request.parameters["connector"], lambda: _task_configs(request.body), _received(request))
    return Answer(204)


def _task_configs(body: bytes) -> list[dict[str, str]]:
    listed = loaded_texts(body)
    if not isinstance(listed, list):
        raise BadRequestError("A request to write task configurations must be a JSON array")
    configs = [as_config(one, f"Task configuration {at}") for at, one in enumerate(listed)]
    return [{name: text for name, text in config.items() if text is not None} for config in configs]


def _received(request: RestRequest) -> InternalRequest:
    return InternalRequest(request.method, request.target, request.body, request.headers)
