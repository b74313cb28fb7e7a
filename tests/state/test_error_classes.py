"""Every code that a call can get has one class of error, written down here a second time."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from eosfw import error_table, errors
from eosfw.error_table import RETRIABLE, ErrorTable, error_class
from eosfw.kafka_codes import Code

DENIED = {
    "TransactionalIdAuthorizationError": {"TRANSACTIONAL_ID_AUTHORIZATION_FAILED"},
    "TopicAuthorizationError": {"TOPIC_AUTHORIZATION_FAILED"},
    "GroupAuthorizationError": {"GROUP_AUTHORIZATION_FAILED"},
}
COORDINATOR = {
    **DENIED,
    "ProducerFencedError": {"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"},
    "InvalidTxnStateError": {"INVALID_TXN_STATE"},
    "InvalidPidMappingError": {"INVALID_PRODUCER_ID_MAPPING", "UNKNOWN_PRODUCER_ID"},
    "AbortableError": {"TRANSACTION_ABORTABLE"},
}
MISSING = {"UnknownTopicOrPartitionError": {"UNKNOWN_TOPIC_OR_PARTITION"}}
RECORDS = {
    "RecordTooLargeError": {"MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"},
    "InvalidRecordError": {"INVALID_RECORD", "INVALID_TIMESTAMP", "UNSUPPORTED_COMPRESSION_TYPE"},
    "OutOfOrderSequenceError": {"OUT_OF_ORDER_SEQUENCE_NUMBER"},
}
TOO_LONG = {"InvalidTransactionTimeoutError": {"INVALID_TRANSACTION_TIMEOUT"}}
UNFORESEEN = {"IndefiniteOutcomeError": {"UNKNOWN_SERVER_ERROR"}}
BUSY = {"ConcurrentTransactionsError": {"CONCURRENT_TRANSACTIONS"}}
LEFT_GROUP = {
    "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "FENCED_INSTANCE_ID",
    "REBALANCE_IN_PROGRESS",
    "OFFSET_METADATA_TOO_LARGE",
}
CLUSTER = {"ClusterAuthorizationError": {"CLUSTER_AUTHORIZATION_FAILED"}}
INTROSPECTION = {
    **DENIED,
    **CLUSTER,
    **MISSING,
    "TransactionalIdNotFoundError": {"TRANSACTIONAL_ID_NOT_FOUND", "INVALID_REQUEST"},
    "UnsupportedError": {"UNSUPPORTED_VERSION"},
}
INDEFINITE, UNAVAILABLE = "IndefiniteOutcomeError", "ClusterUnavailableError"
FATAL, ABORTABLE = "FatalError", "AbortableError"
NAMED: Mapping[str, tuple[Mapping[str, set[str]], str, str]] = {
    # call: (codes by the class they become, what could be tried again becomes, everything else becomes)
    "INIT": ({**COORDINATOR, **TOO_LONG, **BUSY, **CLUSTER}, INDEFINITE, FATAL),
    "FENCE": ({**COORDINATOR, **TOO_LONG, **BUSY, **CLUSTER}, UNAVAILABLE, FATAL),
    "ADD": (
        {**COORDINATOR, **UNFORESEEN, **MISSING, ABORTABLE: {"TRANSACTION_ABORTABLE", "OPERATION_NOT_ATTEMPTED"}},
        INDEFINITE,
        FATAL,
    ),
    "PRODUCE": ({**COORDINATOR, **RECORDS, **MISSING, **CLUSTER}, INDEFINITE, ABORTABLE),
    "DELIVERY": (
        {
            **COORDINATOR,
            **RECORDS,
            **MISSING,
            **CLUSTER,
            "ProducerFencedError": {"PRODUCER_FENCED"},
            "InvalidProducerEpochError": {"INVALID_PRODUCER_EPOCH"},
        },
        INDEFINITE,
        ABORTABLE,
    ),
    "OFFSETS": (
        {**COORDINATOR, **UNFORESEEN, **MISSING, ABORTABLE: LEFT_GROUP | {"TRANSACTION_ABORTABLE"}},
        INDEFINITE,
        FATAL,
    ),
    "END": ({**COORDINATOR, **UNFORESEEN}, INDEFINITE, FATAL),
    "TRANSACTIONS": (INTROSPECTION, UNAVAILABLE, FATAL),
    "ABORT_MARKER": (
        {
            **INTROSPECTION,
            "TransactionNotFoundError": {
                "INVALID_PRODUCER_EPOCH",
                "INVALID_TXN_STATE",
                "TRANSACTION_COORDINATOR_FENCED",
            },
        },
        UNAVAILABLE,
        FATAL,
    ),
}
CALLS: Mapping[str, ErrorTable] = {name: getattr(error_table, name) for name in NAMED}


@pytest.mark.parametrize("call", NAMED)
def test_each_code_has_its_error_class_in_each_call(call: str) -> None:
    """PRD-08, ADM-02: retry, abort, or close; an unknown code is never retried."""
    named, retriable, otherwise = NAMED[call]
    every = [code for code in Code if code is not Code.NONE]
    expected = {code.name: retriable if code in RETRIABLE else otherwise for code in every}
    expected |= {code.name: name for name, codes in named.items() for code in every if code.name in codes}

    assert {code.name: error_class(code, CALLS[call]).__name__ for code in every} == expected


def test_a_code_that_kafka_may_bring_one_day_closes_the_producer() -> None:
    """PRD-08: unknown is fatal where something may have changed."""
    assert error_class(9999, error_table.END) is errors.FatalError
    assert error_class(9999, error_table.INIT) is errors.FatalError


def test_a_request_refused_without_effect_is_retriable() -> None:
    """PRD-02: the coordinator was still busy with an earlier transaction, a leader was not elected yet."""
    assert error_class(Code.CONCURRENT_TRANSACTIONS, error_table.INIT) is errors.ConcurrentTransactionsError
    assert issubclass(error_class(Code.NOT_CONTROLLER, error_table.ADMIN), errors.RetriableError)
    assert issubclass(error_class(Code.NOT_LEADER_OR_FOLLOWER, error_table.READ), errors.RetriableError)


def test_a_client_extends_the_error_table_with_its_codes() -> None:
    """A backend's own codes win, and change nothing for others."""
    changed = {-172: errors.IllegalStateError, Code.INVALID_TXN_STATE: errors.AbortableError}
    own = error_table.END.extended(changed, retriable=errors.FatalError)

    assert [error_class(code, own) for code in changed] == list(changed.values())
    assert error_class(Code.REQUEST_TIMED_OUT, own) is errors.FatalError
    assert error_class(Code.PRODUCER_FENCED, own) is errors.ProducerFencedError
    assert error_table.END.named(-172) is None


def test_retriable_error_codes_are_listed_explicitly() -> None:
    """PRD-08: a code must not become harmless by mistake."""
    assert {code.name for code in Code if code in RETRIABLE} == {
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_OR_FOLLOWER",
        "REPLICA_NOT_AVAILABLE",
        "KAFKA_STORAGE_ERROR",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "NOT_CONTROLLER",
        "NOT_COORDINATOR",
        "COORDINATOR_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "CONCURRENT_TRANSACTIONS",
        "REQUEST_TIMED_OUT",
        "NETWORK_EXCEPTION",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "OFFSET_NOT_AVAILABLE",
        "THROTTLING_QUOTA_EXCEEDED",
        "UNSTABLE_OFFSET_COMMIT",
    }
