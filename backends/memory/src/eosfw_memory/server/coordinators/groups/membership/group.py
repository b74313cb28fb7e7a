"""One group: its members, its generation, its protocol. Kafka's `ClassicGroup`."""

from __future__ import annotations

from collections import Counter
from typing import Final

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators.groups.membership.group_state import GroupState, advance
from eosfw_memory.server.coordinators.groups.membership.members import NO_MEMBER, Member, Protocols


class Group:
    """One group, changed in place, by one thread at a time."""

    group_type: Final = "classic"

    def __init__(self, group_id: str, now_ms: int) -> None:
        self.group_id = group_id
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.DEAD
        self.since_ms = now_ms
        """When it came into its state."""
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        """Member ids by group.instance.id (KIP-345)."""
        self.pending_join_members: dict[str, int] = {}
        """Member ids that were given to clients which have to join with them, each with its deadline."""
        self.pending_sync_members: set[str] = set()
        """Members of this generation that have not sent SyncGroup."""
        self.join_deadline_ms: int | None = None
        self.join_left_ms = 0
        """How much longer a group's first rebalance may be put off while members keep coming."""
        self.new_member_added = False
        self.sync_deadline_ms: int | None = None

    # --- states

    def move(self, target: GroupState, now_ms: int) -> None:
        """Enter a state, or raise and change nothing."""
        self.state, self.previous_state = advance(self.state, target), self.state
        self.since_ms = now_ms

    @property
    def is_empty(self) -> bool:
        return self.state is GroupState.EMPTY

    @property
    def may_rebalance(self) -> bool:
        return self.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.EMPTY)

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest of any member."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def all_joined(self) -> bool:
        """Whether every member has joined the next generation."""
        return not self.pending_join_members and all(member.joining is not None for member in self.members.values())

    # --- members

    def add(self, member: Member, protocol_type: str) -> None:
        """Add a member; the first one decides the protocol type, and leads."""
        if not self.members:
            self.protocol_type = protocol_type
        self.members[member.member_id] = member
        self.pending_join_members.pop(member.member_id, None)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self.leader = self.leader or member.member_id

    def remove(self, member_id: str) -> Member | None:
        """Remove a member, or a client that was about to become one."""
        self.pending_join_members.pop(member_id, None)
        self.pending_sync_members.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is not None and member.instance_id is not None:
            self.static_members.pop(member.instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        return member

    def replace(self, old_id: str, new_id: str) -> Member:
        """Give a static member another id, with everything else as it was."""
        old = self.members.pop(old_id)
        member = self.members[new_id] = old.renamed(new_id)
        self.pending_sync_members.discard(old_id)
        if old.instance_id is not None:
            self.static_members[old.instance_id] = new_id
        if self.leader == old_id:
            self.leader = new_id
        return member

    def maybe_elect_new_leader(self) -> bool:
        """Make a member that joined the leader, unless the leader did; False if no member joined."""
        leader = self.members.get(self.leader or NO_MEMBER)
        if leader is None or leader.joining is None:
            joined = (member.member_id for member in self.members.values() if member.joining is not None)
            new_leader = next(joined, None)
            if new_leader is None:
                return False
            self.leader = new_leader
        return True

    def member(self, member_id: str, instance_id: str | None) -> Member:
        """The member of these ids; raises UnknownMemberId, or FencedInstanceId for a replaced static member."""
        if instance_id is not None:
            holder = self.static_members.get(instance_id)
            if holder is None:
                raise KafkaError(Code.UNKNOWN_MEMBER_ID)
            if holder != member_id:
                raise KafkaError(Code.FENCED_INSTANCE_ID)
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(Code.UNKNOWN_MEMBER_ID)
        return member

    def current_member(self, member_id: str, instance_id: str | None, generation: int) -> Member:
        """The member of these ids and the current generation; raises IllegalGeneration for another generation."""
        member = self.member(member_id, instance_id)
        if generation != self.generation:
            raise KafkaError(Code.ILLEGAL_GENERATION)
        return member

    def resume(self, now_ms: int) -> None:
        """Go on from a log or another protocol: with the assignments of a rebalance that is complete."""
        if self.members:
            self.state, self.previous_state = GroupState.STABLE, GroupState.COMPLETING_REBALANCE
        for member in self.members.values():
            member.renew_session(now_ms)

    def on_clock_moved_back(self, now_ms: int) -> None:
        """Have no deadline later than a timeout from now."""
        for member in self.members.values():
            member.deadline_ms = min(member.deadline_ms, now_ms + member.session_timeout_ms)
        longest = now_ms + self.rebalance_timeout_ms
        if self.join_deadline_ms is not None:
            self.join_deadline_ms = min(self.join_deadline_ms, longest)
        if self.sync_deadline_ms is not None:
            self.sync_deadline_ms = min(self.sync_deadline_ms, longest)

    # --- protocols

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether a member with these could join: the same type, and a protocol that every member supports."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type and protocols)
        if self.protocol_type != protocol_type:
            return False
        # All members may have left while clients that know their member ids are still expected: no protocol is agreed.
        return not self.members or not self._supported_by_all().isdisjoint(name for name, _ in protocols)

    def choose_protocol(self) -> str:
        """The protocol that most members prefer among those that all of them support."""
        candidates = self._supported_by_all()
        votes = Counter(
            next(name for name, _ in member.protocols if name in candidates) for member in self.members.values()
        )
        return votes.most_common(1)[0][0]

    def _supported_by_all(self) -> set[str]:
        supported = [{name for name, _ in member.protocols} for member in self.members.values()]
        return set.intersection(*supported) if supported else set()
