"""A wait until the last stable offset has passed all that was written, so that steps read everything."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import closing

from eosfw.errors import ConfigError, Problem, ReadStalledError
from eosfw.ids import TopicPartition
from eosfw.pipeline.local.control import RunControl
from eosfw.pipeline.local.local_run import LocalRun
from eosfw.protocols import Admin, IsolationLevel
from eosfw.records import OffsetRange

_POLL_INTERVAL = 0.2


def committed_ranges(
    run: LocalRun, topics: Collection[str], control: RunControl, timeout: float
) -> Mapping[TopicPartition, OffsetRange]:
    """From log start to last stable offset of every partition, once all that was written before this call is decided.

    After `timeout` seconds, ReadStalledError names the transactions that hold the last stable offset back.
    """
    with closing(run.backend.admin()) as admin:
        partitions = _partitions(admin, topics)
        # Taken once, before the wait: with writers that go on, the end itself would never be reached.
        written = admin.end_offsets(partitions, IsolationLevel.READ_UNCOMMITTED)
        _wait(run, admin, written, control, timeout)
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
    run: LocalRun, admin: Admin, written: Mapping[TopicPartition, int], control: RunControl, timeout: float
) -> None:
    deadline = run.runtime.now() + timeout
    while held := _lagging(admin, written):
        if run.runtime.now() >= deadline:
            raise ReadStalledError(_stall_text(run, held, written, timeout))
        control.check()
        control.pause(_POLL_INTERVAL)


def _lagging(admin: Admin, written: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    stable = admin.end_offsets(list(written), IsolationLevel.READ_COMMITTED)
    return {partition: stable[partition] for partition, end in written.items() if stable[partition] < end}


def _stall_text(
    run: LocalRun, held: Mapping[TopicPartition, int], written: Mapping[TopicPartition, int], timeout: float
) -> str:
    # Of several the one that began first comes last, and stays: the last stable offset is where it began.
    found = sorted(run.open_transactions(held), key=lambda one: -one.first_offset)
    holders = {one.partition: one for one in found}
    texts = []
    for partition, offset in held.items():
        holder = holders.get(partition)
        by = (
            "by a transaction that this client cannot name"
            if holder is None
            else (f"by transactional id {holder.transactional_id!r}, open for {holder.age:.0f} s")
        )
        place = f"topic {partition.topic!r}, partition {partition.partition}"
        texts.append(f"{place}: held back at offset {offset} of {written[partition]} {by}")
    return f"an open transaction is in the way of a complete read, after {timeout:.0f} s of waiting: {'; '.join(texts)}"
