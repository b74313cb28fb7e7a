"""The history of a Spark query that wrote a topic by the exactly-once sink, for the checker."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from eosfw.checker import NONE, Operation
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.records import OffsetRange
from pytest_eos.runs.operations.coordinators import CoordinatorOperations
from pytest_eos.runs.operations.operation import Fields, numbered, operation
from pytest_eos.runs.operations.stored_log import StoredLog
from pytest_eos.runs.queries.runs import QueryRun
from pytest_eos.runs.record import Record
from pytest_eos.runs.run import Ranges, Topic
from pytest_eos.runs.run_harness import RunHarness

TOKENS: Final = "__eos_tokens"
Producer = tuple[int, int]
"""Producer id and epoch: those of one transaction, where each transaction raises the epoch (KIP-890)."""
_Row = tuple[Record, Fields]
"""A record with the producer that the log names for it."""


@dataclass(frozen=True, slots=True)
class _Published:
    """What a token says that was committed with the rows of a batch."""

    key: str
    batch: int
    rows: int
    writers: int
    producer: Producer | None

    def is_of(self, query: str) -> bool:
        """Whether a query wrote it; in mode `parallel` each writer has its own, with its number behind the query."""
        writer = self.key.removeprefix(query).removeprefix("-")
        return self.key.startswith(query) and (not writer or writer.isdecimal())


def query_operations(eos: RunHarness, query: QueryRun, topic: str) -> list[Operation]:
    """The history of a query that is over: its visible rows, its tokens, what its checkpoint says is finished.

    A row is of the batch whose token has its producer id and epoch. So the rows of a transaction that shares its epoch
    with another one, without KIP-890, are of no batch. Those of another query have its name, and no batch.
    """
    name = _query_id(query.checkpoint)
    rows = Topic(eos, (topic,))
    ranges, stable = _whole(rows)
    stored = StoredLog(rows, ranges)
    tokens = list(_published(eos))
    published = [each for each in tokens if each.is_of(name)]
    others = {each.producer: each.key for each in tokens if not each.is_of(name)}
    facts = chain(
        CoordinatorOperations(eos.cluster).up_to(math.inf),
        _tokens(name, published),
        _finished(name, query.checkpoint),
        _rows(name, published, others, _by_producer(list(rows.records()), stored)),
        stored.markers(ranges),
        (
            operation("log", "partition", part=f"{one.topic}-{one.partition}", off=stable[one], seq=each.end)
            for one, each in ranges.items()
        ),
        (operation("log", "end"),),
    )
    return list(numbered(facts))


def _query_id(checkpoint: Path) -> str:
    """The id of the query, which its checkpoint keeps."""
    return str(json.loads((checkpoint / "metadata").read_text(encoding="utf-8"))["id"])


def _whole(topic: Topic) -> tuple[Ranges, Mapping[TopicPartition, int]]:
    with closing(topic.eos.backend.admin()) as admin:
        counts = admin.partitions(topic.topics)
        ones = [TopicPartition(name, number) for name, count in sorted(counts.items()) for number in range(count)]
        starts = admin.log_start_offsets(ones)
        ends = admin.end_offsets(ones, IsolationLevel.READ_UNCOMMITTED)
        stable = admin.end_offsets(ones, IsolationLevel.READ_COMMITTED)
    return {one: OffsetRange(starts[one], ends[one]) for one in ones}, stable


def _published(eos: RunHarness) -> Iterator[_Published]:
    """The tokens of all queries."""
    topic = Topic(eos, (TOKENS,))
    stored = StoredLog(topic, _whole(topic)[0])
    for record in topic.records():
        key = (record.key or b"").decode(errors="replace")
        if record.value is not None:
            fields = json.loads(record.value)
            known = stored.producer_at(TopicPartition(record.topic, record.partition), record.offset)
            producer = (known["pid"], known["epoch"]) if known else None
            yield _Published(key, fields["batch"], fields["rows"], fields["writers"], producer)


def _tokens(query: str, published: Sequence[_Published]) -> Iterator[Fields]:
    by_batch: dict[int, list[_Published]] = defaultdict(list)
    for each in published:
        by_batch[each.batch].append(each)
        txn: Fields = {"tid": f"eos-spark-{each.key}", "txn": each.batch}
        yield operation("driver", "commit", "invoke", **txn)
        yield operation("driver", "commit", **txn)
    for batch, tokens in by_batch.items():
        writers = {each.key: each for each in tokens}
        whole = len(writers) >= tokens[0].writers
        count = sum(each.rows for each in writers.values()) if whole else NONE
        for _ in range(max(Counter(each.key for each in tokens).values())):
            yield operation("driver", "token", connector=query, txn=batch, count=count, visible=True)


def _finished(query: str, checkpoint: Path) -> Iterator[Fields]:
    for batch in sorted(int(file.name) for file in (checkpoint / "commits").glob("*") if file.name.isdecimal()):
        yield operation("spark", "checkpoint", connector=query, txn=batch)


def _by_producer(records: Sequence[Record], stored: StoredLog) -> Mapping[Producer | None, Sequence[_Row]]:
    written: dict[Producer | None, list[_Row]] = defaultdict(list)
    for record in records:
        known = stored.producer_at(TopicPartition(record.topic, record.partition), record.offset)
        written[(known["pid"], known["epoch"]) if known else None].append((record, known))
    return written


def _rows(
    query: str,
    published: Sequence[_Published],
    others: Mapping[Producer | None, str],
    written: Mapping[Producer | None, Sequence[_Row]],
) -> Iterator[Fields]:
    shared = Counter(each.producer for each in published)
    tokens = {each.producer: each for each in published if shared[each.producer] == 1}
    for producer, rows in written.items():
        token = tokens.get(producer)
        repeats = token is not None and len(rows) > token.rows
        times: Counter[tuple[bytes | None, bytes | None]] = Counter()
        for record, known in rows:
            content = record.key, record.value
            of_batch: Fields = {"connector": others[producer]} if producer in others and producer is not None else {}
            if token is not None:
                # Equal rows of one transaction are different ones, unless there are more than its token says.
                row, attempt = (str(content), times[content]) if repeats else (f"{content} {times[content]}", 0)
                of_batch = {"connector": query, "txn": token.batch, "gen": attempt, "src_part": row, "src_off": 0}
            times[content] += 1
            where: Fields = {"part": f"{record.topic}-{record.partition}", "off": record.offset, "val": record.place}
            yield operation("log", "log", visible=True, **where, **known, **of_batch)
