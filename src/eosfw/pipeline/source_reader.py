"""Read a source through its connector, without a cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TypeVar

from eosfw.capabilities import Capabilities
from eosfw.concurrency import Runtime
from eosfw.config import Config
from eosfw.config.connector import BOUNDARY
from eosfw.config.worker import SUPPORT, WORKER
from eosfw.connectors import SourceTask
from eosfw.errors import EosfwError, RetriableError, TaskFailedError, described
from eosfw.ids import ConnectorTaskId
from eosfw.pipeline.fresh_context import FreshTaskContext
from eosfw.records import SourceRecord
from eosfw.registry import Plugins
from eosfw.runtime.poll_result import has_records, read_poll_result
from eosfw.runtime.task_planner import ClusterFacts, TaskPlanner, ValidatedConnector
from eosfw.state.boundary import BoundaryError, End, PollBoundary, RequestedBoundary, split
from eosfw.state.poll_batch import PollBatch

T = TypeVar("T")
Told = Callable[[str], None]
_WORKER = {"group.id": "read", SUPPORT: "enabled"}
_PAUSE = 0.1
"""Seconds between polls that gave nothing."""


def source_records(
    plugins: Plugins, name: str, properties: Mapping[str, str], runtime: Runtime, told: Told, *, idle: float = 5.0
) -> Generator[SourceRecord, None, None]:
    """Every record that fresh tasks would commit from the beginning of a source; `told` hears what is no record.

    Ends with the source, or when it gave nothing for `idle` seconds. ConfigError lists what is wrong with the
    properties; TaskFailedError says which task failed, or gave nothing because its polls kept failing.
    """
    facts = ClusterFacts(Capabilities(), lambda _properties, _client: ())
    validated = TaskPlanner(WORKER.parse(_WORKER), plugins, facts).check(name, properties)
    with ExitStack() as opened:
        tasks = [_Reading(validated, ConnectorTaskId(name, number), told) for number in range(len(validated.tasks))]
        for task in tasks:
            opened.callback(task.stop)
            task.start(validated.task_configs[task.id.task])
        yield from _polled(tasks, runtime, idle)


def _polled(tasks: list[_Reading], runtime: Runtime, idle: float) -> Iterator[SourceRecord]:
    last = runtime.now()
    while left := [task for task in tasks if not task.over]:
        for task in left:
            yield from task.poll(runtime.now())
        if any(task.busy for task in left):
            last = runtime.now()
        elif runtime.now() >= last + idle:
            break
        else:
            runtime.sleep(_PAUSE)
    failing = [task for task in left if task.failure is not None]
    if failing:
        raise TaskFailedError("\n".join(f"task {one.id} gave nothing: {one.failure}" for one in failing))
    for task in tasks:
        task.tell_open()


class _Reading:
    """A fresh task under way."""

    def __init__(self, validated: ValidatedConnector, task_id: ConnectorTaskId, told: Told) -> None:
        self.id = task_id
        self.busy = True
        """Whether the last poll gave records."""
        self.over = False
        """Whether the source said that it ends here."""
        self.failure: RetriableError | None = None
        """Why the last poll gave nothing, if it failed."""
        self._due = 0.0
        self._told = told
        requested = RequestedBoundary() if validated.config[BOUNDARY] == "connector" else None
        self._transaction, self._boundary = requested, requested or PollBoundary()
        self._open: list[SourceRecord] = []
        self._task: SourceTask = validated.connector.task()

    def start(self, config: Config) -> None:
        self._called(lambda: self._task.start(config, FreshTaskContext(self.id, self._transaction, self._told)))

    def poll(self, now: float) -> Iterator[SourceRecord]:
        """Poll once; the records of transactions that end by that."""
        if now < self._due:
            return
        try:
            polled = read_poll_result(self._called(self._task.poll), self.id)
        except RetriableError as error:
            if self.failure is None:
                self._told(f"task {self.id}: {described(error)}; polling again")
            self.failure, self.busy, self._due = error, False, now + (error.retry_after or 0.0)
            return
        self.failure, self.busy = None, has_records(polled)
        yield from self._ended(polled, now)
        self.over = not self.busy and bool(self._called(self._task.at_end))
        if self.over:
            self._called(self._boundary.at_end)

    def tell_open(self) -> None:
        """Tell of records that a run would not commit, since no transaction of theirs ended."""
        if self._open:
            self._told(f"task {self.id} ended no transaction behind its last {len(self._open):,} records: left out")

    def stop(self) -> None:
        self._called(self._task.stop)

    def _ended(self, polled: Sequence[PollBatch], now: float) -> Iterator[SourceRecord]:
        pieces = split(polled, self._boundary, lambda: now)
        while (piece := self._called(lambda: next(pieces, None))) is not None:
            batches, end = piece
            for batch in batches:
                self._open += batch.records()
            if end is not End.KEEP:
                ended, self._open = self._open, []
                yield from ended if end is End.COMMIT else ()

    def _called(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except EosfwError:
            raise
        except BoundaryError as error:
            raise TaskFailedError(f"task {self.id}: {error}") from None
        except (Exception, SystemExit) as error:
            raise TaskFailedError(f"task {self.id} failed: {described(error)}") from error
