"""Whether what a checkpoint says can be gone on from: it is this query's, and the cluster still has what follows."""

from __future__ import annotations

from eosfw.errors import ConfigError, DamagedDataError, Problem
from eosfw_spark.source.offset_range_limit import Offsets
from eosfw_spark.source.offset_ranges import Ranges
from eosfw_spark.source.options import ReadOptions
from eosfw_spark.source.source_offset import REMEDY


def require_subscribed(start: Offsets, options: ReadOptions) -> None:
    """Raise ConfigError if the query has read topics that its options do not name."""
    foreign = sorted({each.topic for each in start} - set(options.topics))
    if foreign and options.pattern is None:
        raise ConfigError(
            Problem(
                "",
                f"the checkpoint has offsets of topic {', '.join(foreign)}, but the query reads "
                f"{', '.join(options.topics)}: another query wrote it, or a topic was taken away; {REMEDY}",
            )
        )


def require_present(start: Offsets, bounds: Ranges, options: ReadOptions) -> None:
    """Raise DamagedDataError if the cluster has not what comes next in a partition."""
    gone = sorted({each.topic for each in start} - {each.topic for each in bounds})
    if gone:
        raise DamagedDataError(
            f"no topic {', '.join(gone)} on {options.address}, which this query has read: it was deleted; create "
            f"it, or change subscribe, and {REMEDY}"
        )
    for each in sorted(start):
        known, at = bounds.get(each), start[each]
        if known is None or not known.start <= at <= known.end:
            has = "does not exist any more" if known is None else f"holds {known.start} to {known.end}"
            raise DamagedDataError(
                f"{each} {has}, but the query goes on at offset {at}: records were deleted, or the topic was deleted "
                f"and created again; to read what is left, {REMEDY}"
            )


def require_forward(start: Offsets, end: Offsets) -> None:
    """Raise DamagedDataError if a batch of the checkpoint ends before it begins."""
    for each, position in sorted(end.items()):
        if position < start.get(each, 0):
            raise DamagedDataError(
                f"a batch of {each} begins at offset {start[each]} and ends at {position}: the checkpoint is damaged"
            )
