"""DescribeCluster (60): name the cluster with its brokers.

Version notes: 1 asks for brokers or controllers; there is one process for both.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.broker import NODE_ID, Broker, Context
from eosfw_memory.codes import Code
from eosfw_memory.deferred import Answer


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer with the one broker."""
    return {
        "error_code": Code.NONE,
        "error_message": None,
        "endpoint_type": getattr(request, "endpoint_type", 1),
        "cluster_id": broker.cluster_id,
        "controller_id": NODE_ID,
        "brokers": [{"broker_id": NODE_ID, "host": broker.endpoint.host, "port": broker.endpoint.port, "rack": None}],
    }
