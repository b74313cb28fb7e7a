"""The task of the connector: it runs the tap, sends what it gives, waits, and runs it again.

Its place is kept by the source offset alone: a STATE, with the rows before it that the tap may give again. Only what
lies between two STATEs is committed, all of it or nothing. So polls keep rows until the next STATE is read; a task that
ends its transactions itself returns them at once, into the transaction that ends there, and aborts that one if the tap
fails meanwhile.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Final

from eosfw.connectors import SourceTask
from eosfw.data import INT64, SchemaAndValue
from eosfw.errors import DamagedDataError, EosfwError, RetriableError, TaskFailedError
from eosfw.records import SourceBatch
from eosfw_singer.position import Position
from eosfw_singer.properties import CONNECTOR
from eosfw_singer.run import RunSettings, TapRun
from eosfw_singer.schemas import TypeSettings
from eosfw_singer.state_text import state_text
from eosfw_singer.tap import MessageReader, Tap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eosfw.config import Config, ConfigDef
    from eosfw.connectors import SourceTaskContext
    from eosfw.records import SourcePartition
    from eosfw_singer.messages import Message
    from eosfw_singer.run import Row

_WAIT: Final = 0.5
"""Seconds that a poll waits for the tap."""
_LONGEST: Final = 1.0
"""Seconds after which a poll returns, also while the tap writes on and on without a STATE."""
VERSION_HEADER: Final = "singer.version"


class SingerSourceTask(SourceTask):
    """Polls a tap."""

    config: ClassVar[ConfigDef | None] = CONNECTOR

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._run: _Run | None = None

    def start(self, config: Config, context: SourceTaskContext) -> None:
        # The tap is started by polls alone, which are repeated while it fails.
        self._config, self._context = config, context
        self._name = Path(config["tap.command"][0]).name
        self._partition: SourcePartition = {"tap": self._name}
        stored = context.offset(self._partition)
        self._place = _begin(config) if stored is None else Position.of(stored)
        self._types = TypeSettings(config["decimal.handling.mode"], config["time.precision.mode"])
        self._settings = RunSettings.of(config, self._types)
        self._due = 0.0
        self._ended_well = False
        self._failures = 0
        self._open = False
        """Whether rows were returned behind the last place at which a transaction ended."""
        self._failed: EosfwError | None = None
        self._said: set[str] = set()

    def poll(self) -> list[SourceBatch] | None:
        if self._failed is not None:
            failed, self._failed = self._failed, None
            raise failed
        if self._run is None:
            if self._clock() < self._due:
                return None
            self._run = self._started()
        try:
            self._run.read(self._enough(), self._clock() + _LONGEST, self._clock)
        except RetriableError as error:
            return self._failure(self._run, self._with_retries(error))
        except EosfwError:
            self.stop()
            raise
        return self._returned(self._run)

    def at_end(self) -> bool:
        return self._run is None and self._ended_well and not self._open and self._failed is None

    def stop(self) -> None:
        if self._run is not None:
            self._run.tap.kill()
            self._run = None

    def _started(self) -> _Run:
        self._ended_well = False
        skip = self._config["malformed"] == "skip"
        reader = MessageReader(
            self._name,
            exact_numbers=self._types.exact_numbers,
            skipped=self._context.notice if skip else None,
        )
        rows = TapRun(self._settings, self._place, self._notice_once)
        most = self._config["buffer.max.bytes"] if self._context.transaction is None else None
        return _Run(Tap(self._config, self._place.value(), self._clock), reader, rows, most)

    def _notice_once(self, kind: str, text: str, count: int) -> None:
        """Report what is the same in each run of the tap."""
        if text not in self._said:
            self._said.add(text)
            self._context.notice(kind, text, count)

    def _enough(self) -> Callable[[TapRun], bool]:
        """Whether a poll has what it returns, so that it need not read on."""
        most = self._config["batch.max.rows"]
        if self._context.transaction is not None:
            return lambda rows: bool(rows.ends) or len(rows.ready) >= most
        return lambda rows: bool(rows.ends) and rows.ends[-1][0] >= most

    def _returned(self, run: _Run) -> list[SourceBatch] | None:
        rows = run.rows
        most = self._config["batch.max.rows"]
        ends = self._context.transaction
        if ends is None:
            count, place = rows.ends[-1] if rows.ends else (0, None)
        elif rows.ends and rows.ends[0][0] <= most:
            count = rows.ends[0][0]
            place = [place for at, place in rows.ends if at == count][-1]
            ends.commit()
        else:
            count, place = min(len(rows.ready), most), None
        batches = self._batches(rows.taken(count), place)
        if place is not None:
            self._place, self._open, self._failures = place, False, 0
        elif batches:
            self._open = True
        if run.over and not rows.ends and not rows.ready:
            self._finish(run)
        return batches or None

    def _finish(self, run: _Run) -> None:
        run.tap.kill()
        self._run, self._ended_well, self._failures = None, True, 0
        self._due = self._clock() + self._config["poll.interval.ms"] / 1000

    def _failure(self, run: _Run, error: EosfwError) -> list[SourceBatch] | None:
        """End a run that has failed: return what can be committed, have what cannot aborted, then raise."""
        run.tap.kill()
        self._run = None
        ends = self._context.transaction
        if ends is not None and self._open:
            # The offset moves back to that of the last commit, behind which the next run begins.
            ends.abort()
            self._open = False
            self._failed = error
            return [self._moved(self._place)]
        if ends is None and run.rows.ends:
            self._failed = error
            count, place = run.rows.ends[-1]
            self._place = place
            return self._batches(run.rows.taken(count), place)
        raise error

    def _with_retries(self, error: RetriableError) -> EosfwError:
        self._failures += 1
        most = self._config["max.retries"]
        if self._failures > most:
            return TaskFailedError(f"{error}; it has failed {self._failures} times in a row (max.retries = {most})")
        return RetriableError(str(error), retry_after=self._config["retry.backoff.ms"] / 1000)

    def _batches(self, rows: Sequence[Row], place: Position | None) -> list[SourceBatch]:
        """Rows as batches, one for each stretch of one stream; `place` is that behind all of them."""
        stretches = [(stream, list(some)) for stream, some in groupby(rows, key=lambda row: row.stream)]
        batches = [self._batch(some) for _, some in stretches]
        if place is not None and (not rows or rows[-1].place != place):
            batches.append(self._moved(place))
        return batches

    def _batch(self, rows: Sequence[Row]) -> SourceBatch:
        stream, records = rows[0].stream, [row.record for row in rows]
        unknown = stream.unknown(records)
        if unknown:
            some = ", ".join(sorted(unknown)[:5])
            self._context.notice(
                "properties without schema",
                f"rows of stream {stream.name!r} have properties without schema, which are left out: {some}",
                len(unknown),
            )
        versions = any(row.version is not None for row in rows)
        return SourceBatch(
            topic=stream.topic,
            values=stream.values(records),
            value_schema=stream.row.schema,
            keys=stream.keys(records),
            key_schema=stream.key_schema,
            source_partition=self._partition,
            source_offset=rows[-1].place.offset,
            source_offsets=[row.place.offset for row in rows] if self._context.record_offsets else None,
            headers=[_headers(row) for row in rows] if versions else None,
        )

    def _moved(self, place: Position) -> SourceBatch:
        """A batch without rows, which moves the offset alone."""
        return SourceBatch(
            topic=self._settings.topic_prefix + self._name,
            values=[],
            source_partition=self._partition,
            source_offset=place.offset,
        )


class _Run:
    """A run of the tap, from its process to its rows."""

    def __init__(self, tap: Tap, reader: MessageReader, rows: TapRun, most_bytes: int | None) -> None:
        """`most_bytes` is how many bytes of lines may wait for the end of their group, None for no limit."""
        self.tap, self.rows = tap, rows
        self._reader, self._most_bytes = reader, most_bytes
        self._messages: Iterator[tuple[Message, int]] = iter(())
        self.over = False
        self._group, self._bytes = 0, 0

    def read(self, enough: Callable[[TapRun], bool], deadline: float, clock: Callable[[], float]) -> None:
        """Take messages until there are enough, or none for a while, or time is up."""
        while not enough(self.rows) and not self.over and clock() < deadline:
            for message, size in self._messages:
                self.rows.take(message)
                if not self._has_room(size):
                    return
                if enough(self.rows):
                    return
            lines = self.tap.lines(0.0 if self.rows.ends else _WAIT)
            if lines is None:
                self.rows.end()
                self.over = True
            elif not lines:
                return
            else:
                self._messages = self._reader.messages(lines)

    def _has_room(self, size: int) -> bool:
        """Whether more may be kept; False while there are groups that have ended, which are returned first."""
        if self.rows.group != self._group:
            self._group, self._bytes = self.rows.group, 0
        self._bytes += size
        if self._most_bytes is None or self._bytes <= self._most_bytes:
            return True
        if self.rows.ends:
            return False
        raise DamagedDataError(
            f"the tap gave more than {self._most_bytes} bytes without a STATE from which it can go on: set "
            f"transaction.boundary = connector, so that they need not wait in memory, or buffer.max.bytes higher"
        )


def _begin(config: Config) -> Position:
    """The place of a connector that has none: the STATE that its properties give."""
    state = config["tap.state"]
    return Position(None if state is None else state_text(state))


def _headers(row: Row) -> tuple[tuple[str, SchemaAndValue], ...]:
    return () if row.version is None else ((VERSION_HEADER, SchemaAndValue(INT64, row.version)),)
