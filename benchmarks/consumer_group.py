"""Measure what a consumer group costs the embedded broker (KIP-848), by the number of its members.

Of each group every member has one partition of one topic. A heartbeat of a member that has all it shall have; one of a
member that waits for a partition that another one has not given up; the heartbeat by which one more member joins, with
the target assignment that it begins. Decisions alone, without log and network. Prints one JSON object.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from uuid import uuid4

from benchmark import run_main, scaled, show

from eosfw_memory.server.coordinators.groups.modern.changes import (
    GroupMetadata,
    TargetAssignment,
    TargetAssignmentMetadata,
    put,
)
from eosfw_memory.server.coordinators.groups.modern.consumer_group import ConsumerGroup
from eosfw_memory.server.coordinators.groups.modern.heartbeat import HeartbeatRequest, heartbeat
from eosfw_memory.server.coordinators.groups.modern.member import CurrentAssignment, MemberMetadata, MemberState
from eosfw_memory.server.coordinators.groups.modern.topics_image import TopicImage, metadata_hash

ROUNDS = scaled(7, least=2)
BEATS = scaled(100, least=2)
MEMBERS = [scaled(number, least=4) for number in (100, 1_000, 5_000)]
TOPIC = "t"


class OneTopic:
    """A topic with one partition for each member."""

    version = 1

    def __init__(self, partitions: int) -> None:
        self._image = TopicImage(uuid4(), partitions)

    def topic(self, name: str) -> TopicImage | None:
        return self._image if name == TOPIC else None

    def names(self) -> Iterable[str]:
        return (TOPIC,)


def stable_group(topics: OneTopic, members: int) -> ConsumerGroup:
    """A group whose members have what they shall have."""
    group, topic_id = ConsumerGroup("g"), topics.topic(TOPIC).topic_id
    group.apply(put(GroupMetadata(1, metadata_hash(topics, [TOPIC]))))
    metadata = MemberMetadata(topic_names=frozenset({TOPIC}), rebalance_timeout_ms=60_000)
    for number in range(members):
        name, own = f"member-{number}", {topic_id: frozenset({number})}
        group.apply(put(metadata, name))
        group.apply(put(TargetAssignment(own), name))
        group.apply(put(CurrentAssignment(1, 0, MemberState.STABLE, own), name))
    group.apply(put(TargetAssignmentMetadata(1)))
    group.topics_version = topics.version
    return group


def let_first_wait(group: ConsumerGroup, topics: OneTopic) -> None:
    """Have the first member wait for the partition of the second one."""
    topic_id = topics.topic(TOPIC).topic_id
    first, second = ({topic_id: frozenset({number})} for number in (0, 1))
    group.apply(put(GroupMetadata(2, group.metadata_hash)))
    group.apply(put(TargetAssignment(second), "member-0"))
    group.apply(put(TargetAssignment(first), "member-1"))
    group.apply(put(TargetAssignmentMetadata(2)))
    group.apply(put(CurrentAssignment(2, 2, MemberState.UNRELEASED_PARTITIONS), "member-0"))


def microseconds(beat: Callable[[], object], times: int) -> float:
    """The median of the rounds, of a processor, for one heartbeat."""
    taken = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(times):
            beat()
        taken.append((time.process_time() - began) / times * 1e6)
    return round(statistics.median(taken), 1)


def measured(members: int) -> dict[str, float]:
    """Microseconds of each heartbeat."""
    topics = OneTopic(members)
    group = stable_group(topics, members)

    def cost(request: HeartbeatRequest, times: int) -> float:
        return microseconds(lambda: heartbeat(group, request, topics, 0), times)

    steady = HeartbeatRequest(member_id="member-0", member_epoch=1)
    joins = HeartbeatRequest(
        member_id="new", member_epoch=0, topic_names=frozenset({TOPIC}), rebalance_timeout_ms=60_000, owned={}
    )
    found = {"steady_us": cost(steady, BEATS), "joining_us": cost(joins, max(1, BEATS // 10))}
    let_first_wait(group, topics)
    waits = HeartbeatRequest(member_id="member-0", member_epoch=2, owned={})
    assert not heartbeat(group, waits, topics, 0).changes
    return found | {"waiting_us": cost(waits, BEATS)}


def main() -> None:
    show({"members": {str(members): measured(members) for members in MEMBERS}})


if __name__ == "__main__":
    run_main(main)
