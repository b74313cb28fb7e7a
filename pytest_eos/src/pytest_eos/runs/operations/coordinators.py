"""What the coordinators of an embedded broker were asked and answered, for the checker."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from itertools import chain
from typing import Final

from eosfw.checker import NONE
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.test_support import CoordinatorEvent, CoordinatorInspection, CoordinatorsRebuilt
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.runs.operations.operation import Fields, operation

_COMMITS: Final = frozenset({"OffsetCommit", "TxnOffsetCommit", ""})
_NOBODY: Final = ProducerIdAndEpoch(NONE, NONE)
Writer = tuple[str, ProducerIdAndEpoch]
"""Whose transactions follow each other: a transactional id with its producer."""


class CoordinatorOperations:
    """Operations of the offsets of consumer groups, and of the transactions in which some were sent.

    The broker has to be one that the test itself serves: of another nothing is known. What says nothing is left out:
    offsets for which nobody asks and that no restart could lose, the same offset again, transactions without offsets,
    and answers behind which no restart came.
    """

    def __init__(self, cluster: Cluster, since: float | None = None) -> None:
        """`since` is when the history begins; by default with the first of them."""
        local: object = cluster.local
        events = local.coordinator_events if isinstance(local, CoordinatorInspection) else ()
        self._left = deque(events)
        self._since = since if since is not None or not events else events[0].at
        calls = [each for each in events if isinstance(each, CoordinatorEvent)]
        restarts = [each for each in events if isinstance(each, CoordinatorsRebuilt)]
        self._restarts = len(restarts)
        """How many are still to come."""
        self._given = {each.number: each for each in calls if each.answered and each.request == "OffsetFetch"}
        self._judged = {(each.group_id, where) for each in self._given.values() for where in each.offsets}
        self._judged.update(chain.from_iterable(each.offsets for each in restarts))
        self._asking = {each.number: each.producer for each in calls if each.producer is not None and not each.answered}
        self._newest: dict[tuple[str, TopicPartition], int | None] = {}
        """The offset that was committed last, without anything asked since."""
        self._ended: Counter[Writer] = Counter()
        """How many transactions of a producer have ended: without KIP-890 its epoch does not tell them apart."""
        self._sending: set[Writer] = set()
        """Whose open transaction has offsets of a group."""
        self._ending: set[Writer] = set()

    def up_to(self, time: float) -> Iterator[Fields]:
        """Those that came next, up to this time."""
        while self._left and self._left[0].at <= time:
            event = self._left.popleft()
            for made in self._operations(event):
                made["t"] = max(0.0, event.at - (self._since or 0.0))
                yield made

    def _operations(self, event: CoordinatorEvent | CoordinatorsRebuilt) -> Iterator[Fields]:
        if isinstance(event, CoordinatorsRebuilt):
            self._restarts -= 1
            yield from _held(event)
            return
        if event.request == "OffsetFetch":
            yield from self._fetched(event)
        elif event.request in _COMMITS:
            yield from self._sent(event)
        elif event.request == "EndTxn":
            yield from self._end(event)
        if self._restarts and event.answered and event.transactional_id and event.producer is not None:
            yield from self._answered(event, event.producer)

    def _answered(self, event: CoordinatorEvent, producer: ProducerIdAndEpoch) -> Iterator[Fields]:
        if event.request == "InitProducerId":
            what = "init"
        elif event.request == "EndTxn":
            what = "commit" if event.committed else "abort"
            what = what if producer != self._asking[event.number] else "end"
        else:
            return
        pid, epoch = producer
        yield operation("coordinator", "answered", val=what, tid=event.transactional_id, pid=pid, epoch=epoch)

    def _fetched(self, event: CoordinatorEvent) -> Iterator[Fields]:
        op = "fetch-offset" if event.stable else "fetch-any-offset"
        answer = self._given.get(event.number)
        for where, off in answer.offsets.items() if answer is not None else ():
            kind, given = ("ok", {"off": off}) if event.answered else ("invoke", {})
            yield operation(f"request {event.number}", op, kind, val=event.group_id, part=str(where), **given)

    def _sent(self, event: CoordinatorEvent) -> Iterator[Fields]:
        offsets = {where: off for where, off in event.offsets.items() if self._is_news(event, where, off)}
        if not offsets:
            return
        who: Fields = {"proc": f"request {event.number}"} if event.request else {"proc": "coordinator"}
        if event.producer is not None:
            writer = event.transactional_id, event.producer
            self._sending.add(writer)
            who = self._transaction(writer)
        for where, off in offsets.items():
            kind = "ok" if event.answered else "invoke"
            yield operation(op="group-offset", kind=kind, val=event.group_id, part=str(where), off=off, **who)

    def _is_news(self, event: CoordinatorEvent, where: TopicPartition, off: int) -> bool:
        key = event.group_id, where
        if key not in self._judged or (event.producer is None and self._newest.get(key) == off):
            return False
        self._newest[key] = off if event.answered and event.producer is None else None
        return True

    def _end(self, event: CoordinatorEvent) -> Iterator[Fields]:
        writer = event.transactional_id, self._asking[event.number]
        if writer not in self._sending:
            return
        op, transaction = "commit" if event.committed else "abort", self._transaction(writer)
        if event.answered:
            yield operation(op=op, **transaction)
            self._ended[writer] += 1
            self._sending.discard(writer)
            self._ending.discard(writer)
        elif writer not in self._ending:  # else its first answer was lost
            self._ending.add(writer)
            yield operation(op=op, kind="invoke", **transaction)

    def _transaction(self, writer: Writer) -> Fields:
        name, (pid, epoch) = writer
        return {"proc": f"producer {pid} epoch {epoch}", "tid": name, "txn": self._ended[writer] + 1}


def _held(event: CoordinatorsRebuilt) -> Iterator[Fields]:
    for name, known in event.transactions.items():
        (pid, epoch), state = known or (_NOBODY, "")
        yield operation("coordinator", "held", val=state, tid=name, pid=pid, epoch=epoch)
    for (group, where), off in event.offsets.items():
        yield operation("coordinator", "held", val=group, part=str(where), off=off)
