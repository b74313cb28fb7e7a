"""Queries about the topics of a cluster; the answers are rows for people and programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eosfw.config.definition.config_def import nearest
from eosfw.errors import UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition

if TYPE_CHECKING:
    from eosfw.protocols import Admin

Row = Mapping[str, Any]


def topic_rows(counts: Mapping[str, int]) -> list[Row]:
    """One row per topic, sorted: its name and its number of partitions."""
    return [{"topic": name, "partitions": count} for name, count in sorted(counts.items())]


def partition_counts(admin: Admin, names: Sequence[str]) -> Mapping[str, int]:
    """The number of partitions of each topic; the error for one that is unknown names the nearest."""
    known = admin.partitions()
    for name in names:
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near!r}?" if near else "`eosfw topics list` shows those that exist"
            raise UnknownTopicOrPartitionError(f"there is no topic {name!r}; {hint}")
    return {name: known[name] for name in names}


def description_rows(admin: Admin, names: Sequence[str]) -> list[Row]:
    """One row per topic: its id, the offsets of its partitions, and its properties in force."""
    from eosfw.protocols import IsolationLevel

    counts = partition_counts(admin, names)
    by_topic = {name: [TopicPartition(name, number) for number in range(counts[name])] for name in names}
    partitions = [one for each in by_topic.values() for one in each]
    starts = admin.log_start_offsets(partitions)
    stable = admin.end_offsets(partitions, IsolationLevel.READ_COMMITTED)
    ends = admin.end_offsets(partitions, IsolationLevel.READ_UNCOMMITTED)
    ids = admin.topic_ids(names)
    return [
        {
            "topic": name,
            "topic_id": ids.get(name),
            "partitions": [
                {
                    "partition": str(one),
                    "log_start_offset": starts[one],
                    "last_stable_offset": stable[one],
                    "high_watermark": ends[one],
                }
                for one in by_topic[name]
            ],
            "config": dict(sorted(admin.topic_config(name).items())),
        }
        for name in names
    ]
