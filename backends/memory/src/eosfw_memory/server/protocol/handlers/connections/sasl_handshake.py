"""SaslHandshake (17): choose the mechanism by which a client authenticates itself.

Behaviour
- What begins an authentication never comes here: `network.sasl_server_authenticator` answers it. Whatever comes later,
  or on a listener without SASL, is IllegalSaslState.
- On a connection whose session has an end it begins another authentication (KIP-368), at most once in a second.

Version notes: behind version 0 tokens come bare, without requests around them.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer that there is nothing to authenticate."""
    return {"error_code": Code.ILLEGAL_SASL_STATE, "mechanisms": ()}
