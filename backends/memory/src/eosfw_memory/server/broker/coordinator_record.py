"""Record what the coordinators are asked and answer, for the checker of histories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final, TypeAlias

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.test_support import CoordinatorEvent, CoordinatorsRebuilt
from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer, DelayedOperation
from eosfw_memory.server.coordinators.groups.coordinator import GroupCoordinator
from eosfw_memory.server.coordinators.groups.group_metadata_manager import GroupLog
from eosfw_memory.server.coordinators.groups.group_records import OffsetKey, read_key
from eosfw_memory.server.coordinators.groups.offsets_topic import Record
from eosfw_memory.server.coordinators.transaction_coordinator import TransactionCoordinator
from eosfw_memory.server.coordinators.transaction_metadata import NO_PRODUCER_ID, TransactionMetadata

Served: TypeAlias = "Answer | DelayedOperation | None"
Held: TypeAlias = tuple[Mapping[str, tuple[ProducerIdAndEpoch, str]], Mapping[OffsetKey, int]]
"""Producer and state by transactional id; committed offset by group and partition."""
_NAMES: Final = {
    "init_producer_id": "InitProducerId",
    "end_txn": "EndTxn",
    "txn_offset_commit": "TxnOffsetCommit",
    "offset_commit": "OffsetCommit",
    "offset_fetch": "OffsetFetch",
}
"""The requests that are recorded, by the module of their handler."""


class CoordinatorRecord:
    """The requests about transactions and offsets of groups, with their answers; callers hold the broker's lock."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.events: list[CoordinatorEvent | CoordinatorsRebuilt] = []
        self._now, self._numbers = now, count()
        self._before: Held = ({}, {})

    def serve(self, module: str, request: Any, serve: Callable[[], Served]) -> Served:
        """Serve a request of a handler's module, and record it if a coordinator answers it."""
        name = _NAMES.get(module.rpartition(".")[2])
        if name is None:
            return serve()
        asked = [self._event(name, **facts) for facts in _request_facts(name, request)]
        self.events += asked
        served = serve()
        if isinstance(served, DelayedOperation):
            return served.then(lambda answer: self._answered(asked, answer))
        return served if served is None else self._answered(asked, served)

    def around(self, log: GroupLog) -> GroupLog:
        """The log of groups, whose tombstones of offsets are recorded."""
        return _RecordedLog(log, self)

    def forget(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        """Record that offsets of a group do not count any more."""
        gone = dict.fromkeys(partitions, -1)
        if gone:
            self.events.append(
                CoordinatorEvent(
                    at=self._now(),
                    request="",
                    number=next(self._numbers),
                    answered=True,
                    group_id=group_id,
                    offsets=gone,
                )
            )

    def stop(self, coordinator: TransactionCoordinator, groups: GroupCoordinator) -> None:
        """Note what the coordinators hold now that they stop."""
        self._before = _held(coordinator, groups)

    def start(self, coordinator: TransactionCoordinator, groups: GroupCoordinator) -> None:
        """Record what they hold again."""
        (names, keys), (transactions, offsets) = self._before, _held(coordinator, groups)
        undecided = groups.store.offsets.undecided
        stable = {(*key,): offsets.get(key, -1) for key in keys if key.where not in undecided(key.group_id)}
        found = {name: transactions.get(name) for name in names}
        self.events.append(CoordinatorsRebuilt(self._now(), found, stable))

    def go_on_from(self, before: CoordinatorRecord) -> None:
        """Have what an earlier broker has recorded come first."""
        self._numbers, self._before = before._numbers, before._before
        self.events = before.events + self.events

    def _event(self, request: str, *, answered: bool = False, **facts: Any) -> CoordinatorEvent:
        return CoordinatorEvent(at=self._now(), request=request, number=next(self._numbers), answered=answered, **facts)

    def _answered(self, asked: Sequence[CoordinatorEvent], answer: Answer) -> Answer:
        for each in asked:
            facts = _response_facts(each, answer)
            if facts is not None:
                self.events.append(replace(each, at=self._now(), answered=True, **facts))
        return answer


def _held(coordinator: TransactionCoordinator, groups: GroupCoordinator) -> Held:
    transactions = {each.transactional_id: (_holder(each), each.state.label) for each in coordinator.transactions()}
    offsets = {
        key: logged.committed.offset for writer, key, logged in groups.store.offsets.all_offsets() if writer is None
    }
    return transactions, offsets


def _holder(known: TransactionMetadata) -> ProducerIdAndEpoch:
    """Who goes on: after the last epoch one with another producer id."""
    next_id = known.next_producer_id
    return known.producer if next_id == NO_PRODUCER_ID else ProducerIdAndEpoch(next_id, 0)


class _RecordedLog:
    """The log of groups, with a note of each offset that it is told to forget."""

    def __init__(self, log: GroupLog, record: CoordinatorRecord) -> None:
        self._log, self._record = log, record
        self.partition_of, self.describe_position, self.replay = log.partition_of, log.describe_position, log.replay

    def append(
        self, group_id: str, records: Sequence[Record], now_ms: int, producer: ProducerIdAndEpoch | None = None
    ) -> int:
        offset = self._log.append(group_id, records, now_ms, producer)
        keys = (read_key(key) for key, value in records if value is None)
        self._record.forget(group_id, [key.where for key in keys if isinstance(key, OffsetKey)])
        return offset


def _request_facts(name: str, request: Any) -> Iterator[dict[str, Any]]:
    """What a request says; one that asks for several groups is several."""
    if name == "OffsetFetch":
        stable = getattr(request, "require_stable", False)
        for group in getattr(request, "groups", None) or [request]:
            yield {"group_id": group.group_id, "stable": stable}
        return
    facts: dict[str, Any] = {"transactional_id": getattr(request, "transactional_id", None) or ""}
    if name in ("EndTxn", "TxnOffsetCommit"):
        facts["producer"] = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    if name == "EndTxn":
        facts["committed"] = request.committed
    if name in ("OffsetCommit", "TxnOffsetCommit"):
        facts["group_id"] = request.group_id
        facts["offsets"] = {
            TopicPartition(topic.name, each.partition_index): each.committed_offset
            for topic in request.topics
            for each in topic.partitions
        }
    yield facts


def _response_facts(asked: CoordinatorEvent, answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """What an answer adds to its request; None for an error."""
    if asked.request == "OffsetFetch":
        mine = [
            group for group in answer.get("groups", [answer]) if group.get("group_id", asked.group_id) == asked.group_id
        ]
        return {"offsets": {where: each["committed_offset"] for where, each in _partitions(mine[0]["topics"])}}
    if asked.request in ("OffsetCommit", "TxnOffsetCommit"):
        done = {where for where, _ in _partitions(answer["topics"])}
        return {"offsets": {where: offset for where, offset in asked.offsets.items() if where in done}}
    if answer["error_code"] != Code.NONE:
        return None
    known = answer.get("producer_id", -1) >= 0
    return {"producer": ProducerIdAndEpoch(answer["producer_id"], answer["producer_epoch"])} if known else {}


def _partitions(topics: Any) -> Iterator[tuple[TopicPartition, Any]]:
    """The partitions of an answer that have no error."""
    for topic in topics:
        for each in topic["partitions"]:
            if each["error_code"] == Code.NONE:
                yield TopicPartition(topic["name"], each["partition_index"]), each
