"""Replay a source by fresh tasks up to its committed offsets, to know what should have been written (ruling 7).

Where tasks end their transactions themselves, what they aborted is left out, as it is in the topics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field

from eosfw.config import Config
from eosfw.config.connector import BOUNDARY
from eosfw.config.parts import OFFSET_STORE, chosen
from eosfw.connectors import SourceConnector, SourceTask, TransactionContext
from eosfw.errors import DamagedDataError, RetriableError, TaskFailedError
from eosfw.ids import ConnectorTaskId
from eosfw.pipeline.local import LocalRun
from eosfw.protocols import IsolationLevel, OffsetStore
from eosfw.records import SourceBatch, SourceOffset, SourcePartition, SourceRecord
from eosfw.registry import parts
from eosfw.runtime.offsets import read_offsets
from eosfw.runtime.polled import Batches, Records, read_polled, records_of, tells_apart, whole
from eosfw.runtime.preflight import connector_config
from eosfw.state.boundary import Boundary, BoundaryError, End, PollBoundary, RequestedBoundary, split
from eosfw.waiting import Runtime

Committed = Mapping[str, tuple[SourcePartition, SourceOffset]]
_IDLE = 5.0
"""Seconds without a record after which a source that cannot tell its end counts as exhausted."""
_BEYOND = 100_000
"""Polls in a row with nothing but records that were never committed, after which a source without end is left."""


def replayed(run: LocalRun, name: str, *, apart: bool = False) -> Iterator[Sequence[SourceRecord]]:
    """Every record of a connector's source up to its committed offsets, in chunks.

    DamagedDataError when a committed offset is not met again: the source changed, so nothing can be expected of it;
    when two tasks give records of one source partition; and, with `apart`, when a batch holds no offset for each
    record, so that offsets cannot tell records apart.
    """
    connector = run.plugins.connector(run.pipeline.connectors[name]["connector.class"])
    config = connector_config(connector, name, run.pipeline.connectors[name])
    store = parts.offset_store(run.plugins, chosen(OFFSET_STORE, run.config, config))
    goal = _Goal(store, dict(_committed(run, name, store)))
    boundary = RequestedBoundary if config[BOUNDARY] == "connector" else PollBoundary
    with ExitStack() as opened:
        tasks = [
            opened.enter_context(_started(connector, ConnectorTaskId(name, number), share, boundary(), apart=apart))
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
    _owners: dict[str, ConnectorTaskId] = field(default_factory=dict)

    def upto(self, partition: SourcePartition, offset: SourceOffset, task: ConnectorTaskId) -> bool:
        """Whether what lies before this offset was committed; forgets the partition behind the last one that was."""
        key = self.store.partition_key(partition)
        owner = self._owners.setdefault(key, task)
        if owner != task:
            raise DamagedDataError(
                f"tasks {owner} and {task} both give records of source partition {dict(partition)}, so each of them is "
                f"written twice: `task_configs` must give a source partition to one task alone"
            )
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
    connector: SourceConnector, task_id: ConnectorTaskId, share: Mapping[str, str], boundary: Boundary, *, apart: bool
) -> Iterator[_Replay]:
    task = connector.task()
    transaction = boundary if isinstance(boundary, RequestedBoundary) else None
    try:
        task.start(_task_config(task, share), _Context(task_id, transaction))
        yield _Replay(task, task_id, boundary, apart=apart)
    finally:
        task.stop()


def _task_config(task: SourceTask, share: Mapping[str, str]) -> Config:
    return Config(share, share) if task.config is None else task.config.parse(share, "replay")


def _polled(tasks: Sequence[_Replay], goal: _Goal, runtime: Runtime) -> Iterator[Sequence[SourceRecord]]:
    """Poll all tasks in turn: one that counts for ever must not keep the others from their last committed offset."""
    left = list(tasks)
    while (goal.left or any(task.open for task in left)) and (
        left := [one for one in left if not one.over(runtime.now())]
    ):
        found = [task.poll(goal, runtime.now()) for task in left]
        yield from filter(None, found)
        if not any(task.busy for task in left):
            runtime.sleep(0.01)
    # Its task ended this transaction when it was run: the committed offsets lie behind it.
    yield from filter(None, (task.open for task in tasks))


class _Replay:
    """A fresh task that is polled once more."""

    def __init__(self, task: SourceTask, task_id: ConnectorTaskId, boundary: Boundary, *, apart: bool) -> None:
        self._task, self._id, self._boundary, self._apart = task, task_id, boundary, apart
        self.open: list[SourceRecord] = []
        """Committed records of the transaction that its task has not ended yet."""
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
        known, ended = len(self.open), []
        for piece, end in self._pieces(polled, now):
            self.open += [record for one in piece for record in self._committed(one, goal)]
            if end is End.COMMIT:
                ended += self.open
            if end is not End.KEEP:
                self.open = []
        self._beyond = 0 if ended or len(self.open) > known or not self.busy else self._beyond + 1
        return ended

    def _pieces(self, polled: Batches | Records, now: float) -> Iterator[tuple[Batches | Records, End]]:
        try:
            yield from split(polled, self._boundary, lambda: now)  # type: ignore[misc]
        except BoundaryError as error:
            raise TaskFailedError(f"task {self._id}: {error}") from None

    def _poll(self) -> Batches | Records:
        try:
            return read_polled(self._task.poll(), self._id)
        except RetriableError:
            return ()

    def _committed(self, polled: SourceBatch | SourceRecord, goal: _Goal) -> Iterable[SourceRecord]:
        if isinstance(polled, SourceRecord):
            return (polled,) if goal.upto(polled.source_partition, polled.source_offset, self._id) else ()
        partition = polled.source_partition
        if polled.source_offsets is None:
            self._check_apart(polled)
            return whole(polled) if goal.upto(partition, polled.source_offset, self._id) else ()
        records = [one for one in records_of(polled, self._id) if goal.upto(partition, one.source_offset, self._id)]
        goal.upto(partition, polled.source_offset, self._id)  # it may lie behind the last record, or there may be none
        return records

    def _check_apart(self, batch: SourceBatch) -> None:
        if self._apart and not tells_apart(batch):
            raise DamagedDataError(
                f"task {self._id} returned a SourceBatch without `source_offsets`, so its records cannot be told "
                f'apart: have the connector return them, or set "eosfw.identity" to "value" or "field:NAME"'
            )
