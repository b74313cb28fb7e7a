"""The offset of a stream, as Spark's checkpoint and progress have it (Spark's `KafkaSourceOffset`).

It is the JSON of Spark's Kafka source, `{"topic":{"0":12}}`. What else must be kept lies under keys with a space in
them, which no topic's name can have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from eosfw.errors import ConfigError, DamagedDataError, Problem
from eosfw.ids import TopicPartition
from eosfw_spark.source.data_loss import TopicIds, known_id
from eosfw_spark.source.offset_range_limit import Offsets
from eosfw_spark.source.offset_ranges import Ranges
from eosfw_spark.source.options import ReadOptions
from eosfw_spark.source.topic_pattern import matching_topics

INITIAL: Final = "initial offset"
"""Where a query began. The end of batch 0 has it: of a batch Spark keeps its end only, and asks for the rest again."""
RESUMED: Final = "resumed offset"
"""Where a batch begins that does not begin at the end of the one before, because records in between were lost."""
TOPIC_IDS: Final = "topic ids"
"""The ids of the topics that were read: one that was created again has another id under the same name."""
GONE: Final = "gone partitions"
"""Where reading was in partitions that were missing and may come back, by the id of their topic and their number."""
_GONE_KEPT: Final = 1000
"""How many of them an offset has, where topics come and go; those that were missing first are left out."""
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
        raise _foreign(given) from None


def _foreign(given: object) -> ConfigError:
    what = f"the checkpoint holds {json.dumps(given)[:120]}, which are no offsets of topics: another query wrote it"
    return ConfigError(Problem("", f"{what}; {REMEDY}"))


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


def resumed_offsets_of(given: Mapping[str, Any]) -> dict[TopicPartition, int]:
    """Where the batch that ends here begins in the partitions that had lost records before it."""
    return to_offsets(given.get(RESUMED, {}))


def topic_ids_of(given: Mapping[str, Any]) -> TopicIds:
    """The ids that the topics had; none if the backend could not tell, or an older version wrote the offset."""
    ids = given.get(TOPIC_IDS, {})
    if not isinstance(ids, dict) or not all(isinstance(each, str) for each in ids.values()):
        raise _foreign(given)
    return ids


def returned_offsets(given: Mapping[str, Any], bounds: Ranges, ids: TopicIds) -> Offsets:
    """Where reading goes on in partitions that were missing and are there again, in the same topic."""
    gone = _gone(given)
    keys = {each: _gone_key(each, ids) for each in bounds}
    return {each: gone[key] for each, key in keys.items() if key is not None and key in gone}


def gone_offsets(
    given: Mapping[str, Any], missing: Offsets, returned: Offsets, known: TopicIds, ids: TopicIds
) -> Mapping[str, int]:
    """Where reading was in partitions that are missing: those from before that did not return, and `missing` now."""
    found = dict(_gone(given))
    for each in returned:
        found.pop(_gone_key(each, ids) or "", None)
    found |= {key: offset for each, offset in missing.items() if (key := _gone_key(each, known)) is not None}
    return dict(list(found.items())[-_GONE_KEPT:])


def _gone(given: Mapping[str, Any]) -> Mapping[str, int]:
    gone = given.get(GONE, {})
    if not isinstance(gone, dict) or not all(type(each) is int and each >= 0 for each in gone.values()):
        raise _foreign(given)
    return gone


def _gone_key(partition: TopicPartition, ids: TopicIds) -> str | None:
    """None if nobody can tell one topic of a name from another one."""
    topic_id = known_id(ids.get(partition.topic))
    return None if topic_id is None else f"{topic_id}-{partition.partition}"


def planned_end(
    end: Offsets,
    ids: TopicIds,
    *,
    resumed: Offsets,
    gone: Mapping[str, int],
    initial: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The end of a batch, with what reading it again and going on behind it need."""
    known = {topic: ids[topic] for topic in sorted({each.topic for each in end}) if topic in ids}
    planned = from_offsets(end)
    if known:
        planned[TOPIC_IDS] = known
    if resumed:
        planned[RESUMED] = from_offsets(resumed)
    if gone:
        planned[GONE] = dict(gone)
    if initial is not None:
        planned[INITIAL] = dict(initial)
    return planned


# --- whether a checkpoint can be gone on from


def require_subscribed(start: Offsets, options: ReadOptions) -> None:
    """Raise ConfigError if the query has read topics or partitions that its options do not name."""
    topics = {each.topic for each in start}
    if options.pattern is not None:
        foreign = {f"topic {each}" for each in topics - set(matching_topics(options.pattern, topics))}
        reads = f"topics by the pattern {options.pattern.pattern}"
    elif options.assigned is None:
        foreign = {f"topic {each}" for each in topics - set(options.topics)}
        reads = ", ".join(f"topic {each}" for each in options.topics)
    else:
        foreign = {str(each) for each in set(start) - set(options.assigned)}
        reads = ", ".join(map(str, options.assigned))
    if foreign:
        raise ConfigError(
            Problem(
                "",
                f"the checkpoint has offsets of {', '.join(sorted(foreign))}, but the query reads {reads}: another "
                f"query wrote it, or something was taken away; {REMEDY}",
            )
        )


def require_forward(start: Offsets, end: Offsets) -> None:
    """Raise DamagedDataError if a batch of the checkpoint ends before it begins."""
    for each, position in sorted(end.items()):
        if position < start.get(each, 0):
            raise DamagedDataError(
                f"a batch of {each} begins at offset {start[each]} and ends at {position}: the checkpoint is damaged"
            )
