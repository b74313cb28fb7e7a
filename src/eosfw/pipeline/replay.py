"""Replay a source by fresh tasks up to its committed offsets, to know what should have been written (ruling 7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field

from eosfw.config import Config
from eosfw.connectors import SourceConnector, SourceTask, TransactionContext
from eosfw.errors import DamagedDataError, RetriableError
from eosfw.ids import ConnectorTaskId
from eosfw.pipeline.local import LocalRun
from eosfw.protocols import IsolationLevel, OffsetStore
from eosfw.records import SourceBatch, SourceOffset, SourcePartition, SourceRecord
from eosfw.runtime.offsets import read_offsets
from eosfw.runtime.polled import Batches, Records, read_polled, records_of, tells_apart, whole
from eosfw.runtime.preflight import connector_config
from eosfw.waiting import Runtime

Committed = Mapping[str, tuple[SourcePartition, SourceOffset]]
_IDLE = 5.0
"""Seconds without a record after which a source that cannot tell its end counts as exhausted."""
_BEYOND = 100_000
"""Polls in a row with nothing but records that were never committed, after which a source without end is left."""


def replayed(run: LocalRun, name: str, *, apart: bool = False) -> Iterator[Sequence[SourceRecord]]:
    """Every record of a connector's source up to its committed offsets, in chunks.

    DamagedDataError when a committed offset is not met again: the source changed, so nothing can be expected of it.
    Also, with `apart`, when a batch holds no offset for each record, so that offsets cannot tell records apart.
    """
    connector = run.plugins.connector(run.pipeline.connectors[name]["connector.class"])
    config = connector_config(connector, name, run.pipeline.connectors[name])
    store = run.plugins.offset_store()
    goal = _Goal(store, dict(_committed(run, name, store)))
    with ExitStack() as opened:
        tasks = [
            opened.enter_context(_started(connector, ConnectorTaskId(name, number), share, apart=apart))
            for number, share in enumerate(connector.task_configs(config, config["tasks.max"]))
        ]
        yield from _polled(tasks, goal, run.runtime)
    if goal.left:
        raise DamagedDataError(_unmet(name, goal, len(tasks)))


def _unmet(name: str, goal: _Goal, tasks: int) -> str:
    partitions = ", ".join(str(dict(partition)) for partition, _ in goal.left.values())
    return (
        f"the source of connector {name!r} could not be replayed: never met again: {partitions}; either the source "
        f"changed, or none of its {tasks} tasks has these source partitions now: a connector must give each of them to "
        f"some task whatever `tasks.max` is"
    )


def _committed(run: LocalRun, name: str, store: OffsetStore) -> Committed:
    topic = run.config["offset.storage.topic"]
    with closing(run.backend.admin()) as admin, closing(run.backend.reader(IsolationLevel.READ_COMMITTED)) as reader:
        return read_offsets(name, topic, store, admin, reader)


@dataclass(slots=True)
class _Goal:
    """How far each source partition was committed; what is reached is taken out."""

    store: OffsetStore
    left: dict[str, tuple[SourcePartition, SourceOffset]]
    _keys: dict[int, str] = field(default_factory=dict)

    def upto(self, partition: SourcePartition, offset: SourceOffset) -> bool:
        """Whether what lies before this offset was committed; forgets the partition behind the last one that was."""
        key = self.store.partition_key(partition)
        wanted = self.left.get(key)
        if wanted is None:
            return False
        if dict(offset) == dict(wanted[1]):
            del self.left[key]
        return True


@dataclass(slots=True)
class _Context:
    """What a task is told that starts from nothing and writes nowhere."""

    task_id: ConnectorTaskId
    transaction: TransactionContext | None = None
    record_offsets: bool = True

    def offset(self, partition: SourcePartition) -> SourceOffset | None:
        """Nothing was read before."""

    def notice(self, kind: str, text: str, count: int = 1) -> None:
        """The run itself has told it already."""


@contextmanager
def _started(
    connector: SourceConnector, task_id: ConnectorTaskId, share: Mapping[str, str], *, apart: bool
) -> Iterator[_Replay]:
    task = connector.task()
    try:
        task.start(_task_config(task, share), _Context(task_id))
        yield _Replay(task, task_id, apart=apart)
    finally:
        task.stop()


def _task_config(task: SourceTask, share: Mapping[str, str]) -> Config:
    return Config(share, share) if task.config is None else task.config.parse(share, "replay")


def _polled(tasks: Sequence[_Replay], goal: _Goal, runtime: Runtime) -> Iterator[Sequence[SourceRecord]]:
    """Poll all tasks in turn: one that counts for ever must not keep the others from their last committed offset."""
    while goal.left and (tasks := [task for task in tasks if not task.over(runtime.now())]):
        found = [task.poll(goal, runtime.now()) for task in tasks]
        yield from filter(None, found)
        if not any(task.busy for task in tasks):
            runtime.sleep(0.01)


class _Replay:
    """A fresh task that is polled once more."""

    def __init__(self, task: SourceTask, task_id: ConnectorTaskId, *, apart: bool) -> None:
        self._task, self._id, self._apart = task, task_id, apart
        self.busy = True
        """Whether the last poll gave anything."""
        self._idle_since: float | None = None
        self._beyond = 0

    def over(self, now: float) -> bool:
        """Whether nothing that was committed is to be expected of it any more."""
        if self.busy:
            return self._beyond >= _BEYOND
        idle_since = now if self._idle_since is None else self._idle_since
        return bool(self._task.at_end()) or now - idle_since > _IDLE

    def poll(self, goal: _Goal, now: float) -> Sequence[SourceRecord]:
        """Its next records that were committed."""
        polled = self._poll()
        self.busy = any(len(one) if isinstance(one, SourceBatch) else True for one in polled)
        self._idle_since = None if self.busy else now if self._idle_since is None else self._idle_since
        committed = [record for one in polled for record in self._committed(one, goal)]
        self._beyond = 0 if committed or not self.busy else self._beyond + 1
        return committed

    def _poll(self) -> Batches | Records:
        try:
            return read_polled(self._task.poll(), self._id)
        except RetriableError:
            return ()

    def _committed(self, polled: SourceBatch | SourceRecord, goal: _Goal) -> Iterable[SourceRecord]:
        if isinstance(polled, SourceRecord):
            return (polled,) if goal.upto(polled.source_partition, polled.source_offset) else ()
        partition = polled.source_partition
        if polled.source_offsets is None:
            self._check_apart(polled)
            return whole(polled) if goal.upto(partition, polled.source_offset) else ()
        records = [one for one in records_of(polled, self._id) if goal.upto(partition, one.source_offset)]
        goal.upto(partition, polled.source_offset)  # it may lie behind the last record, or there may be none
        return records

    def _check_apart(self, batch: SourceBatch) -> None:
        if self._apart and not tells_apart(batch):
            raise DamagedDataError(
                f"task {self._id} returned a SourceBatch without `source_offsets`, so its records cannot be told "
                f'apart: have the connector return them, or set "eosfw.identity" to "value" or "field:NAME"'
            )
