"""The streaming steps of a pipeline, with their last batches, beside the connectors that feed them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eosfw_console.pages.page import Page, PageRequest
from eosfw_console.worker_client import RestError, WorkerClient, connector_path

_PARTITIONS = 10
"""Offsets that a batch shows."""


def streaming_page(request: PageRequest) -> Page:
    """`/ui/streaming`."""
    queries = request.client.get("/streaming-queries")
    feeders = _feeders(request.client) if queries else {}
    writers = {one["output_topic"]: one["step"] for one in queries if one["output_topic"] is not None}
    return Page("streaming.html", ("queries",), {"queries": [_shown(one, feeders, writers) for one in queries]})


def _feeders(client: WorkerClient) -> Mapping[str, Sequence[str]]:
    """By topic, the connectors that have written to it."""
    found: dict[str, list[str]] = {}
    for name in client.get("/connectors"):
        try:
            topics = client.get(connector_path(name, "topics"))[name]["topics"]
        except RestError:  # deleted since, or topic.tracking.enable=false
            continue
        for topic in topics:
            found.setdefault(topic, []).append(name)
    return found


def _shown(
    query: Mapping[str, Any], feeders: Mapping[str, Sequence[str]], writers: Mapping[str, str]
) -> dict[str, Any]:
    progress = query["progress"]
    return {
        **query,
        "inputs": [
            (topic, feeders.get(topic, ()), [writers[topic]] if topic in writers else []) for topic in query["topics"]
        ],
        "transactional": query["output_topic"] is not None,
        "batches": [] if progress is None else [_batch(one) for one in reversed(progress["batches"])],
    }


def _batch(batch: Mapping[str, Any]) -> dict[str, Any]:
    read_to = [f"{one['topic']}-{one['partition']}: {one['offset']:,}" for one in batch["read_to"]]
    return {**batch, "read_to": read_to[:_PARTITIONS], "more": max(0, len(read_to) - _PARTITIONS)}
