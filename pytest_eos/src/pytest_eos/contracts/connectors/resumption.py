"""Resume a source where transactions of its tasks end: it must go on right behind each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from eosfw.concurrency import Runtime
from eosfw.records import SourceOffset, SourcePartition, SourceRecord
from eosfw.runtime import End
from pytest_eos.contracts.connectors.record_differences import first_difference
from pytest_eos.contracts.connectors.source import Source
from pytest_eos.contracts.connectors.task_driver import Offsets, TaskDriver, Transaction, key_of

_RESUMES = 12
"""From how many offsets of a source a fresh task is resumed, however long that takes."""
_MORE = 2.0
"""Real seconds for resuming from the offsets in between: a bug may show at one place alone, say at two equal times."""
_SHOWN = 4
"""How many source partitions or offsets a message names."""
TASK_COUNTS = (1, 2, 3)
"""How many tasks share the work, one number after another."""
Partitions = Mapping[str, list[SourceRecord]]


@dataclass(frozen=True, slots=True)
class Reading:
    """The transactions of each of several tasks that share a source."""

    tasks: Sequence[Sequence[Transaction]]
    ended: bool
    """Whether each task came to the end of its share; an endless source is cut off somewhere."""

    def kept(self) -> Partitions:
        """The records by source partition, without those of aborted transactions."""
        return partitions_of(_kept(one for task in self.tasks for one in task))


def read(
    driver: TaskDriver, most: int, count: int, offsets: Offsets | None = None, *, record_offsets: bool = True
) -> Reading:
    """Read a source from its beginning, or from these offsets, with at most so many fresh tasks."""
    tasks = [
        driver.transactions(task_config, offsets or {}, most, number=number, record_offsets=record_offsets)
        for number, task_config in enumerate(driver.task_configs(count))
    ]
    return Reading(tasks, all(sum(len(one.records) for one in task) < most for task in tasks))


def by_partition(driver: TaskDriver, source: Source, offsets: Offsets | None = None) -> dict[str, list[SourceRecord]]:
    """The records that a fresh task returns from these offsets, by source partition."""
    return partitions_of(
        record
        for task_config in driver.task_configs(1)
        for record in driver.records(task_config, offsets or {}, source.most)
    )


def committed(*records: SourceRecord) -> Offsets:
    """The committed source offsets after these records."""
    return {key_of(one.source_partition): (one.source_partition, one.source_offset) for one in records}


def committable(driver: TaskDriver, source: Source) -> set[tuple[str, str]]:
    """The source partitions and offsets at which a transaction may end."""
    ended = [one.records for task in read(driver, source.most, 1).tasks for one in task if one.end is not End.KEEP]
    return {(partition, key_of(offset)) for records in ended for partition, (_, offset) in committed(*records).items()}


def sample(count: int) -> list[int]:
    """Some indexes of a list: the first, the last, others in between."""
    return sorted({round(number * (count - 1) / (_RESUMES - 1)) for number in range(_RESUMES)}) if count else []


def places(count: int, clock: Runtime) -> Iterator[int]:
    """The sample of indexes, then the others while there is time."""
    first = sample(count)
    yield from first
    until = clock.now() + _MORE
    for at in sorted(set(range(count)) - set(first)):
        if clock.now() > until:
            return
        yield at


def resumed_elsewhere(
    driver: TaskDriver, source: Source, records: Sequence[SourceRecord], at: int, *, ended: bool
) -> str | None:
    """How a task that resumes behind a record goes on with something else than those after it; None if it does not.

    `ended` says whether they are all that their source partition has.
    """
    place, rest = records[at], list(records[at + 1 :])
    partition = key_of(place.source_partition)
    # The other source partitions are read from their beginning, so whoever came to the end before comes there again.
    resumed = by_partition(driver, source, committed(place)).get(partition, [])
    if (resumed if ended else resumed[: len(rest)]) == rest:
        return None
    what = f"resumed behind {dict(place.source_offset)} of {partition}, it does not go on with the next record"
    return (
        f"{what}: {first_difference(rest, resumed)}{_beyond(records, rest, resumed)}"
        f"{_asked(driver, place.source_partition)}"
    )


def _beyond(whole: Sequence[SourceRecord], rest: Sequence[SourceRecord], resumed: Sequence[SourceRecord]) -> str:
    """Why a task may go on where the source has ended, as far as its records show it."""
    if len(resumed) <= len(rest) or resumed[: len(rest)] != rest:
        return ""
    if resumed[len(rest)] in whole:
        return "; it has given that record before: at the end of the source it starts over, or steps back"
    return (
        "; read from the beginning, the source ends before that record: `at_end` is True too early, or `poll` waits "
        "for a call of `commit`, which comes from a worker alone"
    )


def task_counts_disagree(driver: TaskDriver, source: Source) -> str | None:
    """Which source partition is read with one number of tasks, not with another; None if there is none."""
    readings = {count: read(driver, source.most, count) for count in TASK_COUNTS}
    if not all(one.ended for one in readings.values()):
        return None
    partitions = {count: set(one.kept()) for count, one in readings.items()}
    for count, other in permutations(partitions, 2):
        if lacking := sorted(partitions[count] - partitions[other]):
            named = partitions[other] - partitions[count]
            remedy = (
                "a source partition must name a part of the source, never the task that reads it"
                if named
                else "`task_configs` must give each part of the source to some task"
            )
            also = f", which reads {min(named)}" if named else ""
            return (
                f"source partition {lacking[0]} is read with tasks.max={count}, and by no task with {other}{also}: "
                f"{remedy}"
            )
    return None


def other_tasks_resume_elsewhere(driver: TaskDriver, source: Source) -> Iterator[str]:
    """How tasks go on with something else than what follows the committed transactions."""
    for record_offsets in (True, False):
        for before, after in ((1, 1), (3, 1), (2, 3)):
            reading = read(driver, source.most, before, record_offsets=record_offsets)
            for counts in _progress(reading):
                yield from _compare(driver, source, reading, counts, (before, after, record_offsets))


def _progress(reading: Reading) -> Iterator[list[int]]:
    """How many transactions of each task were committed: a lone task's at each of its ends, of several one task's."""
    for number, task in enumerate(reading.tasks):
        ends = [at for at, one in enumerate(task, start=1) if one.end is not End.KEEP and one.positions]
        chosen = [ends[at] for at in sample(len(ends))] if len(reading.tasks) == 1 else ends[len(ends) // 2 :][:1]
        for at in chosen:
            yield [at if other == number else 0 for other in range(len(reading.tasks))]


def _compare(
    driver: TaskDriver, source: Source, reading: Reading, counts: Sequence[int], how: tuple[int, int, bool]
) -> Iterator[str]:
    before, after, record_offsets = how
    done = [one for task, count in zip(reading.tasks, counts, strict=True) for one in task[:count]]
    left = [one for task, count in zip(reading.tasks, counts, strict=True) for one in task[count:]]
    offsets = {key_of(partition): (partition, offset) for one in done for partition, offset in one.positions}
    due = partitions_of(_kept(left))
    again = read(driver, source.most, after, offsets, record_offsets=record_offsets)
    found, whole = again.kept(), reading.ended and again.ended
    for partition in sorted(due.keys() | found.keys() if whole else due.keys() & found.keys()):
        rest, resumed = due.get(partition, []), found.get(partition, [])
        if not record_offsets:
            rest, resumed = ([replace(one, source_offset={}) for one in some] for some in (rest, resumed))
        if not whole:
            shortest = min(len(rest), len(resumed))
            rest, resumed = rest[:shortest], resumed[:shortest]
        if rest != resumed:
            yield (
                f"source partition {partition} does not go on behind what was committed: "
                f"{first_difference(rest, resumed)}. {_circumstances(offsets, before, after, record_offsets)}"
            )


def _circumstances(offsets: Offsets, before: int, after: int, record_offsets: bool) -> str:  # noqa: FBT001
    places = _listed(f"{_json(offset)} of {_json(partition)}" for partition, offset in offsets.values())
    changed = f"; tasks.max was {before}, then {after}" if before != after else ""
    batches = (
        "" if record_offsets else "; the context's `record_offsets` was False, so batches need no `source_offsets`"
    )
    return f"Committed was {places}{changed}{batches}"


def _asked(driver: TaskDriver, partition: SourcePartition) -> str:
    """What a task that does not go on behind an offset should have asked for."""
    key = key_of(partition)
    if key in map(key_of, driver.asked):
        return ""
    asked = _listed(map(_json, driver.asked))
    return f"; the task asked `context.offset` for {asked or 'nothing'}, not for {_json(partition)}"


def _listed(texts: Iterable[str]) -> str:
    different = list(dict.fromkeys(texts))
    return ", ".join(different[:_SHOWN]) + (f" and {len(different) - _SHOWN} more" if len(different) > _SHOWN else "")


def _kept(transactions: Iterable[Transaction]) -> Iterator[SourceRecord]:
    return (record for one in transactions if one.end is not End.ABORT for record in one.records)


def partitions_of(records: Iterable[SourceRecord]) -> dict[str, list[SourceRecord]]:
    """Records by source partition."""
    found: dict[str, list[SourceRecord]] = {}
    for record in records:
        found.setdefault(key_of(record.source_partition), []).append(record)
    return found


def _json(mapping: SourcePartition | SourceOffset) -> str:
    return json.dumps(dict(mapping), ensure_ascii=False, separators=(",", ":"))
