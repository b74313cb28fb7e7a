"""The history of a run for the checker: what tasks and leader did, the log at the end, the replay of the source.

It is put together when the run is over, from the steps that observers heard of, the places that deliveries named, and
reads of the topics. So it has what clients see of any Kafka: the log as it is stored is read by the client of the
backend `memory`, whatever backend the run has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from eosfw.checker import Operation
from eosfw.errors import DamagedDataError
from eosfw.identity import identity_of
from eosfw.ids import TopicPartition
from pytest_eos.runs.operations.config_topic import config_operations
from pytest_eos.runs.operations.operation import Fields, numbered, operation
from pytest_eos.runs.operations.run_logs import RunLogs
from pytest_eos.runs.operations.source_offsets import OffsetOperations
from pytest_eos.runs.operations.source_positions import SourcePositions
from pytest_eos.runs.operations.steps import StepOperations
from pytest_eos.runs.operations.stored_log import StoredLog
from pytest_eos.runs.operations.transaction_log import transaction_states
from pytest_eos.runs.record import Record, records_of
from pytest_eos.runs.run import Run

_READER, _LOG, _SOURCE = "reader", "log", "source"


def operations_of(run: Run, *, transaction_log: bool = True) -> list[Operation]:
    """The history of a run that is over; its connector needs `eosfw.identity=headers`, the default in tests.

    Without the log of transactions it is made faster, and says nothing of the states of transactions.
    """
    visible = {_place(record): record for record in run.records()}
    counts = Counter(TopicPartition(topic, partition) for topic, partition, _ in visible)
    logs = RunLogs.read(run, counts, transaction_log=transaction_log)
    log = [record for batch in logs.written for record in records_of(batch)] or list(visible.values())
    positions = SourcePositions(run.name, run.source_records())
    shown = run.committed_places() if _has_own_reader(run) else frozenset()
    entries = {
        place: _log_entry(record, positions, logs.stored, visible=place in visible or record.place in shown)
        for record in log
        for place in (_place(record),)
    }
    events = [event for event in run.group.history.events() if event.connector == run.name]
    ids = {event.transactional_id or "" for event in events}
    facts = chain(
        StepOperations(run, entries, OffsetOperations(run, logs.offsets, positions)).of(events),
        (operation("cluster", "healed"),),
        map(_read, visible.values()),
        entries.values(),
        logs.stored.markers(logs.ranges),
        config_operations(run.name, logs.configs, logs.stored),
        transaction_states(logs.transactions, ids),
        _ends(logs, {TopicPartition(topic, partition) for topic, partition, _ in entries}),
        (operation(_SOURCE, "source", src_part=part, src_off=off) for part, off in positions),
        (operation(_LOG, "end"),),
    )
    return list(numbered(facts))


def _has_own_reader(run: Run) -> bool:
    """Whether another isolation reader than the default one reads the run's records."""
    own = run.eos.plugins.isolation_reader_class is not None
    return own or run.group.local.reader_choice.name not in (None, "read_committed")


def _place(record: Record) -> tuple[str, int, int]:
    return record.topic, record.partition, record.offset


# --- the log


def _log_entry(record: Record, positions: SourcePositions, stored: StoredLog, *, visible: bool) -> Fields:
    return operation(
        _LOG,
        "log",
        part=f"{record.topic}-{record.partition}",
        off=record.offset,
        val=record.place,
        visible=visible,
        **positions.of_record(_identity(record)),
        **stored.producer_at(TopicPartition(record.topic, record.partition), record.offset),
    )


def _identity(record: Record) -> bytes:
    try:
        return identity_of(record.value, record.headers, "headers")
    except DamagedDataError:
        return b""


def _read(record: Record) -> Fields:
    return operation(_READER, "poll", reads=((f"{record.topic}-{record.partition}", record.offset, record.place),))


def _ends(logs: RunLogs, partitions: set[TopicPartition]) -> Iterator[Fields]:
    for one in sorted(partitions):
        yield operation(
            _LOG, "partition", part=f"{one.topic}-{one.partition}", off=logs.stable[one], seq=logs.ranges[one].end
        )
