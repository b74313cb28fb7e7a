"""ListTransactions (66): list transactional ids by state, producer id, how long they have been open (KIP-664).

Behaviour
- Names of states that do not exist are returned in a list of their own; empty filters let everything pass.
- The pattern is matched against the whole transactional id; one that is no regular expression is
  InvalidRegularExpression. Patterns are RE2's, as in Kafka: a client can choose none that keeps the broker busy.
  Without google-re2 each is refused, and the log says why.

Version notes: the filter by duration comes with 1, the pattern with 2.
"""

from __future__ import annotations

import logging
from typing import Any

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.coordinators.regular_expression import Pattern, compiled
from eosfw_memory.server.coordinators.transaction_metadata import TransactionMetadata
from eosfw_memory.server.coordinators.transaction_state import TransactionState
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import TRANSACTIONAL_ID_DESCRIBE

_LOG = logging.getLogger(__name__)
_LABELS = frozenset(state.label for state in TransactionState)


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer with the ids that pass every filter."""
    now_ms = broker.now_ms()
    try:
        pattern = _pattern(request)
    except KafkaError as why:
        _LOG.info("client %r: %s", context.client_id, why)  # the answer has no room for it
        return {"error_code": why.code, "unknown_state_filters": (), "transaction_states": ()}
    found = [
        known
        for known in broker.coordinator.transactions()
        if _passes(known, request, now_ms)
        if allows(broker, context, TRANSACTIONAL_ID_DESCRIBE, known.transactional_id)
        if pattern is None or pattern.fullmatch(known.transactional_id)
    ]
    return {
        "error_code": Code.NONE,
        "unknown_state_filters": [name for name in request.state_filters if name not in _LABELS],
        "transaction_states": [
            {
                "transactional_id": known.transactional_id,
                "producer_id": known.producer_id,
                "transaction_state": known.state.label,
            }
            for known in found
        ],
    }


def _pattern(request: Any) -> Pattern | None:
    """The pattern of the request, if it has one; raise KafkaError for what is none."""
    text = getattr(request, "transactional_id_pattern", None)
    return compiled("TransactionalIdPattern", text) if text else None


def _passes(known: TransactionMetadata, request: Any, now_ms: int) -> bool:
    if request.state_filters and known.state.label not in request.state_filters:
        return False
    if request.producer_id_filters and known.producer_id not in request.producer_id_filters:
        return False
    at_least = getattr(request, "duration_filter", -1)
    return bool(at_least < 0 or now_ms - known.started_ms > at_least)
