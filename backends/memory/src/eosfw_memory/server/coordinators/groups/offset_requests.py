"""Answer OffsetCommit, TxnOffsetCommit, OffsetFetch and OffsetDelete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators.groups.group_metadata_manager import AnyGroup, GroupMetadataManager
from eosfw_memory.server.coordinators.groups.group_records import NO_LEADER_EPOCH, Committed
from eosfw_memory.server.coordinators.groups.membership.consumer_protocol import CONSUMER
from eosfw_memory.server.coordinators.groups.membership.group import Group
from eosfw_memory.server.coordinators.groups.membership.group_state import GroupState
from eosfw_memory.server.coordinators.groups.membership.members import NO_MEMBER
from eosfw_memory.server.coordinators.groups.modern.consumer_group import ConsumerGroup
from eosfw_memory.server.coordinators.groups.offset_expiration import subscribed_topics

_NOTHING = Committed(-1, NO_LEADER_EPOCH, "", -1)


@dataclass(frozen=True, slots=True)
class OffsetCommitter:
    """Who commits: a member of a generation, or by default a client that is no member."""

    member_id: str = NO_MEMBER
    instance_id: str | None = None
    generation: int = -1
    """Of a classic group; the member epoch of a consumer group."""
    knows_member_epochs: bool = True
    """Whether its client knows the consumer group protocol (KIP-848)."""

    @property
    def anybody(self) -> bool:
        """Whether it claims to be no member at all."""
        return self.generation < 0 and self.member_id == NO_MEMBER and self.instance_id is None


class OffsetRequests:
    """The requests about offsets."""

    def __init__(self, store: GroupMetadataManager) -> None:
        self._store = store

    def commit(
        self, group_id: str, who: OffsetCommitter, offsets: Mapping[TopicPartition, Committed], now_ms: int
    ) -> None:
        """Commit offsets at once; raises KafkaError if the committer may not."""
        group = self._group(group_id, who, now_ms)
        check(group, who, transactional=False)
        if (
            isinstance(group, Group)
            and who.generation >= 0
            and group.state in (GroupState.STABLE, GroupState.PREPARING_REBALANCE)
        ):
            group.members[who.member_id].renew_session(now_ms)
        self._store.commit(group_id, offsets, now_ms)

    def commit_in_transaction(
        self,
        group_id: str,
        who: OffsetCommitter,
        producer: ProducerIdAndEpoch,
        offsets: Mapping[TopicPartition, Committed],
        now_ms: int,
    ) -> None:
        """Commit offsets with the producer's transaction; raises KafkaError if the committer may not."""
        group = self._group(group_id, who, now_ms)
        check(group, who, transactional=True)
        self._store.commit(group_id, offsets, now_ms, producer)

    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> None:
        """Raise UnknownMemberId or StaleMemberEpoch unless this member may fetch offsets; anybody else may."""
        group = self._store.get(group_id)
        if isinstance(group, ConsumerGroup) and (member_id is not None or member_epoch >= 0):
            _check_member_epoch(group, member_id or NO_MEMBER, member_epoch)

    def fetch(
        self, group_id: str, partitions: Iterable[TopicPartition] | None, *, stable: bool
    ) -> Mapping[TopicPartition, Committed | Code]:
        """The offsets that a group committed, -1 where it committed none; of all partitions if none are named.

        If only stable offsets are wanted, those that an open transaction may change are UnstableOffsetCommit.
        """
        offsets = self._store.offsets
        known = offsets.of(group_id)
        undecided = offsets.undecided(group_id) if stable else ()
        found: dict[TopicPartition, Committed | Code] = {}
        for where in known if partitions is None else partitions:
            if where in undecided:
                found[where] = Code.UNSTABLE_OFFSET_COMMIT
            else:
                found[where] = known[where].committed if where in known else _NOTHING
        return found

    def delete(self, group_id: str, partitions: Sequence[TopicPartition], now_ms: int) -> Mapping[TopicPartition, Code]:
        """Forget offsets that no member reads on from; raises GroupIdNotFound, or NonEmptyGroup."""
        group = self._store.get(group_id)
        if group is None:
            raise KafkaError(Code.GROUP_ID_NOT_FOUND)
        if not group.is_empty and group.protocol_type != CONSUMER:
            raise KafkaError(Code.NON_EMPTY_GROUP)
        topics = subscribed_topics(group)
        busy = {where for where in partitions if topics is None or where.topic in topics}
        # Pending ones, too: the end of their transaction must not bring them back.
        known = {key.where for key in self._store.offsets.keys(group_id)}
        gone = [each for each in partitions if each in known and each not in busy]
        self._store.forget_offsets(group_id, gone, now_ms)
        return {where: Code.GROUP_SUBSCRIBED_TO_TOPIC if where in busy else Code.NONE for where in partitions}

    def _group(self, group_id: str, who: OffsetCommitter, now_ms: int) -> AnyGroup:
        """The group; a committer without a generation may commit for one that does not exist yet."""
        group = self._store.get(group_id)
        if group is not None:
            return group
        if who.generation >= 0:
            raise KafkaError(Code.ILLEGAL_GENERATION)
        return Group(group_id, now_ms)  # the first offset that is logged makes it known


def check(group: AnyGroup, who: OffsetCommitter, *, transactional: bool) -> None:
    """Raise unless this committer may commit for this group now (GRP-02)."""
    if who.generation < 0 and group.is_empty:
        return
    if isinstance(group, ConsumerGroup):
        _check_consumer(group, who, transactional=transactional)
        return
    if not who.anybody:
        group.current_member(who.member_id, who.instance_id, who.generation)
    elif not transactional:
        # Members alone commit while there are any. Producers of before KIP-447 could not say who they are.
        raise KafkaError(Code.UNKNOWN_MEMBER_ID)
    if not transactional and group.state is GroupState.COMPLETING_REBALANCE:
        # The member gets its new assignment first: the partition may be another's by now.
        raise KafkaError(Code.REBALANCE_IN_PROGRESS)


def _check_consumer(group: ConsumerGroup, who: OffsetCommitter, *, transactional: bool) -> None:
    if transactional and who.anybody:
        return
    member = group.members.get(who.member_id)
    by_epochs = member is not None and member.metadata.classic is None
    if by_epochs and not transactional and not who.knows_member_epochs:
        raise KafkaError(Code.UNSUPPORTED_VERSION)
    _check_member_epoch(group, who.member_id, who.generation, transactional=transactional)


def _check_member_epoch(
    group: ConsumerGroup, member_id: str, member_epoch: int, *, transactional: bool = False
) -> None:
    """A member with another epoch than its own was told, or will be, that its partitions changed."""
    member = group.members.get(member_id)
    if member is None:
        raise KafkaError(Code.UNKNOWN_MEMBER_ID)
    if member.current.member_epoch != member_epoch:
        # Members of the classic protocol know nothing of epochs, nor does TxnOffsetCommit.
        by_generation = transactional or member.metadata.classic is not None
        raise KafkaError(Code.ILLEGAL_GENERATION if by_generation else Code.STALE_MEMBER_EPOCH)
