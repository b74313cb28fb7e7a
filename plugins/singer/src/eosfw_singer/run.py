"""What one run of a tap gives: rows, each with its place, in groups that end where the tap can be started again.

A group ends at a STATE that differs from the one before, if the tap says that it can go on there, or where the run
ends. A row counts as the last of its group only once the next message is known, so that the place behind a row does not
depend on how fast the tap writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eosfw.errors import DamagedDataError
from eosfw_singer.latest_rows import Seen
from eosfw_singer.messages import (
    ActivateVersionMessage,
    OtherMessage,
    RecordMessage,
    SchemaMessage,
    StateMessage,
)
from eosfw_singer.position import Position, can_resume, without_passing
from eosfw_singer.repeats import Repeats
from eosfw_singer.state_text import state_text
from eosfw_singer.streams import Stream, stream_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eosfw.config import Config
    from eosfw_singer.messages import Message
    from eosfw_singer.schemas import TypeSettings


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What the connector's properties say about a run."""

    topic_prefix: str
    types: TypeSettings
    replication_keys: Mapping[str, str]
    full_tables: frozenset[str]
    lookback: int
    send_older: bool
    whole_run: bool
    """Whether the run is one group, whatever STATEs it has."""

    @classmethod
    def of(cls, config: Config, types: TypeSettings) -> RunSettings:
        """The settings of a configuration."""
        return cls(
            config["topic.prefix"],
            types,
            dict(config["replication.keys"]),
            frozenset(config["full.table.streams"]),
            config["lookback.rows"],
            config["older.rows"] == "send",
            config["group.ends.at"] == "run",
        )


# Not frozen: there is one for each row, and a frozen one takes longer to make.
@dataclass(slots=True)
class Row:
    """A row of a stream that is to be sent."""

    stream: Stream
    record: dict[str, Any]
    version: int | None
    base: Position
    rows: int
    """Its place is so many rows behind `base`."""

    @property
    def place(self) -> Position:
        """The place behind it."""
        return self.base.behind(self.rows)


class TapRun:
    """Takes the messages of a run in their order; `ready` are the rows whose places are known."""

    def __init__(self, settings: RunSettings, start: Position, notice: Callable[[str, str, int], None]) -> None:
        self._settings, self._notice = settings, notice
        self._streams: dict[str, Stream] = {}
        self._repeats = Repeats(start.repeats, settings.lookback)
        self._base = start.behind(0)
        self._skip, self._rows = start.rows, 0
        self._state: Any = start.value()
        self._ended: Any = without_passing(self._state)
        """The STATE of the last group."""
        self._held: Row | None = None
        self.ready: list[Row] = []
        self.ends: list[tuple[int, Position]] = []
        """The groups that have ended among the rows that are ready: how many of these precede it, and the place."""

    @property
    def group(self) -> int:
        """The number of the group whose rows are taken."""
        return self._base.number

    def take(self, message: Message) -> None:
        """Take the next message."""
        if isinstance(message, RecordMessage):
            self._record(message)
        elif isinstance(message, StateMessage):
            self._take_state(message.value)
        elif isinstance(message, SchemaMessage):
            self._schema(message)
        elif isinstance(message, OtherMessage):
            self._other(message)
        else:
            self._activate(message)

    def end(self) -> None:
        """The tap has ended well: what it gave behind its last STATE is a group, too."""
        if self._rows or without_passing(self._state) != self._ended:
            self._end_group()

    def taken(self, count: int) -> list[Row]:
        """The first rows that are ready, which are so no more."""
        rows, self.ready = self.ready[:count], self.ready[count:]
        self.ends = [(at - count, place) for at, place in self.ends if at > count]
        return rows

    def _record(self, message: RecordMessage) -> None:
        stream = self._streams.get(message.stream)
        if stream is None:
            raise DamagedDataError(f"the tap gave a row of stream {message.stream!r} before its SCHEMA: report it")
        if not self._is_new(stream, message.record):
            return
        self._rows += 1
        if self._rows <= self._skip:
            return
        self._release()
        self._held = Row(stream, message.record, message.version, self._base, self._rows)

    def _is_new(self, stream: Stream, record: dict[str, Any]) -> bool:
        key = stream.replication_key
        if key is None:
            return True
        seen = self._repeats.of(stream.name, stream.message.key_properties).take(record, record.get(key))
        if seen is Seen.UNKNOWN and not self._settings.send_older:
            raise DamagedDataError(
                f"the tap gave a row of stream {stream.name!r} whose {key!r} lies before all that are remembered, so "
                f"it may have been sent before: set lookback.rows to more rows than the tap gives again, name the "
                f"stream in full.table.streams if it gives all rows each time, or set older.rows = send"
            )
        return seen is not Seen.REPEATED

    def _release(self) -> None:
        if self._held is not None:
            self.ready.append(self._held)
            self._held = None

    def _take_state(self, state: Any) -> None:
        self._state = state
        if not self._settings.whole_run and can_resume(state) and without_passing(state) != self._ended:
            self._end_group()

    def _end_group(self) -> None:
        if self._rows < self._skip:
            raise DamagedDataError(
                f"the tap gave {self._rows} rows where {self._skip} had been sent: reset the connector's offsets"
            )
        self._ended = without_passing(self._state)
        self._base = self._base.next(
            None if self._state is None else state_text(self._state), self._repeats.text(self._state)
        )
        self._rows = self._skip = 0
        if self._held is not None:
            self._held.base, self._held.rows = self._base, 0
        self._release()
        self.ends.append((len(self.ready), self._base))

    def _schema(self, message: SchemaMessage) -> None:
        known = self._streams.get(message.stream)
        if known is not None and known.message == message:
            return
        stream = stream_of(message, self._settings.topic_prefix, self._settings.types, self._key_of(message))
        self._streams[message.stream] = stream
        if known is None and stream.replication_key is None and stream.name not in self._settings.full_tables:
            self._notice(
                "streams without replication key",
                f"stream {stream.name!r} names no replication key: rows that the tap gives again in its next run are "
                f"sent again; name the key in replication.keys, or the stream in full.table.streams",
                1,
            )

    def _key_of(self, message: SchemaMessage) -> str | None:
        if message.stream in self._settings.full_tables:
            return None
        return self._settings.replication_keys.get(message.stream) or next(iter(message.bookmark_properties), None)

    def _activate(self, message: ActivateVersionMessage) -> None:
        self._notice(
            "activated versions",
            f"stream {message.stream!r} has a new version: rows with another one in their header "
            f"`singer.version` count no more",
            1,
        )

    def _other(self, message: OtherMessage) -> None:
        if message.type == "BATCH":
            raise DamagedDataError("the tap gives its rows in files (BATCH): take `batch_config` out of tap.config")
        self._notice("unknown messages", "the tap wrote messages of types that Singer does not have", 1)
