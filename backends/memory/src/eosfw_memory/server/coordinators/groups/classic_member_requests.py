"""Answer JoinGroup, SyncGroup and Heartbeat of members of consumer groups that use the classic protocol (KIP-848).

The broker makes their assignments, too: no such member leads, and each joins as often as its assignment changes.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.coordinators.groups.consumer_group_requests import ConsumerGroupRequests
from eosfw_memory.server.coordinators.groups.group_config import GroupConfigs
from eosfw_memory.server.coordinators.groups.membership.consumer_protocol import (
    CONSUMER,
    Subscription,
    encode_assignment,
    schema_version,
)
from eosfw_memory.server.coordinators.groups.membership.members import NO_MEMBER, JoinRequest
from eosfw_memory.server.coordinators.groups.membership.responses import join_error
from eosfw_memory.server.coordinators.groups.modern import heartbeat as transitions
from eosfw_memory.server.coordinators.groups.modern.consumer_group import ConsumerGroup, target_of
from eosfw_memory.server.coordinators.groups.modern.conversion import with_topic_ids, with_topic_names
from eosfw_memory.server.coordinators.groups.modern.heartbeat import HeartbeatRequest
from eosfw_memory.server.coordinators.groups.modern.member import (
    JOIN_GROUP_EPOCH,
    ClassicMemberMetadata,
    ConsumerGroupMember,
    MemberState,
)
from eosfw_memory.server.coordinators.groups.modern.topics_image import TopicsImage


class ClassicMemberRequests:
    """The requests of such members; each raises KafkaError."""

    def __init__(self, consumer_groups: ConsumerGroupRequests, configs: GroupConfigs, topics: TopicsImage) -> None:
        self._consumer_groups = consumer_groups
        self._configs = configs
        self._topics = topics

    def join(self, group: ConsumerGroup, request: JoinRequest, now_ms: int) -> Answer:
        """Let a client into a group with members, or lead a member one step on to what it shall have."""
        member_id, is_known = request.member_id or str(uuid4()), request.member_id != NO_MEMBER
        self._consumer_groups.check_room(group, member_id)
        if request.protocol_type != CONSUMER or not group.supports_classic(request.protocols):
            raise KafkaError(Code.INCONSISTENT_GROUP_PROTOCOL)
        if request.instance_id is None and request.needs_known_id and not is_known:
            return join_error(member_id, Code.MEMBER_ID_REQUIRED)
        if request.instance_id is not None and is_known:
            transitions.current_member(group, member_id, request.instance_id)
        heartbeat = self._heartbeat(member_id, request)
        result = transitions.heartbeat(group, heartbeat, self._topics, now_ms)
        generation = result.member.current.member_epoch
        if _replaces_other_protocol(group, request) and self._consumer_groups.may_downgrade(result.group):
            if self._consumer_groups.downgrade(result.group, (), now_ms):
                generation = JOIN_GROUP_EPOCH  # nobody's: it is to join again
        else:
            self._consumer_groups.make(group, result, now_ms)
            group.timers.await_sync(result.member, now_ms)
        return {
            **join_error(member_id, Code.NONE),
            "generation_id": generation,
            "protocol_type": CONSUMER,
            "protocol_name": request.protocols[0][0],
        }

    def _heartbeat(self, member_id: str, request: JoinRequest) -> HeartbeatRequest:
        classic = ClassicMemberMetadata(request.session_timeout_ms, request.protocols)
        try:
            subscription = Subscription.read(classic.protocol[1])
        except ValueError as why:
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR) from why  # as Kafka, which has no code for it
        return HeartbeatRequest(
            member_id=member_id,
            member_epoch=JOIN_GROUP_EPOCH,
            instance_id=request.instance_id,
            rack_id=subscription.rack,
            client_id=request.client_id,
            client_host=request.client_host,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            topic_names=subscription.topics,
            owned=with_topic_ids(subscription.owned, self._topics),
            classic=classic,
            sees=request.sees,
        )

    def sync(self, group: ConsumerGroup, request: Any, now_ms: int) -> Answer:
        """Give a member what it has now."""
        member, classic = _current(group, request)
        agreed = {"protocol_type": CONSUMER, "protocol_name": classic.protocol[0]}
        if any(getattr(request, name, None) not in (None, each) for name, each in agreed.items()):
            raise KafkaError(Code.INCONSISTENT_GROUP_PROTOCOL)
        # One that has to give up partitions joined for this epoch already, and gets what it keeps.
        behind = member.current.member_epoch < group.epoch
        if behind and member.current.state is not MemberState.UNREVOKED_PARTITIONS:
            group.timers.await_join(member, now_ms)
            raise KafkaError(Code.REBALANCE_IN_PROGRESS)
        group.timers.synced(member)
        group.timers.renew(member, self._configs.session_timeout_ms(group.group_id), now_ms)
        partitions = with_topic_names(member.current.assigned, self._topics)
        return {
            "error_code": Code.NONE,
            **{name: getattr(request, name, None) for name in agreed},
            "assignment": encode_assignment(partitions, schema_version(classic.protocol[1])),
        }

    def heartbeat(self, group: ConsumerGroup, request: Any, now_ms: int) -> Code:
        """Say whether the member is to join again, for another assignment or a further step to it."""
        member, _ = _current(group, request)
        group.timers.renew(member, self._configs.session_timeout_ms(group.group_id), now_ms)
        state = member.current.state
        free = state is MemberState.UNRELEASED_PARTITIONS and not _waits_for_others(group, member)
        if member.current.member_epoch < group.epoch or state is MemberState.UNREVOKED_PARTITIONS or free:
            group.timers.await_join(member, now_ms)
            return Code.REBALANCE_IN_PROGRESS
        return Code.NONE


def _current(group: ConsumerGroup, request: Any) -> tuple[ConsumerGroupMember, ClassicMemberMetadata]:
    """The member that asks, in its epoch; raises UnknownMemberId, FencedInstanceId or IllegalGeneration."""
    member = transitions.current_member(group, request.member_id, getattr(request, "group_instance_id", None))
    if member.metadata.classic is None:
        raise KafkaError(Code.UNKNOWN_MEMBER_ID)
    if request.generation_id != member.current.member_epoch:
        raise KafkaError(Code.ILLEGAL_GENERATION)
    return member, member.metadata.classic


def _replaces_other_protocol(group: ConsumerGroup, request: JoinRequest) -> bool:
    """Whether a static member comes back by the classic protocol that did not use it before."""
    holder = group.static_members.get(request.instance_id or "")
    return holder is not None and group.members[holder].metadata.classic is None


def _waits_for_others(group: ConsumerGroup, member: ConsumerGroupMember) -> bool:
    """Whether some member still has a partition that this one shall have."""
    assigned, none = member.current.assigned, frozenset[int]()
    return any(
        not group.owners.get(topic_id, {}).keys().isdisjoint(shall - assigned.get(topic_id, none))
        for topic_id, shall in target_of(group, member.member_id).items()
    )
