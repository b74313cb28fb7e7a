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
from eosfw.plugin_metrics import PluginMetrics
from eosfw.records import RecordMetadata, SourceBatch, SourceOffset, SourcePartition, SourceRecord

__all__ = [
    "AltersOffsets",
    "CommitsRecords",
    "ConnectorTransactionBoundaries",
    "ExactlyOnceSupport",
    "OffsetReader",
    "PollResult",
    "SourceConnector",
    "SourceConnectorContext",
    "SourceProgress",
    "SourceTask",
    "SourceTaskContext",
    "TransactionContext",
    "watches_source",
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

    A record is recognised by object identity: pass the very object that this poll or a later one returns. The task
    fails when it asks to commit and to abort at one place, or after a record that no poll returns.
    """

    def commit(self) -> None:
        """Commit after the last record of the batch that poll is about to return."""

    def commit_record(self, record: SourceRecord) -> None:
        """Commit after this record; later records of its batch belong to the next transaction."""

    def abort(self) -> None:
        """Discard the batch that poll is about to return and move past it. To read it again, raise instead."""

    def abort_record(self, record: SourceRecord) -> None:
        """Discard everything up to and including this record, and move past it."""


class SourceTaskContext(Protocol):
    """What a task gets from the framework; valid from `start` until `stop` returns."""

    task_id: ConnectorTaskId
    """Connector and number, as text `orders-0`: for logs, never to choose the share of the work."""
    transaction: TransactionContext | None
    """None unless `transaction.boundary=connector`."""
    record_offsets: bool
    """True when every SourceBatch must carry `source_offsets`, because records are identified one by one."""
    metrics: PluginMetrics
    """Registers gauges and counters of the task, which `GET /metrics` shows (KIP-877)."""

    def offset(self, partition: SourcePartition) -> SourceOffset | None:
        """The committed offset of a source partition, or None if none was ever committed."""

    def notice(self, kind: str, text: str, count: int = 1) -> None:
        """Report something that is no error, such as skipped lines; the summary adds up the counts of each kind."""


class SourceTask:
    """Polls one share of a source. All calls come from one thread, in the order start, poll..., stop."""

    config: ClassVar[ConfigDef | None] = None
    """Definition of a task's properties; without one, `start` gets them as text."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        """Open the source at the committed offsets. An exception fails the task before anything is sent."""

    def poll(self) -> PollResult:
        """Return the next records within about a second; None or an empty list when there are none yet.

        Then the task polls again after a pause: a tenth of the time for which there have been none, at most a second,
        less the time of the poll, which may wait for records itself.

        An exception fails the task and aborts the open transaction. After a RetriableError the task polls again, soon
        or after its `retry_after` seconds; until a poll succeeds, the source counts neither as idle nor as at its end.
        """
        raise NotImplementedError

    def at_end(self) -> bool | None:
        """Whether the source has no more records: True, False, or None if that cannot be known.

        Asked after each poll without records. A task that defines it counts as before its end until it says otherwise.
        """
        return None

    def progress(self) -> SourceProgress | None:
        """How much of this task's share was read so far, for progress displays; None if that cannot be known.

        Called a few times a second, between polls.
        """
        return None

    def commit(self) -> None:
        """Called when everything returned so far was committed. A crash may lose the call; errors are only logged.

        A task may also define `commit_record(self, record, metadata)`: it is called for every record of a committed
        transaction in the order of sending (see `CommitsRecords`), at the cost of a callback for each record.
        """

    def stop(self) -> None:
        """Close the source; runs once, also after a failure, on the task's thread."""


@runtime_checkable
class CommitsRecords(Protocol):
    """A task that wants to hear of each committed record, at the price of a callback per record."""

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        """Called with the place of a committed record; errors are only logged.

        None for a record that was aborted, that a transformation dropped, or that `errors.tolerance=all` left out.
        """


@runtime_checkable
class AltersOffsets(Protocol):
    """A connector that hears when a user changes its offsets (Kafka Connect's `SourceConnector.alterOffsets`)."""

    def alter_offsets(self, config: Config, offsets: Sequence[tuple[SourcePartition, SourceOffset | None]]) -> bool:
        """Check changed offsets, and change those that the connector keeps elsewhere, before they are written.

        None as an offset forgets its source partition; there may be no offsets at all when all are reset. Called while
        the connector is stopped, and again with the same offsets if the user repeats a request. True says that nothing
        is left to do by hand. UnsupportedError refuses every change, another exception this one.
        """


class OffsetReader(Protocol):
    """Reads committed source offsets (Kafka Connect's `OffsetStorageReader`); each call reads the topic to its end."""

    def offset(self, partition: SourcePartition) -> SourceOffset | None:
        """The committed offset of a source partition, or None if none was ever committed."""

    def offsets(self, partitions: Sequence[SourcePartition]) -> Sequence[SourceOffset | None]:
        """The committed offsets of source partitions, in their order, by a single read."""


class SourceConnectorContext(Protocol):
    """What a connector gets that watches its source; any thread may use it from `start` until `stop` returns."""

    offset_reader: OffsetReader
    metrics: PluginMetrics
    """Registers gauges and counters of the connector (KIP-877)."""

    def request_task_reconfiguration(self) -> None:
        """Ask for new task configurations (Kafka Connect's `requestTaskReconfiguration`); does not wait.

        A new object of the connector is asked for `task_configs`. If they differ, they are the next generation: its
        tasks start once those of the one before are stopped, and fenced.
        """

    def raise_error(self, error: BaseException) -> None:
        """Put the connector into the state FAILED, with the trace (`raiseError`); `eosfw run` ends with the error.

        Its tasks go on in a worker group. It is watched again once it was restarted, or its properties have changed.
        """


class SourceConnector:
    """Describes a source to the framework: its name, its properties, how its work splits into tasks."""

    name: ClassVar[str]
    """What `connector.class` says; unique among installed connectors."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """What it may say as well, such as the name of a connector of Kafka Connect that has the same properties."""
    version: ClassVar[str | None] = None
    """What statuses and lists of plugins show (Kafka Connect's `Connector.version`); None for its distribution's."""
    task: ClassVar[type[SourceTask]]
    """The class of its tasks; an instance is made without arguments for each start of a task."""
    config: ClassVar[ConfigDef]
    """The connector's own properties, beside those that every source connector has."""

    def problems(self, config: Config) -> Iterable[Problem]:
        """Problems of the properties that `config` cannot find; they are reported before anything starts."""
        return ()

    def check(self, config: Config) -> Iterable[Problem]:
        """Contact the source; what keeps it from being read, such as a refused password or a missing table.

        Optional: `eosfw run --check` and `eosfw doctor` ask, a run does not. Answer within seconds, change nothing.
        RetriableError says that the source does not answer now; another exception is a fault of the connector.
        """
        return ()

    def start(self, config: Config, context: SourceConnectorContext) -> None:
        """Begin to watch the source, for a connector that has to tell when its work splits anew (`Connector.start`).

        One worker of a group calls it, its leader, on a thread of the connector's own, if the connector defines it or
        `watch`: behind each change of its properties, and when it is resumed or restarted. Afterwards the framework
        asks for task configurations once more, so that nothing is missed that has changed meanwhile.
        """

    def watch(self) -> float | None:
        """Look whether the source has changed; return in how many seconds to look again, None for a minute.

        Called behind `start`, again and again, on its thread; it may wait for a notification for about a second. After
        a RetriableError it is called again, another exception has the effect of `context.raise_error`.
        """
        return None

    def stop(self) -> None:
        """Watch no longer; runs once for each `start`, also after a failure, on its thread."""

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Split the work into at most `max_tasks` shares, one mapping of properties each; no share is a legal answer.

        Each source partition belongs to exactly one share.
        """
        raise NotImplementedError

    def exactly_once_support(self, config: Config) -> ExactlyOnceSupport | None:
        """Whether tasks resume exactly at the committed offsets; None if the author never considered it."""
        return None

    def transaction_boundaries(self, config: Config) -> ConnectorTransactionBoundaries | None:
        """Whether tasks use `context.transaction`; needed for `transaction.boundary=connector`."""
        return None


def watches_source(connector: SourceConnector) -> bool:
    """Whether a connector defines `start` or `watch`, so that a worker starts it."""
    return any(getattr(type(connector), one) is not getattr(SourceConnector, one) for one in ("start", "watch"))
