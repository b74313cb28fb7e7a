"""The worker itself (Kafka Connect's `RootResource`)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from eosfw.protocols import Herder
from eosfw_rest.messages import Answer, RestRequest

_STATUSES: Final = {"healthy": 200, "starting": 503}


def server_info(request: RestRequest, herder: Herder) -> Answer:
    """Version of the worker and id of its Kafka cluster."""
    return Answer(body=asdict(herder.server_info()))


def health(request: RestRequest, herder: Herder) -> Answer:
    """Whether the worker can serve requests (KIP-1017)."""
    found = herder.health()
    return Answer(_STATUSES.get(found.status, 500), {"status": found.status, "message": found.message})
