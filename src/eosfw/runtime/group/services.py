"""What the parts of a worker's membership share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from eosfw.concurrency import Runtime
from eosfw.protocols import Backend, GroupDescription
from eosfw.runtime.group.members_topic import MembersTopic
from eosfw.state.steps import Announce
from eosfw.state.storage.config_records import ConfigRecord

CLIENT_ID = "eosfw-worker."
"""What the client ids of workers in their group begin with; the worker's name follows."""


def live_workers(group: GroupDescription) -> frozenset[str]:
    """The names of the workers that the coordinator counts in; other consumers may share the group's name."""
    ids = [one.client_id for one in group.members if one.client_id.startswith(CLIENT_ID)]
    return frozenset(one.removeprefix(CLIENT_ID) for one in ids)


class ElectedLeader(Protocol):
    """What the member of a group does as its leader (part of `Leader`)."""

    def start(self) -> None:
        """Claim leadership, which fences the leader before, then read everything that it wrote."""

    def publish(self, topic: str, records: Sequence[ConfigRecord], number: int) -> None:
        """Publish an assignment; PrivilegedWriteError for a leader that was fenced by its successor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipSettings:
    """The properties of a worker that its membership depends on; times in seconds."""

    group_id: str
    worker: str
    url: str | None
    support: str
    """`exactly.once.source.support`."""
    version: str
    protocol: str = "sessioned"
    session_timeout: float = 10.0
    rebalance_timeout: float = 60.0
    max_delay: float = 300.0
    """`scheduled.rebalance.max.delay.ms`."""
    client_properties: Mapping[str, str] | None = None
    """Of the group's client."""
    producer_properties: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipServices:
    """The parts of its worker that a membership uses."""

    settings: MembershipSettings
    backend: Backend
    members: MembersTopic
    leader: ElectedLeader
    announce: Announce
    runtime: Runtime
    wake: Callable[[], None]
    """Has the herder's thread look at the group at once."""
