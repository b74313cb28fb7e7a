"""The options of `writeStream.format("eosfw")` and `write.format("eosfw")`: those of Spark's Kafka sink, and more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from eosfw.errors import ConfigError, Problem
from eosfw_spark.option_parser import (
    API_TIMEOUT,
    KAFKA,
    SERVERS,
    OptionParser,
    choice,
    not_negative,
    positive,
    unknown_option,
)

TRANSACTION_TIMEOUT: Final = "kafka.transaction.timeout.ms"
TRANSACTIONAL_ID: Final = "kafka.transactional.id"
WRITERS: Final = "writers"
STAGING: Final = "stagingLocation"
BEGIN: Final = "startingBatchId"
APPLICATION: Final = "txnAppId"
VERSION: Final = "txnVersion"
KNOWN: Final = (
    SERVERS,
    "topic",
    "includeHeaders",
    "mode",
    "backend",
    TRANSACTION_TIMEOUT,
    STAGING,
    WRITERS,
    BEGIN,
    APPLICATION,
    VERSION,
)
OF_QUERY: Final = ("checkpointLocation", "queryName")
"""What Spark passes on to the sink though it is for the query itself."""


class SinkMode(Enum):
    """How the rows of one batch become visible."""

    ATOMIC = "atomic"
    """All at once, in one transaction."""
    PARALLEL = "parallel"
    """Partition by partition, each in a transaction of its own."""


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """Where rows go, in which transactions, by which client."""

    properties: Mapping[str, str]
    topic: str | None = None
    """The topic of all rows; None for the one that each row names."""
    headers: bool = True
    mode: SinkMode = SinkMode.ATOMIC
    backend: str = "confluent"
    transaction_timeout: float = 60.0
    api_timeout: float = 60.0
    """How long a request to the cluster may take."""
    staging_location: str | None = None
    """A folder that executors write and the driver reads; for `atomic`."""
    writers: int | None = None
    """How many partitions a batch has at most; for `parallel`."""
    starting_batch: int | None = None
    """The batch at which a query may begin that has no token yet; None for its first."""
    application: str | None = None
    """Who writes a batch that is no query's: together with `version` the identity of the rows (Delta's `txnAppId`)."""
    version: int | None = None


def require_fit(options: SinkOptions, *, query: bool) -> None:
    """Raise ConfigError for options that say something of a DataFrame, and the sink is a query's, or the reverse."""
    problems = []
    if query and options.application is not None:
        what = "are for a DataFrame: a query is known by its checkpoint; remove them"
        problems.append(Problem("", f"options {APPLICATION} and {VERSION} {what}"))
    if not query and options.starting_batch is not None:
        problems.append(Problem("", f"option {BEGIN} is for a query: a DataFrame has no batches; remove it"))
    if problems:
        raise ConfigError(*problems)


def parse_sink(options: Mapping[str, str]) -> SinkOptions:
    """Read Spark's options; ConfigError lists everything that is wrong with them at once."""
    return _SinkParser(options).parse()


class _SinkParser(OptionParser):
    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._problems += [Problem("", unknown_option(name, KNOWN)) for name in options if _unknown(name)]

    def parse(self) -> SinkOptions:
        properties = self._properties()
        self._check_names(properties)
        transaction_timeout = self._number(TRANSACTION_TIMEOUT, 60_000) / 1000
        properties.pop(TRANSACTION_TIMEOUT.removeprefix(KAFKA), None)
        mode: SinkMode = self._value("mode", choice({mode.value: mode for mode in SinkMode}), SinkMode.ATOMIC)
        read = SinkOptions(
            properties=properties,
            topic=self._named("topic"),
            headers=self._boolean("includeHeaders", default=True),
            mode=mode,
            backend=self._named("backend") or "confluent",
            transaction_timeout=transaction_timeout,
            api_timeout=self._number(API_TIMEOUT, 60_000) / 1000,
            staging_location=self._named(STAGING),
            writers=self._value(WRITERS, positive, None),
            starting_batch=self._value(BEGIN, not_negative, None),
            application=self._named(APPLICATION),
            version=self._value(VERSION, not_negative, None),
        )
        self._raise_problems()
        self._check_together(read)
        self._raise_problems()
        return read

    def _check_together(self, read: SinkOptions) -> None:
        """Note which options exclude or need each other; a wrong one counts as not given, so all must be right."""
        if read.staging_location is not None and read.mode is SinkMode.PARALLEL:
            self._wrong(STAGING, "is for mode atomic; tasks of mode parallel stage nothing")
        if (read.application is None) != (read.version is None):
            self._wrong(APPLICATION, f"and {VERSION} are given together or not at all")
        if read.writers is not None and read.mode is SinkMode.ATOMIC:
            self._wrong(WRITERS, "is for mode parallel; mode atomic has one writer")
        if read.writers is None and read.mode is SinkMode.PARALLEL:
            self._wrong(WRITERS, "is missing; mode parallel needs the number of partitions of the DataFrame")

    def _check_names(self, properties: Mapping[str, str]) -> None:
        if not properties.get("bootstrap.servers"):
            self._wrong(SERVERS, "is missing; give the cluster as HOST:PORT")
        if TRANSACTIONAL_ID in self._given:
            self._wrong(TRANSACTIONAL_ID, "cannot be chosen: the sink derives it from the query, to fence by it")

    def _named(self, name: str) -> str | None:
        text = self._text(name)
        if text is not None and not text.strip():
            self._wrong(name, "is empty")
        return text


def _unknown(name: str) -> bool:
    return not name.lower().startswith(KAFKA) and name.lower() not in {known.lower() for known in (*KNOWN, *OF_QUERY)}
