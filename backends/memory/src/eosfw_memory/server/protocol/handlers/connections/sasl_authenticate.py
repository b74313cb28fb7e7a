"""SaslAuthenticate (36): carry a token of the mechanism that SaslHandshake chose.

Behaviour
- Tokens of an authentication never come here: `network.sasl_server_authenticator` answers them. Whatever comes later,
  or on a listener without SASL, is IllegalSaslState.

Version notes: 1 tells how long the session lasts; 2 is flexible.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context

_MESSAGE = "SaslAuthenticate request received after successful authentication"


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer that there is nothing to authenticate."""
    return {"error_code": Code.ILLEGAL_SASL_STATE, "error_message": _MESSAGE, "auth_bytes": b""}
