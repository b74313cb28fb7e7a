"""Whether a checkpoint can be gone on from: it is this query's, and its batches have no end before their beginning."""

from __future__ import annotations

from eosfw.errors import ConfigError, DamagedDataError, Problem
from eosfw_spark.source.offset_range_limit import Offsets
from eosfw_spark.source.options import ReadOptions
from eosfw_spark.source.source_offset import REMEDY
from eosfw_spark.source.topic_pattern import matching_topics


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
