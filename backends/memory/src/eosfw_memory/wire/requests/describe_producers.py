"""DescribeProducers (61): show who writes to a partition, and what transaction holds its last stable offset (KIP-664)."""

from __future__ import annotations

from typing import Any

from eosfw_memory.broker import Broker, Context
from eosfw_memory.codes import Code
from eosfw_memory.deferred import Answer


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer for each partition."""
    return {
        "topics": [
            {"name": topic.name, "partitions": [_partition(broker, topic.name, n) for n in topic.partition_indexes]}
            for topic in request.topics
        ]
    }
