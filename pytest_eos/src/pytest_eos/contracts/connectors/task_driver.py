"""A driver that runs a connector's tasks without a worker or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from eosfw.concurrency import Runtime
from eosfw.config import Config
from eosfw.config.connector import BOUNDARY
from eosfw.config.parts import CONVERTERS
from eosfw.connectors import OffsetReader, SourceConnector, SourceTask, TransactionContext, watches_source
from eosfw.errors import RetriableError, TaskFailedError, described
from eosfw.ids import ConnectorTaskId
from eosfw.observe import unread_metrics
from eosfw.plugin_metrics import PluginMetrics
from eosfw.records import LogBatch, SourceOffset, SourcePartition, SourceRecord
from eosfw.runtime import (
    Boundary,
    BoundaryError,
    End,
    PollBatch,
    PollBoundary,
    RequestedBoundary,
    connector_config,
    has_records,
    offsets_lacking,
    read_poll_result,
    split,
)
from pytest_eos.environment.config.installed_plugins import installed_plugins
from pytest_eos.environment.diagnostics.task_calls import CallLog
from pytest_eos.virtual import VirtualRuntime

PATIENCE = 5.0
"""Seconds without a record after which a source without `at_end` counts as exhausted."""
_TASK = ConnectorTaskId("contract", 0)
Offsets = Mapping[str, tuple[SourcePartition, SourceOffset]]


def key_of(partition: SourcePartition) -> str:
    """A text that is equal for equal source partitions."""
    return installed_plugins().offset_store().partition_key(partition)


@dataclass(slots=True)
class _Context:
    task_id: ConnectorTaskId
    offsets: Offsets
    transaction: TransactionContext | None = None
    record_offsets: bool = True
    metrics: PluginMetrics = field(default_factory=unread_metrics)
    notices: list[str] = field(default_factory=list)
    asked: list[SourcePartition] = field(default_factory=list)
    """The source partitions whose offsets the task asked for."""

    def offset(self, partition: SourcePartition) -> SourceOffset | None:
        """The committed source offset of a partition."""
        self.asked.append(dict(partition))
        found = self.offsets.get(key_of(partition))
        return None if found is None else found[1]

    def notice(self, kind: str, text: str, count: int = 1) -> None:
        """Keep a notice."""
        self.notices.append(f"{kind}: {text} ({count})")


class _NothingCommitted:
    """The offsets of a connector that never ran."""

    def offset(self, partition: SourcePartition) -> SourceOffset | None:
        """None."""
        return None

    def offsets(self, partitions: Sequence[SourcePartition]) -> Sequence[SourceOffset | None]:
        """None for each."""
        return [None for _ in partitions]


@dataclass(slots=True)
class Watch:
    """One watch of a source, from `start` to `stop`; it is the `SourceConnectorContext`, and nothing is committed."""

    offset_reader: OffsetReader = field(default_factory=_NothingCommitted)
    metrics: PluginMetrics = field(default_factory=unread_metrics)
    pauses: list[float | None] = field(default_factory=list)
    requests: int = 0
    errors: list[BaseException] = field(default_factory=list)

    def request_task_reconfiguration(self) -> None:
        """Count a request."""
        self.requests += 1

    def raise_error(self, error: BaseException) -> None:
        """Keep an error."""
        self.errors.append(error)


class Transaction(NamedTuple):
    """The records of one transaction of a task; an unfinished one has `End.KEEP`."""

    records: list[SourceRecord]
    end: End
    positions: list[tuple[SourcePartition, SourceOffset]]
    """What is committed with it, in the order of reading: the last entry for a source partition counts."""


class TaskDriver:
    """Runs the tasks of one connector with one set of properties."""

    def __init__(self, connector: SourceConnector, properties: Mapping[str, str], runtime: Runtime) -> None:
        self.calls = CallLog()
        self._made: list[SourceTask] = []
        """The tasks, kept so that garbage collection does not release what `stop` must release."""
        self.asked: Sequence[SourcePartition] = ()
        """The source partitions whose offsets the last task asked for."""
        self.unended = False
        """Whether a task gave no record for `PATIENCE` seconds, and said that its source is not at its end."""
        self.read_before = 0
        """How many records a task of an earlier driver gave, if somebody has noted it."""
        self.connector, self._runtime = self.calls.record_connector(connector), runtime
        self._config = connector_config(connector, "contract", properties)

    @property
    def ends_transactions(self) -> bool:
        """Whether tasks define their transaction boundaries."""
        return bool(self._config[BOUNDARY] == "connector")

    @property
    def _changes_records(self) -> bool:
        """Whether keys and values may be other than bytes, since they are changed or converted later."""
        return any(self._config[name] for name in ("transforms", *CONVERTERS))

    @property
    def virtual(self) -> bool:
        """Whether it runs in virtual time."""
        return isinstance(self._runtime, VirtualRuntime)

    def summary(self) -> str:
        """The calls of the last task and their results, as text."""
        summary = self.calls.summary(1)
        if not self.virtual:
            return summary
        from pytest_eos.environment.config.clocks import NEEDS_REAL  # it loads pytest, as below

        return f"{summary}. {NEEDS_REAL}"

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """The configs of the tasks."""
        try:
            found: object = self.connector.task_configs(self._config, max_tasks)
            shares = list(found) if isinstance(found, Iterable) else None
        except Exception as why:
            raise TaskFailedError(
                f"`task_configs` fails with tasks.max={max_tasks}: {described(why)}. If that is for the number: it is "
                f"a limit, so make fewer tasks, with larger shares"
            ) from why
        if shares is None or not all(isinstance(share, Mapping) for share in shares):
            raise TaskFailedError(
                f"`task_configs` returned a {type(found).__name__}; it must return a list of mappings, one a task"
            )
        return shares

    def watches(self, looks: int) -> list[Watch]:
        """A watch of the source by the connector, which looks so often; none if it does not watch."""
        if not watches_source(self.connector):
            return []
        watch = Watch()
        try:
            self.connector.start(self._config, watch)
            watch.pauses += [self.connector.watch() for _ in range(looks)]
        finally:
            self.connector.stop()
        return [watch]

    def records(
        self, task_config: Mapping[str, str], offsets: Offsets, most: int, *, number: int = 0
    ) -> list[SourceRecord]:
        """The records that a fresh task returns from these offsets, at most that many, without aborted ones."""
        found = self.transactions(task_config, offsets, most, number=number)
        kept = [one.records for one in found if one.end is not End.ABORT]
        return [record for records in kept for record in records][:most]

    def transactions(
        self,
        task_config: Mapping[str, str],
        offsets: Offsets,
        most: int,
        *,
        number: int = 0,
        record_offsets: bool = True,
    ) -> list[Transaction]:
        """The transactions of a fresh task, by its own boundaries or one for each poll; its number is for its id."""
        boundary, requested = self._boundary()
        task_id = ConnectorTaskId(_TASK.connector, number)
        context = _Context(task_id, _read_back(offsets), requested, record_offsets=record_offsets)
        with self._started(task_config, context) as task:
            return self._read(task, boundary, most, record_offsets=record_offsets)

    def transactions_around(
        self, task_config: Mapping[str, str], change: Callable[[], None], most: int
    ) -> tuple[list[Transaction], list[Transaction]]:
        """The transactions of a fresh task up to its end, and those behind a change of the source at that moment."""
        boundary, requested = self._boundary()
        with self._started(task_config, _Context(_TASK, {}, requested)) as task:
            before = self._read(task, boundary, most, record_offsets=True)
            change()
            # A task need not look for more at once, so its `at_end` says nothing right behind the change.
            return before, self._read(task, boundary, most, record_offsets=True, whole_patience=True)

    def stop_in_between(self, task_config: Mapping[str, str], wait: Callable[[], None]) -> None:
        """Stop a fresh task behind its first records, after a wait in which threads of its own go on."""
        boundary, requested = self._boundary()
        with self._started(task_config, _Context(_TASK, {}, requested)) as task:
            self._read(task, boundary, 1, record_offsets=True)
            wait()

    def _boundary(self) -> tuple[Boundary, RequestedBoundary | None]:
        """The boundary of a fresh task's transactions, and again for its context if the task may end them."""
        if not self.ends_transactions:
            return PollBoundary(), None
        requested = RequestedBoundary()
        return requested, requested

    def _read(
        self, task: SourceTask, boundary: Boundary, most: int, *, record_offsets: bool, whole_patience: bool = False
    ) -> list[Transaction]:
        found = [Transaction([], End.KEEP, [])]
        count = 0
        for polled in self._polled(task, boundary, record_offsets=record_offsets, whole_patience=whole_patience):
            for piece, end in self._split(polled, boundary):
                found[-1].records.extend(record for batch in piece for record in batch.records())
                found[-1].positions.extend(position for batch in piece for position in batch.positions)
                if end is not End.KEEP:
                    found[-1:] = [found[-1]._replace(end=end), Transaction([], End.KEEP, [])]
            count += sum(map(len, polled))
            if count >= most:
                break
        return found

    @contextmanager
    def _started(self, task_config: Mapping[str, str], context: _Context) -> Iterator[SourceTask]:
        task = self.connector.task()
        self._made.append(task)
        self.asked = context.asked
        try:
            task.start(
                Config(task_config, task_config) if task.config is None else task.config.parse(task_config, "contract"),
                context,
            )
            yield task
        except BaseException as error:
            # What came first is the cause: `stop` often fails because `start` did.
            try:
                task.stop()
            except Exception as then:  # noqa: BLE001 whatever a connector raises
                error.add_note(f"then `stop` failed, too: {described(then)}")
            raise
        task.stop()

    def _polled(
        self, task: SourceTask, boundary: Boundary, *, record_offsets: bool, whole_patience: bool
    ) -> Iterator[Sequence[PollBatch]]:
        idle_since = self._runtime.now()
        while True:
            polled = _poll(task, any_data=self._changes_records, record_offsets=record_offsets)
            some = has_records(polled)
            # As in a worker: a source whose poll failed is neither idle nor at its end.
            at_end = None if some or self.calls.tasks[-1].failing else task.at_end()
            if some:
                idle_since = self._runtime.now()
            yield polled
            idle = self._runtime.now() - idle_since
            if (at_end and not whole_patience) or idle >= PATIENCE:
                self._refuse_failing()
                self.unended = at_end is False
                with _own_faults():
                    boundary.at_end()
                return
            if not some:
                # Longer and longer: where time is virtual, a poll that waits takes real time each time.
                self._runtime.sleep(min(max(0.01, idle / 2), PATIENCE - idle))

    def _refuse_failing(self) -> None:
        calls = self.calls.tasks[-1]
        if calls.failing:
            import pytest  # loaded by whoever fails: processes beside a test need none of it

            pytest.fail(f"polls of task {_TASK} fail: {calls.failures()}", pytrace=False)

    def _split(self, polled: Sequence[PollBatch], boundary: Boundary) -> Iterator[tuple[Sequence[PollBatch], End]]:
        with _own_faults():
            yield from split(polled, boundary, self._runtime.now)


@contextmanager
def _own_faults() -> Iterator[None]:
    try:
        yield
    except BoundaryError as error:
        raise TaskFailedError(f"task {_TASK}: {error}") from None


def _read_back(offsets: Offsets) -> Offsets:
    """Offsets as a worker reads them from the topic: plain values, whatever types a task stated."""
    if not offsets:
        return offsets
    store = installed_plugins().offset_store()
    records = store.encode(_TASK.connector, "offsets", list(offsets.values()))
    keys, values = ([getattr(one, part) for one in records] for part in ("key", "value"))
    places, stamps = list(range(len(records))), [0] * len(records)
    return store.decode(_TASK.connector, [LogBatch("offsets", 0, places, keys, values, stamps)])


def _poll(task: SourceTask, *, any_data: bool, record_offsets: bool) -> Sequence[PollBatch]:
    try:
        polled = read_poll_result(task.poll(), _TASK, any_data=any_data)
    except RetriableError:
        return ()
    if record_offsets and any(batch.source_offsets is None for batch in polled):
        raise TaskFailedError(offsets_lacking(_TASK))
    return polled
