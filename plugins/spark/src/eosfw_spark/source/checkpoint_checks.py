"""Whether a checkpoint can be gone on from: it is this query's, and its batches have no end before their beginning."""

from __future__ import annotations

from eosfw.errors import ConfigError, DamagedDataError, Problem
from eosfw_spark.source.offset_range_limit import Offsets
from eosfw_spark.source.options import ReadOptions
from eosfw_spark.source.source_offset import REMEDY


def require_subscribed(start: Offsets, options: ReadOptions) -> None:
    """Raise ConfigError if the query has read topics or partitions that its options do not name."""
    if options.pattern is not None:
        return
    if options.assigned is None:
        known, named = {f"topic {each.topic}" for each in start}, [f"topic {each}" for each in options.topics]
    else:
        known, named = {str(each) for each in start}, [str(each) for each in options.assigned]
    if foreign := sorted(known - set(named)):
        raise ConfigError(
            Problem(
                "",
                f"the checkpoint has offsets of {', '.join(foreign)}, but the query reads {', '.join(named)}: another "
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
