"""The micro-batches that a producer published, by the tokens that it committed with them."""

from __future__ import annotations

import json
from contextlib import closing

from eosfw.errors import EosfwError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from pytest_eos.runs.groups.worker_harness import WorkerHarness
from pytest_eos.runs.record import Record
from pytest_eos.runs.run import Topic

TOKENS = "__eos_tokens"


def batch_note(eos: WorkerHarness, producer: ProducerIdAndEpoch) -> list[str]:
    """The batch, or the batches, of a query that a producer of this epoch published; empty if it published none."""
    found: dict[str, list[int]] = {}
    for record in _tokens(eos):
        if eos.cluster.producer_of(TopicPartition(record.topic, record.partition), record.offset) == producer:
            query, batch = _query_and_batch(record.key, record.value)
            found.setdefault(query, []).append(batch)
    return [_text(query, sorted(batches)) for query, batches in found.items()]


def _tokens(eos: WorkerHarness) -> list[Record]:
    with closing(eos.backend.admin()) as admin:
        if TOKENS not in admin.partitions([TOKENS]):
            return []
    try:
        return list(Topic(eos, (TOKENS,)).records())
    except EosfwError:  # an explanation goes without them
        return []


def _query_and_batch(key: bytes | None, value: bytes | None) -> tuple[str, int]:
    return (key or b"").decode(errors="replace"), int(json.loads(value or b"{}").get("batch", -1))


def _text(query: str, batches: list[int]) -> str:
    which = f"batch {batches[0]}" if len(batches) == 1 else f"one of batches {', '.join(map(str, batches))}"
    return f"{which} of query {query}"
