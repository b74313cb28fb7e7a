"""ConsumerGroupHeartbeat (68): refuse the newer group protocol (KIP-848) with a code that every client knows.

Behaviour
- The answer is always UnsupportedVersion, as from a Kafka on which the protocol is turned off. A consumer that was
  configured to use it fails at once. If the request were not advertised, librdkafka would wait for it in silence.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer UnsupportedVersion."""
    return {"error_code": Code.UNSUPPORTED_VERSION, "member_epoch": 0, "heartbeat_interval": 0}
