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


def streaming_queries(request: RestRequest, queries: WorkerGroupQueries) -> Answer:
    """The streaming steps of the pipeline that this worker runs, each with its last batches."""
    return Answer(body=[entities.streaming_query(one) for one in queries.streaming_queries()])
