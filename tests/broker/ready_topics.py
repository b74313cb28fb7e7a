"""Topics as single requests need them: these go to a broker once, and are not sent again."""

from __future__ import annotations

from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic

from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.common.codes import Code

from .groups.group_requests import WAIT, Raw

NOT_YET = (Code.NOT_LEADER_OR_FOLLOWER, Code.UNKNOWN_TOPIC_OR_PARTITION)


def create(admin: AdminClient, servers: str, *wanted: NewTopic) -> None:
    """Create topics and wait until each of their partitions is led."""
    for done in admin.create_topics(list(wanted)).values() if wanted else ():
        done.result(WAIT)
    raw = Raw(servers)
    for each in wanted:
        wait_until_led(raw, each.topic, each.num_partitions)
    raw.close()


def wait_until_led(raw: Raw, topic: str, partitions: int) -> None:
    """A real Kafka's broker tells of a partition a little before it leads it."""
    while set(_codes(raw, topic, partitions)) & set(NOT_YET):
        """Asked again at once: it is a matter of milliseconds."""


def wait_until_decided(servers: str, topic: str, partitions: int = 1) -> None:
    """A real Kafka answers a commit, or an abort, before its control records are written (COR-09)."""
    raw = Raw(servers)
    written = _ends(raw, topic, partitions)
    while any(stable < end for stable, end in zip(_ends(raw, topic, partitions, 1), written, strict=True)):
        """Asked again at once: it is a matter of milliseconds."""
    raw.close()


def _codes(raw: Raw, topic: str, partitions: int) -> list[int]:
    return [each["error_code"] for each in _latest(raw, topic, partitions, 0)]


def _ends(raw: Raw, topic: str, partitions: int, isolation_level: int = 0) -> list[int]:
    found = _latest(raw, topic, partitions, isolation_level)
    assert {each["error_code"] for each in found} == {Code.NONE}
    return [each["offset"] for each in sorted(found, key=lambda each: each["partition_index"])]


def _latest(raw: Raw, topic: str, partitions: int, isolation_level: int) -> list[Any]:
    wanted = [Fields(partition_index=each, timestamp=-1, current_leader_epoch=-1) for each in range(partitions)]
    topics = [Fields(name=topic, partitions=wanted)]
    answer = raw.ask(2, 10, replica_id=-1, isolation_level=isolation_level, timeout=0, topics=topics)
    found: list[Any] = answer["topics"][0]["partitions"]
    return found
