"""The options of `format("eosfw")` for reads, which are those of Spark's own Kafka source (`KafkaSourceProvider`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eosfw.config.parts import PartChoice
from eosfw.errors import ConfigError, Problem
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw_spark.formats import options as formats
from eosfw_spark.formats.options import FormatOptionParser, FormatOptions
from eosfw_spark.option_parser import API_TIMEOUT, KAFKA, SERVERS, choice, not_negative, positive, unknown_option
from eosfw_spark.source import option_values as values
from eosfw_spark.source.offset_range_limit import (
    EARLIEST,
    LATEST,
    EarliestOffsetRangeLimit,
    GlobalTimestampRangeLimit,
    LatestOffsetRangeLimit,
    OffsetRangeLimit,
    SpecificOffsetRangeLimit,
    SpecificTimestampRangeLimit,
    StrategyOnNoMatchStartingOffset,
    Timestamps,
)
from eosfw_spark.source.topic_pattern import compile_pattern

if TYPE_CHECKING:
    # It needs pyarrow and PySpark; the checks of steps read options, and every command that loads plugins these.
    from eosfw_spark.formats.typed_columns import TypedColumns

ISOLATION: Final = "isolation.level"
READER: Final = "isolationReader"
STRATEGIES: Final = ("subscribe", "subscribePattern", "assign")
STRATEGY: Final = "startingOffsetsByTimestampStrategy"
ENDS: Final = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
PREFETCH: Final = "prefetchOffsets"
PREFETCH_OFFSETS: Final = 1000
TRIGGER: Final = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "maxBytesPerTrigger")
KNOWN: Final = (
    SERVERS,
    "kafka.isolation.level",
    *STRATEGIES,
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    STRATEGY,
    *ENDS,
    *TRIGGER,
    PREFETCH,
    "failOnDataLoss",
    "includeHeaders",
    "minPartitions",
    "maxRecordsPerPartition",
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "backend",
    READER,
    *formats.KNOWN,
)
_BYTES: Final = "keys and values are bytes unless key.format and value.format say what they are; remove it"
_ASKED_AGAIN: Final = f"is not needed: offsets are asked for again until {API_TIMEOUT}; remove it"
REFUSED: Final = {
    "kafka.auto.offset.reset": "is not supported: startingOffsets says where to begin, and no offset is skipped later",
    "kafka.enable.auto.commit": "is not supported: a read commits no offsets; remove it",
    "kafka.interceptor.classes": "is not supported: interceptors could change records; remove it",
    "kafka.key.deserializer": f"is not supported: {_BYTES}",
    "kafka.value.deserializer": f"is not supported: {_BYTES}",
    "fetchoffset.numretries": _ASKED_AGAIN,
    "fetchoffset.retryintervalms": _ASKED_AGAIN,
}
"""What Spark's Kafka source refuses, and what has no counterpart here; names in small letters."""
TABLE: Final = "provider"
"""What Spark adds to the options of a table of its catalog."""

COMMITTED: Final = PartChoice(READER, IsolationLevel.READ_COMMITTED.value)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What to read, from which cluster, by which reader; of `topics`, `assigned`, `pattern` the user gave one."""

    properties: Mapping[str, str]
    topics: tuple[str, ...] = ()
    assigned: tuple[TopicPartition, ...] | None = None
    pattern: re.Pattern[str] | None = None
    start: OffsetRangeLimit = EarliestOffsetRangeLimit()  # noqa: RUF009 - frozen, without fields
    end: OffsetRangeLimit = LatestOffsetRangeLimit()  # noqa: RUF009
    fail_on_data_loss: bool = True
    headers: bool = False
    min_partitions: int = 0
    max_records: int | None = None
    """The largest number of offsets that one task reads (`maxRecordsPerPartition`)."""
    stall_timeout: float = 60.0
    backend: str = "confluent"
    reader: PartChoice = COMMITTED
    ignored: tuple[str, ...] = ()
    """Options that were given and mean nothing for this kind of read."""
    formats: FormatOptions = FormatOptions()  # noqa: RUF009 - frozen
    typed: TypedColumns | None = None
    """The formats with their schemas, once these were looked up; None leaves keys and values bytes."""

    @property
    def address(self) -> str:
        """The cluster's address, for messages."""
        return self.properties["bootstrap.servers"]

    @property
    def isolation(self) -> IsolationLevel:
        """The level whose offsets bound the read; readers other than Kafka's see what is committed."""
        uncommitted = self.reader.name == IsolationLevel.READ_UNCOMMITTED.value
        return IsolationLevel.READ_UNCOMMITTED if uncommitted else IsolationLevel.READ_COMMITTED


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How much one micro-batch takes (Spark's `ReadLimit`); None is no limit."""

    max_offsets: int | None = None
    min_offsets: int | None = None
    max_delay: float = 900.0
    """Seconds after which a batch is begun even though there are fewer than `min_offsets`."""
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """What a stream reads, and how much at once; `read.start` is where a new query begins."""

    read: ReadOptions
    limits: ReadLimits = ReadLimits()
    prefetch_offsets: int = PREFETCH_OFFSETS
    """Batches with at most so many offsets are read beside the driver, and come as one input partition."""


def parse(options: Mapping[str, str]) -> ReadOptions:
    """Read the options of a batch read; ConfigError lists everything that is wrong with them at once."""
    return _Parser(options).batch()


def parse_stream(options: Mapping[str, str]) -> StreamOptions:
    """Read the options of `spark.readStream`, which by default begins at the latest offsets, as Spark does."""
    return _Parser(options).stream()


def includes_headers(options: Mapping[str, str]) -> bool:
    """Whether the columns include `headers`; ConfigError if the option is neither true nor false."""
    return _Parser(options).headers()


def parse_formats(options: Mapping[str, str]) -> ReadOptions | None:
    """What is read, without its limits, if keys or values have a format; None if both stay bytes."""
    return _Parser(options).with_formats()


class _Parser(FormatOptionParser):
    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        if TABLE in self._given:
            what = "format eosfw makes no table of the catalog, since Spark hands the table's options to no read"
            raise ConfigError(Problem("", f"{what}; write CREATE TEMPORARY VIEW ... USING eosfw OPTIONS (...)"))
        self._problems += [Problem("", why) for name in options if (why := _unknown(name))]
        strategies = {each.value: each for each in StrategyOnNoMatchStartingOffset}
        self._strategy = self._value(STRATEGY, choice(strategies), StrategyOnNoMatchStartingOffset.ERROR)

    def headers(self) -> bool:
        headers = self._boolean("includeHeaders")
        self._raise_problems()
        return headers

    def with_formats(self) -> ReadOptions | None:
        read = self._read(EarliestOffsetRangeLimit(), LatestOffsetRangeLimit(), ())
        if read.formats == FormatOptions() and not self._names_formats():
            return None
        self._raise_problems()
        return read

    def batch(self) -> ReadOptions:
        start = self._limit("starting", EarliestOffsetRangeLimit())
        end = self._limit("ending", LatestOffsetRangeLimit())
        self._exclude("startingOffsets", start, LATEST)
        self._exclude("endingOffsets", end, EARLIEST)
        self._backwards(start, end)
        read = self._read(start, end, tuple(name for name in (*TRIGGER, PREFETCH) if self._text(name) is not None))
        self._raise_problems()
        return read

    def stream(self) -> StreamOptions:
        for name in ENDS:
            if self._text(name) is not None:
                self._wrong(name, "is for batch reads: a stream ends with its trigger, such as availableNow")
        read = self._read(self._limit("starting", LatestOffsetRangeLimit()), LatestOffsetRangeLimit(), ())
        limits = ReadLimits(
            self._value("maxOffsetsPerTrigger", positive, None),
            self._value("minOffsetsPerTrigger", positive, None),
            self._value("maxTriggerDelay", values.duration, ReadLimits().max_delay),
            self._value("maxBytesPerTrigger", positive, None),
        )
        prefetch_offsets = self._value(PREFETCH, not_negative, PREFETCH_OFFSETS)
        if limits.max_offsets is not None and (limits.min_offsets or 0) > limits.max_offsets:
            self._wrong("minOffsetsPerTrigger", f"is above maxOffsetsPerTrigger: {limits.min_offsets}")
        self._raise_problems()
        return StreamOptions(read, limits, prefetch_offsets)

    def _read(self, start: OffsetRangeLimit, end: OffsetRangeLimit, ignored: tuple[str, ...]) -> ReadOptions:
        properties = self._properties()
        isolation = properties.pop(ISOLATION, None)
        if not properties.get("bootstrap.servers"):
            self._wrong(SERVERS, "is missing; give the cluster as HOST:PORT")
        topics, assigned, pattern = self._what()
        return ReadOptions(
            properties=properties,
            topics=topics,
            assigned=assigned,
            pattern=pattern,
            start=start,
            end=end,
            fail_on_data_loss=self._boolean("failOnDataLoss", default=True),
            headers=self._boolean("includeHeaders"),
            min_partitions=self._number("minPartitions", 0),
            max_records=self._value("maxRecordsPerPartition", positive, None),
            stall_timeout=self._stall_timeout(),
            backend=self._text("backend") or "confluent",
            reader=self._reader(isolation),
            ignored=ignored,
            formats=self._formats(),
        )

    def _what(self) -> tuple[tuple[str, ...], tuple[TopicPartition, ...] | None, re.Pattern[str] | None]:
        given = [name for name in STRATEGIES if self._text(name) is not None]
        if not given:
            self._wrong(
                "subscribe",
                "is missing; name topics, separated by commas, or partitions with `assign`, "
                "or select topics with `subscribePattern`",
            )
        elif len(given) > 1:
            self._wrong(given[0], f"excludes {' and '.join(f'`{name}`' for name in given[1:])}: give one of them")
        elif given == ["assign"]:
            assigned: tuple[TopicPartition, ...] = self._value("assign", values.partitions, ())
            return tuple(dict.fromkeys(each.topic for each in assigned)), assigned, None
        elif given == ["subscribe"]:
            return self._value("subscribe", _topics, ()), None, None
        else:
            return (), None, self._value("subscribePattern", _pattern, None)
        return (), None, None

    def _limit(self, side: str, default: OffsetRangeLimit) -> OffsetRangeLimit:
        """The limit of one side; of several options Spark prefers one time for all, then one for each partition."""
        if self._text(f"{side}Timestamp") is not None:
            return GlobalTimestampRangeLimit(self._value(f"{side}Timestamp", values.timestamp, 0), self._strategy)
        if self._text(f"{side}OffsetsByTimestamp") is not None:
            times: Timestamps = self._value(f"{side}OffsetsByTimestamp", values.timestamps, _NO_TIMES)
            return SpecificTimestampRangeLimit(times, self._strategy)
        return self._value(f"{side}Offsets", _offsets, default)

    def _exclude(self, name: str, limit: OffsetRangeLimit, offset: int) -> None:
        word = {EARLIEST: "earliest", LATEST: "latest"}[offset]
        match limit:
            case EarliestOffsetRangeLimit() | LatestOffsetRangeLimit() if limit == _WORDS[word]:
                self._wrong(name, f"cannot be {word} in a batch read")
            case SpecificOffsetRangeLimit(offsets):
                for partition in (each for each, given in offsets.items() if given == offset):
                    self._wrong(
                        name, f"gives {partition} the offset {offset}, the {word}, which a batch read cannot use"
                    )

    def _backwards(self, start: OffsetRangeLimit, end: OffsetRangeLimit) -> None:
        match start, end:
            case GlobalTimestampRangeLimit(begin), GlobalTimestampRangeLimit(until) if until < begin:
                self._wrong("endingTimestamp", f"is {until}, before startingTimestamp, {begin}")
            case SpecificTimestampRangeLimit(begins), SpecificTimestampRangeLimit(untils):
                for each in sorted(one for one in begins if untils.get(one, begins[one]) < begins[one]):
                    why = f"gives {each} the time {untils[each]}, and startingOffsetsByTimestamp {begins[each]}"
                    self._wrong("endingOffsetsByTimestamp", why)

    def _stall_timeout(self) -> float:
        return self._number("kafkaConsumer.pollTimeoutMs", self._number(API_TIMEOUT, 60_000)) / 1000

    def _reader(self, isolation: str | None) -> PartChoice:
        """The reader by its name, otherwise the one of an isolation level, which has the name of the level."""
        name, prefix = self._text(READER), f"{READER.lower()}."
        if name is not None and isolation is not None:
            self._wrong(READER, f"excludes {KAFKA + ISOLATION}: give one of them")
        own = {option.removeprefix(prefix): text for option, text in self._given.items() if option.startswith(prefix)}
        levels = {level.value: level.value for level in IsolationLevel}
        level: str = self._value(KAFKA + ISOLATION, choice(levels), IsolationLevel.READ_COMMITTED.value)
        return PartChoice(READER, name or level, own)


_NO_TIMES: Final[Timestamps] = {}
_WORDS: Final[Mapping[str, OffsetRangeLimit]] = {
    "earliest": EarliestOffsetRangeLimit(),
    "latest": LatestOffsetRangeLimit(),
}


def _offsets(text: str) -> OffsetRangeLimit:
    if (word := text.strip().lower()) in _WORDS:
        return _WORDS[word]
    try:
        return SpecificOffsetRangeLimit(values.offsets(text))
    except ValueError as why:
        raise ValueError(str(why).replace("must be JSON", "must be earliest, latest or JSON")) from None


def _topics(text: str) -> tuple[str, ...]:
    topics = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not topics:
        raise ValueError("names no topic")
    return topics


def _pattern(text: str) -> re.Pattern[str] | None:
    if not text.strip():
        raise ValueError("is empty; give a regular expression, such as orders-.*")
    return compile_pattern(text.strip())


def _unknown(name: str) -> str | None:
    lowered = name.lower()
    if lowered in REFUSED:
        return f"option {name} {REFUSED[lowered]}"
    if lowered.startswith(formats.REGISTRY):
        return formats.refused(name)
    # `load("...")` sets the option `path`, which is refused like any unknown option: a topic is no path.
    if lowered.startswith((KAFKA, f"{READER.lower()}.")) or lowered in {known.lower() for known in KNOWN}:
        return None
    return unknown_option(name, KNOWN)
