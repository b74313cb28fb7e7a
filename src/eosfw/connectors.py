"""Subclass these to write a source connector.

A connector is asked for its tasks' configurations; each task polls its share of the source. The framework sends what a
task returns and commits the records and the offsets behind them in one transaction (KIP-618). A task needs no code for
that, provided it resumes from `context.offset(...)` and no source partition belongs to two tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Protocol, runtime_checkable

from eosfw.config import Config, ConfigDef
from eosfw.errors import Problem
from eosfw.ids import ConnectorTaskId
from eosfw.records import RecordMetadata, SourceBatch, SourceOffset, SourcePartition, SourceRecord

__all__ = [
    "CommitsRecords",
    "ConnectorTransactionBoundaries",
    "ExactlyOnceSupport",
    "PollResult",
    "SourceConnector",
    "SourceProgress",
    "SourceTask",
    "SourceTaskContext",
    "TransactionContext",
]

PollResult = Sequence[SourceRecord] | SourceBatch | Sequence[SourceBatch] | None


class ExactlyOnceSupport(Enum):
    """A connector's answer to whether it can be exactly once with the given properties (KIP-618)."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"


class ConnectorTransactionBoundaries(Enum):
    """A connector's answer to whether its tasks can end transactions themselves."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class SourceProgress:
    """How much of a share of a source was read: `done` of `total` in a unit, usually bytes."""

    done: int
    total: int
    unit: str = "bytes"


class TransactionContext(Protocol):
    """Lets a task end its transactions itself, with `transaction.boundary=connector`; every request counts once.

    A record is known by identity: name the very object that poll is about to return, now or later. The task fails when
    it asks to commit and to abort at one place, or behind a record that no poll returns.
    """

    def commit(self) -> None:
        """Commit behind the last record of the batch that poll is about to return."""

    def commit_record(self, record: SourceRecord) -> None:
        """Commit right behind this record; later records of its batch belong to the next transaction."""

    def abort(self) -> None:
        """Discard the batch that poll is about to return, then move past it. To see it again, raise instead."""

    def abort_record(self, record: SourceRecord) -> None:
        """Discard everything up to this record, then move past it."""


class SourceTaskContext(Protocol):
    """What the framework tells a task; valid from `start` until `stop` returns."""

    task_id: ConnectorTaskId
    """Connector and number, `orders-0` as text: for logs, never for the choice of a share."""
    transaction: TransactionContext | None
    """Given with `transaction.boundary=connector` alone."""
    record_offsets: bool
    """True when every SourceBatch must carry `source_offsets` (records are to be identified one by one)."""

    def offset(self, partition: SourcePartition) -> SourceOffset | None:
        """The committed offset of a source partition, or None if nothing of it was ever committed."""

    def notice(self, kind: str, text: str, count: int = 1) -> None:
        """Tell the user of something that is no error, say lines skipped: counts add up by kind in the summary."""


class SourceTask:
    """Polls one share of a source. All calls come from one thread, in the order start, poll..., stop."""

    config: ClassVar[ConfigDef | None] = None
    """Definition of a task's properties; without one, `start` gets them as text."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        """Open the source at the committed offsets. An exception fails the task; nothing was sent."""

    def poll(self) -> PollResult:
        """Return the next records, at latest after about a second; None or nothing when there are none yet.

        An exception fails the task and aborts the open transaction. After a RetriableError the task polls again, soon
        or after its `retry_after` seconds; until a poll succeeds, the source counts neither as idle nor as at its end.
        """
        raise NotImplementedError

    def at_end(self) -> bool | None:
        """Tell whether the source has no more to give: True, False, or None if that cannot be known."""
        return None

    def progress(self) -> SourceProgress | None:
        """Tell how much of this task's share was read so far, for whoever watches; None if that cannot be known.

        It is called a few times a second, between polls.
        """
        return None

    def commit(self) -> None:
        """Hear that everything returned so far was committed. May be lost in a crash; errors are only logged.

        A task may also define `commit_record(self, record, metadata)`: it then runs for every record of a committed
        transaction in the order of sending (see `CommitsRecords`), at the price of a callback per record.
        """

    def stop(self) -> None:
        """Close the source; runs once, also after a failure, on the task's thread."""


@runtime_checkable
class CommitsRecords(Protocol):
    """A task that wants to hear of each committed record, at the price of a callback per record."""

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        """Hear where a record came to lie; None when it was dropped on the way. Errors are only logged."""


class SourceConnector:
    """Describes a source to the framework: its name, its properties, how its work splits into tasks."""

    name: ClassVar[str]
    """What `connector.class` says; unique among installed connectors."""
    task: ClassVar[type[SourceTask]]
    """What one share of the work is done by; made without arguments, once for each start of a task."""
    config: ClassVar[ConfigDef]
    """The connector's own properties, beside those that every source connector has."""

    def problems(self, config: Config) -> Iterable[Problem]:
        """What is wrong with the properties beyond what `config` can check; found before anything starts."""
        return ()

    def check(self, config: Config) -> Iterable[Problem]:
        """Contact the source; what keeps it from being read, such as a refused password or a missing table.

        Optional: `eosfw run --check` and `eosfw doctor` ask, a run does not. Answer within seconds, change nothing.
        RetriableError says that the source does not answer now; another exception is a fault of the connector.
        """
        return ()

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Split the work into at most `max_tasks` shares, one mapping of properties each; no share is a legal answer.

        Each source partition belongs to exactly one share.
        """
        raise NotImplementedError

    def exactly_once_support(self, config: Config) -> ExactlyOnceSupport | None:
        """Tell whether tasks resume exactly at the committed offsets; None if it was never considered."""
        return None

    def transaction_boundaries(self, config: Config) -> ConnectorTransactionBoundaries | None:
        """Tell whether tasks use `context.transaction`; needed for `transaction.boundary=connector`."""
        return None
