"""Requests of producers and transactions, with the rights of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eosfw_memory.client.transport.apis import Fields, milliseconds

from ..calls import Caller
from .asking import Place, Request, add_partitions, asked, codes, member, offsets_of_topic, transaction


def _commit_in_transaction(caller: Caller, place: Place, topic: str) -> Any:
    place.admin.add_offsets(place.name, place.producer, place.group)
    fields = transaction(place, **member(place, generation_id=-1), topics=offsets_of_topic(topic))
    return caller.ask(28, 3, **fields)


def _described_transaction(caller: Caller, place: Place, topic: str) -> Any:
    place.admin.ask(24, 3, **add_partitions(place, topic))
    return caller.ask(65, 0, transactional_ids=[place.name])


def _transaction_shown(answer: Any, place: Place) -> str:
    [found] = answer["transaction_states"]
    return f"{codes(answer)} {found['transaction_state']} {len(found['topics'])} topics"


def _listed_transactions(caller: Caller, place: Place, topic: str) -> Any:
    assert place.producer
    return caller.ask(66, 1, state_filters=(), producer_id_filters=(), duration_filter=-1)


def _ids_shown(answer: Any, place: Place) -> str:
    found = [each["transactional_id"] for each in answer["transaction_states"]]
    return f"{codes(answer)} {'listed' if place.name in found else 'not listed'}"


def _marker(place: Place, topic: str) -> Mapping[str, Any]:
    marker = Fields(
        producer_id=7,
        producer_epoch=0,
        transaction_result=False,
        topics=[Fields(name=topic, partition_indexes=[0])],
        coordinator_epoch=0,
    )
    return {"markers": [marker]}


def _initialising(name: str | None) -> Mapping[str, Any]:
    timeout = {"transaction_timeout": milliseconds(60)}
    return {"transactional_id": name, "producer_id": -1, "producer_epoch": -1, **timeout}


_NO_ID = asked(22, 5, lambda *_: _initialising(None))

REQUESTS: Mapping[str, Request] = {
    "InitProducerId 5": Request(
        asked(
            22,
            5,
            lambda place, _: _initialising(place.name),
        ),
        ("WRITE TRANSACTIONAL_ID",),
    ),
    "InitProducerId 5, no id": Request(_NO_ID, ("WRITE TOPIC",)),
    "InitProducerId 5, no id, by the cluster": Request(_NO_ID, ("IDEMPOTENT_WRITE CLUSTER",)),
    "AddPartitionsToTxn 3": Request(
        asked(24, 3, add_partitions), ("WRITE TRANSACTIONAL_ID", "WRITE TOPIC"), absent=True
    ),
    "AddPartitionsToTxn 5": Request(
        asked(
            24,
            5,
            lambda place, topic: {
                "transactions": [
                    Fields(
                        **transaction(place, verify_only=False, topics=[Fields(name=topic, partitions=[0])]),
                    )
                ]
            },
        ),
        ("CLUSTER_ACTION CLUSTER",),
    ),
    "AddOffsetsToTxn 4": Request(
        asked(25, 4, lambda place, _: transaction(place, group_id=place.group)),
        ("WRITE TRANSACTIONAL_ID", "READ GROUP"),
    ),
    "EndTxn 4": Request(
        asked(26, 4, lambda place, _: transaction(place, committed=False)), ("WRITE TRANSACTIONAL_ID",)
    ),
    "WriteTxnMarkers 1": Request(asked(27, 1, _marker), ("CLUSTER_ACTION CLUSTER",), absent=True),
    "WriteTxnMarkers 1, alter": Request(asked(27, 1, _marker), ("ALTER CLUSTER",)),
    "TxnOffsetCommit 3": Request(
        _commit_in_transaction, ("WRITE TRANSACTIONAL_ID", "READ GROUP", "READ TOPIC"), absent=True
    ),
    "DescribeProducers 0": Request(
        asked(61, 0, lambda _, topic: {"topics": [Fields(name=topic, partition_indexes=[0])]}),
        ("READ TOPIC",),
        absent=True,
    ),
    "DescribeTransactions 0": Request(
        _described_transaction, ("DESCRIBE TRANSACTIONAL_ID", "DESCRIBE TOPIC"), _transaction_shown
    ),
    "ListTransactions 1": Request(_listed_transactions, ("DESCRIBE TRANSACTIONAL_ID",), _ids_shown),
}
