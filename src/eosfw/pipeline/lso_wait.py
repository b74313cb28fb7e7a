"""Make sure that a step reads all that was written, or say what is in its way."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import closing

from eosfw.errors import ConfigError, Problem, ReadStalledError
from eosfw.ids import TopicPartition
from eosfw.pipeline.control import RunControl
from eosfw.pipeline.local_run import LocalRun
from eosfw.protocols import Admin, IsolationLevel
from eosfw.records import OffsetRange

_LOOK = 0.2


def committed_ranges(
    run: LocalRun, topics: Collection[str], control: RunControl, patience: float
) -> Mapping[TopicPartition, OffsetRange]:
    """From the log start to the last stable offset of every partition, once nothing written before now is open.

    Waits up to `patience` seconds, then raises ReadStalledError that names who is in the way.
    """
    with closing(run.backend.admin()) as admin:
        partitions = _partitions(admin, topics)
        written = admin.end_offsets(partitions, IsolationLevel.READ_UNCOMMITTED)
        _wait(run, admin, written, control, patience)
    with closing(run.reader()) as reader:
        return reader.bounds(topics)


def _partitions(admin: Admin, topics: Collection[str]) -> list[TopicPartition]:
    counts = admin.partitions(topics)
    missing = [Problem("", f"topic {topic!r} does not exist, so there is nothing to read") for topic in topics]
    missing = [problem for problem, topic in zip(missing, topics, strict=True) if topic not in counts]
    if missing:
        raise ConfigError(*missing)
    return [TopicPartition(topic, number) for topic, count in sorted(counts.items()) for number in range(count)]


def _wait(
    run: LocalRun, admin: Admin, written: Mapping[TopicPartition, int], control: RunControl, patience: float
) -> None:
    deadline = run.runtime.now() + patience
    while held := _held_back(admin, written):
        if run.runtime.now() >= deadline:
            raise ReadStalledError(_in_the_way(run, held, written, patience))
        control.check()
        control.pause(_LOOK)


def _held_back(admin: Admin, written: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    stable = admin.end_offsets(list(written), IsolationLevel.READ_COMMITTED)
    return {partition: stable[partition] for partition, end in written.items() if stable[partition] < end}


def _in_the_way(
    run: LocalRun, held: Mapping[TopicPartition, int], written: Mapping[TopicPartition, int], patience: float
) -> str:
    holders = {one.partition: one for one in run.open_transactions(held)}
    told = []
    for partition, offset in held.items():
        holder = holders.get(partition)
        whom = (
            "by a transaction that this client cannot name"
            if holder is None
            else (f"by transactional id {holder.transactional_id!r}, open for {holder.age:.0f} s")
        )
        place = f"topic {partition.topic!r}, partition {partition.partition}"
        told.append(f"{place}: held back at offset {offset} of {written[partition]} {whom}")
    return f"an open transaction is in the way of a complete read, after {patience:.0f} s of waiting: {'; '.join(told)}"
