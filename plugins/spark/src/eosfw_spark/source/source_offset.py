"""The offset of a stream, as Spark's checkpoint and progress have it (Spark's `KafkaSourceOffset`).

It is the JSON of Spark's Kafka source, `{"topic":{"0":12}}`. What else must be kept lies under keys with a space in
them, which no topic's name can have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from eosfw.errors import ConfigError, Problem
from eosfw.ids import TopicPartition
from eosfw_spark.source.offset_range_limit import Offsets

INITIAL: Final = "initial offset"
"""Where a query began. The end of batch 0 has it: of a batch Spark keeps its end only, and asks for the rest again."""
REMEDY: Final = "give this query a checkpointLocation of its own"


def from_offsets(offsets: Offsets) -> dict[str, Any]:
    """Offsets as `{"topic": {"0": 12}}`, always in one order: Spark compares the texts."""
    topics: dict[str, Any] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        topics.setdefault(topic, {})[str(partition)] = offset
    return topics


def to_offsets(given: object) -> dict[TopicPartition, int]:
    """The offsets of a checkpoint; ConfigError if another source wrote it."""
    try:
        return _offsets(given)
    except (ValueError, TypeError, AttributeError):
        what = f"the checkpoint holds {json.dumps(given)[:120]}, which are no offsets of topics: another query wrote it"
        raise ConfigError(Problem("", f"{what}; {REMEDY}")) from None


def _offsets(given: Any) -> dict[TopicPartition, int]:
    found = {
        TopicPartition(topic, int(partition)): offset
        for topic, partitions in given.items()
        if " " not in topic
        for partition, offset in partitions.items()
    }
    if any(type(offset) is not int or offset < 0 for offset in found.values()):
        raise ValueError(given)
    return found


def initial_offsets(given: Mapping[str, Any]) -> dict[TopicPartition, int] | None:
    """Where the query began, if this is the end of its first batch."""
    return to_offsets(given[INITIAL]) if INITIAL in given else None
