"""The options of `spark.read.format("eosfw")`, which are those of Spark's own Kafka source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from eosfw.config.parts import PartChoice
from eosfw.errors import Problem
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw_spark.option_parser import API_TIMEOUT, KAFKA, SERVERS, OptionParser, unknown_option

EARLIEST: Final = -2
LATEST: Final = -1
ISOLATION: Final = "isolation.level"
READER: Final = "isolationReader"
KNOWN: Final = (
    SERVERS,
    "kafka.isolation.level",
    "subscribe",
    "assign",
    "startingOffsets",
    "endingOffsets",
    "includeHeaders",
    "minPartitions",
    "kafkaConsumer.pollTimeoutMs",
    "maxOffsetsPerTrigger",
    "backend",
    "isolationReader",
)
NOT_YET: Final = (
    "subscribePattern",
    "failOnDataLoss",
    "startingTimestamp",
    "endingTimestamp",
    "startingOffsetsByTimestamp",
    "endingOffsetsByTimestamp",
    "maxRecordsPerPartition",
    "groupIdPrefix",
)

COMMITTED: Final = PartChoice(READER, IsolationLevel.READ_COMMITTED.value)

Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What to read, from which cluster, by which reader; `starts` or `ends` is None for earliest or latest."""

    properties: Mapping[str, str]
    topics: tuple[str, ...]
    assigned: tuple[TopicPartition, ...] | None = None
    starts: Offsets | None = None
    ends: Offsets | None = None
    headers: bool = False
    min_partitions: int = 0
    stall_timeout: float = 60.0
    from_latest: bool = False
    """Whether a stream starts behind what is committed, where `starts` is None."""
    max_offsets_per_trigger: int | None = None
    backend: str = "confluent"
    reader: PartChoice = COMMITTED

    @property
    def address(self) -> str:
        """The cluster's address, for messages."""
        return self.properties["bootstrap.servers"]


def parse(options: Mapping[str, str], *, streaming: bool = False) -> ReadOptions:
    """Read Spark's options of a batch or a stream; ConfigError lists everything that is wrong with them at once."""
    return _Parser(options, streaming=streaming).parse()


def includes_headers(options: Mapping[str, str]) -> bool:
    """Whether the columns include `headers`; ConfigError if the option is neither true nor false."""
    return _Parser(options, streaming=False).headers()


class _Parser(OptionParser):
    def __init__(self, options: Mapping[str, str], *, streaming: bool) -> None:
        super().__init__(options)
        self._streaming = streaming
        self._problems += [Problem("", why) for name in options if (why := _unknown(name))]

    def headers(self) -> bool:
        headers = self._boolean("includeHeaders")
        self._raise_problems()
        return headers

    def parse(self) -> ReadOptions:
        properties = self._properties()
        isolation = properties.pop(ISOLATION, None)
        if not properties.get("bootstrap.servers"):
            self._wrong(SERVERS, "is missing; give the cluster as HOST:PORT")
        topics, assigned = self._what()
        from_latest = self._streaming and (self._text("startingOffsets") or "latest").strip().lower() == "latest"
        read = ReadOptions(
            properties=properties,
            topics=topics,
            assigned=assigned,
            starts=None if from_latest else self._offsets("startingOffsets", "earliest", LATEST),
            from_latest=from_latest,
            max_offsets_per_trigger=self._number("maxOffsetsPerTrigger", 0) or None,
            ends=self._offsets("endingOffsets", "latest", EARLIEST),
            headers=self._boolean("includeHeaders"),
            min_partitions=self._number("minPartitions", 0),
            stall_timeout=self._number("kafkaConsumer.pollTimeoutMs", self._number(API_TIMEOUT, 60_000)) / 1000,
            backend=self._text("backend") or "confluent",
            reader=self._reader(isolation),
        )
        self._raise_problems()
        return read

    def _what(self) -> tuple[tuple[str, ...], tuple[TopicPartition, ...] | None]:
        subscribe, assign = self._text("subscribe"), self._text("assign")
        if (subscribe is None) == (assign is None):
            self._wrong(
                "subscribe", "is missing; name topics, separated by commas, or partitions with `assign`"
            ) if subscribe is None else self._wrong("subscribe", "excludes `assign`: give one of them")
            return (), None
        if subscribe is not None:
            topics = tuple(dict.fromkeys(name.strip() for name in subscribe.split(",") if name.strip()))
            if not topics:
                self._wrong("subscribe", "names no topic")
            return topics, None
        assigned = tuple(sorted(self._assigned(assign or "")))
        return tuple(dict.fromkeys(each.topic for each in assigned)), assigned

    def _assigned(self, text: str) -> set[TopicPartition]:
        try:
            given = json.loads(text)
            return {TopicPartition(topic, int(number)) for topic, numbers in given.items() for number in numbers}
        except (ValueError, TypeError, AttributeError):
            self._wrong("assign", f'is not JSON like {{"topic":[0,1]}}: {text}')
            return set()

    def _offsets(self, name: str, word: str, excluded: int) -> Offsets | None:
        text = (self._text(name) or word).strip()
        if text.lower() == word:
            return None
        try:
            offsets = _read_offsets(json.loads(text))
        except (ValueError, TypeError, AttributeError):
            self._wrong(name, f'must be "{word}" or JSON like {{"topic":{{"0":23}}}}, not {text}')
            return None
        for partition, offset in offsets.items():
            if offset == excluded or offset < EARLIEST:
                self._wrong(name, f"gives {partition} the offset {offset}, which a batch read cannot use there")
        return offsets

    def _reader(self, isolation: str | None) -> PartChoice:
        """The reader by its name, otherwise the one of an isolation level, which has the name of the level."""
        name, prefix = self._text(READER), f"{READER.lower()}."
        if name is not None and isolation is not None:
            self._wrong(READER, f"excludes {KAFKA + ISOLATION}: give one of them")
        own = {option.removeprefix(prefix): text for option, text in self._given.items() if option.startswith(prefix)}
        return PartChoice(READER, name or self._level(isolation or IsolationLevel.READ_COMMITTED.value), own)

    def _level(self, text: str) -> str:
        if text.lower() not in (among := [level.value for level in IsolationLevel]):
            self._wrong(KAFKA + ISOLATION, f"must be {' or '.join(among)}, not {text}")
        return text.lower()


def _unknown(name: str) -> str | None:
    lowered = name.lower()
    # `load("...")` sets the option `path`, which is refused like any unknown option: a topic is no path.
    if lowered.startswith((KAFKA, f"{READER.lower()}.")) or lowered in {known.lower() for known in KNOWN}:
        return None
    if lowered in {known.lower() for known in NOT_YET}:
        return f"option {name} of Spark's Kafka source is not supported by format eosfw yet"
    return unknown_option(name, KNOWN)


def _read_offsets(given: Any) -> Offsets:
    return {
        TopicPartition(topic, int(number)): int(offset)
        for topic, numbers in given.items()
        for number, offset in numbers.items()
    }


def offsets_json(offsets: Offsets) -> str:
    """Offsets as JSON, in the form of `startingOffsets` and `endingOffsets`."""
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        topics.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(topics)
