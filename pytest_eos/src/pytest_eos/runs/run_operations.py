"""The history of a run for the checker: what tasks and leader did, the log at the end, the replay of the source.

It is put together when the run is over, from the steps that observers heard of, the places that deliveries named, and
reads of the topics. So it has what clients see of any Kafka: the log as it is stored is read by the client of the
backend `memory`, whatever backend the run has.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Final

from eosfw.checker import NONE, Operation
from eosfw.errors import DamagedDataError
from eosfw.identity import identity_of
from eosfw.ids import TopicPartition
from eosfw.observe import StepEvent, TaskStep
from eosfw.protocols import IsolationLevel
from eosfw.records import OffsetRange
from pytest_eos.runs.config_operations import config_operations
from pytest_eos.runs.groups.provenance import Author, author_of
from pytest_eos.runs.identities import expected_identity
from pytest_eos.runs.record import Record, records_of
from pytest_eos.runs.run import Ranges, Run
from pytest_eos.runs.stored_log import StoredLog
from pytest_eos.runs.transaction_states import transaction_states

_LEADER, _READER, _LOG, _SOURCE = "leader", "reader", "log", "source"
_OF_LEADER: Final = {TaskStep.FENCE_ZOMBIES: "invoke", TaskStep.CHECK_GENERATION: "ok"}
_OF_INIT: Final = {TaskStep.INIT_PRODUCER: "invoke", TaskStep.READ_CONFIG: "ok"}
_OF_TASK: Final = {TaskStep.READ_OFFSETS: "read-offsets", TaskStep.POLL: "source-poll"}
_OF_TRANSACTION: Final = {TaskStep.BEGIN: "begin", TaskStep.SEND_OFFSETS: "offset"}
_OUTCOMES: Final = {
    TaskStep.COMMITTED: "ok",
    TaskStep.ABORTED: "ok",
    # A producer that is fenced, or fails, does not know what became of its commit.
    **dict.fromkeys((TaskStep.FENCED, TaskStep.SUPERSEDED, TaskStep.FAILED, TaskStep.STOPPED), "info"),
}
_TWICE: Final = 2
Position = tuple[str, int]


def operations_of(run: Run) -> list[Operation]:
    """The history of a run that is over; its connector needs `eosfw.identity=headers`, the default in tests."""
    visible = list(run.records())
    ranges = _whole_ranges(run)
    log = list(_written(run, ranges))
    stored = StoredLog(run, ranges)
    positions = _positions(run)
    places = {_place(record) for record in visible}
    entries = [_log_entry(record, positions, stored, visible=_place(record) in places) for record in log]
    operations = [
        *_steps(run, {_place(record): entry for record, entry in zip(log, entries, strict=True)}),
        *(_read(record) for record in visible),
        *entries,
        *stored.markers(),
        *config_operations(run),
        *transaction_states(run, _transactional_ids(run)),
        *_ends(run, {TopicPartition(record.topic, record.partition) for record in log}),
        *(_operation(_SOURCE, "source", src_part=part, src_off=off) for part, off in positions.values()),
        _operation(_LOG, "end"),
    ]
    return list(_numbered(operations))


def _transactional_ids(run: Run) -> set[str]:
    events = run.group.history.events()
    return {event.transactional_id or "" for event in events if event.connector == run.name}


def _operation(proc: str, op: str, kind: str = "ok", **facts: Any) -> Operation:
    return Operation(i=0, t=0.0, proc=proc, op=op, type=kind, **facts)


def _numbered(operations: Iterable[Operation]) -> Iterator[Operation]:
    """The operations by their places; what is read at the end comes at the time of the last step."""
    time = 0.0
    for number, operation in enumerate(operations):
        time = max(time, operation.t)
        yield replace(operation, i=number, t=time)


def _place(record: Record) -> tuple[str, int, int]:
    return record.topic, record.partition, record.offset


# --- the log


def _whole_ranges(run: Run) -> Ranges:
    """The ranges of the run's topics up to their high watermarks."""
    eos = run.eos
    with closing(eos.backend.admin()) as admin:
        counts = admin.partitions(run.topics)
        ones = [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]
        ends = admin.end_offsets(ones, IsolationLevel.READ_UNCOMMITTED)
    return {one: OffsetRange(start.start, ends[one]) for one, start in run.ranges().items()}


def _written(run: Run, ranges: Ranges) -> Iterator[Record]:
    """Every record of the run's topics, of aborted and open transactions, too."""
    eos = run.eos
    with closing(eos.backend.reader(IsolationLevel.READ_UNCOMMITTED, headers=True)) as reader:
        for batch in reader.read(ranges, eos.settings.patience):
            yield from records_of(batch)


def _log_entry(record: Record, positions: Mapping[bytes, Position], stored: StoredLog, *, visible: bool) -> Operation:
    source = positions.get(_identity(record))
    where: dict[str, Any] = {} if source is None else {"src_part": source[0], "src_off": source[1]}
    return _operation(
        _LOG,
        "log",
        part=f"{record.topic}-{record.partition}",
        off=record.offset,
        val=record.place,
        visible=visible,
        **where,
        **stored.producer_at(TopicPartition(record.topic, record.partition), record.offset),
    )


def _identity(record: Record) -> bytes:
    try:
        return identity_of(record.value, record.headers, "headers")
    except DamagedDataError:
        return b""


def _positions(run: Run) -> dict[bytes, Position]:
    """Source partition and position of each record of the replay, but for those that share their source offset."""
    records = run.source_records()
    identities = [expected_identity(record, "headers", run.name) for record in records]
    times = Counter(identities)
    counted: dict[str, int] = defaultdict(int)
    found: dict[bytes, Position] = {}
    for record, identity in zip(records, identities, strict=True):
        part = str(dict(record.source_partition))
        if times[identity] == 1:
            found[identity] = part, counted[part]
        counted[part] += 1
    return found


def _read(record: Record) -> Operation:
    return _operation(_READER, "poll", reads=((f"{record.topic}-{record.partition}", record.offset, record.place),))


def _ends(run: Run, partitions: set[TopicPartition]) -> Iterator[Operation]:
    with closing(run.eos.backend.admin()) as admin:
        stable = admin.end_offsets(partitions, IsolationLevel.READ_COMMITTED)
        ends = admin.end_offsets(partitions, IsolationLevel.READ_UNCOMMITTED)
    for one in sorted(partitions):
        yield _operation(_LOG, "partition", part=f"{one.topic}-{one.partition}", off=stable[one], seq=ends[one])


# --- the steps


class _Lives:
    """The names of tasks' lives: a task that is started again in its generation is another process."""

    def __init__(self) -> None:
        self._starts: dict[tuple[object, int | None], int] = defaultdict(int)

    def name(self, event: StepEvent) -> str:
        key = event.task, event.generation
        if event.step is TaskStep.REQUEST_FENCING:
            self._starts[key] += 1
        again = f", start {self._starts[key]}" if self._starts[key] > 1 else ""
        return f"task {event.task} of generation {event.generation}{again}"

    def is_first(self, event: StepEvent) -> bool:
        """Whether the task has not been started again in its generation."""
        return self._starts[event.task, event.generation] == 1


def _steps(run: Run, entries: Mapping[tuple[str, int, int], Operation]) -> Iterator[Operation]:
    sent: dict[Author, list[Operation]] = defaultdict(list)
    for place, author in run.eos.authors.places().items():
        if author.task.connector == run.name and place[0] in run.topics:
            gone = _operation(
                _LOG, "log", part=f"{place[0]}-{place[1]}", off=place[2], val=f"{place[0]}-{place[1]}@{place[2]}"
            )
            sent[author].append(entries.get(place, gone))
    events = [event for event in run.group.history.events() if event.connector == run.name]
    # Two lives of a task may have the same generation and number of a transaction, and nothing says whose commit came.
    begun = Counter(author_of(event) for event in events if event.step is TaskStep.BEGIN)
    sent = defaultdict(list, {author: records for author, records in sent.items() if begun[author] < _TWICE})
    lives, start = _Lives(), None
    boundary = run.properties.get("transaction.boundary", "poll")
    committing: dict[str, StepEvent] = {}
    for event in events:
        start = event.at if start is None else start
        for operation in _of_step(event, lives, sent, committing):
            # The steps of a second start may be those of the first, which goes on: nothing tells their polls apart.
            value = boundary if operation.op == "start" and lives.is_first(event) else operation.val
            yield replace(operation, t=event.at - start, val=value)
    for author, records in sent.items():  # transactions that nobody asked to end
        ids = _generation(run.name, author.generation)
        txn = {"tid": author.transactional_id or "", "txn": author.transaction or NONE, **ids}
        yield from _sends(f"task {author.task} of generation {author.generation}", records, txn)


def _of_step(
    event: StepEvent, lives: _Lives, sent: dict[Author, list[Operation]], committing: dict[str, StepEvent]
) -> Iterator[Operation]:
    ids = _generation(event.connector, event.generation)
    if event.task is None:
        if event.step in _OF_LEADER:
            fenced = event.detail.get("ids")
            ids["ids"] = tuple(fenced) if isinstance(fenced, Sequence) else ()
            yield _operation(_LEADER, "fence", _OF_LEADER[event.step], **ids)
        return
    proc = lives.name(event)
    txn = {"tid": event.transactional_id or "", "txn": event.transaction or NONE, **ids}
    if event.step is TaskStep.CHECK_TASK_COUNT:  # the leader has answered, so that the record is written
        yield _operation(_LEADER, "task-count", **ids)
    elif event.step in _OF_INIT:
        yield _operation(proc, "init", _OF_INIT[event.step], **ids)
    elif event.step is TaskStep.START_TASK:
        yield _operation(proc, "start", **ids)
    elif event.step in _OF_TASK:
        yield _operation(proc, _OF_TASK[event.step], **ids)
    elif event.step in _OF_TRANSACTION:
        yield _operation(proc, _OF_TRANSACTION[event.step], **txn)
    elif event.step in (TaskStep.COMMIT, TaskStep.ABORT):
        author = author_of(event)
        yield from _sends(proc, sent.pop(author, []) if author is not None else [], txn)
        yield _operation(proc, event.step.value, "invoke", **txn)
        committing[proc] = event
    elif event.step in _OUTCOMES and (begun := committing.pop(proc, None)) is not None:
        txn |= {"tid": begun.transactional_id or "", "txn": begun.transaction or NONE}
        yield _operation(proc, begun.step.value, _OUTCOMES[event.step], **txn)


def _generation(connector: str, generation: int | None) -> dict[str, Any]:
    return {"connector": connector, "gen": NONE if generation is None else generation}


def _sends(proc: str, entries: Iterable[Operation], txn: Mapping[str, Any]) -> Iterator[Operation]:
    for entry in entries:
        source = {"src_part": entry.src_part, "src_off": entry.src_off}
        sent: dict[str, Any] = {"part": entry.part, "val": entry.val, **source, **txn}
        yield _operation(proc, "send", "invoke", **sent)
        yield _operation(proc, "send", off=entry.off, **sent)
