"""What the progress of a streaming query says (Spark's `StreamingQueryProgress`)."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from eosfw.ids import TopicPartition
from eosfw.protocols import QueryProgress, StepBatch
from eosfw_spark.source.held_partitions import HELD

NOTHING: Final = QueryProgress(-1, 0, 0.0)
_MOST_BATCHES: Final = 20


def advanced(before: QueryProgress, progress: Mapping[str, Any]) -> QueryProgress:
    """The progress after one that Spark reports; it reports each several times, and idle triggers between batches.

    An idle trigger carries the number of the last batch; before the first one, that of the first.
    """
    new = "addBatch" in progress["durationMs"] and progress["batchId"] > before.batch
    return QueryProgress(
        progress["batchId"] if new else before.batch,
        before.rows + (progress["numInputRows"] or 0 if new else 0),
        float(progress["processedRowsPerSecond"] or 0),
        sum(_behind(progress)),
        tuple(_held_back(progress)),
        (*before.batches, _batch(progress))[-_MOST_BATCHES:] if new else before.batches,
    )


def _batch(progress: Mapping[str, Any]) -> StepBatch:
    read_to = {
        TopicPartition(topic, int(partition)): offset
        for source in progress["sources"]
        for (topic, partition), offset in _offsets(source["endOffset"]).items()
        if partition.isdecimal()
    }
    return StepBatch(
        number=progress["batchId"],
        started=datetime.fromisoformat(progress["timestamp"]).timestamp(),
        seconds=progress["durationMs"].get("triggerExecution", 0) / 1000,
        rows=progress["numInputRows"] or 0,
        read_to=dict(sorted(read_to.items())),
    )


def _behind(progress: Mapping[str, Any]) -> Iterator[int]:
    for source in progress["sources"]:
        end, latest = _offsets(source["endOffset"]), _offsets(source["latestOffset"])
        for partition, offset in latest.items():
            yield max(0, offset - end.get(partition, offset))


def _held_back(progress: Mapping[str, Any]) -> Iterator[str]:
    for source in progress["sources"]:
        for partition, held in source_offset(source["latestOffset"]).get(HELD, {}).items():
            yield _sentence(partition, held)


def _sentence(partition: str, held: Mapping[str, Any]) -> str:
    by = "a transaction that no installed client can name"
    if held.get("transactional.id") is not None:
        since = held.get("since")
        by = f"transactional id {held['transactional.id']!r}" + (f" since {since}" if since else "")
    return f"{partition} is held back at offset {held.get('offset')} by {by}; free it with: {held.get('freed by')}"


def _offsets(text: str | None) -> dict[tuple[str, str], int]:
    return {
        (topic, partition): offset
        for topic, partitions in source_offset(text).items()
        if topic != HELD and isinstance(partitions, dict)
        for partition, offset in partitions.items()
        if isinstance(offset, int)
    }


def source_offset(text: str | None) -> dict[str, Any]:
    """The offset of a source as progress shows it: JSON, or a dictionary's Python text in PySpark 4.0."""
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text or "{}")
        except (ValueError, SyntaxError):
            continue
        if isinstance(found, dict):
            return found
    return {}
