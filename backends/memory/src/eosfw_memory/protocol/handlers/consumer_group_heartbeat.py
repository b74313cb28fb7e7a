"""ConsumerGroupHeartbeat (68): refuse the newer group protocol (KIP-848) in words that every client understands.

Behaviour
- Answers UnsupportedVersion, whoever asks: so does a Kafka on which the protocol is turned off. That ends a consumer
  which was told to use it at once. If the request were not advertised, librdkafka would wait for it without a word.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.broker import Broker, Context
from eosfw_memory.codes import Code
from eosfw_memory.delayed_operation import Answer


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer that this is not to be had here."""
    return {"error_code": Code.UNSUPPORTED_VERSION, "member_epoch": 0, "heartbeat_interval": 0}
