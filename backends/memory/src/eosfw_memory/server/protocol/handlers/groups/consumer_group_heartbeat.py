"""ConsumerGroupHeartbeat (68): let a client join, stay in or leave a consumer group (KIP-848).

Behaviour
- The member epoch says what a client wants: 0 to join, -1 to leave, -2 for a static member to leave for a while.
- The broker makes the assignment. It is in the answer when the member joins, reports everything, or has to know more.
- A member gives up partitions before another one gets them, and reports that with the partitions it still has.
- A member whose epoch is not the one known here is FencedMemberEpoch: it gives up everything and joins again.
- A classic group with members becomes a consumer group with the first heartbeat, unless
  `group.consumer.migration.policy` forbids that, and again a classic group when only members of that protocol are left.

Version notes: from 1 on clients choose their member ids, and may subscribe to a regular expression.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.coordinators.groups.consumer_group_requests import new_member_id
from eosfw_memory.server.coordinators.groups.modern.assignors.names import ASSIGNORS
from eosfw_memory.server.coordinators.groups.modern.heartbeat import HeartbeatRequest
from eosfw_memory.server.coordinators.groups.modern.member import (
    JOIN_GROUP_EPOCH,
    LEAVE_GROUP_EPOCH,
    LEAVE_GROUP_STATIC_EPOCH,
    Assignment,
)
from eosfw_memory.server.protocol.authorization import allows, require
from eosfw_memory.server.protocol.rights import GROUP_READ, TOPIC_DESCRIBE
from eosfw_memory.server.protocol.serializer import LONGEST_TEXT

_OWN_ID_VERSION = 1
_UNCHANGED_MS = -1


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer with the member's epoch, and its assignment if it changed."""
    try:
        require(broker, context, GROUP_READ, request.group_id)
        for name in request.subscribed_topic_names or ():
            require(broker, context, TOPIC_DESCRIBE, name)
        _check(request, context.version)
        heartbeat = _heartbeat(broker, request, context)
        return broker.groups.consumer_groups.heartbeat(request.group_id, heartbeat, broker.now_ms())
    except KafkaError as refused:
        return {
            "error_code": refused.code,
            "error_message": refused.message,
            "member_epoch": 0,
            "heartbeat_interval": 0,
        }


def _check(request: Any, version: int) -> None:
    """Raise InvalidRequest or UnsupportedAssignor for what no client should send."""
    epoch = request.member_epoch
    if version >= _OWN_ID_VERSION or epoch > JOIN_GROUP_EPOCH or epoch == LEAVE_GROUP_EPOCH:
        _refuse(request.member_id == "", "MemberId can't be empty.")
    _refuse(request.group_id == "", "GroupId can't be empty.")
    _refuse(request.instance_id == "", "InstanceId can't be empty.")
    _refuse(request.rack_id == "", "RackId can't be empty.")
    _check_lengths(request)
    if epoch == JOIN_GROUP_EPOCH:
        _check_join(request)
    elif epoch == LEAVE_GROUP_STATIC_EPOCH:
        _refuse(request.instance_id is None, "InstanceId can't be null.")
    _refuse(epoch < LEAVE_GROUP_STATIC_EPOCH, "MemberEpoch is invalid.")
    assignor = request.server_assignor
    if assignor is not None and assignor not in ASSIGNORS:
        known = ", ".join(ASSIGNORS)
        raise KafkaError(
            Code.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {assignor} is not supported. Supported assignors: {known}.",
        )


def _check_lengths(request: Any) -> None:
    """Raise InvalidRequest for what no record can hold; Kafka closes the connection instead."""
    ids = (request.group_id, request.member_id, request.instance_id, _regex(request))
    _refuse(
        any(len((text or "").encode()) > LONGEST_TEXT for text in ids), f"A name is longer than {LONGEST_TEXT} bytes."
    )


def _check_join(request: Any) -> None:
    _refuse(_timeout_ms(request) is None, "RebalanceTimeoutMs must be provided in first request.")
    owns_something = request.topic_partitions is None or len(request.topic_partitions) > 0
    _refuse(owns_something, "TopicPartitions must be empty when (re-)joining.")
    unsubscribed = request.subscribed_topic_names is None and _regex(request) is None
    _refuse(unsubscribed, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")


def _refuse(condition: bool, message: str) -> None:  # noqa: FBT001 - a seam has positions only
    if condition:
        raise KafkaError(Code.INVALID_REQUEST, message)


def _heartbeat(broker: Broker, request: Any, context: Context) -> HeartbeatRequest:
    names = request.subscribed_topic_names
    return HeartbeatRequest(
        member_id=request.member_id or new_member_id(),
        member_epoch=request.member_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        client_id=context.client_id,
        client_host=context.client_host,
        rebalance_timeout_ms=_timeout_ms(request),
        topic_names=None if names is None else frozenset(names),
        topic_regex=_regex(request),
        server_assignor=request.server_assignor,
        owned=_owned(request.topic_partitions),
        sees=lambda name: allows(broker, context, TOPIC_DESCRIBE, name),
    )


def _regex(request: Any) -> str | None:
    regex: str | None = getattr(request, "subscribed_topic_regex", None)
    return regex


def _timeout_ms(request: Any) -> int | None:
    timeout_ms = int(request.rebalance_timeout.total_seconds() * 1000)
    return None if timeout_ms == _UNCHANGED_MS else timeout_ms


def _owned(topics: Any) -> Assignment | None:
    if topics is None:
        return None
    owned: dict[UUID, frozenset[int]] = {}
    for each in topics:
        # A topic may be named twice: what is named at all has not been given up.
        owned[each.topic_id] = owned.get(each.topic_id, frozenset()).union(each.partitions)
    return owned
