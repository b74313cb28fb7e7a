"""The history of a run for the checker: what tasks and leader did, the log at the end, the replay of the source.

It is put together when the run is over, from the steps that observers heard of, the places that deliveries named, and
reads of the topics. So it has what clients see of any Kafka: the log as it is stored is read by the client of the
backend `memory`, whatever backend the run has.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from eosfw.checker import NONE, Operation
from eosfw.errors import DamagedDataError
from eosfw.identity import identity_of
from eosfw.ids import TopicPartition
from eosfw.observe import StepEvent, TaskStep
from pytest_eos.runs.config_operations import config_operations
from pytest_eos.runs.groups.provenance import Author, Authors, author_of
from pytest_eos.runs.identities import expected_identity
from pytest_eos.runs.record import Record, records_of
from pytest_eos.runs.run import Run
from pytest_eos.runs.run_logs import RunLogs
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
Fields = dict[str, Any]
"""The fields of an operation that say something, but for its number: they are known when all operations are."""


def operations_of(run: Run, *, transaction_log: bool = True) -> list[Operation]:
    """The history of a run that is over; its connector needs `eosfw.identity=headers`, the default in tests.

    Without the log of transactions it is made faster, and says nothing of the states of transactions.
    """
    visible = {_place(record): record for record in run.records()}
    counts = Counter(TopicPartition(topic, partition) for topic, partition, _ in visible)
    logs = RunLogs.read(run, counts, transaction_log=transaction_log)
    log = [record for batch in logs.written for record in records_of(batch)] or list(visible.values())
    positions = _positions(run)
    entries = {
        place: _log_entry(record, positions, logs.stored, visible=place in visible)
        for record in log
        for place in (_place(record),)
    }
    events = [event for event in run.group.history.events() if event.connector == run.name]
    ids = {event.transactional_id or "" for event in events}
    facts = chain(
        _steps(run, events, entries),
        map(_read, visible.values()),
        entries.values(),
        logs.stored.markers(logs.ranges),
        config_operations(run.name, logs.configs, logs.stored),
        transaction_states(logs.transactions, ids),
        _ends(logs, {TopicPartition(topic, partition) for topic, partition, _ in entries}),
        (_operation(_SOURCE, "source", src_part=part, src_off=off) for part, off in positions.values()),
        (_operation(_LOG, "end"),),
    )
    return list(_numbered(facts))


def _operation(proc: str, op: str, kind: str = "ok", **facts: Any) -> Fields:
    return {"proc": proc, "op": op, "type": kind, **facts}


def _numbered(facts: Iterable[Fields]) -> Iterator[Operation]:
    """The operations by their places; what is read at the end comes at the time of the last step."""
    time = 0.0
    for number, each in enumerate(facts):
        time = max(time, each.get("t", time))
        each["i"], each["t"] = number, time
        yield Operation(**each)


def _place(record: Record) -> tuple[str, int, int]:
    return record.topic, record.partition, record.offset


# --- the log


def _log_entry(record: Record, positions: Mapping[bytes, Position], stored: StoredLog, *, visible: bool) -> Fields:
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


def _read(record: Record) -> Fields:
    return _operation(_READER, "poll", reads=((f"{record.topic}-{record.partition}", record.offset, record.place),))


def _ends(logs: RunLogs, partitions: set[TopicPartition]) -> Iterator[Fields]:
    for one in sorted(partitions):
        yield _operation(
            _LOG, "partition", part=f"{one.topic}-{one.partition}", off=logs.stable[one], seq=logs.ranges[one].end
        )


# --- the steps


def _process(authors: Authors, event: StepEvent) -> str:
    """The name of a task's life: a task that is started again in its generation is another process."""
    start = authors.start_of(event)
    again = f", start {start}" if start > 1 else ""
    return f"task {event.task} of generation {event.generation}{again}"


def _steps(run: Run, events: Sequence[StepEvent], entries: Mapping[tuple[str, int, int], Fields]) -> Iterator[Fields]:
    sent: dict[Author, list[Fields]] = defaultdict(list)
    for place, author in run.eos.authors.places().items():
        if author.task.connector == run.name and place[0] in run.topics:
            gone = _operation(
                _LOG, "log", part=f"{place[0]}-{place[1]}", off=place[2], val=f"{place[0]}-{place[1]}@{place[2]}"
            )
            sent[author].append(entries.get(place, gone))
    # Two lives of a task may have the same generation and number of a transaction, and nothing says whose commit came.
    begun = Counter(author_of(event) for event in events if event.step is TaskStep.BEGIN)
    sent = defaultdict(list, {author: records for author, records in sent.items() if begun[author] < _TWICE})
    boundary = run.properties.get("transaction.boundary", "poll")
    committing: dict[str, StepEvent] = {}
    idle: set[str] = set()
    for event in events:
        for operation in _of_step(event, run.eos.authors, sent, committing):
            if operation["op"] == "source-poll":
                if operation["proc"] in idle:  # the poll before gave nothing, and is enough
                    continue
                idle.add(operation["proc"])
            else:
                idle.discard(operation["proc"])
            operation["t"] = event.at - events[0].at
            if operation["op"] == "start":
                operation["val"] = boundary
            yield operation
    for author, records in sent.items():  # transactions that nobody asked to end
        ids = _generation(run.name, author.generation)
        txn = {"tid": author.transactional_id or "", "txn": author.transaction or NONE, **ids}
        yield from _sends(f"task {author.task} of generation {author.generation}", records, txn)


def _of_step(
    event: StepEvent, authors: Authors, sent: dict[Author, list[Fields]], committing: dict[str, StepEvent]
) -> Iterator[Fields]:
    ids = _generation(event.connector, event.generation)
    if event.task is None:
        if event.step in _OF_LEADER:
            fenced = event.detail.get("ids")
            ids["ids"] = tuple(fenced) if isinstance(fenced, Sequence) else ()
            yield _operation(_LEADER, "fence", _OF_LEADER[event.step], **ids)
        return
    proc = _process(authors, event)
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


def _sends(proc: str, entries: Iterable[Fields], txn: Mapping[str, Any]) -> Iterator[Fields]:
    for entry in entries:
        known = {name: entry[name] for name in ("part", "val", "src_part", "src_off") if name in entry}
        yield _operation(proc, "send", "invoke", **known, **txn)
        yield _operation(proc, "send", off=entry["off"], **known, **txn)
