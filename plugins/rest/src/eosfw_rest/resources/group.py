"""The worker group and the transactions of its cluster; Kafka Connect has no such resources."""

from __future__ import annotations

from dataclasses import asdict

from eosfw.protocols.herder import WorkerGroupQueries
from eosfw_rest import entities
from eosfw_rest.messages import Answer, RestRequest


def members(request: RestRequest, queries: WorkerGroupQueries) -> Answer:
    """The workers of the group, who leads, and the tasks of each."""
    return Answer(body=entities.worker_group(queries.group()))


def open_transactions(request: RestRequest, queries: WorkerGroupQueries) -> Answer:
    """The open transactions of the cluster, and what they keep from readers of what is committed."""
    return Answer(body=[asdict(one) for one in queries.open_transactions()])
