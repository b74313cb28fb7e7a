"""Replay a source by fresh tasks up to its committed offsets, to know what should have been written (ruling 7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from eosfw.runtime.polled import read_polled, records_of
from eosfw.runtime.preflight import connector_config
from eosfw.waiting import Runtime

Committed = Mapping[str, tuple[SourcePartition, SourceOffset]]
_IDLE = 5.0
"""Seconds without a record after which a source that cannot tell its end counts as exhausted."""
_BEYOND = 100_000
"""Polls in a row with nothing but records that were never committed, after which a source without end is left."""


def replayed(run: LocalRun, name: str) -> Iterator[Sequence[SourceRecord]]:
    """Every record of a connector's source up to its committed offsets, in chunks.

    DamagedDataError when a committed offset is not met again: the source changed, so nothing can be expected of it.
    """
    connector = run.plugins.connector(run.pipeline.connectors[name]["connector.class"])
    config = connector_config(connector, name, run.pipeline.connectors[name])
    store = run.plugins.offset_store()
    goal = _Goal(store, dict(_committed(run, name, store)))
    with ExitStack() as opened:
        tasks = [
            opened.enter_context(_started(connector, ConnectorTaskId(name, number), share))
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

    def upto(self, record: SourceRecord) -> bool:
        """Whether this record was committed; forgets its source partition behind the last one that was."""
        key = self.store.partition_key(record.source_partition)
        wanted = self.left.get(key)
        if wanted is None:
            return False
        if dict(record.source_offset) == dict(wanted[1]):
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
def _started(connector: SourceConnector, task_id: ConnectorTaskId, share: Mapping[str, str]) -> Iterator[_Replay]:
    task = connector.task()
    try:
        task.start(_task_config(task, share), _Context(task_id))
        yield _Replay(task, task_id)
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

    def __init__(self, task: SourceTask, task_id: ConnectorTaskId) -> None:
        self._task, self._id = task, task_id
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
        records = _poll(self._task, self._id)
        self.busy = bool(records)
        self._idle_since = None if records else now if self._idle_since is None else self._idle_since
        committed = [record for record in records if goal.upto(record)]
        self._beyond = 0 if committed or not records else self._beyond + 1
        return committed


def _poll(task: SourceTask, task_id: ConnectorTaskId) -> list[SourceRecord]:
    try:
        polled = read_polled(task.poll(), task_id)
    except RetriableError:
        return []
    records: list[SourceRecord] = []
    for one in polled:
        records.extend(records_of(one, task_id) if isinstance(one, SourceBatch) else (one,))
    return records
