"""Let a source grow while a task reads it, and before another task resumes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from eosfw.records import SourceRecord
from eosfw.runtime import End
from pytest_eos.contracts.connectors.record_differences import first_difference
from pytest_eos.contracts.connectors.resumption import Partitions, by_partition, partitions_of
from pytest_eos.contracts.connectors.source import Source
from pytest_eos.contracts.connectors.task_driver import Offsets, TaskDriver, Transaction, key_of


def growth_missed(driver: TaskDriver, source: Source, grow: Callable[[], None]) -> str | None:
    """How records that come later are lost, repeated or changed; None if they are not."""
    (share,) = driver.task_configs(1)
    before, after = driver.transactions_around(share, grow, source.most)
    whole = by_partition(driver, source)
    seen, more = _kept(before), _kept([*before, *after])
    if sum(map(len, whole.values())) >= source.most:
        raise pytest.UsageError(f"the source has {source.most} records or more: what is added must be read, too")
    if wrong := _not_the_begin_of(seen, whole):
        return f"what was read before the source grew is not there any more when it is read again: {wrong}"
    if seen == whole:
        raise pytest.UsageError("`grow` added no record to the source")
    if wrong := _not_the_begin_of(more, whole):
        return f"a task that was at its end when the source grew does not go on with what came: {wrong}"
    for done in (before, [*before, *after]):
        offsets = _committed(done)
        resumed = by_partition(driver, source, offsets)
        read = _kept(done)
        for partition, records in whole.items():
            rest, found = records[len(read.get(partition, ())) :], resumed.get(partition, [])
            if rest != found:
                where = ", ".join(f"{dict(offset)} of {dict(place)}" for place, offset in offsets.values())
                return (
                    f"resumed behind {where} once the source has grown, it does not go on with what came: "
                    f"{first_difference(rest, found)}"
                )
    return None


def _not_the_begin_of(some: Partitions, whole: Partitions) -> str | None:
    for partition, records in some.items():
        begin = whole.get(partition, [])[: len(records)]
        if records != begin:
            return f"of source partition {partition} {first_difference(begin, records)}"
    return None


def _kept(transactions: Sequence[Transaction]) -> Mapping[str, list[SourceRecord]]:
    return partitions_of(record for one in transactions if one.end is not End.ABORT for record in one.records)


def _committed(transactions: Sequence[Transaction]) -> Offsets:
    ended = [one for one in transactions if one.end is not End.KEEP]
    return {key_of(partition): (partition, offset) for one in ended for partition, offset in one.positions}
