"""The worker group and the transactions of its cluster; Kafka Connect has no such resources."""

from __future__ import annotations

from dataclasses import asdict

from eosfw.protocols import Herder
from eosfw_rest import entities
from eosfw_rest.messages import Answer, RestRequest


def members(request: RestRequest, herder: Herder) -> Answer:
    """The workers of the group, who leads, and the tasks of each."""
    return Answer(body=entities.worker_group(herder.group()))


def open_transactions(request: RestRequest, herder: Herder) -> Answer:
    """The open transactions of the cluster, and what they keep from readers of what is committed."""
    return Answer(body=[asdict(one) for one in herder.open_transactions()])
