"""ApiVersions (18): tell a client which requests are served, in which versions.

Behaviour
- Lists exactly what `wire.routes` lists. No finalized features: `transaction.version` is 1, Kafka's default without.
- A client that asks in a version too new is answered in version 0 with UnsupportedVersion (KIP-511); then `request` is
  None, because its body cannot be known.

Version notes: 3 and later name the client's software, which is of no interest here.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.broker import Broker, Context
from eosfw_memory.codes import Code
from eosfw_memory.deferred import Answer
from eosfw_memory.wire.routes import ROUTES


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer with the table of routes."""
    served = [
        {"api_key": route.key, "min_version": route.min_version, "max_version": route.max_version}
        for route in ROUTES.values()
    ]
    return {"error_code": Code.UNSUPPORTED_VERSION if request is None else Code.NONE, "api_keys": served}
