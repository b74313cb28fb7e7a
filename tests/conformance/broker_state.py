"""Read a broker's state by requests: transactions, producers, log ends, records, group offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.common.codes import Code
from eosfw_memory.storage.records.batch import split
from eosfw_memory.storage.records.codec import decode_records
from eosfw_memory.storage.topics.topic import GROUP_LOG

from .calls import Answer, Caller
from .record_fields import fetching, position

_FETCH, _LIST_OFFSETS, _OFFSET_FETCH, _DESCRIBE, _LIST = 1, 2, 9, 65, 66
EARLIEST, LATEST = -2, -1
_ALL = 1 << 30
_LEVELS = {IsolationLevel.READ_UNCOMMITTED: 0, IsolationLevel.READ_COMMITTED: 1}
GROUPS_OWN = TopicPartition("offsets", 0)
"""Stands for whatever partition keeps the offsets of a group: each broker has another number of them."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """What its coordinator tells of a transactional id."""

    code: Code
    state: str
    producer: ProducerIdAndEpoch
    timeout_ms: int
    started: bool
    partitions: tuple[TopicPartition, ...]


def transaction(caller: Caller, name: str) -> Transaction:
    """DescribeTransactions of one id."""
    [found] = caller.ask(_DESCRIBE, 0, transactional_ids=[name])["transaction_states"]
    timeout = found["transaction_timeout"]
    return Transaction(
        Code(int(found["error_code"])),
        found["transaction_state"],
        ProducerIdAndEpoch(found["producer_id"], found["producer_epoch"]),
        round(timeout / timedelta(milliseconds=1)) if isinstance(timeout, timedelta) else timeout,
        found["transaction_start_time"] > 0,
        tuple(sorted(_touched(found["topics"]))),
    )


def described(caller: Caller, name: str, known: Mapping[TopicPartition, str]) -> Answer:
    """The same in words, partitions by the names they have for the asker."""
    found = transaction(caller, name)
    where = " ".join(known.get(each, each.topic) for each in found.partitions)
    shown = f"{found.timeout_ms} ms {'started' if found.started else 'not started'} {where or 'nowhere'}"
    return Answer(found.code, shown=shown if found.code is Code.NONE else "")


def _touched(topics: Sequence[Any]) -> list[TopicPartition]:
    return [
        GROUPS_OWN if each["topic"] == GROUP_LOG else TopicPartition(each["topic"], number)
        for each in topics
        for number in each["partitions"]
    ]


def listed(
    caller: Caller,
    states: Sequence[str] = (),
    producer_ids: Sequence[int] = (),
    *,
    older_ms: int = -1,
    pattern: str | None = None,
    version: int = 1,
) -> dict[str, tuple[str, int]]:
    """ListTransactions: state and producer id of every id that passes; names of unknown states under the empty id."""
    answer = caller.ask(
        _LIST,
        version,
        state_filters=list(states),
        producer_id_filters=list(producer_ids),
        duration_filter=older_ms,
        transactional_id_pattern=pattern,
    )
    strange = ",".join(answer["unknown_state_filters"])
    found = {
        each["transactional_id"]: (each["transaction_state"], each["producer_id"])
        for each in answer["transaction_states"]
    }
    code = Code(int(answer["error_code"]))
    return found | ({"": (strange or code.name, -1)} if strange or code else {})


def listed_offset(
    caller: Caller, where: TopicPartition, level: IsolationLevel, timestamp: int = LATEST, leader_epoch: int = -1
) -> Any:
    """ListOffsets of one partition, by a client that believes in a leader epoch: its answer as it comes."""
    wanted = Fields(partition_index=where.partition, current_leader_epoch=leader_epoch, timestamp=timestamp)
    topics = [Fields(name=where.topic, partitions=[wanted])]
    answer = caller.ask(_LIST_OFFSETS, 6, replica_id=-1, isolation_level=_LEVELS[level], topics=topics)
    [found] = answer["topics"][0]["partitions"]
    return found


def end(caller: Caller, where: TopicPartition, level: IsolationLevel, timestamp: int = LATEST) -> int:
    """Where readers of a level come to, or the offset of a time."""
    found = listed_offset(caller, where, level, timestamp)
    assert found["error_code"] == Code.NONE, found
    return int(found["offset"])


def start(caller: Caller, where: TopicPartition) -> int:
    """Where the log begins."""
    return end(caller, where, IsolationLevel.READ_UNCOMMITTED, EARLIEST)


def ends(caller: Caller, where: TopicPartition) -> tuple[int, int, int]:
    """Where the log begins, what is stable, where it ends."""
    stable = end(caller, where, IsolationLevel.READ_COMMITTED)
    return start(caller, where), stable, end(caller, where, IsolationLevel.READ_UNCOMMITTED)


def fetched(caller: Caller, where: TopicPartition, offset: int, level: IsolationLevel, leader_epoch: int = -1) -> Any:
    """Fetch of everything from an offset: the partition's answer as it comes."""
    topics = [Fields(topic=where.topic, partitions=[position(where.partition, offset, _ALL, leader_epoch)])]
    answer = caller.ask(_FETCH, 12, **fetching(topics, max_bytes=_ALL, isolation_level=_LEVELS[level]))
    [found] = answer["responses"][0]["partitions"]
    return found


def records(caller: Caller, where: TopicPartition, level: IsolationLevel) -> list[tuple[int, bytes | None]]:
    """Offsets with values as Kafka's consumers show them: what aborted producers wrote is left out (CON-01, CON-02)."""
    found = fetched(caller, where, start(caller, where), level)
    assert found["error_code"] == Code.NONE, found
    aborted = sorted((each["first_offset"], each["producer_id"]) for each in found["aborted_transactions"] or ())
    shut: set[int] = set()
    seen: list[tuple[int, bytes | None]] = []
    for header, batch in split(_whole(found["records"])):
        while aborted and aborted[0][0] <= header.last_offset:
            shut.add(aborted.pop(0)[1])
        if header.control:
            shut.discard(header.producer_id)
        elif not header.transactional or header.producer_id not in shut:
            columns = decode_records(batch)
            seen += zip(columns.offsets, columns.values, strict=True)
    return seen


def _whole(fetched: Any) -> bytes:
    """In process records may come in pieces, as the log keeps them."""
    return fetched if isinstance(fetched, bytes) else b"".join(fetched or ())


def group_offset(caller: Caller, group: str, where: TopicPartition, *, stable: bool) -> int | Code:
    """OffsetFetch of one partition: what a group has committed, or why that cannot be told now."""
    wanted = Fields(group_id=group, topics=[Fields(name=where.topic, partition_indexes=[where.partition])])
    [answer] = caller.ask(_OFFSET_FETCH, 8, groups=[wanted], require_stable=stable)["groups"]
    assert answer["error_code"] == Code.NONE, answer
    [found] = answer["topics"][0]["partitions"]
    code = Code(int(found["error_code"]))
    return int(found["committed_offset"]) if code is Code.NONE else code
