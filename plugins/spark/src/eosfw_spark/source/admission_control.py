"""How many of the new offsets one micro-batch takes (the rate limit of Spark's `KafkaMicroBatchStream`)."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor

from eosfw.ids import TopicPartition

Offsets = Mapping[TopicPartition, int]


def admitted(start: Offsets, latest: Offsets, most: int) -> dict[TopicPartition, int]:
    """The end of a batch of about `most` offsets, shared among the partitions by how much is new in each.

    `latest` has every partition of the batch; one that `start` lacks begins at its end. Each partition with something
    new advances, so that none waits behind larger ones for ever; the batch may exceed `most` by that.
    """
    new = {each: max(0, end - start.get(each, end)) for each, end in latest.items()}
    total = sum(new.values())
    if total <= most:
        return {each: max(end, start.get(each, end)) for each, end in latest.items()}
    return {each: start.get(each, end) + _share(new[each], most * new[each] / total) for each, end in latest.items()}


def _share(new: int, share: float) -> int:
    return min(new, ceil(share) if share < 1 else floor(share))


def offsets_within(most_bytes: int, bytes_per_offset: float) -> int:
    """How many offsets hold about that many bytes, one at least, so that a batch always advances."""
    return max(1, int(most_bytes / bytes_per_offset)) if bytes_per_offset > 0 else most_bytes
