"""The steps of tasks and leader of a run as operations for the checker."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from eosfw.checker import NONE
from eosfw.ids import TopicPartition
from eosfw.observe import STARTUP, StepEvent, TaskStep
from pytest_eos.runs.groups.provenance import Author, Place
from pytest_eos.runs.operations.broker_restarts import RestartOperations
from pytest_eos.runs.operations.coordinators import CoordinatorOperations
from pytest_eos.runs.operations.operation import Fields, operation
from pytest_eos.runs.operations.source_offsets import OffsetOperations
from pytest_eos.runs.operations.worker_requests import RequestOperations
from pytest_eos.runs.run import Run

_LEADER: Final = "leader"
_OUTCOMES: Final = {
    TaskStep.COMMITTED: "ok",
    TaskStep.ABORTED: "ok",
    # A producer that is fenced, or fails, does not know what became of its commit.
    **dict.fromkeys((TaskStep.FENCED, TaskStep.SUPERSEDED, TaskStep.FAILED, TaskStep.STOPPED), "info"),
}
_ENDS: Final = frozenset({TaskStep.COMMIT, TaskStep.ABORT})


class StepOperations:
    """Makes the operations of a run's steps, in their order; used once."""

    def __init__(self, run: Run, entries: Mapping[Place, Fields], offsets: OffsetOperations) -> None:
        self._run, self._authors, self._offsets = run, run.eos.authors, offsets
        self._fencings = run.eos.plugins.fencings
        self._requests = run.eos.plugins.requests
        self._boundary, self._interval = _boundary_of(run)
        self._partitions = {TopicPartition(topic, partition) for topic, partition, _ in entries}
        self._sent = self._records_sent(entries)
        self._first = _first_producers(self._sent)
        self._committing: dict[str, StepEvent] = {}
        self._fencing: dict[int | None, StepEvent] = {}
        """The fencing of a generation that has not ended yet."""
        self._idle: set[str] = set()
        self._due: dict[str, float] = {}
        """When the interval of the open transaction of a start is over."""

    def of(self, events: Sequence[StepEvent]) -> Iterator[Fields]:
        """The operations of all events of the run."""
        since = events[0].at if events else 0.0
        restarts = RestartOperations(self._run, self._partitions, since)
        others = restarts, RequestOperations(self._run, since), CoordinatorOperations(self._run.eos.cluster, since)
        yield from restarts.declared()
        for event in events:
            for other in others:
                yield from other.up_to(event.at)
            for made in self._of_leader(event) if event.task is None else self._of_task_and_requests(event):
                proc = made["proc"]
                if made["op"] == "source-poll":
                    if proc in self._idle and event.at < self._due.get(proc, event.at + 1):
                        continue  # the poll before gave nothing, and is enough
                    self._idle.add(proc)
                else:
                    self._idle.discard(proc)
                made["t"] = event.at - events[0].at
                yield made
        for other in others:
            yield from other.up_to(math.inf)
        for author, records in self._sent.items():  # transactions that nobody asked to end
            txn = {"tid": author.transactional_id or "", "txn": author.transaction or NONE}
            ids = _generation(author.task.connector, author.generation)
            yield from _sends(_process(author.task, author.generation, author.start), records, {**txn, **ids})

    def _records_sent(self, entries: Mapping[Place, Fields]) -> dict[Author, list[Fields]]:
        """The entries of the log that each transaction wrote; what was delivered and is not there any more, too."""
        sent: dict[Author, list[Fields]] = defaultdict(list)
        offsets = self._authors.offset_places()
        for place, author in self._authors.places().items():
            if author.task.connector == self._run.name and place[0] in self._run.topics and place not in offsets:
                part = f"{place[0]}-{place[1]}"
                gone = {"part": part, "off": place[2], "val": f"{part}@{place[2]}"}
                sent[author].append(entries.get(place, gone))
        return sent

    # --- the leader

    def _of_leader(self, event: StepEvent) -> Iterator[Fields]:
        if event.step is TaskStep.FENCE_ZOMBIES:
            yield from self._fencing_ended(event)
            self._fencing[event.generation] = event
            fenced = event.detail.get("ids")
            ids = tuple(fenced) if isinstance(fenced, Sequence) else ()
            yield operation(_LEADER, "fence", "invoke", ids=ids, **_of_event(event))
        elif event.step is TaskStep.CHECK_GENERATION:
            yield from self._fencing_ended(event, "ok")

    def _fencing_ended(self, event: StepEvent, otherwise: str = "info") -> Iterator[Fields]:
        """The end of the fencing of an event's generation, if one was begun: as its fencer says, if that has ended."""
        begun = self._fencing.pop(event.generation, None)
        if begun is not None:
            yield operation(_LEADER, "fence", self._fencings.outcome(begun) or otherwise, **_of_event(event))

    # --- tasks

    def _of_task_and_requests(self, event: StepEvent) -> Iterator[Fields]:
        yield from self._of_task(event)
        for how, record in self._requests.requests_after(event):
            proc = _process(event.task, event.generation, self._authors.start_of(event))
            where = {} if record is None else self._offsets.of(record.source_partition, record.source_offset)
            yield operation(proc, "request", val=how, **where, **_of_event(event))

    def _of_task(self, event: StepEvent) -> Iterator[Fields]:
        ids = _of_event(event)
        proc = _process(event.task, event.generation, self._authors.start_of(event))
        if event.step in STARTUP:
            yield from self._of_startup(proc, event, ids)
        elif event.step is TaskStep.POLL:
            yield operation(proc, "source-poll", **ids)
        else:
            txn = {"tid": event.transactional_id or "", "txn": event.transaction or NONE, **ids}
            yield from self._of_transaction(proc, event, txn)

    def _of_startup(self, proc: str, event: StepEvent, ids: Fields) -> Iterator[Fields]:
        if event.step is TaskStep.CHECK_TASK_COUNT:  # the leader has answered, so that the record is written
            yield operation(_LEADER, "task-count", **ids)
        elif event.step is TaskStep.INIT_PRODUCER:
            yield operation(proc, "init", "invoke", **ids)
        elif event.step is TaskStep.READ_CONFIG:
            yield operation(proc, "init", **self._first.get(proc, {}), **ids)
        elif event.step is TaskStep.READ_OFFSETS:
            given = list(self._offsets.given(self._authors.start_key(event)))
            yield from (operation(proc, "read-offsets", **ids, **each) for each in given or [{}])
        elif event.step is TaskStep.START_TASK:
            known = self._requests.in_order(self._authors.start_key(event))
            yield operation(proc, "start", val=self._boundary if known else "", count=self._interval, **ids)

    def _of_transaction(self, proc: str, event: StepEvent, txn: Fields) -> Iterator[Fields]:
        author = self._authors.author_of(event)
        if event.step is TaskStep.BEGIN:
            if self._interval != NONE:
                self._due[proc] = event.at + self._interval / 1000
            yield operation(proc, "begin", **txn)
        elif event.step is TaskStep.SEND_OFFSETS:
            yield from (operation(proc, "offset", **txn, **each) for each in self._offsets.sent(author) or [{}])
        elif event.step in _ENDS:
            self._due.pop(proc, None)
            yield from _sends(proc, self._sent.pop(author, []) if author is not None else [], txn)
            yield operation(proc, event.step.value, "invoke", **txn)
            self._committing[proc] = event
        elif event.step in _OUTCOMES:
            yield from self._ended(proc, event, txn)

    def _ended(self, proc: str, event: StepEvent, txn: Fields) -> Iterator[Fields]:
        if (begun := self._committing.pop(proc, None)) is not None:
            txn |= {"tid": begun.transactional_id or "", "txn": begun.transaction or NONE}
            yield operation(proc, begun.step.value, _OUTCOMES[event.step], **txn)
        if event.step is TaskStep.FAILED:
            yield from self._fencing_ended(event)
            yield operation(proc, "failed", err=str(event.detail.get("error", "")), **_of_event(event))


def _boundary_of(run: Run) -> tuple[str, int]:
    """Where the transactions of a run end, and the interval in ms; "" and -1 where that was changed meanwhile."""
    newest = run.group.connectors.get(run.name, run.properties)
    boundary, interval = "transaction.boundary", "transaction.boundary.interval.ms"
    if any(str(newest.get(each)) != str(run.properties.get(each)) for each in (boundary, interval)):
        return "", NONE
    where = run.properties.get(boundary, "poll")
    if where != "interval":
        return where, NONE
    return where, int(run.properties.get(interval) or run.group.local.config["offset.flush.interval.ms"])


def _first_producers(sent: Mapping[Author, Sequence[Fields]]) -> dict[str, Fields]:
    """Producer id and epoch of each start's first transaction: what its producer was given."""
    found: dict[str, Fields] = {}
    for author, records in sent.items():
        if author.transaction == 1 and records:
            known: Fields = {name: records[0][name] for name in ("pid", "epoch") if name in records[0]}
            found[_process(author.task, author.generation, author.start)] = known
    return found


def _process(task: object, generation: int | None, start: int) -> str:
    """The name of a task's life: a task that is started again in its generation is another process."""
    return f"task {task} of generation {generation}" + (f", start {start}" if start > 1 else "")


def _of_event(event: StepEvent) -> Fields:
    return _generation(event.connector, event.generation)


def _generation(connector: str, generation: int | None) -> Fields:
    return {"connector": connector, "gen": NONE if generation is None else generation}


def _sends(proc: str, entries: Iterable[Fields], txn: Fields) -> Iterator[Fields]:
    for entry in entries:
        known = {name: entry[name] for name in ("part", "val", "src_part", "src_off") if name in entry}
        yield operation(proc, "send", "invoke", **known, **txn)
        yield operation(proc, "send", off=entry["off"], **known, **txn)
