"""The contract of a member of a consumer group, and what an administrator sees of a group.

A group gives its members what a cluster of workers needs: who is alive, and who owns a partition. Nothing is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from eosfw.ids import TopicPartition

__all__ = ["GroupAssignment", "GroupConsumer", "GroupDescription", "MemberDescription"]


@dataclass(frozen=True, slots=True)
class GroupAssignment:
    """What a member of a consumer group owns now.

    While a rebalance is under way a member keeps its partitions until it is asked to give them up (KIP-429). It owns
    none before it has joined, nor after its group went on without it.
    """

    partitions: frozenset[TopicPartition] = frozenset()
    member_id: str = ""
    """Empty until the group has given it one."""
    generation: int = -1
    """The generation it has joined; -1 before, and always with a client that does not tell it."""
    rebalancing: bool = True
    """Whether it has still to learn what it owns: at first every member has. A client that rebalances on a thread of
    its own may tell only then."""


@runtime_checkable
class GroupConsumer(Protocol):
    """A member of a consumer group, for membership alone (Kafka's `Consumer` with `subscribe` and no fetches).

    The thread that made it makes every call, `close` as well. Whoever stops to call `poll` loses its place: after the
    session timeout, or after the rebalance timeout where the client sends heartbeats by itself.
    """

    def poll(self, timeout: float) -> GroupAssignment:
        """Take part in the group for at most `timeout` seconds: heartbeats, joining, handing over happen in here.

        It returns as soon as the member owns something else than it returned last, or a rebalance is over. With 0 it
        only does what needs no waiting, so a thread with other work may poll between two pieces of it, at least every
        third of the session timeout.

        A member that was expelled joins again by itself, and a coordinator that cannot be reached is looked for again:
        neither is an error here. InconsistentGroupProtocolError while another kind of group is alive under the id,
        GroupAuthorizationError, UnknownTopicOrPartitionError, ...; after an error the next call tries again.
        """

    def confirm(self, timeout: float) -> None:
        """Have the coordinator confirm that this is a member of the current generation, by a synchronous commit.

        CommitFailedError where the group went on without it: whatever it owned, another member may own now.
        RetriableError (RebalanceInProgressError, ClusterUnavailableError) where nobody can say yet: poll, then ask
        again. So it is for a member that the coordinator knows, but that has not heard of the newest generation yet.
        Members that own no partition may ask as well.
        """

    def close(self, timeout: float = 5.0) -> None:
        """Leave the group, so that its other members take over at once; never raises."""


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """One member of a group, as its coordinator shows it (Kafka's `MemberDescription`)."""

    member_id: str
    client_id: str
    host: str
    partitions: frozenset[TopicPartition] = frozenset()
    """What it owns; empty while the group rebalances, and for a group that does not consist of consumers."""


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group as its coordinator shows it (Kafka's `ClassicGroupDescription`)."""

    group_id: str
    state: str
    """Kafka's name of it: Stable, PreparingRebalance, CompletingRebalance, Empty; Dead for a group that is unknown."""
    protocol_type: str = ""
    """The kind of group: `consumer`, `connect` for the workers of Kafka Connect; empty for one that is unknown."""
    members: tuple[MemberDescription, ...] = ()
