"""The task of the connector: a snapshot, then the stream of one replication slot.

There is one task, since the order of a slot's changes is that of its database. Its place is kept by the source offset
alone: a transaction's LSN, and how many of its changes are done. The slot is confirmed up to that LSN only once a
transaction of Kafka that holds it was committed, so that the server has at every moment whatever a restart needs; a
slot that begins behind the source offset was read or made anew by somebody else, and is refused.

A stream is opened by a poll, so that a server that does not answer is reported and asked again. Whoever opens it first
ends a reader with the same connector's name: a task of an earlier generation, which the framework has shut out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from eosfw.concurrency import ThreadRuntime
from eosfw.connectors import SourceTask
from eosfw.errors import RetriableError
from eosfw_postgres.connection import Database
from eosfw_postgres.envelope import Origin
from eosfw_postgres.incremental import IncrementalSnapshot
from eosfw_postgres.position import Position
from eosfw_postgres.properties import TASK
from eosfw_postgres.records import ChangeRecords, last_key, position_behind, source_offset
from eosfw_postgres.replication.changes import ChangeReader
from eosfw_postgres.replication.slot import SlotCreation, drop_slot
from eosfw_postgres.replication.slot_lag import SlotLag
from eosfw_postgres.replication.stream import ReplicationStream
from eosfw_postgres.snapshot import TableSnapshot
from eosfw_postgres.snapshot_progress import SnapshotProgress
from eosfw_postgres.startup import open_slot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eosfw.config import Config, ConfigDef
    from eosfw.connectors import SourceTaskContext
    from eosfw.records import SourceBatch, SourceOffset, SourcePartition
    from eosfw_postgres.pgoutput import Relation, Row
    from eosfw_postgres.replication.changes import Streamed
    from eosfw_postgres.startup import OpenedSlot

_CATCH_UP = 0.02
"""Seconds for which a poll waits while something waits for the changes before it: rows of an incremental snapshot, or a
run that ends behind what there was at its start."""
APPLICATION_NAME = "eosfw "
"""The beginning of the `application_name` of a connector's connections; its name follows."""


def application_name(connector: str) -> str:
    """The `application_name` of a connector's connections, as the server shows it, which has ASCII and 63 of that."""
    return f"{APPLICATION_NAME}{connector.encode('unicode_escape').decode()}"[:63]


def source_partition(prefix: str) -> SourcePartition:
    """The source partition of a database, as in Debezium's connector."""
    return {"server": prefix}


class PostgresTask(SourceTask):
    """Polls the changes of a database."""

    config: ClassVar[ConfigDef | None] = TASK

    def start(self, config: Config, context: SourceTaskContext) -> None:
        self._config, self._context = config, context
        self._runtime = ThreadRuntime()
        self._database = Database.of(config, application_name(context.task_id.connector))
        self._partition = source_partition(config["topic.prefix"])
        stored = context.offset(self._partition)
        self._position = None if stored is None else Position.of(stored)
        self._records = ChangeRecords(
            config, self._database, self._partition, context.notice, offsets=context.record_offsets
        )
        self._records.progress = _progress(config["snapshot.mode"], stored)
        self._incremental = IncrementalSnapshot(self._database, config, stored, self._records.complete, context.notice)
        self._creation = SlotCreation(self._database, config["slot.name"], failover=config["slot.failover"])
        self._snapshot: TableSnapshot | None = None
        self._floor: int | None = None
        self._open: _OpenStream | None = None
        self._backend_pid: int | None = None
        self._drained = False
        self._returned: tuple[int, int] = (0, 0)
        """The LSNs up to which changes were returned, by the poll before the last one and by the last one."""
        self._moved_at = self._runtime.now()
        self._lag = SlotLag(self._database, config, context, self._runtime)

    def poll(self) -> list[SourceBatch] | None:
        try:
            self._lag.look(reads=self._open is not None)
            if self._records.progress is not None and not self._records.progress.complete:
                return self._read_rows(self._records.progress)
            if self._config["snapshot.mode"] == "initial_only":
                self._drained = True
                return None
            if self._open is None:
                self._open = self._opened()
            return self._read(self._open)
        except Exception:
            self._close()
            raise

    def commit(self) -> None:
        # With overlapping commits a poll has returned more meanwhile, which is not committed.
        before, last = self._returned
        done = before if self._config["transaction.commit.overlap"] else last
        if self._open is not None and done and self._config["flush.lsn.source"]:
            try:
                self._open.stream.confirm(done)
            except RetriableError:
                self._close()  # the next poll opens it again

    def at_end(self) -> bool:
        return self._drained

    def stop(self) -> None:
        # One that has failed, or has no stream, leaves the slot to whoever goes on.
        is_read = getattr(self, "_open", None) is not None
        self._close()
        if (creation := getattr(self, "_creation", None)) is not None:
            creation.close()
        if is_read and self._config["slot.drop.on.stop"]:
            drop_slot(self._database, self._config["slot.name"], self._backend_pid, self._runtime)

    def _read_rows(self, progress: SnapshotProgress) -> list[SourceBatch]:
        if self._snapshot is None:
            self._snapshot = self._taken(progress)
            progress = self._records.progress = self._snapshot.progress
        position = self._position or Position(0)
        found = self._snapshot.read()
        if found is None:
            self._close()
            self._records.progress = replace(progress, complete=True)
            batches = [self._records.of_nothing(position)]
        else:
            batches = self._of_table(*found, progress, position)
        if self._context.transaction is not None:
            self._context.transaction.commit()
        return self._moved(batches)

    def _of_table(
        self, relation: Relation, rows: Sequence[Row], progress: SnapshotProgress, position: Position
    ) -> list[SourceBatch]:
        batches = self._records.of_rows(relation, rows, position) if rows else []
        table = f"{relation.namespace}.{relation.name}"
        key = last_key(relation, rows, progress.behind(table)) if rows else None
        self._records.progress = progress.at(relation, key)
        return batches or [self._records.of_nothing(position)]

    def _taken(self, progress: SnapshotProgress) -> TableSnapshot:
        slot = self._slot()
        self._position = slot.position
        if self._floor is None:
            self._floor = slot.next_xid
        return TableSnapshot(self._database, self._config, progress, self._floor, self._records.complete)

    def _slot(self) -> OpenedSlot:
        own_pid = self._backend_pid or self._creation.backend_pid
        return open_slot(self._database, self._config, self._position, own_pid, self._creation, self._runtime)

    def _opened(self) -> _OpenStream:
        slot = self._slot()
        names = (self._config["slot.name"], self._config["publication.name"])
        stream = ReplicationStream(self._database, *names, slot.position.lsn, self._runtime)
        # What was changed before is in the rows of the snapshot, or was not asked for.
        rows = 0 if self._records.progress is None else self._records.progress.until_lsn
        stream.published_from(slot.log_end if self._position is None else rows)
        self._backend_pid, self._position = stream.backend_pid, slot.position
        self._incremental.reopen()
        reader = ChangeReader(stream, slot.position, self._records.complete, self._records.events)
        return _OpenStream(stream, reader, slot.position, slot.log_end)

    def _close(self) -> None:
        opened, self._open = getattr(self, "_open", None), None
        if opened is not None:
            opened.stream.close()
        snapshot, self._snapshot = getattr(self, "_snapshot", None), None
        if snapshot is not None:
            snapshot.close()

    def _read(self, opened: _OpenStream) -> list[SourceBatch] | None:
        if rows := self._chunk(opened):
            return self._moved(rows)
        most, timeout = self._config["max.batch.size"], self._config["poll.interval.ms"] / 1000
        if self._incremental.waits or not opened.was_drained:
            timeout = min(timeout, _CATCH_UP)
        ends = self._context.transaction
        if ends is None:
            changes = opened.reader.read(most, timeout)
        else:
            changes = opened.reader.read_transaction(most, self._config["max.transaction.records"], timeout)
        opened.stream.keep_alive(self._config["status.update.interval.ms"] / 1000)
        self._incremental.take(changes)
        batches = self._records.of_changes(changes, opened.position) if changes else []
        if ends is not None and changes and (changes[-1].ends or changes[-1].is_cut):
            ends.commit()
        opened.move(changes)
        self._position = opened.position
        self._drained = not changes and not self._incremental.is_active and opened.stream.log_end >= opened.log_end
        opened.was_drained |= self._drained
        return self._moved(self._incremental.marked(batches)) or self._heartbeat(opened)

    def _chunk(self, opened: _OpenStream) -> list[SourceBatch]:
        """The next rows of an incremental snapshot, once the changes before them were returned."""
        if self._context.transaction is not None and opened.reader.in_transaction:
            return []
        before, position = self._incremental.progress, opened.position
        chunk = self._incremental.due(position)
        if chunk is None:
            return []
        if self._context.transaction is not None:
            self._context.transaction.commit()
        if not chunk.rows:
            return self._incremental.marked([self._records.of_nothing(position)])
        keys = list(chunk.rows)[:-1] if self._context.record_offsets else []
        behind = [before.at(key) for key in keys] + [self._incremental.progress]
        offsets = [one.offset(source_offset(position, self._records.progress)) for one in behind]
        origin = Origin(position.lsn, None, chunk.taken_ms * 1000, snapshot="incremental")
        return self._records.of_chunk(chunk.relation, list(chunk.rows.values()), origin, offsets)

    def _moved(self, batches: list[SourceBatch]) -> list[SourceBatch]:
        last = self._returned[1]
        if batches:
            # Not the position: behind the last record it may have passed changes that make none, and a slot that is
            # confirmed beyond the offset in Kafka looks as if somebody else had read it.
            self._returned = (last, Position.of(batches[-1].source_offset).lsn)
            self._moved_at = self._runtime.now()
        else:
            self._returned = (last, last)
        return batches

    def _heartbeat(self, opened: _OpenStream) -> list[SourceBatch] | None:
        """Move the offset alone, once in a while: else a database whose other tables change would keep its log."""
        every = self._config["heartbeat.interval.ms"] / 1000
        due = every and self._runtime.now() - self._moved_at >= every
        if not due or opened.reader.in_transaction or opened.position.lsn <= self._returned[1]:
            return None
        if self._context.transaction is not None:
            self._context.transaction.commit()
        return self._moved(self._incremental.marked([self._records.of_nothing(opened.position)]))


def _progress(mode: str, stored: SourceOffset | None) -> SnapshotProgress | None:
    """How far the snapshot has come; None if none was taken, or if it decides nothing any more."""
    if stored is None:
        return SnapshotProgress() if mode in ("initial", "initial_only") else None
    text = stored.get("snapshot")
    return SnapshotProgress.of(text) if isinstance(text, str) else None


@dataclass(slots=True)
class _OpenStream:
    """A stream that is read, and the position up to which its changes were returned."""

    stream: ReplicationStream
    reader: ChangeReader
    position: Position
    log_end: int
    """Where the server's log ended when it was opened."""
    was_drained: bool = False
    """Whether there was nothing more up to there."""

    def move(self, changes: list[Streamed]) -> None:
        if changes:
            self.position = position_behind(changes[-1])
        elif not self.reader.in_transaction:
            self.position = max(self.position, Position(self.stream.log_end))
