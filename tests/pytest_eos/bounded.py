"""A connector that ends its transactions itself, sound, then broken one way each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from tests.pytest_eos.counter import connector

from eosfw.config import Config, ConfigDef, Int, String
from eosfw.connectors import (
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    SourceConnector,
    SourceTask,
    SourceTaskContext,
)
from eosfw.records import SourceRecord

GROUP = 3
"""Numbers that belong together."""
ABORTED = 4
"""Of so many groups, the last one is discarded."""


class GroupsTask(SourceTask):
    """Numbers that belong together by threes; polls return them by fours, so that no end of theirs is a poll's."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        self.topic, self.until = config["topic"], int(config["until"])
        self.ask: Any = context.transaction
        self.next = int((context.offset({"of": "numbers"}) or {"next": 0})["next"] or 0)

    def poll(self) -> list[SourceRecord]:
        numbers = range(self.next, min(self.next + 4, self.until))
        self.next = numbers.stop
        records = [self.record(number) for number in numbers]
        self.end(records)
        return records

    def record(self, number: int) -> SourceRecord:
        return SourceRecord(
            self.topic, b"%d" % number, source_partition={"of": "numbers"}, source_offset={"next": number + 1}
        )

    def end(self, records: list[SourceRecord]) -> None:
        for record in records:
            if ends(record):
                (self.ask.abort_record if discards(record) else self.ask.commit_record)(record)

    def at_end(self) -> bool:
        return self.next >= self.until


class Groups(SourceConnector):
    name = "groups"
    task: type[SourceTask] = GroupsTask
    config = ConfigDef(Int("until", 24, "where it ends"), String("topic", doc="where to"))

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{"until": str(config["until"]), "topic": config["topic"]}]

    def exactly_once_support(self, config: Config) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def transaction_boundaries(self, config: Config) -> ConnectorTransactionBoundaries:
        return ConnectorTransactionBoundaries.SUPPORTED


def ends(record: SourceRecord) -> bool:
    """Whether a group ends with this record."""
    return number_of(record) % GROUP == 0


def discards(record: SourceRecord) -> bool:
    """Whether the group that ends with this record is discarded."""
    return number_of(record) % (GROUP * ABORTED) == 0


def number_of(record: SourceRecord) -> int:
    """How many numbers there are up to a record."""
    return int(record.value or b"") + 1


def committed(until: int) -> list[list[bytes]]:
    """The expected committed values, transaction by transaction."""
    groups = [range(first, first + GROUP) for first in range(0, until, GROUP)]
    return [[b"%d" % number for number in group] for group in groups if group.stop % (GROUP * ABORTED)]


@connector(Groups)
class EveryPoll(GroupsTask):
    """Commits at every poll instead of at its own ends."""

    def end(self, records: list[SourceRecord]) -> None:
        self.ask.commit()


@connector(Groups)
class Early(GroupsTask):
    """Ends each transaction one record too early."""

    def end(self, records: list[SourceRecord]) -> None:
        for record, following in pairwise(records):
            if ends(following):
                self.ask.commit_record(record)


@connector(Groups)
class Copying(GroupsTask):
    """Names copies of what it returns."""

    def end(self, records: list[SourceRecord]) -> None:
        super().end([replace(record) for record in records])


@connector(Groups)
class Elsewhere(GroupsTask):
    """Names records that it never returns."""

    def end(self, records: list[SourceRecord]) -> None:
        super().end([self.record(number_of(record) + 9_999) for record in records])


@connector(Groups)
class Forgetful(GroupsTask):
    """Counts from where it was started, one too many where it goes on."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        self.returned = 1 if self.next else 0

    def end(self, records: list[SourceRecord]) -> None:
        for record in records:
            self.returned += 1
            if self.returned % GROUP == 0:
                self.ask.commit_record(record)
