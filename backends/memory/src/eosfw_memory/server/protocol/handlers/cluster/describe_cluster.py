"""DescribeCluster (60): name the cluster and its brokers.

Behaviour
- A request for controllers (KIP-919) is MismatchedEndpointType, as at every endpoint of a broker.

Version notes: 1 asks for brokers or controllers, 2 may ask for fenced brokers, of which there are none.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.state import NODE_ID
from eosfw_memory.server.protocol.authorization import cluster_operations

_BROKERS, _CONTROLLERS = 1, 2


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer with the one broker."""
    wanted = getattr(request, "endpoint_type", _BROKERS)
    if wanted != _BROKERS:
        return _refused(wanted)
    endpoint = broker.endpoint_for(context.listener)
    here = {"broker_id": NODE_ID, "host": endpoint.host, "port": endpoint.port, "is_fenced": False}
    return {
        "error_code": Code.NONE,
        "cluster_id": broker.cluster_id,
        "controller_id": NODE_ID,
        "brokers": [here],
        "cluster_authorized_operations": cluster_operations(broker, request, context),
    }


def _refused(wanted: int) -> Answer:
    known = wanted == _CONTROLLERS
    return {
        "error_code": Code.MISMATCHED_ENDPOINT_TYPE if known else Code.UNSUPPORTED_ENDPOINT_TYPE,
        "error_message": "this is a broker, not a controller" if known else f"Unsupported endpoint type {wanted}",
        "cluster_id": "",
        "brokers": (),
    }
