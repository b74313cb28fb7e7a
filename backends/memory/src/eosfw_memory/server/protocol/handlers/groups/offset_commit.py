"""OffsetCommit (8): store the offsets up to which a group has read.

Behaviour
- While a group has members only they may commit, in the current generation; without members any client may. A member
  of a consumer group with another epoch than its own gets StaleMemberEpoch.
- Partitions that do not exist are UnknownTopicOrPartition, metadata that is too long is OffsetMetadataTooLarge; the
  others are committed. If every partition is unknown the group is not checked. A group that does not exist is created
  with the first offset that is committed.

Version notes: up to 4 a request may have a retention time, from 6 on it has leader epochs, from 7 on the instance id
of a static member; from 9 on members of consumer groups (KIP-848) may commit, with their epochs, and an unknown group
is GroupIdNotFound. 10 would name topics by id.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.coordinators.groups.group_records import NO_EXPIRY
from eosfw_memory.server.coordinators.groups.offset_requests import OffsetCommitter
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.offset_commit_validation import (
    OffsetCommitPartitions,
    offset_commit_answer,
    validate_partitions,
)
from eosfw_memory.server.protocol.rights import GROUP_READ

_NOT_FOUND_VERSION = _MEMBER_EPOCH_VERSION = 9


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each partition."""
    if not allows(broker, context, GROUP_READ, request.group_id):
        return offset_commit_answer(request.topics, OffsetCommitPartitions({}, {}), GROUP_READ.denied)
    wanted = validate_partitions(broker, request.topics, context, _expires_ms(broker, request))
    if not wanted.any_exists:
        return offset_commit_answer(request.topics, wanted, Code.NONE)
    instance_id = getattr(request, "group_instance_id", None)
    committer = OffsetCommitter(
        request.member_id,
        instance_id,
        request.generation_id_or_member_epoch,
        knows_member_epochs=context.version >= _MEMBER_EPOCH_VERSION,
    )
    code = Code.NONE
    try:
        broker.groups.offsets.commit(request.group_id, committer, wanted.valid, broker.now_ms())
    except KafkaError as refused:
        code = refused.code
        unknown = broker.groups.group(request.group_id) is None
        if unknown and code is Code.ILLEGAL_GENERATION and context.version >= _NOT_FOUND_VERSION:
            code = Code.GROUP_ID_NOT_FOUND
    return offset_commit_answer(request.topics, wanted, code)


def _expires_ms(broker: Broker, request: Any) -> int:
    retention = getattr(request, "retention_time", None)
    retention_ms = NO_EXPIRY if retention is None else int(retention.total_seconds() * 1000)
    return NO_EXPIRY if retention_ms < 0 else broker.now_ms() + retention_ms
