"""TxnOffsetCommit (28): commit offsets of a group within a transaction (KIP-98, KIP-447).

Behaviour
- The group's partition of `__consumer_offsets` has to be part of the producer's transaction (COR-19).
- If the request names a member, it must belong to the current generation of the group (GRP-02), or name its own epoch
  in a consumer group (KIP-848); another one is IllegalGeneration in both.
- The offsets are not visible before the transaction is committed (GRP-01).
- If every partition is unknown neither the coordinator nor the group is checked.

Version notes: from 3 on a request may name a member; from 4 on clients know TransactionAbortable; from 5 on it
adds the group's partition to the transaction by itself (version 2 of transactions, KIP-890).
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.coordinators.groups.offset_requests import OffsetCommitter
from eosfw_memory.server.protocol.authorization import require
from eosfw_memory.server.protocol.offset_commit_validation import (
    OffsetCommitPartitions,
    offset_commit_answer,
    validate_partitions,
)
from eosfw_memory.server.protocol.rights import GROUP_READ, TRANSACTIONAL_ID_WRITE
from eosfw_memory.server.protocol.transaction_verification import verify_offsets


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each partition."""
    try:
        require(broker, context, TRANSACTIONAL_ID_WRITE, request.transactional_id)
        require(broker, context, GROUP_READ, request.group_id)
    except KafkaError as denied:
        return offset_commit_answer(request.topics, OffsetCommitPartitions({}, {}), denied.code)
    wanted = validate_partitions(broker, request.topics, context)
    if not wanted.any_exists:
        return offset_commit_answer(request.topics, wanted, Code.NONE)
    try:
        _commit(broker, request, context, wanted)
    except KafkaError as refused:
        return offset_commit_answer(request.topics, wanted, refused.code)
    return offset_commit_answer(request.topics, wanted, Code.NONE)


def _commit(broker: Broker, request: Any, context: Context, wanted: OffsetCommitPartitions) -> None:
    if not request.group_id:
        raise KafkaError(Code.INVALID_GROUP_ID)
    where = broker.offsets_partition(request.group_id)
    producer = verify_offsets(broker, request, where, context.version)
    who = OffsetCommitter(
        getattr(request, "member_id", ""),
        getattr(request, "group_instance_id", None),
        getattr(request, "generation_id", -1),
    )
    broker.groups.offsets.commit_in_transaction(request.group_id, who, producer, wanted.valid, broker.now_ms())
